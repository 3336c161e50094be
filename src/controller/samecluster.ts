import { isDeepStrictEqual } from "node:util";

import type { Cluster } from "../api/meta.ts";

/**
 * Whether two versions of a Cluster are the same to policies. Most changes are of the status, which only expressions
 * can see.
 */
export function sameCluster(
  before: Cluster,
  now: Cluster,
  { withStatus }: { readonly withStatus: boolean },
): boolean {
  const { metadata: a, status: statusA, ...restA } = before;
  const { metadata: b, status: statusB, ...restB } = now;
  const { resourceVersion: _a, generation: _ga, ...metaA } = a;
  const { resourceVersion: _b, generation: _gb, ...metaB } = b;
  return (
    isDeepStrictEqual(metaA, metaB) &&
    isDeepStrictEqual(restA, restB) &&
    (!withStatus || (a.generation === b.generation && isDeepStrictEqual(statusA, statusB)))
  );
}
