/** Finds what keeps the HookOverrides of files from having an effect. */

import type { HookOverride } from "../../api/hook-policy.ts";
import { fieldsOf, textOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { compileOverride } from "../../policy/compile-override.ts";
import { missingTargets, type Targets, UID } from "../../policy/override-targets.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { NAMES_NOTHING, OVERRIDE_EXPIRED } from "../../policy/validation/accepted.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { holderRef, isCluster, ownKind, type RawObject, viewOverride } from "./kinds.ts";
import type { ClusterName } from "./live-cluster.ts";
import type { SourceObject } from "../files/parsed.ts";

interface KnownTargets {
  /** Their uids: a Cluster in Git has none. */
  readonly clusters: ReadonlyMap<string, string | undefined>;
  readonly holders: ReadonlySet<string>;
}

export function knownTo(objects: readonly RawObject[]): KnownTargets {
  const clusters = objects.filter(isCluster).map((object) => {
    const { namespace = "default", name, uid } = viewMetadata(object["metadata"]);
    return [namespacedName({ namespace, name }), uid === "" ? undefined : uid] as const;
  });
  return {
    clusters: new Map(clusters),
    holders: new Set(objects.flatMap((object) => holderRef(object) ?? []).map(policyName)),
  };
}

/** Says nothing about Clusters if there are none, and nothing about policies and rollouts if there are none. */
export function namesNothing(
  { spec }: HookOverride,
  { clusters, holders }: KnownTargets,
): readonly FieldError[] {
  const targets: Targets = {
    cluster: (namespace, name) => {
      const place = namespacedName({ namespace, name });
      if (clusters.size > 0 && !clusters.has(place)) return undefined;
      const uid = clusters.get(place) ?? spec.clusterRef.uid;
      return { metadata: uid === undefined ? {} : { uid } };
    },
    has: (ref) => holders.size === 0 || holders.has(policyName(ref)),
  };
  return missingTargets(spec, targets).map(({ path, message }) => ({
    path,
    id: NAMES_NOTHING,
    message: path === UID ? message : `${message} in the files`,
  }));
}

/** Of two overrides with different uids, at most one means the Cluster, and a Cluster without a uid does not tell which. */
export function otherUIDs(
  overrides: readonly SourceObject[],
  objects: readonly RawObject[],
): ReadonlyMap<SourceObject, FieldError> {
  const { clusters } = knownTo(objects);
  const uids = new Map<string, string>();
  const found = new Map<SourceObject, FieldError>();
  for (const source of overrides.filter(({ object }) => ownKind(object) === "HookOverride")) {
    const { clusterRef, expiresAt } = fieldsOf(source.object["spec"]);
    const { namespace, name, uid } = fieldsOf(clusterRef);
    const place = namespacedName({ namespace: textOf(namespace), name: textOf(name) });
    // It stays as a record, also of an earlier Cluster of the name.
    if (new Date(String(expiresAt)) <= new Date()) continue;
    if (typeof uid !== "string" || !clusters.has(place) || clusters.get(place) !== undefined) continue;
    const first = uids.get(place) ?? uid;
    uids.set(place, first);
    const message = `another override names ${first}, and Cluster ${place} has no uid in the files: write its metadata.uid`;
    if (uid !== first) found.set(source, { path: UID, message });
  }
  return found;
}

interface Lifetime {
  readonly maxOverrideMs: number;
  readonly now: Date;
}

/** Why overrides of the Cluster, or of one that does not exist, have no effect. */
export function idleOverrides(
  objects: readonly RawObject[],
  cluster: ClusterName,
  lifetime: Lifetime,
): readonly string[] {
  const known = knownTo(objects);
  return objects
    .filter((object) => ownKind(object) === "HookOverride")
    .map((object) => viewOverride(object, new Date()))
    .flatMap((override) => {
      const { problem, clusterRef } = compileOverride(override, lifetime.maxOverrideMs);
      const place = namespacedName(clusterRef);
      if (place !== namespacedName(cluster) && known.clusters.has(place)) return [];
      const named = problem?.reason === "InvalidSpec" ? [] : namesNothing(override, known);
      return [...lifetimeProblems(override, lifetime), ...named].map(
        ({ path, message }) => `HookOverride ${override.metadata.name}: ${path}: ${message}`,
      );
    });
}

/** For an override that fits the schema. Its effect also depends on its creation and on a flag of the operator. */
export function lifetimeProblems(
  override: HookOverride,
  { maxOverrideMs, now }: Lifetime,
): readonly FieldError[] {
  const { problem, expiresAt } = compileOverride(override, maxOverrideMs);
  const path = "spec.expiresAt";
  if (problem?.reason === "InvalidSpec") return [{ path: "spec", message: problem.message }];
  if (expiresAt <= now)
    return [{ path, id: OVERRIDE_EXPIRED, message: "has passed: the override has no effect" }];
  return problem === undefined ? [] : [{ path, id: "override-without-effect", message: problem.message }];
}
