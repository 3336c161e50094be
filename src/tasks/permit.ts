/** Whether the operation of a HookTask has ended, and whether an attempt may begin. Pure. */

import type { HookTask, HookTaskSpec } from "../api/hook-policy.ts";
import type { Cluster, StoredNamespace } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import { hasEnded } from "../operations/operation.ts";
import { isBeingDeleted, isPending, isWanted, type ServedUpgrades } from "../operations/hook-lives.ts";
import { stepOf } from "../operations/call.ts";
import { matches } from "../policy/decide.ts";
import { covers, isActive, type Override } from "../policy/world.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { CompiledTask } from "../policy/tasks/compile-task.ts";
import { hasFinished } from "./task-progress.ts";

/** Whether a further attempt may begin, as Cluster and policy show it. */
export type Permit =
  | { readonly may: "Begin" }
  /** Nothing to do until time has passed or another event arrives; `why`: what a user can do about it. */
  | { readonly may: "Wait"; readonly why?: string }
  /** The task is not wanted any more. */
  | { readonly may: "Never"; readonly why: string };

/** The parts of a spec that say which task of which operation it is. */
export type TaskOrigin = Pick<
  HookTaskSpec,
  "policyRef" | "rule" | "task" | "actionHash" | "clusterRef" | "hook" | "version" | "step" | "request"
>;

function callOf({ hook, request }: Pick<TaskOrigin, "hook" | "request">): HookCall {
  return { hook, ...request };
}

/** `isTaskSettled`: isSettled() of the HookTask. */
export function isOperationOver(
  spec: TaskOrigin,
  cluster: Cluster | undefined,
  served: ServedUpgrades,
  isTaskSettled: boolean,
): boolean {
  const { hook, clusterRef, step } = spec;
  if (cluster === undefined || cluster.metadata.uid !== clusterRef.uid) return true;
  if (cluster.tooLarge === true) return false;
  // Cluster API does not wait there, so the tasks outlive the hook.
  if (hook === "AfterControlPlaneInitialized")
    return isBeingDeleted(cluster) || (isTaskSettled && !isPending(cluster, hook));
  // The version that the whole upgrade leads to.
  if (step !== undefined && cluster.topology?.version !== step) return true;
  // Only the hooks of a step have one in the HookTask.
  const known = { clusterUID: clusterRef.uid, call: callOf(spec), step: stepOf(hook, cluster), marked: true };
  return hasEnded(known, cluster, served);
}

/** The policy, as far as it still has the task. */
export function taskIn(policy: CompiledPolicy | undefined, spec: TaskOrigin): CompiledTask | undefined {
  if (policy?.uid !== spec.policyRef.uid) return undefined;
  const rule = policy.rules.find(({ name, hooks }) => name === spec.rule && hooks.has(spec.hook));
  return rule?.tasks.find(({ name, actionHash }) => name === spec.task && actionHash === spec.actionHash);
}

/** Whether the policy may still have the task, and does not show it: it is too large for memory, or not understood. */
export function hidesTask(policy: CompiledPolicy | undefined, spec: TaskOrigin): boolean {
  if (policy?.uid !== spec.policyRef.uid || taskIn(policy, spec) !== undefined) return false;
  const isBroken = policy.rules.some(
    ({ name, problem }) => problem !== undefined && (name === spec.rule || name === ""),
  );
  return policy.tooLarge === true || isBroken;
}

/** Whether the task needs nothing more, nor a person: one that has failed waits for a retry while its policy holds for it. */
export function isSettled(
  { spec, status }: Pick<HookTask, "spec" | "status">,
  policy: CompiledPolicy | undefined,
): boolean {
  if (status?.phase !== "Failed") return hasFinished({ status });
  const holds = policy?.mode === "Enforce" && taskIn(policy, spec)?.onFailure === "Hold";
  return !holds && !hidesTask(policy, spec);
}

export interface PermitInput {
  readonly spec: TaskOrigin;
  /** The HookTask's namespace. */
  readonly home: string;
  /** `undefined`: there is none of this name. */
  readonly cluster: Cluster | undefined;
  readonly namespace: StoredNamespace | undefined;
  readonly policy: CompiledPolicy | undefined;
  readonly overrides: readonly Override[];
  readonly served: ServedUpgrades;
  readonly now: Date;
  /** Whether another run of the task is under way, or the HookTask before it has not ended well. */
  readonly mustWait: boolean;
  /** Whether a HookRollout has no slot for the Cluster. */
  readonly lacksSlot: boolean;
}

const WAIT: Permit = { may: "Wait" };

export function permitOf(input: PermitInput): Permit {
  const { spec, cluster, namespace, policy, served, mustWait, lacksSlot } = input;
  const task = taskIn(policy, spec);
  const never = whyNever(input, task);
  if (never !== undefined) return { may: "Never", why: never };
  if (hidesTask(policy, spec)) return { may: "Wait", why: "its policy cannot be evaluated now" };
  if (cluster === undefined || task === undefined || policy === undefined) return WAIT;
  const waits =
    mustWait ||
    whyNotNow(input) !== undefined ||
    (task.begins === "Last" && lacksSlot) ||
    !isShown(spec, cluster, served);
  return waits || matches(policy, { cluster, namespace }) !== "yes" ? WAIT : { may: "Begin" };
}

function whyNever(input: PermitInput, task: CompiledTask | undefined): string | undefined {
  const { spec, cluster, policy, served } = input;
  if (cluster === undefined || cluster.metadata.uid !== spec.clusterRef.uid) return "the Cluster is gone";
  if (isOperationOver(spec, cluster, served, false)) return "the operation has ended, or is no longer wanted";
  if (policy?.uid !== spec.policyRef.uid) return "the policy is gone";
  if (policy.mode !== "Enforce") return "the policy only audits";
  if (hidesTask(policy, spec)) return undefined;
  if (task === undefined) return "the policy does not have this task any more";
  const elsewhere = whyElsewhere({ ...input, cluster, policy });
  // Cluster API asks there once, so what is cancelled would never be done.
  return elsewhere ?? (spec.hook === "AfterControlPlaneInitialized" ? undefined : whyNotNow(input));
}

type Known = PermitInput & { readonly cluster: Cluster; readonly policy: CompiledPolicy };

function whyElsewhere({ home, cluster, namespace, policy }: Known): string | undefined {
  // Its ServiceAccount would be another one of the same name.
  if (policy.account?.namespace !== home) return "the policy's ServiceAccount is in another namespace";
  const isSelected = matches(policy, { cluster, namespace }) !== "no";
  return isSelected ? undefined : "the policy does not select the Cluster any more";
}

/** What may pass. */
function whyNotNow({ spec, cluster, policy, overrides, now }: PermitInput): string | undefined {
  if (cluster === undefined || policy === undefined) return undefined;
  if (cluster.paused) return "the Cluster is paused";
  const active = overrides.find(
    (override) => isActive(override, cluster, spec.hook, now) && covers(override, policy.ref),
  );
  return active && `HookOverride ${active.name} releases the Cluster without it`;
}

/** At AfterControlPlaneInitialized, it is enough that the Cluster exists. */
function isShown(spec: TaskOrigin, cluster: Cluster, served: ServedUpgrades): boolean {
  return spec.hook === "AfterControlPlaneInitialized" || isWanted(callOf(spec), cluster, served);
}
