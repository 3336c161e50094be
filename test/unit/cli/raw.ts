/** Objects as files and the API server have them: each is valid, and a test says what is different. */

import type { RawObject } from "../../../src/cli/fleet/kinds.ts";

const OWN = "hookpolicy.dev/v1alpha1";

/** A name, a "namespace/name", or metadata. */
type Id = string | object;
type Raw = RawObject & {
  readonly apiVersion: string;
  readonly metadata: RawObject;
  readonly spec: RawObject;
};

function metadataOf(id: Id): RawObject {
  if (typeof id !== "string") return { ...id };
  const [name, ...namespace] = id.split("/").toReversed();
  return namespace.length === 0 ? { name } : { namespace: namespace[0], name };
}

export function rawNamespace(id: Id = "team-a"): RawObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", ...metadataOf(id) } };
}

/** Cluster team-a/prod-1. */
export function rawCluster(id: Id = "prod-1"): Raw {
  const metadata = { namespace: "team-a", name: "prod-1", ...metadataOf(id) };
  const spec = { topology: { classRef: { name: "lab" }, version: "v1.35.0" } };
  return { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", metadata, spec };
}

/** A HookPolicy in team-a. */
export function rawPolicy(id: Id, spec: object): Raw {
  const metadata = { namespace: "team-a", ...metadataOf(id) };
  return { apiVersion: OWN, kind: "HookPolicy", metadata, spec: { ...spec } };
}

/** A ClusterHookPolicy of every namespace. */
export function rawFleetPolicy(id: Id, spec: object): Raw {
  const metadata = metadataOf(id);
  return { apiVersion: OWN, kind: "ClusterHookPolicy", metadata, spec: { namespaceSelector: {}, ...spec } };
}

export const RAW_POLICIES = { HookPolicy: rawPolicy, ClusterHookPolicy: rawFleetPolicy };

/** A HookRollout of every namespace. */
export function rawRollout(id: Id, spec: object = {}): Raw {
  const standard = { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h" };
  return { apiVersion: OWN, kind: "HookRollout", metadata: metadataOf(id), spec: { ...standard, ...spec } };
}

/** A whole second, for `expiresAt` and the times of commands. */
export function inHours(hours: number): string {
  return `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19)}Z`;
}

/** A HookOverride of the deletion of team-a/prod-1. */
export function rawOverride(
  id: Id,
  spec: { readonly expiresAt: string; readonly [field: string]: unknown },
): Raw {
  const clusterRef = { namespace: "team-a", name: "prod-1" };
  const standard = { clusterRef, hooks: ["BeforeClusterDelete"], reason: "a test" };
  return { apiVersion: OWN, kind: "HookOverride", metadata: metadataOf(id), spec: { ...standard, ...spec } };
}
