/** What a replica knows without the stored status: see mayHideRows() in policystatus.ts. */

import { operationKey } from "../operations/operation.ts";
import type { HeldRow } from "../operations/rows.ts";

export interface Known {
  /** By operationKey. */
  readonly rows: ReadonlySet<string>;
  /** By uid of the Cluster. */
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
