/** The kinds of objects that the command line knows, and their views for policy/. */

import { withoutNulls } from "../../api/fields.ts";
import {
  type ClusterHookPolicy,
  GROUP,
  type HookOverride,
  type HookPolicy,
  type HookRollout,
  VERSION,
} from "../../api/hookpolicy.ts";
import { CLUSTER_API_GROUP, type ObjectMeta } from "../../api/meta.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { type PolicyKind, policyName } from "../../policy/policyref.ts";

export type RawObject = Readonly<Record<string, unknown>>;

export const OWN_KINDS = ["HookPolicy", "ClusterHookPolicy", "HookOverride", "HookRollout"] as const;
export type OwnKind = (typeof OWN_KINDS)[number];

/** "velero.io" of velero.io/v1; "" of v1. */
export function groupOf({ apiVersion }: RawObject): string {
  return typeof apiVersion === "string" && apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** For any version of the group: the schema reports a version that is not supported. */
export function ownKind(object: RawObject): OwnKind | undefined {
  return groupOf(object) === GROUP ? OWN_KINDS.find((kind) => kind === object["kind"]) : undefined;
}

export function policyKind(object: RawObject): PolicyKind | undefined {
  const kind = ownKind(object);
  return kind === "HookOverride" || kind === "HookRollout" ? undefined : kind;
}

export function isCluster(object: RawObject): boolean {
  return groupOf(object) === CLUSTER_API_GROUP && object["kind"] === "Cluster";
}

export function isNamespace({ apiVersion, kind }: RawObject): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

/** A policy that is not created yet has no uid, but timers need one: its name is used instead. */
export function viewPolicy(kind: PolicyKind, raw: RawObject): HookPolicy | ClusterHookPolicy {
  const metadata = viewMetadata(raw["metadata"]);
  const { name, namespace } = metadata;
  const uid = metadata.uid || policyName({ kind, name, ...(namespace !== undefined && { namespace }) });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compilePolicy checks whether the spec is valid
  return view(kind, raw, { ...metadata, uid }) as unknown as HookPolicy | ClusterHookPolicy;
}

/** An override that is not created yet is created at `now`. */
export function viewOverride(raw: RawObject, now: Date): HookOverride {
  const metadata = viewMetadata(raw["metadata"]);
  const { name, creationTimestamp = now.toISOString() } = metadata;
  const uid = metadata.uid || `HookOverride ${name}`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileOverride checks whether the spec is valid
  return view("HookOverride", raw, { ...metadata, uid, creationTimestamp }) as unknown as HookOverride;
}

/** A rollout that is not created yet has no uid. */
export function viewRollout(raw: RawObject): HookRollout {
  const metadata = viewMetadata(raw["metadata"]);
  const uid = metadata.uid || `HookRollout ${metadata.name}`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema checks whether the spec is valid
  return view("HookRollout", raw, { ...metadata, uid }) as unknown as HookRollout;
}

function view(kind: OwnKind, { spec, status }: RawObject, metadata: ObjectMeta): object {
  return { apiVersion: `${GROUP}/${VERSION}`, kind, metadata, spec: withoutNulls(spec), status };
}
