/** The kinds of objects that the command line knows, and their views for policy/. */

import { isFields, withoutNulls } from "../../lib/fields.ts";
import { GROUP, type HookOverride, type HookRollout } from "../../api/hook-policy.ts";
import { CLUSTER_API_GROUP } from "../../api/meta.ts";
import type { PolicyObject } from "../../memory/policy-set.ts";
import { namespacedName, type ObjectName } from "../../lib/keys.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { storedOverride, type StoredObject, storedPolicy, storedRollout } from "../../memory/stored-views.ts";
import type { Reader } from "../../policy/mark-readers.ts";
import { objectKindKey } from "../../policy/watched-objects.ts";
import { type HolderRef, type PolicyKind, policyName } from "../../policy/policy-ref.ts";

export type RawObject = Readonly<Record<string, unknown>>;

export const OWN_KINDS = ["HookPolicy", "ClusterHookPolicy", "HookOverride", "HookRollout"] as const;
export type OwnKind = (typeof OWN_KINDS)[number];

/** The annotation of a HookRollout that says why a user has paused it; the operator does not read it. */
export const PAUSE_REASON = "hookpolicy.dev/pause-reason";

/** Of an object, or as a gate names it. */
type Kinded = Partial<Record<"apiVersion" | "kind", unknown>>;

/** "velero.io" of velero.io/v1; "" of v1. */
export function groupOf({ apiVersion }: Kinded): string {
  return typeof apiVersion === "string" && apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** As objectKindKey() of the kind. */
export function kindKeyOf({ apiVersion, kind }: RawObject): string {
  return objectKindKey({ apiVersion: String(apiVersion), kind: String(kind) });
}

/** "Backup.velero.io": the API server has each object in every version of its group. */
export function kindName(of: Kinded): string {
  return [String(of.kind), groupOf(of)].filter((part) => part !== "").join(".");
}

/** Accepts any version of the group: the schema reports a version that is not supported. */
export function ownKind(object: RawObject): OwnKind | undefined {
  return groupOf(object) === GROUP ? OWN_KINDS.find((kind) => kind === object["kind"]) : undefined;
}

/** The operator writes them; in files, they say what tasks have done. */
export function isHookTask(object: RawObject): boolean {
  return groupOf(object) === GROUP && object["kind"] === "HookTask";
}

export function policyKind(object: RawObject): PolicyKind | undefined {
  const kind = ownKind(object);
  return kind === "HookOverride" || kind === "HookRollout" ? undefined : kind;
}

/** The policy or rollout, in the namespace of `kubectl apply` if it names none; `undefined`: it is neither. */
export function holderRef(object: RawObject): HolderRef | undefined {
  const kind = ownKind(object);
  if (kind === undefined || kind === "HookOverride") return undefined;
  const { name, namespace = "default" } = viewMetadata(object["metadata"]);
  return { kind, name, ...(kind === "HookPolicy" && { namespace }) };
}

/** ClusterHookPolicies and HookRollouts, as readers of marks. */
export function platformIn(objects: readonly RawObject[]): readonly Reader[] {
  return objects
    .filter((object) => ["ClusterHookPolicy", "HookRollout"].includes(ownKind(object) ?? ""))
    .map(asReader);
}

export function asReader({ kind, metadata, spec }: RawObject): Reader {
  return { name: `${String(kind)} ${viewMetadata(metadata).name}`, spec };
}

/** "HookPolicy team-a/protect": in the namespace of `kubectl apply` where a Cluster or a HookPolicy names none. */
export function titleOf(object: RawObject): string {
  const isInDefault = isCluster(object) || ownKind(object) === "HookPolicy";
  const { namespace = isInDefault ? "default" : "", name } = placeOf(object);
  return `${String(object["kind"])} ${namespacedName({ namespace, name })}`;
}

/** The same for two objects of which one would replace the other. */
export function identityOf(object: RawObject): string {
  const { namespace = "default", name } = placeOf(object);
  return [groupOf(object), object["kind"], namespace, name].join(" ");
}

/** The API server drops a namespace from kinds that have none. */
function placeOf(object: RawObject): ObjectName {
  const { name, namespace } = viewMetadata(object["metadata"]);
  const kind = ownKind(object);
  return kind === undefined || kind === "HookPolicy" ? { name, namespace } : { name };
}

export function isCluster(of: Kinded): boolean {
  return groupOf(of) === CLUSTER_API_GROUP && of.kind === "Cluster";
}

export function isNamespace({ apiVersion, kind }: RawObject): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

/**
 * A policy that is not created yet has no uid, but timers need one: its name is used instead. An absent mode becomes the API
 * server's default, so that writing the default is no edit.
 */
export function viewPolicy(kind: PolicyKind, raw: RawObject): PolicyObject {
  const { spec, ...rest } = withoutNullsIn(raw);
  const defaulted = isFields(spec) ? { mode: "Enforce", ...spec } : spec;
  const policy = storedPolicy(kind, { ...rest, spec: defaulted });
  const { metadata } = policy;
  return { ...policy, metadata: { ...metadata, uid: metadata.uid || policyName({ kind, ...metadata }) } };
}

/** An override that is not created yet is created at `now`. */
export function viewOverride(raw: RawObject, now: Date): HookOverride {
  const override = storedOverride(withoutNullsIn(raw));
  const { name, uid, creationTimestamp = now.toISOString() } = override.metadata;
  return {
    ...override,
    metadata: { ...override.metadata, uid: uid || `HookOverride ${name}`, creationTimestamp },
  };
}

/** A rollout that is not created yet has no uid. Its annotations tell why it was paused. */
export function viewRollout(raw: RawObject): HookRollout {
  const rollout = storedRollout(withoutNullsIn(raw));
  const { name, uid } = rollout.metadata;
  return { ...rollout, metadata: { ...viewMetadata(raw.metadata), uid: uid || `HookRollout ${name}` } };
}

/** In a file, null means absent. */
function withoutNullsIn({ metadata, spec, status }: RawObject): StoredObject {
  return { metadata, spec: withoutNulls(spec), status };
}
