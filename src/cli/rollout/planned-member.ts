/** What holds a Cluster in a plan, and until when. */

import { expectedCall } from "../../operations/call.ts";
import { forecast, withoutTasks } from "../../operations/forecast.ts";
import { newOperation, type PendingOperation } from "../../operations/operation.ts";
import { decisionsAhead, lookAt, type OperationInputs, remembered } from "../../operations/timeline.ts";
import { type Decision, heldRules, pendingGates } from "../../policy/decision.ts";
import { HOUR_MS } from "../../lib/duration.ts";
import { earliest } from "../../lib/instant.ts";
import type { CompiledGate, CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { Situation } from "../../policy/world.ts";
import { liftingOverride } from "../../rollouts/hold.ts";
import type { Member } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import type { PlanMember } from "../../rollouts/plan.ts";
import type { MemberState } from "../../rollouts/rollout-progress.ts";
import { gateEdges, unmetGate } from "../../rollouts/promotion.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import type { Fleet } from "../fleet/fleet.ts";

export interface Parts extends Pick<Situation, "world" | "call"> {
  readonly rollout: CompiledRollout;
  readonly member: Member;
  readonly policies: readonly CompiledPolicy[];
  /** What the operator will remember of the operation: asked about instants in order. */
  readonly stateAt: (at: Date) => PendingOperation;
}

/** `version`: absent for the next upgrade, whatever it goes to. */
export function partsOf(
  rollout: CompiledRollout,
  fleet: Fleet,
  { member, cluster }: MemberState,
  { version, from }: { readonly version: string | undefined; readonly from: Date },
): Parts {
  const policies = fleet.policiesFor(cluster).map(withoutTasks);
  const call = expectedCall(BEGINS[rollout.operation], cluster, version);
  const known = fleet.pendingOperations(cluster).find((pending) => pending.call.hook === call.hook);
  const state = newOperation(call, cluster, from, known);
  const world = fleet.world(cluster, state);
  return {
    rollout,
    member,
    policies,
    world,
    call,
    stateAt: memoryOf({ policies, world, call, state }, from),
  };
}

/** A deadline and a wait go on while the Cluster has no slot: Cluster API asks the policies all the time. */
function memoryOf(operation: OperationInputs<PendingOperation>, from: Date): Parts["stateAt"] {
  const { policies, call } = operation;
  const isTimed = policies.some(({ rules }) =>
    rules.some(
      ({ hooks, deadline, waits }) => hooks.has(call.hook) && (deadline !== undefined || waits.length > 0),
    ),
  );
  let { state } = operation;
  if (!isTimed) return () => state;
  let until = from;
  return (at) => {
    state = remembered({ ...operation, state }, until, at);
    if (at > until) until = at;
    return state;
  };
}

export function planMember(parts: Parts): PlanMember {
  const { rollout, member, world, call } = parts;
  return {
    member,
    heldBy: (at) => holdersAt(parts, at),
    releasedFrom: (at) =>
      liftingOverride(rollout, { world, call, now: at }) ? at : releasedByAll(parts, at),
    opensFrom: (at) => {
      const timed = ofTime(parts, at);
      return releasedByAll(timed, at) ?? (isEvaluable(timed, at) ? undefined : at);
    },
  };
}

/** What is not evaluable says nothing about windows: the plan takes it as released, and names it. */
function isEvaluable(parts: Parts, at: Date): boolean {
  return heldRules(decisionAt(parts, at).decision.trace).every(({ rule }) => rule.verdict !== "NotEvaluable");
}

/** The gate of a policy or of its stage that holds it, and whose window does not open again. */
export function pastGate(parts: Parts, at: Date): string | undefined {
  const { decision } = decisionAt(ofTime(parts, at), at);
  const gates = heldRules(decision.trace).flatMap(({ policy, rule }) =>
    pendingGates(rule)
      .filter(({ changesAt }) => changesAt === undefined)
      .map(({ gate }) => `${policyName(policy)}, rule ${rule.rule}, gate ${gate}`),
  );
  // A search that ends without an opening proves nothing.
  const own = parts.member.stage?.until.find(
    (gate) =>
      gate.opensAt?.(at) === "Never" &&
      (gate.windows ?? []).every(({ window }) => window.at(at).changesAt === undefined),
  );
  return gates[0] ?? (own && ofStage(parts, own.name));
}

function ofStage({ rollout, member }: Parts, gate: string): string {
  return `HookRollout ${rollout.name}, stage ${member.stage?.name}, gate ${gate}`;
}

/** Without the gates, of policies and of the stage, of which it is not known when time alone meets them. */
function ofTime(parts: Parts, now: Date): Parts {
  const { policies, member } = parts;
  const isTime = (gate: CompiledGate): boolean => (gate.opensAt?.(now) ?? "Unknown") !== "Unknown";
  const { stage } = member;
  return {
    ...parts,
    member: { ...member, ...(stage && { stage: { ...stage, until: stage.until.filter(isTime) } }) },
    policies: policies.map((policy) => {
      const rules = policy.rules.map((rule) => ({ ...rule, gates: rule.gates.filter(isTime) }));
      return { ...policy, rules: rules.filter(({ gates }) => gates.length > 0) };
    }),
  };
}

function decisionAt(
  { policies, world, call, stateAt }: Parts,
  at: Date,
): { readonly operation: OperationInputs<PendingOperation>; readonly decision: Decision } {
  const operation = { policies, world, call, state: stateAt(at) };
  return { operation, decision: lookAt(operation, at).decision };
}

interface PlannedHolds {
  readonly unevaluable: readonly string[];
  readonly needsAction: boolean;
}

export function holdsAt(parts: Parts, at: Date): PlannedHolds {
  const held = heldRules(decisionAt(parts, at).decision.trace);
  const unmet = unmetAt(parts, at);
  const unread = held.filter(({ rule: { verdict } }) => verdict === "NotEvaluable");
  const rules = unread.map(({ policy, rule }) => {
    const place = rule.rule === "" ? "" : `, rule ${rule.rule}`;
    return `${policyName(policy)}${place} (${rule.message})`;
  });
  const gates = unmet?.problem === undefined ? [] : [`${ofStage(parts, unmet.gate)} (${unmet.problem})`];
  const others = held.length - unread.length + (unmet === undefined ? 0 : 1) - gates.length;
  return { unevaluable: [...rules, ...gates], needsAction: others > 0 || rules.length + gates.length === 0 };
}

function unmetAt({ member: { stage }, world, call }: Parts, now: Date): ReturnType<typeof unmetGate> {
  return stage && unmetGate(stage, { world, call, now });
}

/** What holds the Cluster at the instant, and what follows until time has released it. */
export function holdersAt(parts: Parts, at: Date): string {
  const { operation, decision } = decisionAt(parts, at);
  const all = [decision, ...decisionsAhead(operation, decision, at)].flatMap(gatesIn);
  const unmet = unmetAt(parts, at);
  return [...new Set([...all, ...(unmet === undefined ? [] : [ofStage(parts, unmet.gate)])])].join("; then ");
}

function gatesIn({ trace }: Decision): string[] {
  return heldRules(trace).flatMap(({ policy, rule: { rule, gates, deadlineReleases } }) => {
    const name = `${policyName(policy)}, rule ${rule}`;
    const timed = gates.filter((gate) => gate.met !== true && gate.changesAt !== undefined);
    if (timed.length === 0 && deadlineReleases === true) return [`the deadline of ${name}`];
    return timed.map(({ gate }) => `${name}, gate ${gate}`);
  });
}

/** Edges of windows that time may have to pass until policies and the gates of the stage are open together. */
const MAX_EDGES = 1000;

/** When the policies and the gates of its stage release the Cluster; `undefined`: time alone does not. */
function releasedByAll(parts: Parts, from: Date): Date | undefined {
  const { rollout, policies, world, call, stateAt } = parts;
  let [at, state] = [from, stateAt(from)];
  for (let edges = 0; edges < MAX_EDGES; edges += 1) {
    const released = forecast(policies, { ...world, state }, call, at);
    if (released === undefined || unmetAt(parts, released) === undefined) return released;
    const next = earliest(gateEdges(rollout, released, HOUR_MS).filter((edge) => edge > released));
    if (!(next instanceof Date)) return undefined;
    state = remembered({ policies, world, call, state }, at, next);
    at = next;
  }
  return undefined;
}
