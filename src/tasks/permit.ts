/** Whether the operation of a HookTask has ended, and whether an attempt may begin. Pure. */

import type { HookTask, HookTaskSpec } from "../api/hook-policy.ts";
import type { Cluster, StoredNamespace } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import { hasEnded } from "../operations/operation.ts";
import { isBeingDeleted, isPending, isWanted, type ServedUpgrades } from "../operations/hook-lives.ts";
import { stepOf } from "../operations/call.ts";
import { matches } from "../policy/decide.ts";
import { covers, isActive } from "../policy/world.ts";
import type { OverrideSet } from "../memory/override-set.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { CompiledTask } from "../policy/tasks/compile-task.ts";
import type { TaskIdentity } from "../policy/tasks/task-identity.ts";
import { hasFinished } from "./task-progress.ts";

/** Whether a further attempt may begin, as Cluster and policy show it. */
export type Permit =
  | { readonly may: "Begin" }
  /** Nothing to do until time has passed or another event arrives; `why`: what a user can do about it. */
  | { readonly may: "Wait"; readonly why?: string | undefined }
  /** The task is not wanted any more. */
  | { readonly may: "Never"; readonly why: string };

function callOf({ hook, request }: HookTaskSpec): HookCall {
  return { hook, ...request };
}

export function isOperationOver(
  task: Pick<HookTask, "spec" | "status">,
  cluster: Cluster | undefined,
  served: ServedUpgrades,
  policy: CompiledPolicy | undefined,
): boolean {
  const { spec } = task;
  const { hook, clusterRef, step } = spec;
  if (cluster === undefined || cluster.metadata.uid !== clusterRef.uid) return true;
  if (cluster.tooLarge === true) return false;
  // Cluster API does not wait there, so the tasks outlive the hook.
  if (hook === "AfterControlPlaneInitialized")
    return isBeingDeleted(cluster) || (isSettled(task, policy) && !isPending(cluster, hook));
  // The version that the whole upgrade leads to.
  if (step !== undefined && cluster.topology?.version !== step) return true;
  // Only the hooks of a step have one in the HookTask.
  const known = { clusterUID: clusterRef.uid, call: callOf(spec), step: stepOf(hook, cluster), marked: true };
  return hasEnded(known, cluster, served);
}

/** The policy, as far as it still has the task. */
export function taskIn(policy: CompiledPolicy | undefined, spec: TaskIdentity): CompiledTask | undefined {
  if (policy?.uid !== spec.policyRef.uid) return undefined;
  const rule = policy.rules.find(({ name, hooks }) => name === spec.rule && hooks.has(spec.hook));
  return rule?.tasks.find(({ name, actionHash }) => name === spec.task && actionHash === spec.actionHash);
}

/** Whether the policy may still have the task, and does not show it: it is too large for memory, or not understood. */
export function hidesTask(policy: CompiledPolicy | undefined, spec: TaskIdentity): boolean {
  if (policy?.uid !== spec.policyRef.uid || taskIn(policy, spec) !== undefined) return false;
  const isBroken = policy.rules.some(
    ({ name, problem }) => problem !== undefined && (name === spec.rule || name === ""),
  );
  return policy.tooLarge === true || isBroken;
}

/** Whether the task needs nothing more, nor a person: one that has failed waits for a retry while its policy holds for it. */
function isSettled(
  { spec, status }: Pick<HookTask, "spec" | "status">,
  policy: CompiledPolicy | undefined,
): boolean {
  if (status?.phase !== "Failed") return hasFinished({ status });
  const holds = policy?.mode === "Enforce" && taskIn(policy, spec)?.onFailure === "Hold";
  return !holds && !hidesTask(policy, spec);
}

/** What is known of a HookTask's Cluster and policy. */
export interface PermitWorld {
  /** `undefined`: there is none of this name. */
  readonly cluster: Cluster | undefined;
  readonly namespace: StoredNamespace | undefined;
  readonly policy: CompiledPolicy | undefined;
  readonly overrides: Pick<OverrideSet, "ofCluster">;
  readonly served: ServedUpgrades;
  readonly now: Date;
}

/** As Cluster, policy and overrides show it; other HookTasks and HookRollouts may still make it wait. */
export function permitOf(task: HookTask, world: PermitWorld): Permit {
  const { spec } = task;
  const { cluster, policy, served } = world;
  if (cluster === undefined || cluster.metadata.uid !== spec.clusterRef.uid)
    return never("the Cluster is gone");
  if (isOperationOver(task, cluster, served, policy))
    return never("the operation has ended, or is no longer wanted");
  if (policy?.uid !== spec.policyRef.uid) return never("the policy is gone");
  if (policy.mode !== "Enforce") return never("the policy only audits");
  if (hidesTask(policy, spec)) return { may: "Wait", why: "its policy cannot be evaluated now" };
  if (taskIn(policy, spec) === undefined) return never("the policy does not have this task any more");
  return permitIn(task, { ...world, cluster, policy });
}

type Known = PermitWorld & { readonly cluster: Cluster; readonly policy: CompiledPolicy };

/** What a policy that has the task lets it do. */
function permitIn({ spec, metadata }: HookTask, known: Known): Permit {
  const { cluster, policy, served } = known;
  // Its ServiceAccount would be another one of the same name.
  if (policy.account?.namespace !== (metadata.namespace ?? ""))
    return never("the policy's ServiceAccount is in another namespace");
  const selected = matches(policy, known);
  if (selected === "no") return never("the policy does not select the Cluster any more");
  const why = whyNotNow(spec, known);
  // Cluster API asks there once, so what is cancelled would never be done.
  if (why !== undefined && spec.hook !== "AfterControlPlaneInitialized") return never(why);
  const mayBegin = why === undefined && selected === "yes" && isShown(spec, cluster, served);
  return { may: mayBegin ? "Begin" : "Wait" };
}

function never(why: string): Permit {
  return { may: "Never", why };
}

/** What may pass. */
function whyNotNow({ hook }: HookTaskSpec, { cluster, policy, overrides, now }: Known): string | undefined {
  if (cluster.paused) return "the Cluster is paused";
  const active = overrides
    .ofCluster(cluster)
    .find((override) => isActive(override, cluster, hook, now) && covers(override, policy.ref));
  return active && `HookOverride ${active.name} releases the Cluster without it`;
}

/** At AfterControlPlaneInitialized, it is enough that the Cluster exists. */
function isShown(spec: HookTaskSpec, cluster: Cluster, served: ServedUpgrades): boolean {
  return spec.hook === "AfterControlPlaneInitialized" || isWanted(callOf(spec), cluster, served);
}

/** At most one HookTask of a policy, rule, task and Cluster runs at a time. */
export function taskRunKey({ spec: { policyRef, rule, task, clusterRef } }: Pick<HookTask, "spec">): string {
  return [policyRef.uid, rule, task, clusterRef.uid].join("/");
}

/** What expressions can read of a Cluster that is gone. */
export function goneCluster({ namespace, name, uid }: HookTask["spec"]["clusterRef"]): Cluster {
  return { metadata: { namespace, name, uid, resourceVersion: "" }, paused: false, created: false };
}
