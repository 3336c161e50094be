/** Orders Kubernetes versions as Cluster API does: by their build metadata, too (util/version, Compare WithBuildTags). */

import type { SemVer } from "semver";

const NUMBER = /^\d+$/;

/**
 * Below 0: `a` is older. `undefined`: they differ, and it cannot be told which is newer, as with `+rke2r1` and `+rke2r2`: such
 * words can be hashes.
 */
export function orderOf(a: SemVer, b: SemVer): number | undefined {
  const order = a.compare(b);
  if (order !== 0) return order;
  for (const [index, own] of a.build.entries()) {
    const other = b.build[index];
    if (other === undefined) return 1;
    if (own !== other) return NUMBER.test(own) || NUMBER.test(other) ? orderOfParts(own, other) : undefined;
  }
  return a.build.length - b.build.length;
}

/** At least one is a number, which is older than a word. */
function orderOfParts(a: string, b: string): number {
  if (!NUMBER.test(b)) return -1;
  return NUMBER.test(a) ? Number(BigInt(a) - BigInt(b)) : 1;
}
