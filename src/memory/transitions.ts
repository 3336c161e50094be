/** The transitions of holds, deadlines, windows, overrides and Cluster API's calls that users learn of. */

import { CONDITION, type HookPolicyStatus, type RecentResult, type TornDown } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import type { Decision, PolicyTrace, RuleTrace } from "../policy/decision.ts";
import { after, earliest } from "../lib/instant.ts";
import { type Override, timerKey } from "../policy/world.ts";
import { type CompiledPolicy, windowsOf } from "../policy/policy.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { type PolicyRow, policyRow } from "../operations/rows.ts";
import type { DeadlineStep, PolicyEntry, WindowLook } from "./policy-entry.ts";
import type { PolicyRef } from "../policy/policy-ref.ts";

interface OfPolicy<Type extends string> {
  readonly type: Type;
  readonly policy: PolicyRef;
  readonly policyUID: string;
}

type WithResult<Type extends string> = OfPolicy<Type> & { readonly result: RecentResult };

export type Transition =
  /** `isNear`: less than the rule's warnBefore is left until its deadline. */
  | (OfPolicy<"Held"> & { readonly row: PolicyRow; readonly isNear?: boolean })
  /** Others delete what a held Cluster owns. */
  | (OfPolicy<"TornDown"> & { readonly row: TornDownRow })
  /** An operation that the policy has held proceeds. */
  | WithResult<"Released">
  /** An operation has proceeded that the policy would have held, or could not evaluate. */
  | WithResult<"NotHeld">
  /** An upgrade that the policy holds proceeds, because Cluster API does not ask about its version. */
  | WithResult<"NotAsked">
  /** A request was refused at admission, for the first time for its Cluster and rule. */
  | WithResult<"Refused">
  | (OfPolicy<"DeadlineStep"> & {
      readonly rule: string;
      readonly operation: PendingOperation;
      readonly step: DeadlineStep;
      readonly deadlineAt: Date;
      /** Whether the deadline releases the operation. */
      readonly releases: boolean;
    })
  | (OfPolicy<"WindowChanged"> & {
      readonly rule: string;
      readonly gate: string;
      readonly open: boolean;
      readonly at: Date;
      /** Absent: the window never changes again. */
      readonly until?: Date;
    })
  | {
      readonly type: "OverrideUsed";
      readonly override: Override;
      readonly cluster: Cluster;
      readonly call: HookCall;
      readonly policies: readonly string[];
    }
  | (OfPolicy<"CallsChanged"> & {
      /** Why Cluster API does not call; absent: it calls again. */
      readonly notCalled?: { readonly reason: string; readonly message: string };
      /** When the condition appeared, also once it is gone. */
      readonly since: string;
    });

/**
 * Whether the policy has just begun to hold the operation. A hold from before a restart is not new; a status that leaves
 * rows out does not tell which holds those are.
 */
function beginsToHold(
  { object: { status } }: PolicyEntry,
  before: PolicyRow | undefined,
  row: PolicyRow | undefined,
): row is PolicyRow {
  if (row?.holds !== true || (status?.decisionsOmitted ?? 0) > 0) return false;
  return before?.holds !== true && before?.verdict !== row.verdict;
}

type TornDownRow = PolicyRow & Required<Pick<PolicyRow, "tornDown">>;

function isNewlyTornDown(before: PolicyRow | undefined, row: PolicyRow | undefined): row is TornDownRow {
  return row?.tornDown !== undefined && row.tornDown.reason !== before?.tornDown?.reason;
}

/** The change from one status to the next in whether Cluster API calls. */
export function callsChanged(
  { compiled: { ref: policy, uid: policyUID }, object }: PolicyEntry,
  status: HookPolicyStatus,
): Transition | undefined {
  const [before, now] = [object.status, status].map((each) =>
    each?.conditions?.find(({ type }) => type === CONDITION.NotCalled),
  );
  if (before?.reason === now?.reason) return undefined;
  const since = (now ?? before)?.lastTransitionTime ?? "";
  if (now === undefined) return { type: "CallsChanged", policy, policyUID, since };
  const { reason, message } = now;
  return { type: "CallsChanged", policy, policyUID, notCalled: { reason, message }, since };
}

/** In their order. A rule with a warnBefore has the last two, and any other rule those in per cent. */
const STEPS: readonly (DeadlineStep | 0)[] = [0, 50, 80, "Near", 100];
/** A step that passed while no replica watched is reported only if it passed less than this time ago. */
const LATE_MS = 600_000;

interface RunningDeadline {
  readonly rule: string;
  readonly deadlineAt: Date;
  readonly releases: boolean;
  /** In their order. */
  readonly steps: readonly { readonly step: DeadlineStep; readonly at: Date }[];
}

/** Deadlines of rules that hold the operation, or that the deadline itself has released. */
function running(policy: CompiledPolicy, { mode, overriddenBy, rules }: PolicyTrace): RunningDeadline[] {
  if (mode === "Audit" || overriddenBy !== undefined) return [];
  return rules.filter(isRunning).flatMap(({ rule, timers, deadlineAt, deadlineReleases }) => {
    const { blockedSince } = timers ?? {};
    if (blockedSince === undefined || deadlineAt === undefined) return [];
    const warnBeforeMs = policy.rules.find(({ name }) => name === rule)?.deadline?.warnBeforeMs;
    const ms = deadlineAt.getTime() - blockedSince.getTime();
    const before: RunningDeadline["steps"] =
      warnBeforeMs !== undefined
        ? [{ step: "Near", at: after(deadlineAt, -warnBeforeMs) }]
        : ([50, 80] as const).map((step) => ({ step, at: after(blockedSince, (ms * step) / 100) }));
    const steps = [...before, { step: 100 as const, at: deadlineAt }];
    return [{ rule, deadlineAt, releases: deadlineReleases === true, steps }];
  });
}

function isNear(policy: CompiledPolicy, trace: PolicyTrace, row: PolicyRow, now: Date): boolean {
  const own = running(policy, trace).filter(({ rule }) => rule === row.rule);
  return own.some(({ steps }) => steps.some(({ step, at }) => step === "Near" && now >= at));
}

function isRunning({ verdict, reason }: RuleTrace): boolean {
  return verdict === "Blocked" || reason === "DeadlineExpired";
}

/** The next instant at which a deadline passes a step. `policies`: in the order of the trace. */
export function nextDeadlineStep(
  policies: readonly CompiledPolicy[],
  trace: readonly PolicyTrace[],
  now: Date,
): Date | undefined {
  const deadlines = policies.flatMap((policy, index) => {
    const said = trace[index];
    return said === undefined ? [] : running(policy, said);
  });
  const steps = deadlines.flatMap((deadline) => deadline.steps.map(({ at }) => at));
  return earliest(steps.filter((at) => at > now));
}

/** Returns the steps that were passed since the last look, and remembers them in the entry. */
function deadlineSteps(
  entry: PolicyEntry,
  operation: PendingOperation,
  trace: PolicyTrace,
  now: Date,
): Transition[] {
  const key = operationKey(operation.clusterUID, operation.call.hook);
  const before = entry.deadlines.get(key);
  const deadlines = running(entry.compiled, trace).map(({ steps, ...deadline }) => {
    const last = steps.findLast(({ at }) => at <= now);
    return { ...deadline, last, step: last?.step ?? (0 as const) };
  });
  entry.setDeadlines(key, deadlines);
  const { ref: policy, uid: policyUID } = entry.compiled;
  return deadlines.flatMap(({ last, rule, deadlineAt, releases }): Transition[] => {
    if (last === undefined) return [];
    const { step, at } = last;
    if (STEPS.indexOf(step) <= STEPS.indexOf(before?.get(rule) ?? 0) || now > after(at, LATE_MS)) return [];
    return [{ type: "DeadlineStep", policy, policyUID, rule, operation, step, deadlineAt, releases }];
  });
}

export function windowEdge({ compiled }: PolicyEntry, now: Date): Date | undefined {
  return earliest(windowsOf(compiled).map(({ window }) => window.at(now).changesAt));
}

/** Returns the windows that opened or closed since the last look; the first look only remembers. */
export function windowTransitions(entry: PolicyEntry, now: Date): Transition[] {
  const { ref: policy, uid: policyUID } = entry.compiled;
  const looks = new Map<string, WindowLook>();
  const before = entry.windows;
  entry.windows = looks;
  return windowsOf(entry.compiled).flatMap(({ rule, gate, window }): Transition[] => {
    const { open, changesAt } = window.at(now);
    const key = timerKey(rule, gate);
    looks.set(key, { rule, gate, open, ...(changesAt !== undefined && { changesAt }) });
    const last = before.get(key);
    if (last === undefined || last.open === open || last.changesAt === undefined) return [];
    const until = changesAt === undefined ? {} : { until: changesAt };
    return [{ type: "WindowChanged", policy, policyUID, rule, gate, open, at: last.changesAt, ...until }];
  });
}

export interface RowChange {
  readonly entry: PolicyEntry;
  readonly before: PolicyRow | undefined;
  readonly row: PolicyRow | undefined;
  readonly transitions: readonly Transition[];
}

/**
 * Notes in each entry that it holds the operation, and the steps of its deadlines; the caller sets the row. `entries`: in
 * the order of the trace.
 */
export function rowChanges(
  entries: readonly PolicyEntry[],
  operation: PendingOperation,
  { trace, tornDown }: Pick<Decision, "trace"> & { readonly tornDown?: TornDown | undefined },
  now: Date,
): readonly RowChange[] {
  const key = operationKey(operation.clusterUID, operation.call.hook);
  return trace.flatMap((said, index): RowChange[] => {
    const entry = entries[index];
    if (entry === undefined) return [];
    const { ref: policy, uid: policyUID } = entry.compiled;
    const transitions = deadlineSteps(entry, operation, said, now);
    const before = entry.held.get(key);
    const row = policyRow(operation, { trace: said, policyUID, tornDown }, before, now);
    if (row?.holds === true) entry.hasHeld.add(key);
    if (beginsToHold(entry, before, row)) {
      const near = isNear(entry.compiled, said, row, now);
      transitions.push({ type: "Held", policy, policyUID, row, isNear: near });
    }
    if (isNewlyTornDown(before, row)) transitions.push({ type: "TornDown", policy, policyUID, row });
    return [{ entry, before, row, transitions }];
  });
}
