/** The Events about what happens to policies and overrides. */

import { conditionOf } from "../api/meta.ts";
import { clusterReference, type EventText, ownReference } from "../api/event-text.ts";
import { CONDITION, type HookPolicyStatus, type RecentResult } from "../api/hook-policy.ts";
import { timestamp } from "../lib/instant.ts";
import { operationKey, type PendingOperation } from "../operations/operation.ts";
import type { PolicyRow } from "../operations/rows.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { ClusterCall, Override } from "../policy/world.ts";
import type { DeadlineStep } from "./policy-entry.ts";

type Holder = Pick<CompiledPolicy, "ref" | "uid">;

/** `isNear`: less than the rule's warnBefore is left until its deadline. */
export function held({ ref, uid }: Holder, row: PolicyRow, isNear: boolean): EventText {
  const { namespace, cluster, hook, rule, verdict, reason, message, step } = row;
  return {
    identity: ["Held", identityOf(uid, row), step, rule].join(" "),
    type: verdict === "NotEvaluable" || isNear ? "Warning" : "Normal",
    reason: "Held",
    note: `${hook} is held by ${policyName(ref)}, rule ${rule}: ${message}`,
    policyNote: () => `Rule ${rule} holds ${hook} of Cluster ${namespace}/${cluster} (${reason})`,
    ...aboutOperation(row, { ref, uid }),
  };
}

export type TornDownRow = PolicyRow & Required<Pick<PolicyRow, "tornDown">>;

/** Others delete what a held Cluster owns. */
export function tornDownEvent({ ref, uid }: Holder, row: TornDownRow): EventText {
  const { namespace, cluster, hook, step, tornDown: found } = row;
  return {
    identity: ["TornDown", identityOf(uid, row), step, found.reason].join(" "),
    type: "Warning",
    reason: "TornDown",
    note: `${policyName(ref)} holds ${hook}, but ${found.message}. Run hookpolicy explain ${namespace}/${cluster}`,
    policyNote: () =>
      `Others delete what Cluster ${namespace}/${cluster} owns, although ${hook} is held (${found.reason})`,
    ...aboutOperation(row, { ref, uid }),
  };
}

/** An operation that the policy has held proceeds. */
export function released({ ref, uid }: Holder, result: RecentResult): EventText {
  const { namespace, cluster, hook, reason } = result;
  return {
    identity: ["Released", identityOf(uid, result)].join(" "),
    type: "Normal",
    reason: "Released",
    note: `${hook} proceeds: ${policyName(ref)} does not hold it any more (${reason})`,
    policyNote: () => `${hook} of Cluster ${namespace}/${cluster} proceeds (${reason})`,
    ...aboutOperation(result, { ref, uid }),
  };
}

/** An operation has proceeded that the policy would have held, or could not evaluate. */
export function notHeld({ ref, uid }: Holder, result: RecentResult): EventText {
  const { namespace, cluster, hook, verdict, rule, reason, message } = result;
  const failed = verdict === "NotEvaluable";
  const by = `${policyName(ref)}, rule ${rule}`;
  const about = failed ? `although ${by} could not be evaluated` : `which ${by} would hold in mode Enforce`;
  const brief = failed ? "although it could not be evaluated" : "which it would hold in mode Enforce";
  return {
    identity: ["NotHeld", identityOf(uid, result), verdict].join(" "),
    type: failed ? "Warning" : "Normal",
    reason: verdict,
    note: `${hook} has proceeded, ${about}: ${message ?? reason}`,
    policyNote: () =>
      `Rule ${rule}: ${hook} of Cluster ${namespace}/${cluster} has proceeded, ${brief} (${reason})`,
    ...aboutOperation(result, { ref, uid }),
  };
}

/** An upgrade that the policy holds proceeds, because Cluster API does not ask about its version. */
export function notAsked({ ref, uid }: Holder, result: RecentResult): EventText {
  const { namespace, cluster, hook, rule = "", reason = "", message, targetVersion = "" } = result;
  const why = `the version changed to ${targetVersion} while an upgrade ran, so Cluster API proceeds without ${hook}`;
  return {
    identity: ["NotAsked", identityOf(uid, result)].join(" "),
    type: "Warning",
    reason: "NotAsked",
    note: `${why}, which ${policyName(ref)}, rule ${rule}, holds: ${message ?? reason}`,
    policyNote: () => `Rule ${rule} holds Cluster ${namespace}/${cluster}, but ${why} (${reason})`,
    ...aboutOperation(result, { ref, uid }),
  };
}

/** A request was refused at admission, for the first time for its Cluster and rule. */
export function refused({ ref, uid }: Holder, result: RecentResult): EventText {
  const { namespace, cluster, hook, rule = "", reason = "", message, targetVersion } = result;
  const request =
    hook === "BeforeClusterDelete" ? "deletion" : `upgrade to ${targetVersion ?? "its version"}`;
  return {
    identity: ["Refused", identityOf(uid, result), rule].join(" "),
    type: "Normal",
    reason: "Refused",
    note: `A request for the ${request} was refused by ${policyName(ref)}, rule ${rule}: ${message ?? reason}`,
    policyNote: () =>
      `Rule ${rule} refused a request for the ${request} of Cluster ${namespace}/${cluster} (${reason})`,
    ...aboutOperation(result, { ref, uid }),
  };
}

type NamedOperation = Pick<RecentResult, "namespace" | "cluster" | "clusterUID" | "hook" | "targetVersion">;

function identityOf(policyUID: string, { clusterUID, hook, targetVersion = "" }: NamedOperation): string {
  return [policyUID, operationKey(clusterUID, hook), targetVersion].join(" ");
}

function aboutOperation(
  { namespace, cluster, clusterUID, hook }: NamedOperation,
  { ref, uid }: Holder,
): Pick<EventText, "action" | "regarding" | "related"> {
  return {
    action: hook,
    regarding: clusterReference(namespace, cluster, clusterUID),
    related: ownReference(ref, uid),
  };
}

export interface PassedStep {
  readonly rule: string;
  readonly step: DeadlineStep;
  readonly deadlineAt: Date;
  /** Whether the deadline releases the operation. */
  readonly releases: boolean;
  /** Whether the rule has tasks, past which no deadline releases. */
  readonly hasTasks: boolean;
  /** The rule holds the operation now. */
  readonly holds: boolean;
}

export function deadlineStep(
  { ref, uid }: Holder,
  operation: PendingOperation,
  passed: PassedStep,
): EventText {
  const { rule, step, deadlineAt, releases, hasTasks, holds } = passed;
  const { hook } = operation.call;
  const key = operationKey(operation.clusterUID, hook);
  const expired = step === 100;
  const holder = `${policyName(ref)}, rule ${rule}`;
  const at = timestamp(deadlineAt);
  const near =
    step === "Near"
      ? `its deadline, ${at}, is near`
      : `${step} % of the time until its deadline, ${at}, has passed`;
  const releasing = hasTasks ? "this rule then waits for its tasks alone" : "this rule releases it then";
  const afterwards = releases ? releasing : "it stays held then, too";
  const coming = `${hook} is held by ${holder}; ${near}: ${afterwards}`;
  const over = holds
    ? `${hook} is held by ${holder}, although its deadline passed at ${at}${releases ? ": it waits for its tasks alone" : ""}`
    : `${hook} was held by ${holder} until its deadline, ${at}: this rule does not hold it any more`;
  return {
    identity: [uid, rule, key, deadlineAt.getTime(), step].join(" "),
    type: "Warning",
    reason: expired ? "DeadlinePassed" : "DeadlineApproaching",
    note: expired ? over : coming,
    ...aboutOperation({ ...operation, hook }, { ref, uid }),
  };
}

export interface WindowEdge {
  readonly rule: string;
  readonly gate: string;
  readonly open: boolean;
  readonly at: Date;
  /** Absent: the window never changes again. */
  readonly until?: Date | undefined;
  /** `until` is when the search for its next change gives up. */
  readonly isSearchEnd?: true | undefined;
}

export function windowChanged(
  { ref, uid }: Holder,
  { rule, gate, open, at, until, isSearchEnd }: WindowEdge,
): EventText {
  const next =
    until === undefined ? "for good" : `until ${isSearchEnd ? "at least " : ""}${timestamp(until)}`;
  return {
    identity: [uid, rule, gate, open, at.getTime()].join(" "),
    type: "Normal",
    reason: open ? "WindowOpened" : "WindowClosed",
    action: "Window",
    note: `Rule ${rule}, gate ${gate}: ${open ? "open" : "closed"} since ${timestamp(at)}, ${next}`,
    regarding: ownReference(ref, uid),
  };
}

export function overrideUsed(
  override: Override,
  { cluster, call }: ClusterCall,
  policies: readonly string[],
): EventText {
  const { namespace = "", name, uid } = cluster.metadata;
  const version = call.toKubernetesVersion ?? call.kubernetesVersion ?? "";
  return {
    identity: [override.uid, operationKey(uid, call.hook), version].join(" "),
    type: "Warning",
    reason: "OverrideUsed",
    action: call.hook,
    note: `${call.hook} proceeds because of HookOverride ${override.name}, without ${policies.join(", ")}`,
    regarding: clusterReference(namespace, name, uid),
    related: ownReference({ kind: "HookOverride", name: override.name }, override.uid),
  };
}

const CALLED = { reason: "Called", message: "Cluster API asks about every hook of the policy" };

/** The change from one status to the next in whether Cluster API calls. */
export function callsChanged(
  { ref, uid }: Holder,
  before: HookPolicyStatus | undefined,
  now: HookPolicyStatus,
): EventText | undefined {
  const [was, is] = [before, now].map((status) => conditionOf({ status }, CONDITION.NotCalled));
  if (was?.reason === is?.reason) return undefined;
  const { reason, message } = is ?? CALLED;
  return {
    // When the condition appeared, also once it is gone.
    identity: [uid, reason, (is ?? was)?.lastTransitionTime ?? ""].join(" "),
    type: is === undefined ? "Normal" : "Warning",
    reason: is === undefined ? CALLED.reason : CONDITION.NotCalled,
    action: reason,
    note: message,
    regarding: ownReference(ref, uid),
  };
}
