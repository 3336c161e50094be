/** The transitions of holds, deadlines, windows, overrides and Cluster API's calls that users learn of. */

import type { EventText } from "../api/event-text.ts";
import type { TornDown } from "../api/hook-policy.ts";
import type { Decision, PolicyTrace, RuleTrace } from "../policy/decision.ts";
import { after, earliest } from "../lib/instant.ts";
import { timerKey } from "../policy/world.ts";
import { type CompiledPolicy, windowsOf } from "../policy/policy.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { type PolicyRow, policyRow } from "../operations/rows.ts";
import { deadlineStep, held, tornDownEvent, type TornDownRow, windowChanged } from "./policy-events.ts";
import type { DeadlineStep, PolicyEntry, WindowLook } from "./policy-entry.ts";

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

function isNewlyTornDown(before: PolicyRow | undefined, row: PolicyRow | undefined): row is TornDownRow {
  return row?.tornDown !== undefined && row.tornDown.reason !== before?.tornDown?.reason;
}

/** In their order. A rule with a warnBefore has the last two, and any other rule those in per cent. */
const STEPS: readonly (DeadlineStep | 0)[] = [0, 50, 80, "Near", 100];
/** A step that passed while no replica watched is reported only if it passed less than this time ago. */
const LATE_MS = 600_000;

interface RunningDeadline {
  readonly rule: string;
  readonly deadlineAt: Date;
  readonly releases: boolean;
  readonly hasTasks: boolean;
  readonly holds: boolean;
  /** In their order. */
  readonly steps: readonly { readonly step: DeadlineStep; readonly at: Date }[];
}

/** Deadlines of rules that hold the operation, or that the deadline itself has released. */
function running(policy: CompiledPolicy, { mode, overriddenBy, rules }: PolicyTrace): RunningDeadline[] {
  if (mode === "Audit" || overriddenBy !== undefined) return [];
  return rules.filter(isRunning).flatMap(({ rule, verdict, timers, deadlineAt, deadlineReleases, tasks }) => {
    const { blockedSince } = timers ?? {};
    if (blockedSince === undefined || deadlineAt === undefined) return [];
    const warnBeforeMs = policy.rules.find(({ name }) => name === rule)?.deadline?.warnBeforeMs;
    const ms = deadlineAt.getTime() - blockedSince.getTime();
    const before: RunningDeadline["steps"] =
      warnBeforeMs !== undefined
        ? [{ step: "Near", at: after(deadlineAt, -warnBeforeMs) }]
        : ([50, 80] as const).map((step) => ({ step, at: after(blockedSince, (ms * step) / 100) }));
    const steps = [...before, { step: 100 as const, at: deadlineAt }];
    const releases = deadlineReleases === true;
    return [
      { rule, deadlineAt, releases, hasTasks: tasks !== undefined, holds: verdict === "Blocked", steps },
    ];
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
): EventText[] {
  const key = operationKey(operation.clusterUID, operation.call.hook);
  const before = entry.deadlines.get(key);
  const deadlines = running(entry.compiled, trace).map(({ steps, ...deadline }) => {
    const last = steps.findLast(({ at }) => at <= now);
    return { ...deadline, last, step: last?.step ?? (0 as const) };
  });
  entry.setDeadlines(key, deadlines);
  return deadlines.flatMap(({ last, ...deadline }) => {
    if (last === undefined) return [];
    const { step, at } = last;
    if (STEPS.indexOf(step) <= STEPS.indexOf(before?.get(deadline.rule) ?? 0) || now > after(at, LATE_MS))
      return [];
    return [deadlineStep(entry.compiled, operation, { ...deadline, step })];
  });
}

export function windowEdge({ compiled }: PolicyEntry, now: Date): Date | undefined {
  return earliest(windowsOf(compiled).map(({ window }) => window.at(now).changesAt));
}

/** Returns the windows that opened or closed since the last look; the first look only remembers. */
export function windowTransitions(entry: PolicyEntry, now: Date): EventText[] {
  const looks = new Map<string, WindowLook>();
  const before = entry.windows;
  entry.windows = looks;
  return windowsOf(entry.compiled).flatMap(({ rule, gate, window }) => {
    const { open, changesAt, isSearchEnd } = window.at(now);
    const key = timerKey(rule, gate);
    looks.set(key, { rule, gate, open, ...(changesAt !== undefined && { changesAt }) });
    const last = before.get(key);
    if (last === undefined || last.open === open || last.changesAt === undefined) return [];
    const edge = { rule, gate, open, at: last.changesAt, until: changesAt, isSearchEnd };
    return [windowChanged(entry.compiled, edge)];
  });
}

export interface RowChange {
  readonly entry: PolicyEntry;
  readonly before: PolicyRow | undefined;
  readonly row: PolicyRow | undefined;
  readonly events: readonly EventText[];
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
    const { compiled } = entry;
    const events = deadlineSteps(entry, operation, said, now);
    const before = entry.held.get(key);
    const row = policyRow(operation, { trace: said, policyUID: compiled.uid, tornDown }, before, now);
    if (row?.holds === true) entry.hasHeld.add(key);
    if (beginsToHold(entry, before, row)) events.push(held(compiled, row, isNear(compiled, said, row, now)));
    if (isNewlyTornDown(before, row)) events.push(tornDownEvent(compiled, row));
    return [{ entry, before, row, events }];
  });
}
