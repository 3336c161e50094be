/** Remembers the timers of rules with a deadline or a wait, from one decision about an operation to the next. */

import { isDeepStrictEqual } from "node:util";
import { entryOf } from "../lib/entry-of.ts";
import type {
  DecisionRow,
  HookPolicySpec,
  HookPolicyStatus,
  RuleSpec,
  StoredTimers,
} from "../api/hook-policy.ts";
import type { PolicyTrace } from "../policy/decision.ts";
import { readTimestamp, wholeSecond } from "../lib/instant.ts";
import { type CompiledPolicy, windowsOf } from "../policy/policy.ts";
import type { Window } from "../policy/window/window.ts";
import { type OperationState, type RuleTimers, timerKey } from "../policy/world.ts";

/**
 * Replaces the timers of the policies in `trace`, and keeps those of other policies. A rule that was evaluated and whose
 * timers do not run keeps an empty entry.
 */
export function remember<T extends OperationState>(
  before: T,
  policies: readonly CompiledPolicy[],
  trace: readonly PolicyTrace[],
): T {
  const looked = new Map(policies.map(({ uid }, index) => [uid, trace[index]]));
  const rules = new Map<string, RuleTimers>();
  for (const [key, timers] of before.rules) {
    const owner = key.slice(0, key.indexOf("/"));
    if (!looked.has(owner)) rules.set(key, timers);
    // The gates were not evaluated, so a wait does not continue; a deadline does.
    else if (looked.get(owner)?.unread === true)
      rules.set(key, timers.blockedSince === undefined ? {} : { blockedSince: timers.blockedSince });
  }
  for (const [uid, seen] of looked) {
    if (seen === undefined || seen.unread === true) continue;
    for (const { rule, timers } of seen.rules)
      if (timers !== undefined) rules.set(timerKey(uid, rule), timers);
  }
  return { ...before, rules };
}

/** Policies come and go while an operation is held, which can take months. */
export function forgetPolicy<T extends OperationState>(operation: T, policyUID: string): T {
  const prefix = timerKey(policyUID, "");
  const rules = new Map([...operation.rules].filter(([key]) => !key.startsWith(prefix)));
  return rules.size === operation.rules.size ? operation : { ...operation, rules };
}

/**
 * A policy was edited: a wait starts again if the gates of its rule have changed, and all timers do if the mode has. An
 * empty entry stays, because it keeps older rows from being adopted.
 */
export function forgetEdited<T extends OperationState>(
  operation: T,
  policyUID: string,
  { sameMode, hasSameGates }: PolicyEdit,
): T {
  const prefix = timerKey(policyUID, "");
  const own = [...operation.rules].filter(([key]) => key.startsWith(prefix));
  if (own.length === 0) return operation;
  const rules = new Map(operation.rules);
  for (const [key, timers] of own) {
    const keepsWait = sameMode && hasSameGates(key.slice(prefix.length));
    const runsOn = { blockedSince: sameMode, gatesMetSince: keepsWait };
    const kept = timersOf((timer) => (runsOn[timer] ? timers[timer] : undefined));
    rules.set(key, kept);
  }
  return { ...operation, rules };
}

export interface PolicyEdit {
  readonly sameMode: boolean;
  /** Whether the rule of that name has the same gates. */
  readonly hasSameGates: (rule: string) => boolean;
}

/** Compares both specs once for thousands of operations. */
export function editOf(before: PolicySpec, now: PolicySpec): PolicyEdit {
  const compared = new Map<string, boolean>();
  const hasSameGates = (name: string): boolean =>
    entryOf(compared, name, () => isDeepStrictEqual(conditionsOf(before, name), conditionsOf(now, name)));
  return { sameMode: before?.mode === now?.mode, hasSameGates };
}

/** The spec as it is stored, valid or not. */
type PolicySpec = Partial<HookPolicySpec> | undefined;

/** The conditions that the waits of a rule wait for. */
function conditionsOf(spec: PolicySpec, name: string): unknown {
  const rules: readonly Partial<RuleSpec>[] = Array.isArray(spec?.rules) ? spec.rules : [];
  const rule = rules.find((each) => each?.name === name);
  const gates = Array.isArray(rule?.until)
    ? rule.until.filter((gate) => gate?.wait === undefined)
    : rule?.until;
  return [rule?.hooks, rule?.matchConditions, gates];
}

/**
 * The timers of a row that count: only those that were written for this spec and for rules on this hook. A wait whose
 * window has closed since then starts again, even if no replica saw that.
 */
export function storedTimers(
  policy: CompiledPolicy,
  status: HookPolicyStatus | undefined,
  { hook, timers = [] }: DecisionRow,
  now: Date,
): readonly StoredTimers[] {
  if (status?.observedGeneration !== policy.generation) return [];
  const own = new Set(policy.rules.filter(({ hooks }) => hooks.has(hook)).map(({ name }) => name));
  const windows = windowsOf(policy).filter(({ alone }) => alone);
  return timers
    .filter(({ rule }) => own.has(rule))
    .map(({ gatesMetSince, ...timer }) => {
      const since = new Date(gatesMetSince ?? NaN);
      const unbroken = windows
        .filter(({ rule }) => rule === timer.rule)
        .every(({ window }) => staysOpen(window, since, now));
      return { ...timer, ...(gatesMetSince !== undefined && unbroken && { gatesMetSince }) };
    });
}

function staysOpen(window: Window, since: Date, now: Date): boolean {
  if (Number.isNaN(since.getTime())) return false;
  const { open, changesAt } = window.at(since);
  return open && (changesAt === undefined || changesAt > now);
}

/**
 * Adopts timers from a status row. If this replica knows an instant, too, the later one counts, so that replicas agree and
 * no stored timer releases an operation earlier.
 */
export function adoptTimers<T extends OperationState>(
  operation: T,
  policyUID: string,
  stored: readonly StoredTimers[],
  now: Date,
): T {
  const rules = new Map<string, RuleTimers>(operation.rules);
  for (const { rule, ...timers } of stored) {
    const key = timerKey(policyUID, rule);
    rules.set(key, merge(rules.get(key), parse(timers, now)));
  }
  return { ...operation, rules };
}

/** An entry of this replica's own without an instant is newer than the stored timers. */
function merge(own: RuleTimers | undefined, stored: RuleTimers): RuleTimers {
  if (own === undefined) return stored;
  return timersOf((timer) => later(own[timer], stored[timer]));
}

function later(own: Date | undefined, stored: Date | undefined): Date | undefined {
  return own !== undefined && stored !== undefined && stored > own ? stored : own;
}

/** The writer's clock may be this far ahead; a later instant in a row counts as absent. */
const MAX_AHEAD_MS = 60_000;

/** Replaces instants from a clock that was ahead and is right again with the present. */
export function notAhead<T extends OperationState>(operation: T, now: Date): T {
  const clamp = (at: Date): Date => (isAhead(at, now) ? wholeSecond(now) : at);
  const { firstAsked, reportedBy = new Map<string, Date>(), rules } = operation;
  const timers = [...rules.values()].flatMap((each) => [each.blockedSince, each.gatesMetSince]);
  const instants = [firstAsked, ...reportedBy.values(), ...timers];
  if (!instants.some((at) => at !== undefined && isAhead(at, now))) return operation;
  const said = new Map([...reportedBy].map(([uid, at]) => [uid, clamp(at)]));
  const clampAll = (from: RuleTimers): RuleTimers => timersOf((timer) => from[timer] && clamp(from[timer]));
  return {
    ...operation,
    firstAsked: clamp(firstAsked),
    ...(said.size > 0 && { reportedBy: said }),
    rules: new Map([...rules].map(([key, from]) => [key, clampAll(from)])),
  };
}

/** Whether the instant comes from a clock that was ahead. */
export function isAhead(at: Date, now: Date): boolean {
  return at.getTime() > now.getTime() + MAX_AHEAD_MS;
}

function parse(stored: Omit<StoredTimers, "rule">, now: Date): RuleTimers {
  return timersOf((timer) => {
    const at = readTimestamp(stored[timer]);
    return at === undefined || isAhead(at, now) ? undefined : at;
  });
}

const TIMERS = ["blockedSince", "gatesMetSince"] as const;

function timersOf(read: (timer: keyof RuleTimers) => Date | undefined): RuleTimers {
  const timers: { -readonly [K in keyof RuleTimers]: RuleTimers[K] } = {};
  for (const timer of TIMERS) {
    const at = read(timer);
    if (at !== undefined) timers[timer] = at;
  }
  return timers;
}
