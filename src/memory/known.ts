/** What a replica knows without the stored status: see mayHideRows() in policy-status.ts. */

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

/** `keys`: of the rows, from a caller that has them: to build ten thousand of them takes longer than all the rest. */
export function knownOf(held: readonly HeldRow[], keys: Iterable<string> = held.map(keyOf)): Known {
  const [blocked, wouldBlock] = [new Set<string>(), new Set<string>()];
  for (const { clusterUID, holds, verdict } of held) {
    if (holds) blocked.add(clusterUID);
    if (verdict === "WouldBlock") wouldBlock.add(clusterUID);
  }
  return { rows: new Set(keys), blocked, wouldBlock };
}

function keyOf({ clusterUID, hook }: HeldRow): string {
  return operationKey(clusterUID, hook);
}
