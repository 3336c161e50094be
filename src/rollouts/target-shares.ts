/** Chooses the versions that a rollout follows if there are too many: namespaces take turns. */

import { compare, parse } from "semver";

/** Versions, each with the namespaces whose Clusters are to be upgraded to it. */
export type WantedTargets = ReadonlyMap<string, ReadonlySet<string>>;

export function newestFirst(a: string, b: string): number {
  return compare(b, a) || (a < b ? -1 : Number(a > b));
}

/** Every replica chooses the same. A version counts for every namespace that wants it. */
export function sharedTargets(wanted: WantedTargets, places: number): readonly string[] {
  const left = new Set([...wanted.keys()].filter((version) => parse(version) !== null).toSorted(newestFirst));
  if (left.size <= places) return [...left];
  const served = new Map<string, number>();
  const chosen: string[] = [];
  for (let place = 0; place < places; place += 1) {
    const version = leastServed(left, wanted, served);
    left.delete(version);
    chosen.push(version);
    for (const namespace of wanted.get(version) ?? [])
      served.set(namespace, (served.get(namespace) ?? 0) + 1);
  }
  return chosen;
}

function leastServed(
  left: ReadonlySet<string>,
  wanted: WantedTargets,
  served: ReadonlyMap<string, number>,
): string {
  let [least, fewest] = ["", Infinity];
  for (const version of left) {
    const places = Math.min(
      ...[...(wanted.get(version) ?? [])].map((namespace) => served.get(namespace) ?? 0),
    );
    if (places < fewest) [least, fewest] = [version, places];
  }
  return least;
}
