/** Policies as tests write them, and what tests wait for in their status. */

import type {
  DecisionRow,
  HookOverrideSpec,
  HookPolicyStatus,
  HookRolloutSpec,
  RecentResult,
  RuleSpec,
} from "../../src/api/hook-policy.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import { type KubeObject, type Ref, objectOf, refOf } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { clusterRef } from "./lab.ts";

export const APPROVED = "hooks.example.com/approved";

/** Held until the annotation is on the Cluster; asked every 5 s, so that tests do not wait long. */
export function approvalRule(hook: HookName, key = APPROVED): RuleSpec {
  return {
    name: "approval",
    hooks: [hook],
    until: [{ name: "approved", annotation: { key } }],
    retryAfterSeconds: 5,
  };
}

export function policyRef(namespace: string, name: string): Ref {
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy", namespace, name };
}

export function clusterPolicyRef(name: string): Ref {
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "ClusterHookPolicy", name };
}

/** Creates the namespace, too, and waits until the policy is in force. */
export async function applyPolicy(cp: ControlPlane, ref: Ref, spec: object): Promise<KubeObject> {
  return await policyIsReady(cp, await storePolicy(cp, ref, spec));
}

/** Creates the namespace, too. Whether the policy can be in force is another question. */
export async function storePolicy(cp: ControlPlane, ref: Ref, spec: object): Promise<KubeObject> {
  if (ref.namespace !== undefined) {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: ref.namespace } });
  }
  const outcome = await cp.waitFor(`${ref.kind} ${ref.name} to be reviewed`, async () => {
    const [result] = await Promise.allSettled([cp.apply(objectOf(ref, { spec }))]);
    // A review that could not be made in time says so.
    return !(result.status === "rejected" && /: try again/.test(String(result.reason))) && result;
  });
  if (outcome.status === "rejected") throw outcome.reason;
  const [stored] = outcome.value;
  if (stored === undefined) throw new Error(`${ref.kind} ${ref.name} was not stored`);
  return stored;
}

export function overrideRef(name: string): Ref {
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name };
}

/** For an hour, unless the spec says otherwise. */
export async function storeOverride(
  cp: ControlPlane,
  name: string,
  spec: Pick<HookOverrideSpec, "clusterRef" | "hooks"> & Partial<HookOverrideSpec>,
): Promise<Ref> {
  await storePolicy(cp, overrideRef(name), { reason: "a test", expiresAt: inSeconds(3600), ...spec });
  return overrideRef(name);
}

/** Of the upgrades of all Clusters. */
export async function storeRollout(
  cp: ControlPlane,
  name: string,
  over: Partial<HookRolloutSpec> = {},
): Promise<Ref> {
  const ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", name };
  const spec = { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h", ...over };
  await storePolicy(cp, ref, spec);
  return ref;
}

/** In force, in this generation or a later one. */
export async function policyIsReady(cp: ControlPlane, stored: KubeObject): Promise<KubeObject> {
  const ref = refOf(stored);
  return await cp.waitFor(`${ref.kind} ${ref.name} to be Ready`, async () => {
    const policy = await cp.get(ref);
    const ready = condition(policy, "Ready");
    return (
      policy.status?.observedGeneration >= (stored.metadata.generation ?? 0) &&
      ready?.status === "True" &&
      policy
    );
  });
}

export function statusOf(object: KubeObject): HookPolicyStatus {
  return object.status ?? {};
}

export function condition(
  object: KubeObject,
  type: string,
): { status: string; reason: string; message: string } | undefined {
  return statusOf(object).conditions?.find((c) => c.type === type);
}

export async function approve(
  cp: ControlPlane,
  namespace: string,
  name: string,
  key = APPROVED,
): Promise<void> {
  await cp.patch(clusterRef(namespace, name), { metadata: { annotations: { [key]: "true" } } });
}

/** The row of the policy's status about this Cluster and hook, once it is there. */
export async function policyRow(
  cp: ControlPlane,
  policy: Ref,
  cluster: string,
  hook: HookName,
): Promise<DecisionRow> {
  return await cp.waitFor(`${policy.name} to report ${hook} of ${cluster}`, async () =>
    statusOf(await cp.get(policy)).decisions?.find((row) => row.cluster === cluster && row.hook === hook),
  );
}

export async function noRow(cp: ControlPlane, policy: Ref, cluster: string, hook: HookName): Promise<void> {
  await cp.waitFor(`${policy.name} not to report ${hook} of ${cluster} any more`, async () => {
    const rows = statusOf(await cp.get(policy)).decisions ?? [];
    return !rows.some((row) => row.cluster === cluster && row.hook === hook);
  });
}

/** The policy's condition, once it has that reason. */
export async function conditionIs(
  cp: ControlPlane,
  policy: Ref,
  type: string,
  reason: string,
): Promise<{ status: string; reason: string; message: string }> {
  return await cp.waitFor(`${type} of ${policy.name} to be ${reason}`, async () => {
    const found = condition(await cp.get(policy), type);
    return found?.reason === reason && found;
  });
}

/** The last result of the policy, once there is one for this Cluster. */
export async function resultOf(cp: ControlPlane, policy: Ref, cluster: string): Promise<RecentResult> {
  return await cp.waitFor(`${policy.name} to record a result of ${cluster}`, async () =>
    statusOf(await cp.get(policy)).recent?.find((result) => result.cluster === cluster),
  );
}

/** A status may be five seconds behind (MAX_BEHIND_MS). */
const AT_REST_MS = 8000;

/** What `read` gives once it has been the same for so long that no write of a status is due. */
export async function atRest<T>(cp: ControlPlane, read: () => Promise<T>): Promise<T> {
  let last = await read();
  let since = performance.now();
  return await cp.waitFor("the statuses to be at rest", async () => {
    const now = await read();
    if (JSON.stringify(now) !== JSON.stringify(last)) since = performance.now();
    last = now;
    return performance.now() - since > AT_REST_MS && now;
  });
}

/** The Event about that object, once it is there. */
export async function eventAbout(
  cp: ControlPlane,
  { namespace = "default", kind, name }: Omit<Ref, "apiVersion">,
  reason: string,
): Promise<KubeObject> {
  const events = { apiVersion: "events.k8s.io/v1", kind: "Event", namespace };
  return await cp.waitFor(`an Event ${reason} about ${kind} ${name}`, async () =>
    (await cp.list(events)).find(
      (event) =>
        event["reason"] === reason && event["regarding"].kind === kind && event["regarding"].name === name,
    ),
  );
}

/** A whole second, as policies say it and statuses tell it. */
export function inSeconds(seconds: number): string {
  const ms = Math.ceil(Date.now() / 1000 + seconds) * 1000;
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

export function untilTime(time: string): number {
  return Math.max(0, Date.parse(time) - Date.now());
}
