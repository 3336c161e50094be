/** The Event for a transition. */

import { clusterReference, type EventText, ownReference } from "../api/event-text.ts";
import type { RecentResult } from "../api/hook-policy.ts";
import { operationKey } from "../operations/operation.ts";
import type { Transition } from "../memory/transitions.ts";
import { timestamp } from "../lib/instant.ts";
import { policyName, type PolicyRef } from "../policy/policy-ref.ts";

type Type = Transition["type"];
type Of<T extends Type> = { [K in T]: Extract<Transition, { readonly type: K }> }[T];

const DESCRIBE: { readonly [T in Type]: (transition: Of<T>) => EventText } = {
  Held: held,
  TornDown: tornDown,
  Released: released,
  NotHeld: notHeld,
  NotAsked: notAsked,
  Refused: refused,
  DeadlineStep: deadlineStep,
  WindowChanged: windowChanged,
  OverrideUsed: overrideUsed,
  CallsChanged: callsChanged,
};

export function describeTransition<T extends Type>(transition: Of<T>): EventText {
  return DESCRIBE[transition.type](transition);
}

/** The same Event about the policy, because `kubectl describe` of the policy shows no Events about Clusters. */
export function aboutPolicy({ policyNote, related, identity, ...text }: EventText): EventText | undefined {
  if (policyNote === undefined || related === undefined) return undefined;
  return { ...text, identity: `${identity} policy`, note: policyNote(), regarding: related };
}

function held({ policy, policyUID, row, isNear }: Of<"Held">): EventText {
  const { namespace, cluster, hook, rule, verdict, reason, message, step } = row;
  return {
    identity: ["Held", identityOf(policyUID, row), step, rule].join(" "),
    type: verdict === "NotEvaluable" || isNear === true ? "Warning" : "Normal",
    reason: "Held",
    note: `${hook} is held by ${policyName(policy)}, rule ${rule}: ${message}`,
    policyNote: () => `Rule ${rule} holds ${hook} of Cluster ${namespace}/${cluster} (${reason})`,
    ...aboutOperation(row, policy, policyUID),
  };
}

function tornDown({ policy, policyUID, row }: Of<"TornDown">): EventText {
  const { namespace, cluster, hook, step, tornDown: found } = row;
  return {
    identity: ["TornDown", identityOf(policyUID, row), step, found.reason].join(" "),
    type: "Warning",
    reason: "TornDown",
    note: `${policyName(policy)} holds ${hook}, but ${found.message}. Run hookpolicy explain ${namespace}/${cluster}`,
    policyNote: () =>
      `Others delete what Cluster ${namespace}/${cluster} owns, although ${hook} is held (${found.reason})`,
    ...aboutOperation(row, policy, policyUID),
  };
}

function released({ policy, policyUID, result }: Of<"Released">): EventText {
  const { namespace, cluster, hook, reason } = result;
  return {
    identity: ["Released", identityOf(policyUID, result)].join(" "),
    type: "Normal",
    reason: "Released",
    note: `${hook} proceeds: ${policyName(policy)} does not hold it any more (${reason})`,
    policyNote: () => `${hook} of Cluster ${namespace}/${cluster} proceeds (${reason})`,
    ...aboutOperation(result, policy, policyUID),
  };
}

function notHeld({ policy, policyUID, result }: Of<"NotHeld">): EventText {
  const { namespace, cluster, hook, verdict, rule, reason, message } = result;
  const failed = verdict === "NotEvaluable";
  const by = `${policyName(policy)}, rule ${rule}`;
  const about = failed ? `although ${by} could not be evaluated` : `which ${by} would hold in mode Enforce`;
  const brief = failed ? "although it could not be evaluated" : "which it would hold in mode Enforce";
  return {
    identity: ["NotHeld", identityOf(policyUID, result), verdict].join(" "),
    type: failed ? "Warning" : "Normal",
    reason: verdict,
    note: `${hook} has proceeded, ${about}: ${message ?? reason}`,
    policyNote: () =>
      `Rule ${rule}: ${hook} of Cluster ${namespace}/${cluster} has proceeded, ${brief} (${reason})`,
    ...aboutOperation(result, policy, policyUID),
  };
}

function notAsked({ policy, policyUID, result }: Of<"NotAsked">): EventText {
  const { namespace, cluster, hook, rule = "", reason = "", message, targetVersion = "" } = result;
  const why = `the version changed to ${targetVersion} while an upgrade ran, so Cluster API proceeds without ${hook}`;
  return {
    identity: ["NotAsked", identityOf(policyUID, result)].join(" "),
    type: "Warning",
    reason: "NotAsked",
    note: `${why}, which ${policyName(policy)}, rule ${rule}, holds: ${message ?? reason}`,
    policyNote: () => `Rule ${rule} holds Cluster ${namespace}/${cluster}, but ${why} (${reason})`,
    ...aboutOperation(result, policy, policyUID),
  };
}

function refused({ policy, policyUID, result }: Of<"Refused">): EventText {
  const { namespace, cluster, hook, rule = "", reason = "", message, targetVersion } = result;
  const request =
    hook === "BeforeClusterDelete" ? "deletion" : `upgrade to ${targetVersion ?? "its version"}`;
  return {
    identity: ["Refused", identityOf(policyUID, result), rule].join(" "),
    type: "Normal",
    reason: "Refused",
    note: `A request for the ${request} was refused by ${policyName(policy)}, rule ${rule}: ${message ?? reason}`,
    policyNote: () =>
      `Rule ${rule} refused a request for the ${request} of Cluster ${namespace}/${cluster} (${reason})`,
    ...aboutOperation(result, policy, policyUID),
  };
}

type NamedOperation = Pick<RecentResult, "namespace" | "cluster" | "clusterUID" | "hook" | "targetVersion">;

function identityOf(policyUID: string, { clusterUID, hook, targetVersion = "" }: NamedOperation): string {
  return [policyUID, operationKey(clusterUID, hook), targetVersion].join(" ");
}

function aboutOperation(
  { namespace, cluster, clusterUID, hook }: NamedOperation,
  policy: PolicyRef,
  policyUID: string,
): Pick<EventText, "action" | "regarding" | "related"> {
  return {
    action: hook,
    regarding: clusterReference(namespace, cluster, clusterUID),
    related: ownReference(policy, policyUID),
  };
}

function deadlineStep(transition: Of<"DeadlineStep">): EventText {
  const { policy, policyUID, rule, operation, step, deadlineAt, releases } = transition;
  const { hook } = operation.call;
  const key = operationKey(operation.clusterUID, hook);
  const expired = step === 100;
  const holder = `${policyName(policy)}, rule ${rule}`;
  const at = timestamp(deadlineAt);
  const near =
    step === "Near"
      ? `its deadline, ${at}, is near`
      : `${step} % of the time until its deadline, ${at}, have passed`;
  const coming = `${hook} is held by ${holder}; ${near}: ${releases ? "it proceeds then" : "it stays held then, too"}`;
  const passed = releases
    ? `${hook} was held by ${holder} until its deadline, ${at}: it proceeds when Cluster API asks again`
    : `${hook} is held by ${holder}, although its deadline passed at ${at}`;
  return {
    identity: [policyUID, rule, key, deadlineAt.getTime(), step].join(" "),
    type: "Warning",
    reason: expired ? "DeadlinePassed" : "DeadlineApproaching",
    note: expired ? passed : coming,
    ...aboutOperation({ ...operation, hook }, policy, policyUID),
  };
}

function windowChanged({ policy, policyUID, rule, gate, open, at, until }: Of<"WindowChanged">): EventText {
  const next = until === undefined ? "for good" : `until ${timestamp(until)}`;
  return {
    identity: [policyUID, rule, gate, open, at.getTime()].join(" "),
    type: "Normal",
    reason: open ? "WindowOpened" : "WindowClosed",
    action: "Window",
    note: `Rule ${rule}, gate ${gate}: ${open ? "open" : "closed"} since ${timestamp(at)}, ${next}`,
    regarding: ownReference(policy, policyUID),
  };
}

function overrideUsed({ override, cluster, call, policies }: Of<"OverrideUsed">): EventText {
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

function callsChanged({ policy, policyUID, notCalled, since }: Of<"CallsChanged">): EventText {
  return {
    identity: [policyUID, notCalled?.reason ?? "Called", since].join(" "),
    type: notCalled === undefined ? "Normal" : "Warning",
    reason: notCalled === undefined ? "Called" : "NotCalled",
    action: notCalled?.reason ?? "Called",
    note: notCalled?.message ?? "Cluster API asks about every hook of the policy",
    regarding: ownReference(policy, policyUID),
  };
}
