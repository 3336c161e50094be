/**
 * Which of two copies is newer. Resource versions are integers that can be compared within one resource (KEP-5504). The
 * functions differ in what they say of copies that do not compare:
 *
 * |              | another uid | a version that is no integer |
 * | ------------ | ----------- | ---------------------------- |
 * | isNewer()    | not asked   | false                        |
 * | isNews()     | false       | true                         |
 * | mayReplace() | true        | true                         |
 * | isAtLeast()  | false       | false, unless they are equal |
 */

import type { Cluster, ObjectMeta, StoredNamespace } from "../api/meta.ts";
import { compareText } from "../lib/compare-text.ts";

type Version = Pick<ObjectMeta, "uid" | "resourceVersion">;

/** Negative, zero or positive; `undefined` if one of them is not a number. */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return undefined;
  return a.length === b.length ? compareText(a, b) : a.length - b.length;
}

/** Returns `known` if it is the same object and certainly newer than the one just read, else the one just read. */
export function newerThan<T extends Cluster | StoredNamespace>(live: T, known: T | undefined): T {
  return known?.metadata.uid === live.metadata.uid && isNewer(known, live) ? known : live;
}

/** Certainly newer; a release is confirmed by a live read anyway. */
export function isNewer(
  { metadata: a }: Cluster | StoredNamespace,
  { metadata: b }: Cluster | StoredNamespace,
): boolean {
  return (compareResourceVersions(a.resourceVersion, b.resourceVersion) ?? 0) > 0;
}

/** Whether the answer is the same object and not an older copy. */
export function isNews(answer: Version, known: Version): boolean {
  const order = compareResourceVersions(answer.resourceVersion, known.resourceVersion);
  return answer.uid === known.uid && (order ?? 0) >= 0;
}

/** Also if it is another object of the name. */
export function mayReplace(now: Version, known: Version): boolean {
  return now.uid !== known.uid || isNews(now, known);
}

/** Whether memory has the object as it is, or later. Versions that cannot be compared prove nothing. */
export function isAtLeast(known: Version, { uid, resourceVersion }: Version): boolean {
  const isSame = known.resourceVersion === resourceVersion;
  const order = isSame ? 0 : compareResourceVersions(known.resourceVersion, resourceVersion);
  return known.uid === uid && (order ?? -1) >= 0;
}
