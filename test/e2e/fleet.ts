/** The whole thing: control plane, Cluster API, HookPolicy, and what tests ask of them again and again. */

import type { DecisionRow, HookPolicyStatus, RuleSpec } from "../../src/api/hookpolicy.ts";
import type { HookName } from "../../src/api/runtimehooks.ts";
import { type ClusterApi, installClusterApi, type InstallOptions } from "../controlplane/clusterapi.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/controlplane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, installLab } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  type Operator,
  type OperatorOptions,
  startOperator,
} from "../controlplane/operator.ts";

export interface Fleet {
  readonly cp: ControlPlane;
  readonly capi: ClusterApi;
  readonly operator: Operator;
}

/** Everything runs and Cluster API has discovered the operator. */
export async function startFleet(
  options: { readonly operator?: OperatorOptions; readonly clusterApi?: InstallOptions } = {},
): Promise<Fleet> {
  const cp = await startControlPlane();
  try {
    await installHookPolicy(cp);
    const [capi, operator] = await Promise.all([
      installClusterApi(cp, options.clusterApi),
      startOperator(cp, options.operator),
    ]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
    return { cp, capi, operator };
  } catch (error) {
    await cp.stop();
    throw error;
  }
}

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
  const { apiVersion, kind, ...metadata } = ref;
  if (ref.namespace !== undefined) {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: ref.namespace } });
  }
  const [applied] = await cp.apply({ apiVersion, kind, metadata, spec });
  const generation = applied?.metadata.generation;
  return await cp.waitFor(`${kind} ${ref.name} to be Ready`, async () => {
    const policy = await cp.get(ref);
    const ready = condition(policy, "Ready");
    return policy.status?.observedGeneration === generation && ready?.status === "True" && policy;
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
export async function heldRow(
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

/** The hooks of a Cluster in the order of the operator's first answers. */
export function hooksCalled(operator: Operator, cluster: string): string[] {
  const calls = operator
    .lines()
    .filter((line) => line["cluster"] === cluster && / is called, /.test(line.msg))
    .map(({ msg }) => msg.split(" ")[0] ?? "");
  return [...new Set(calls)];
}
