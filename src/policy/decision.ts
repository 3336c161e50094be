/** What decide() decides, for how long it is valid, and what follows from it: plain data, no IO. */

import { after, earliest } from "../lib/instant.ts";
import type { CAUSE, CompiledPolicy, CompiledRule, GateTrace } from "./policy.ts";
import type { RuleTimers, World } from "./world.ts";
import type { PolicyRef } from "./policy-ref.ts";
import type { TaskIntent, TaskTrace } from "./tasks/task-trace.ts";

/**
 * - Allowed: nothing holds the operation.
 * - Observed: nothing holds it, and a rule without `until` observed it.
 * - WouldBlock: only Audit policies hold it, so it proceeds.
 * - Blocked: a gate of an Enforce policy is not met yet.
 * - NotEvaluable: a rule cannot be evaluated (with failurePolicy Fail it holds the operation, too).
 */
export type Verdict = "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";

export interface Decision {
  readonly verdict: Verdict;
  /** Whether the operation is held. Code that answers must use this field, never a number. */
  readonly holds: boolean;
  /** Seconds until Cluster API should call again; 0 when it may proceed. */
  readonly retryAfterSeconds: number;
  /** For Cluster API's condition; empty when the operation proceeds. */
  readonly message: string;
  /** One entry per policy that was considered, in stable order. */
  readonly trace: readonly PolicyTrace[];
  /**
   * Nothing but tasks holds the operation, and one of them that begins last may begin or runs: it has its turn, and needs
   * the slots of rollouts. Not while a task has failed and holds.
   */
  readonly waitsForTasks?: true;
  /** A task may begin now; `begins` says which, if that was asked for. */
  readonly tasksDue?: true;
  /** The HookTasks that may begin now; only with `rendersTasks`. */
  readonly begins?: readonly TaskIntent[];
  /** At AfterControlPlaneInitialized: all HookTasks of each rule; only with `rendersTasks`. */
  readonly toStore?: readonly TaskIntent[];
  readonly basis?: Basis;
  /** The HookRollout that holds an operation which every policy releases. */
  readonly rollout?: RolloutHold;
  /** The HookRollouts that an override lifts from an operation which every policy releases. */
  readonly overriddenRollouts?: readonly OverriddenRollout[];
}

export interface OverriddenRollout {
  readonly rollout: string;
  /** The HookOverride. */
  readonly overriddenBy: string;
}

export interface RolloutHold {
  readonly rollout: string;
  readonly reason: string;
  /** The stage of the Cluster or, if that is closed, the one that it waits for. */
  readonly stage?: string;
}

/** The inputs of a decision. */
export interface Basis {
  /** ApiServer: read after the call began, and what memory has learned since agrees. */
  readonly source: "Memory" | "ApiServer";
  readonly world: World;
  /** Every read began at this moment or later, and the operation could be released at this moment, too. Absent: nothing was read. */
  readonly since?: Date;
  /** The Cluster is not in memory: everything known about it comes from the caller. */
  readonly fromRequest?: true;
  /** In the order of the trace. */
  readonly policies: readonly CompiledPolicy[];
}

export interface PolicyTrace {
  readonly policy: PolicyRef;
  readonly mode: "Enforce" | "Audit";
  readonly matched: boolean;
  readonly verdict: Verdict;
  /** Whether this policy alone is enough to hold the operation. */
  readonly holds: boolean;
  /** The rules on this hook; empty when not matched. */
  readonly rules: readonly RuleTrace[];
  /** The steps ran out before the policy. One rule represents all of them, and the state of the others is kept. */
  readonly unread?: true;
  /** The HookOverride that keeps the policy from holding the operation; its rules still show what they would do. */
  readonly overriddenBy?: string;
  /** The earliest instant at which time alone changes the policy's result; absent: never. */
  readonly changesAt?: Date | "Unknown";
}

export interface RuleTrace {
  readonly rule: string;
  /** Skipped: a match condition is false, so the rule does not apply to the operation. */
  readonly verdict: "Allowed" | "Observed" | "Blocked" | "NotEvaluable" | "Skipped";
  /** Whether an enforced policy would hold the operation: blocked, or not evaluable with failurePolicy Fail. */
  readonly holds: boolean;
  readonly reason: string;
  /** The match condition that is false, for a skipped rule. */
  readonly condition?: string;
  /** The words of the rule's author, which come first in every text. */
  readonly said?: string;
  /** One line for people: what the rule waits for and how to release it. Empty when the rule does not hold. */
  readonly message: string;
  /** The text for callers, not all of which may learn about the objects that a gate looks at; absent: `message`. */
  readonly answer?: string;
  readonly retryAfterSeconds: number;
  readonly gates: readonly GateTrace[];
  /** The tasks of the rule; absent: it has none. */
  readonly tasks?: readonly TaskTrace[];
  /** The state to store and to pass to the next decision about the same operation. */
  readonly timers?: RuleTimers;
  /** When the deadline passes or passed; absent until the rule has held the operation. */
  readonly deadlineAt?: Date;
  /** Whether the deadline releases the operation (onExpiry Allow), unless the rule is not evaluable. */
  readonly deadlineReleases?: boolean;
  readonly changesAt?: Date | "Unknown";
  readonly [CAUSE]?: unknown;
}

/** What a rule says by itself; whether it holds the Cluster also depends on the policy's failurePolicy. */
export type RuleFinding = Omit<RuleTrace, "holds">;

/** Absent when nothing changes. */
export function changesAtEarliest(
  instants: Iterable<Date | "Unknown" | undefined>,
): Pick<RuleTrace, "changesAt"> {
  const changesAt = earliest(instants);
  return changesAt === undefined ? {} : { changesAt };
}

/**
 * The text after the words of the rule's author. These are in quotes, because a tenant can write what looks like a command of
 * the operator.
 */
export function afterWords({ said }: Pick<RuleTrace, "said">, text: string): string {
  return said === undefined ? text : `${JSON.stringify(said)}, ${text}`;
}

export interface HeldRule {
  readonly policy: PolicyRef;
  readonly rule: RuleTrace;
}

/** The rules that hold the operation, in their order. */
export function heldRules(trace: readonly PolicyTrace[]): HeldRule[] {
  const holding = trace.filter(({ holds }) => holds);
  return holding.flatMap(({ policy, rules }) =>
    rules.filter(({ holds }) => holds).map((rule) => ({ policy, rule })),
  );
}

/** The rules that hold, those that a user can act on first. Messages are about the first one. */
export function holdingRules<R extends Pick<RuleTrace, "holds" | "verdict">>(rules: readonly R[]): R[] {
  return rules.filter(({ holds }) => holds).toSorted(blockedFirst);
}

export function blockedFirst(a: Pick<RuleTrace, "verdict">, b: Pick<RuleTrace, "verdict">): number {
  return Number(b.verdict === "Blocked") - Number(a.verdict === "Blocked");
}

export function unmetGates<G extends { met?: unknown }>(rule: { readonly gates: readonly G[] }): G[] {
  return rule.gates.filter(({ met }) => met !== true);
}

/** The unmet gates without waits that have not started, which other gates start. */
export function pendingGates(rule: Pick<RuleTrace, "gates">): readonly GateTrace[] {
  return unmetGates(rule).filter(({ reason }) => reason !== "WaitNotStarted");
}

/** A rule that contributes to the decision. */
export interface DecidingRule {
  readonly policy: PolicyTrace;
  readonly rule: RuleTrace;
}

/**
 * The rules that decide, by policy: those that hold the operation, with those that a user can act on first, as in the
 * status; if no rule holds, all evaluated rules.
 */
export function decidingRules({ verdict, trace }: Decision): DecidingRule[] {
  const decides = DECIDES[verdict];
  return trace
    .filter(({ matched }) => matched)
    .flatMap((policy) => policy.rules.toSorted(blockedFirst).map((rule) => ({ policy, rule })))
    .filter((finding) => decides(finding));
}

const DECIDES: Readonly<Record<Verdict, (finding: DecidingRule) => boolean>> = {
  Blocked: ({ policy, rule }) => policy.holds && rule.holds,
  NotEvaluable: ({ policy, rule }) =>
    policy.holds ? rule.holds : policy.verdict === "NotEvaluable" && rule.verdict === "NotEvaluable",
  WouldBlock: ({ policy, rule }) => policy.verdict === "WouldBlock" && rule.holds,
  Observed: () => true,
  Allowed: () => true,
};

/** The gates that explain a rule's result: those that are not met, or all of them. */
export function decidingGates({ rule }: DecidingRule): readonly GateTrace[] {
  return rule.holds || rule.verdict === "NotEvaluable" ? unmetGates(rule) : rule.gates;
}

export function reasonOf({ policy, rule }: DecidingRule): string {
  return policy.overriddenBy === undefined ? rule.reason : "Overridden";
}

/** Whether anything other than tasks holds the operation. */
export function holdsBesideTasks(decision: Pick<Decision, "holds" | "waitsForTasks">): boolean {
  return decision.holds && decision.waitsForTasks !== true;
}

/** Whether a rule of the policy applies to the operation. */
export function applies({ rules }: PolicyTrace): boolean {
  return rules.some(({ verdict }) => verdict !== "Skipped");
}

/** A decision from a fresh read of the API server, or a reason why there is none. */
export type Confirmation =
  { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly reason: string };

/** Drops tasks with `begins: Last`, because another rule still holds the Cluster. */
export function withoutLastTasks({ waitsForTasks: _, begins = [], ...rest }: Decision): Decision {
  const first = begins.filter(({ task }) => task.begins === "First");
  return first.length === 0 ? rest : { ...rest, begins: first };
}

/** Whether a decision is still the one that would be made now. */
export interface ValidityCheck {
  (now: Date): boolean;
  /** Whether every call about the operation gets it, because no rule reads other fields of a call. */
  readonly forAnyCall: boolean;
}

/**
 * Until when the same request gets the same answer, to the second of its retry, which shrinks ahead of an edge;
 * "Never": it never changes. `undefined`: unknown, because an expression reads the clock, a gate looks at objects, or a rule has
 * tasks.
 * `policies` are those of the decision, in its order.
 */
export function validUntil(
  policies: readonly CompiledPolicy[],
  { trace, retryAfterSeconds }: Decision,
): Date | "Never" | undefined {
  if (appliedRules(policies, trace).some(isVolatile)) return undefined;
  const edge = earliest(trace.map(({ changesAt }) => changesAt));
  if (edge === "Unknown") return undefined;
  return edge === undefined ? "Never" : after(edge, -retryAfterSeconds * 1000);
}

/** Whether a rule reads more of a call than its hook and the version of the operation. */
export function readsCall(policies: readonly CompiledPolicy[], { trace }: Decision): boolean {
  return appliedRules(policies, trace).some(({ matchConditions, gates }) =>
    [...matchConditions.map(({ expression }) => expression), ...gates].some(
      ({ requestFields }) => requestFields.has("settings") || requestFields.has("fromKubernetesVersion"),
    ),
  );
}

function appliedRules(
  policies: readonly CompiledPolicy[],
  trace: Decision["trace"],
): readonly CompiledRule[] {
  return trace.flatMap(({ rules }, index) =>
    (policies[index]?.rules ?? []).filter((rule) => rules.some(({ rule: name }) => name === rule.name)),
  );
}

function isVolatile({ matchConditions, gates, tasks }: CompiledRule): boolean {
  return (
    tasks.length > 0 ||
    matchConditions.some(({ expression }) => expression.usesNow) ||
    gates.some(({ usesNow, demands }) => usesNow === true || demands !== undefined)
  );
}
