/** Whether two versions of an object are the same for decisions. */

import { isDeepStrictEqual } from "node:util";
import type { HookOverride, HookRollout } from "../api/hook-policy.ts";
import type { Cluster, ClusterTopology, ObjectMeta } from "../api/meta.ts";
import { packedVariables } from "../views/cluster.ts";
import type { PolicyObject } from "./policy-set.ts";

/** Compares the whole spec: another version of the CRD can change how a generation reads. */
export function isSameSpec<T extends PolicyObject | HookOverride | HookRollout>(a: T, b: T): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    isDeepStrictEqual(a.spec, b.spec)
  );
}

/** Whether both are deleted or neither is, with the same finalizers. */
export function isSameLife({ metadata: a }: PolicyObject, { metadata: b }: PolicyObject): boolean {
  return a.deletionTimestamp === b.deletionTimestamp && isDeepStrictEqual(a.finalizers, b.finalizers);
}

/**
 * Whether two versions of a Cluster are the same for policies. Most changes are changes of the status, which few policies
 * read.
 */
export function sameCluster(
  before: Cluster,
  now: Cluster,
  { withStatus }: { readonly withStatus: boolean },
): boolean {
  const { metadata: a, topology: topologyA, status: statusA, ...restA } = before;
  const { metadata: b, topology: topologyB, status: statusB, ...restB } = now;
  return (
    sameMetadata(a, b) &&
    isDeepStrictEqual(restA, restB) &&
    sameTopology(topologyA, topologyB) &&
    (!withStatus || (a.generation === b.generation && isDeepStrictEqual(statusA, statusB)))
  );
}

/** Ignores the fields that every change changes. */
function sameMetadata(before: ObjectMeta, now: ObjectMeta): boolean {
  const { resourceVersion: _a, generation: _ga, labels: labelsA, annotations: annotationsA, ...a } = before;
  const { resourceVersion: _b, generation: _gb, labels: labelsB, annotations: annotationsB, ...b } = now;
  return isDeepStrictEqual(a, b) && sameStrings(labelsA, labelsB) && sameStrings(annotationsA, annotationsB);
}

type Strings = Readonly<Record<string, string>>;

/** There may be 45,000 of them, so this allocates nothing and stops at the first difference. */
function sameStrings(a: Strings | undefined, b: Strings | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  let surplus = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || a[key] !== b[key]) return false;
    surplus += 1;
  }
  for (const _ in b) surplus -= 1;
  return surplus === 0;
}

function sameTopology(a: ClusterTopology | undefined, b: ClusterTopology | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  if (a.className !== b.className || a.version !== b.version) return false;
  if (!isDeepStrictEqual(a.pinnedWorkers, b.pinnedWorkers)) return false;
  const [packedA, packedB] = [packedVariables(a), packedVariables(b)];
  // Unpacked variables may be megabytes.
  if (packedA !== undefined && packedB !== undefined) return packedA === packedB;
  return a.variables === b.variables;
}
