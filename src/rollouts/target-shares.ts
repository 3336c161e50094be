/** Chooses the versions that a rollout follows if there are too many: namespaces take turns. */

import { compare, parse } from "semver";
import { compareText } from "../lib/compare-text.ts";

/** Versions, each with the namespaces whose Clusters are to be upgraded to it. */
export type WantedTargets = ReadonlyMap<string, ReadonlySet<string>>;

export function newestFirst(a: string, b: string): number {
  return compare(b, a) || compareText(a, b);
}

/**
 * Every replica chooses the same: the newest of each namespace, then the second of each, and so on. A version counts for
 * every namespace that wants it.
 */
export function sharedTargets(wanted: WantedTargets, places: number): readonly string[] {
  const sorted = [...wanted.keys()].filter((version) => parse(version) !== null).toSorted(newestFirst);
  const known = new Map<string, number>();
  const ranked = sorted.map((version) => {
    const namespaces = [...(wanted.get(version) ?? [])];
    const rank = Math.min(...namespaces.map((namespace) => known.get(namespace) ?? 0));
    for (const namespace of namespaces) known.set(namespace, (known.get(namespace) ?? 0) + 1);
    return { version, rank };
  });
  const chosen = ranked.toSorted((a, b) => a.rank - b.rank).slice(0, places);
  return chosen.map(({ version }) => version);
}
