/** Finds out how a held operation or a refused request can proceed: after some time, or when a user acts. */

import { decisionsAhead } from "../../operations/timeline.ts";
import { forecast, withoutTasks } from "../../operations/forecast.ts";
import type { PendingOperation } from "../../operations/operation.ts";
import {
  blockedFirst,
  type Decision,
  pendingGates,
  type PolicyTrace,
  type RuleTrace,
  unmetGates,
  holdingRules,
  heldRules,
} from "../../policy/decision.ts";
import { type CompiledPolicy, type GateTrace, inParentheses, wantedInMessage } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { CommandLine } from "../../lib/shell-quote.ts";
import { type Situation, timerKey } from "../../policy/world.ts";
import { commandsOf as taskCommands, openTask, wantedOfTask } from "./task-branch.ts";

/** The earliest release by time alone. Absent: never, or the operation proceeds anyway. */
export type Release = Date | "Unknown" | undefined;

export interface Step {
  readonly policy: PolicyTrace["policy"];
  readonly rule: string;
  readonly gate?: string;
  readonly task?: string;
  /** The condition that the gate waits for; for a gate that is not evaluable, the reason. */
  readonly wanted: string;
  readonly evaluable: boolean;
  /** Commands that meet the gate, or let the operator look at it; one of them is enough. */
  readonly commands: readonly CommandLine[];
  /** Commands that show what the gate waits for, where none meets it. */
  readonly look: readonly CommandLine[];
  readonly release: Release;
  /** The message of the policy's author. */
  readonly message: string | undefined;
}

export interface ExplainedSituation extends Situation {
  /** Sorted like the trace. */
  readonly policies: readonly CompiledPolicy[];
  readonly before: PendingOperation;
  /** The command that sets the marks of all gates; absent: the Cluster is not in a cluster, or a request is explained. */
  readonly approve?: string;
}

export interface WayOut {
  readonly release: Release;
  readonly steps: readonly Step[];
}

export function wayOut(decision: Decision, situation: ExplainedSituation): WayOut {
  if (!decision.trace.some(({ holds }) => holds)) return { release: undefined, steps: [] };
  return {
    release: releaseOf(situation.policies, decision.trace, situation),
    steps: [...stepsOf(decision, situation), ...laterSteps(decision, situation)],
  };
}

/** What holds the operation only when the present steps are over, such as a window that a freeze hides. */
function laterSteps(decision: Decision, situation: ExplainedSituation): Step[] {
  const { policies, world, call, before, now } = situation;
  const operation = { policies, world, call, state: before };
  const known = new Set(openKeys(decision));
  return decisionsAhead(operation, decision, now)
    .flatMap((later) => stepsOf(later, situation))
    .filter((step) => {
      const isNew = !known.has(gateKey(step));
      known.add(gateKey(step));
      return isNew;
    })
    .toArray();
}

/** With waits that have not started, which are told as such. */
function openKeys({ trace }: Decision): string[] {
  return heldRules(trace).flatMap(({ policy, rule: { rule, gates, tasks = [] } }) => [
    ...unmetGates({ gates }).map(({ gate }) => gateKey({ policy, rule, gate })),
    ...tasks.map(({ task }) => gateKey({ policy, rule, task })),
  ]);
}

function gateKey({ policy, rule, gate, task }: Pick<Step, "policy" | "rule" | "gate" | "task">): string {
  return JSON.stringify([policyName(policy), rule, gate, task]);
}

/** Whether the start of the block is known: the rule's deadline counts from there. */
export function isSinceKnown(
  { uid }: CompiledPolicy,
  { rule }: RuleTrace,
  { before }: Pick<ExplainedSituation, "before">,
): boolean {
  return before.rules.get(timerKey(uid, rule))?.blockedSince !== undefined;
}

export function releaseOf(
  policies: readonly CompiledPolicy[],
  trace: readonly Pick<PolicyTrace, "holds" | "rules">[],
  situation: ExplainedSituation,
): Release {
  const { world, call, now } = situation;
  const release = forecast(policies.map(withoutTasks), world, call, now);
  if (release === undefined) return changesAtUnknownTime(trace) ? "Unknown" : undefined;
  const isUncounted = policies.some((policy, index) =>
    trace[index]?.rules.some(
      (rule) =>
        rule.deadlineReleases === true &&
        rule.deadlineAt?.getTime() === release.getTime() &&
        !isSinceKnown(policy, rule, situation),
    ),
  );
  if (isUncounted) return "Unknown"; // the end of a deadline whose start no status shows
  return release > now ? release : undefined;
}

/** Whether time alone changes each gate that is not met. */
function changesAtUnknownTime(trace: readonly Pick<PolicyTrace, "holds" | "rules">[]): boolean {
  const pending = trace
    .filter(({ holds }) => holds)
    .flatMap(({ rules }) => holdingRules(rules).flatMap(unmetGates));
  return pending.length > 0 && pending.every(({ changesAt }) => changesAt !== undefined);
}

/** Blocked rules come first, because a user can act on them, unlike on rules that are not evaluable. */
function stepsOf({ trace }: Decision, situation: ExplainedSituation): Step[] {
  return trace
    .flatMap((policy, index) =>
      heldRules([policy]).map(({ rule }) => ({
        rule,
        compiled: situation.policies[index],
        policy: policy.policy,
      })),
    )
    .toSorted((a, b) => blockedFirst(a.rule, b.rule))
    .flatMap(({ policy, rule, compiled }) => stepsOfRule(policy, withApproval(rule, situation), compiled));
}

/** What sets one mark in messages, sets all here, and says first what else they release. */
export function withApproval<T extends RuleTrace>(
  rule: T,
  { approve }: Pick<ExplainedSituation, "approve">,
): T {
  return approve === undefined
    ? rule
    : { ...rule, gates: rule.gates.map((gate) => byApproval(gate, approve)) };
}

function byApproval(gate: GateTrace, approve: string): GateTrace {
  const { remedy, members } = gate;
  return {
    ...gate,
    ...(remedy !== undefined && { remedy: approve }),
    ...(members !== undefined && { members: members.map((member) => byApproval(member, approve)) }),
  };
}

function stepsOfRule(
  policy: PolicyTrace["policy"],
  rule: RuleTrace,
  compiled: CompiledPolicy | undefined,
): readonly Step[] {
  const message = compiled?.rules.find(({ name }) => name === rule.rule)?.message;
  const rest = { policy, rule: rule.rule, message };
  const pending = pendingGates(rule).toSorted((a, b) => Number(b.met === false) - Number(a.met === false));
  const gates = pending.map((gate) => stepOfGate(gate, rest));
  const task = openTask(rule);
  // While gates wait, a task that begins last waits for them.
  if (task !== undefined && (gates.length === 0 || task.state !== "Waiting")) {
    const [show, ...commands] = taskCommands(task);
    const step: Step = {
      ...rest,
      task: task.task,
      wanted: wantedOfTask(task),
      evaluable: task.state !== "NotEvaluable",
      commands,
      look: show === undefined ? [] : [show],
      release: undefined,
    };
    return [...gates, step];
  }
  if (gates.length > 0) return gates;
  return [{ ...rest, wanted: rule.message, evaluable: false, commands: [], look: [], release: undefined }];
}

function stepOfGate(gate: GateTrace, rest: Pick<Step, "policy" | "rule" | "message">): Step {
  const parts = [gate, ...(gate.members ?? [])];
  const lookIf = (isWanted: (met: boolean | undefined) => boolean): CommandLine[] =>
    parts.flatMap(({ met, look = [] }) => (isWanted(met) ? look : []));
  return {
    ...rest,
    gate: gate.gate,
    wanted: gate.met === undefined && commandsOf(gate).length === 0 ? gate.observed : wantedOf(gate),
    evaluable: gate.met !== undefined,
    commands: [...commandsOf(gate), ...lookIf((met) => met === undefined)],
    look: lookIf((met) => met !== undefined),
    release: gate.isSearchEnd === true ? "Unknown" : gate.changesAt,
  };
}

/** Leaves out the commands, which are printed beside the text. */
function wantedOf({ wanted, wantedInFull = wanted, said, withheld, members, ...rest }: GateTrace): string {
  if (members !== undefined && said === undefined)
    return `one of: ${members.map((member) => wantedOf(member)).join("; or ")}`;
  const text = wantedInMessage({ ...rest, wanted: wantedInFull, ...(said !== undefined && { said }) });
  return `${text}${inParentheses({ ...(withheld !== undefined && { withheld }) })}`;
}

function commandsOf({ remedy, members = [] }: GateTrace): readonly string[] {
  const all = [remedy, ...members.map((member) => member.remedy)];
  return [...new Set(all.filter((each) => each !== undefined))];
}
