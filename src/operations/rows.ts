/** Rows of a policy's status: operations that it holds, would hold or cannot evaluate, and results of operations. */

import {
  type DecisionRow,
  MAX_ROW_MESSAGE,
  MAX_TIMERS,
  type RecentResult,
  type TornDown,
} from "../api/hook-policy.ts";
import { LABEL_LETTERS } from "../lib/dns-names.ts";
import { namespacedName } from "../lib/keys.ts";
import { printable } from "../lib/printable.ts";
import { targetVersion } from "../api/target-version.ts";
import { holdingRules, type PolicyTrace, type RuleTrace, unmetGates } from "../policy/decision.ts";
import { isHeld } from "../policy/decide.ts";
import { ruleMessage } from "../policy/message.ts";
import { firstNames } from "../lib/first-names.ts";
import { timestamp } from "../lib/instant.ts";
import { truncate } from "../lib/truncate.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { waitsForTasks } from "../policy/tasks/rule-tasks.ts";
import { type ClusterCall, firstAskedBy } from "../policy/world.ts";
import type { PendingOperation } from "./operation.ts";

/** The clusterKey() of a row's Cluster. */
export function clusterOfRow({ namespace, cluster }: Pick<DecisionRow, "namespace" | "cluster">): string {
  return namespacedName({ namespace, name: cluster });
}

/** What a policy says about an operation: the row of its status, and what memory adds. */
export interface PolicyRow extends DecisionRow {
  /** Whether the policy holds the operation: under failurePolicy Ignore, it holds nothing that is not evaluable. */
  readonly holds: boolean;
  /** Nothing of the policy holds the operation but tasks, and none of these has failed. */
  readonly waitsForTasks?: true;
  /** When time alone can change the row. */
  readonly changesAt?: Date;
  /** The inputs of the forecast: every gate and task of every rule. */
  readonly basis: string;
  /** The step of the operation. */
  readonly step?: string;
}

/**
 * `undefined`: the policy has nothing to report. `since` stays that of `before` while the row says the same. `tornDown`: how
 * others delete what the Cluster owns.
 */
export function policyRow(
  operation: PendingOperation,
  {
    trace,
    policyUID,
    tornDown,
  }: { readonly trace: PolicyTrace; readonly policyUID: string; readonly tornDown?: TornDown | undefined },
  before: (ShownResult & Pick<PolicyRow, "since">) | undefined,
  now: Date,
): PolicyRow | undefined {
  const { verdict } = trace;
  const rule = reportedRule(trace);
  if (verdict === "Observed" || rule === undefined) return undefined;
  const version = targetVersion(operation.call);
  const timers = trace.rules.flatMap(timersOf).slice(0, MAX_TIMERS);
  const row = {
    namespace: operation.namespace,
    cluster: operation.cluster,
    clusterUID: operation.clusterUID,
    hook: operation.call.hook,
    verdict,
    ...shownRule(rule),
    reason: rule.reason,
    message: ruleMessage(rule, rule.message || passed(rule), { max: MAX_ROW_MESSAGE }),
    firstAsked: timestamp(firstAskedBy(operation, policyUID) ?? now),
    since: timestamp(now),
    ...(version !== undefined && { targetVersion: version }),
    ...(timers.length > 0 && { timers }),
    ...(trace.holds &&
      tornDown !== undefined && { tornDown: { ...tornDown, message: shownMessage(tornDown.message) } }),
    ...(trace.changesAt instanceof Date && { changesAt: trace.changesAt }),
    ...holdOf(trace),
    basis: basisOf(trace),
    step: operation.step,
  };
  return before !== undefined && saysTheSame(before, row) ? { ...row, since: before.since } : row;
}

function passed(rule: RuleTrace): string {
  const what = waitHasPassed(rule) ? "wait" : "deadline";
  return `the ${what} has passed: the Cluster proceeds when Cluster API asks again, unless something else holds it`;
}

/** A rule whose name is too long or unprintable is not evaluable, but is still shown. */
function shownName(name: string): string {
  return truncate(printable(name), LABEL_LETTERS);
}

/** The rule, and the first of its gates that is not met. */
function shownRule(trace: RuleTrace): { readonly rule: string; readonly gate?: string } {
  const gate = unmetGates(trace)[0]?.gate;
  return { rule: shownName(trace.rule), ...(gate !== undefined && { gate: shownName(gate) }) };
}

function shownMessage(message: string): string {
  return truncate(printable(message), MAX_ROW_MESSAGE);
}

type ShownResult = Pick<PolicyRow, "verdict" | "rule" | "targetVersion">;

/** Whether the same rule has the same verdict about the same operation. */
export function saysTheSame(a: ShownResult, b: ShownResult): boolean {
  return a.verdict === b.verdict && a.rule === b.rule && a.targetVersion === b.targetVersion;
}

/**
 * The rule to report. A rule whose deadline has released the operation, or whose wait has passed, is reported until the
 * operation has ended; otherwise a restart of any replica would hold it for as long again.
 */
function reportedRule(trace: PolicyTrace): RuleTrace | undefined {
  const isOut = trace.mode === "Audit" || trace.overriddenBy !== undefined;
  if (trace.verdict === "Allowed" && isOut) return undefined;
  return rowRule(trace) ?? trace.rules.find(waitHasPassed);
}

function waitHasPassed({ reason, timers }: RuleTrace): boolean {
  return reason === "GatesHold" && timers?.gatesMetSince !== undefined;
}

/** The rule that holds, or would hold without Audit or the override; else a rule whose deadline has released. */
function rowRule({ verdict, overriddenBy, rules }: PolicyTrace): RuleTrace | undefined {
  if (verdict === "Observed") return undefined;
  if (verdict === "Allowed" && overriddenBy === undefined)
    return rules.find(({ reason }) => reason === "DeadlineExpired");
  return holdingRules(rules)[0] ?? rules.find((rule) => rule.verdict === "NotEvaluable");
}

function holdOf({ holds, rules }: PolicyTrace): Pick<PolicyRow, "holds" | "waitsForTasks"> {
  return holds && holdingRules(rules).every(waitsForTasks) ? { holds, waitsForTasks: true } : { holds };
}

function basisOf({ rules }: PolicyTrace): string {
  return JSON.stringify(
    rules.map(({ verdict, deadlineAt, gates, tasks = [] }) => [
      verdict,
      deadlineAt,
      gates.map(({ met, changesAt }) => [met, changesAt]),
      tasks.map(({ state, changesAt }) => [state, changesAt]),
    ]),
  );
}

function timersOf({ rule, timers }: RuleTrace): NonNullable<DecisionRow["timers"]> {
  const { blockedSince, gatesMetSince } = timers ?? {};
  if (blockedSince === undefined && gatesMetSince === undefined) return [];
  return [
    {
      rule: shownName(rule),
      ...(blockedSince !== undefined && { blockedSince: timestamp(blockedSince) }),
      ...(gatesMetSince !== undefined && { gatesMetSince: timestamp(gatesMetSince) }),
    },
  ];
}

/** The row as the status keeps it. */
export function storedRow({
  holds: _,
  waitsForTasks: _waitsForTasks,
  changesAt: _changesAt,
  basis: _basis,
  step: _step,
  ...row
}: PolicyRow): DecisionRow {
  return row;
}

/** Whether the policy as it is now holds the operation of a stored row, which the row does not show. */
export function holdsOperation(row: DecisionRow, policy: CompiledPolicy): boolean {
  if (row.verdict === "Blocked") return true;
  const rule = policy.rules.find(({ name }) => shownName(name) === row.rule);
  return policy.mode === "Enforce" && rule !== undefined && isHeld(row, policy, rule, row.hook);
}

const SAID = [
  ...(["verdict", "holds", "waitsForTasks", "rule", "gate", "reason", "message"] as const),
  ...(["firstAsked", "targetVersion", "basis"] as const),
];

/** Whether two rows say the same; the forecast follows from the rest. */
export function sameRow(a: PolicyRow | undefined, b: PolicyRow | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSame = SAID.every((field) => a[field] === b[field]);
  return isSame && JSON.stringify([a.timers, a.tornDown]) === JSON.stringify([b.timers, b.tornDown]);
}

/** The result of an operation that has proceeded; `undefined`: the policy still holds it. */
export function recentResult(
  operation: ClusterCall,
  trace: PolicyTrace,
  now: Date,
): RecentResult | undefined {
  const { verdict, overriddenBy } = trace;
  if (verdict === "Blocked") return undefined;
  const override = overriddenBy === undefined ? {} : { override: overriddenBy };
  const failed = failedTasks(trace);
  const message = failed.length > 0 && {
    message: shownMessage(`failed, and onFailure is Proceed: ${firstNames(failed)}`),
  };
  return {
    ...resultOf(operation, trace, now),
    ...message,
    verdict,
    reason: resultReason(trace),
    ...override,
  };
}

/** Those that hold nothing, although they have failed. */
function failedTasks({ verdict, rules }: PolicyTrace): readonly string[] {
  const tasks = verdict === "Allowed" ? rules.flatMap((rule) => rule.tasks ?? []) : [];
  return tasks.filter(({ state }) => state === "Proceeded").map(({ task }) => `task ${task}`);
}

/** The result of what the policy holds: a request that it refused at admission, or an upgrade that it was not asked about. */
export function heldResult(
  verdict: "Refused" | "NotAsked",
  operation: ClusterCall,
  trace: PolicyTrace,
  now: Date,
): RecentResult {
  const reason = rowRule(trace)?.reason ?? trace.verdict;
  return { ...resultOf(operation, trace, now), verdict, reason };
}

/** With the rule and gate that decided, for users. */
function resultOf(
  { call, cluster }: ClusterCall,
  trace: PolicyTrace,
  now: Date,
): Omit<RecentResult, "verdict" | "reason" | "override"> {
  const { namespace = "", name, uid } = cluster.metadata;
  const version = targetVersion(call);
  const rule = rowRule(trace);
  const message = rule && ruleMessage(rule, rule.message, { max: MAX_ROW_MESSAGE });
  return {
    namespace,
    cluster: name,
    clusterUID: uid,
    hook: call.hook,
    ...(version !== undefined && { targetVersion: version }),
    ...(rule !== undefined && shownRule(rule)),
    ...(message !== undefined && rule?.message !== "" && { message }),
    time: timestamp(now),
  };
}

function resultReason(trace: PolicyTrace): string {
  const { verdict, overriddenBy, rules } = trace;
  if (overriddenBy !== undefined) return "Overridden";
  if (verdict === "WouldBlock" || verdict === "NotEvaluable") return rowRule(trace)?.reason ?? verdict;
  const expired = rules.find(({ reason }) => reason === "DeadlineExpired");
  const spoken = rules.filter((rule) => rule.verdict !== "Skipped");
  return (expired ?? spoken.find((rule) => rule.verdict === verdict) ?? spoken[0])?.reason ?? verdict;
}

/** The same result has the same key, no matter which replica reports it. */
export function resultKey({ clusterUID, hook, targetVersion: version, verdict, rule }: RecentResult): string {
  const by = verdict === "Refused" ? [rule] : [];
  return [clusterUID, hook, version, verdict, ...by].join(" ");
}
