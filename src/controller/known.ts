/** The numbers of a status that a replica knows by itself: see mayHideRows() in policystatus.ts. */

import { operationKey } from "../operations/operation.ts";
import type { HeldRow } from "../operations/rows.ts";

export interface Known {
  readonly rows: ReadonlySet<string>;
  /** Uids of Clusters. */
  readonly blocked: ReadonlySet<string>;
  readonly wouldBlock: ReadonlySet<string>;
}

export const NOTHING_KNOWN: Known = { rows: new Set(), blocked: new Set(), wouldBlock: new Set() };

export function knownOf(held: readonly HeldRow[]): Known {
  return {
    rows: new Set(held.map(({ clusterUID, hook }) => operationKey(clusterUID, hook))),
    blocked: uidsOf(held.filter(({ holds }) => holds)),
    wouldBlock: uidsOf(held.filter(({ verdict }) => verdict === "WouldBlock")),
  };
}

function uidsOf(rows: readonly HeldRow[]): Set<string> {
  return new Set(rows.map(({ clusterUID }) => clusterUID));
}
