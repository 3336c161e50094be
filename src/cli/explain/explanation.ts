/** Explains why a Cluster is held or may proceed: what every policy says about an operation, and how to release it. */

import type { Cluster } from "../../api/meta.ts";
import { HOOK_NAMES, type HookCall, type HookName } from "../../api/runtimehooks.ts";
import { hasEnded } from "../../operations/ended.ts";
import { type Ask, newAsk } from "../../operations/operation.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import { matches } from "../../policy/decide.ts";
import { isAsked as isWanted } from "../../operations/shows.ts";
import { readTimestamp } from "../../policy/instant.ts";
import { BEGINS } from "../../rollouts/member.ts";
import type { Decision, GateTrace, PolicyTrace, RuleTrace, Verdict } from "../../policy/decision.ts";
import { forecast } from "../../operations/forecast.ts";
import type { CompiledPolicy, CompiledRule, ObjectQuery } from "../../policy/policy.ts";
import { remember } from "../../operations/timers.ts";
import { timerKey, type World } from "../../policy/world.ts";
import { notCalled, omittedRows } from "../fleet/caveats.ts";
import { MINOR_STEPS } from "../fleet/minorsteps.ts";
import { comingFrom, expectedCall, skipsMinor } from "../../operations/call.ts";
import { readsClock } from "../simulate/walks.ts";
import { mismatchOf } from "./match.ts";
import { type ExplainedRollout, explainRollouts, rolloutQueries } from "./rollouthold.ts";
import { isOf } from "./rolloutturn.ts";
import { compareStatus, type StatusComparison, type Unread } from "./storedstatus.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { lookAt, type Span, spansOf, walk } from "../../operations/timeline.ts";

export interface ExplainOptions {
  readonly cluster: Cluster;
  /** Absent: the operations that wait now. */
  readonly hook?: HookName;
  readonly now: Date;
  /** An instant other than now. */
  readonly at?: Date;
  readonly toVersion?: string;
  readonly fromVersion?: string;
  readonly unread: readonly Unread[];
  /** Whether the policies come from an API server, so that their statuses are the operator's. */
  readonly live: boolean;
}

export interface Explanation {
  readonly cluster: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly at: Date;
  /** Context besides the policies: why no hook is called, what could not be read or is left out. */
  readonly notes: readonly string[];
  readonly operations: readonly ExplainedOperation[];
}

export interface ExplainedOperation {
  readonly hook: HookName;
  readonly targetVersion?: string;
  /** Absent: Cluster API is not calling now. */
  readonly firstAsked?: Date;
  /** Whether the Cluster shows that it has passed this hook. */
  readonly passed: boolean;
  readonly verdict: Verdict;
  /** Absent: policies that the user may not read could hold it. */
  readonly holds?: boolean;
  readonly retryAfterSeconds: number;
  /** The message as Cluster API shows it. */
  readonly message: string;
  readonly release: Release;
  /** All steps that together release the operation. */
  readonly steps: readonly Step[];
  readonly policies: readonly ExplainedPolicy[];
  /** The rollouts that select the Cluster for this operation; empty while a policy holds it: they are asked afterwards. */
  readonly rollouts: readonly ExplainedRollout[];
}

/** The earliest release by time alone. Absent: never, or the operation proceeds anyway. */
export type Release = Date | "Unknown" | undefined;

export interface Step {
  readonly policy: PolicyTrace["policy"];
  readonly rule: string;
  readonly gate?: string;
  /** What the gate waits for; for a gate that is not evaluable, the reason. */
  readonly wanted: string;
  readonly evaluable: boolean;
  /** Commands that make the gate hold; one of them is enough. */
  readonly commands: readonly string[];
  readonly release: Release;
  /** The message of the policy's author. */
  readonly message?: string;
}

export interface ExplainedPolicy {
  readonly trace: PolicyTrace;
  /** Why the policy does not apply to the Cluster; empty if it does. */
  readonly mismatch: readonly string[];
  readonly release: Release;
  readonly rules: readonly ExplainedRule[];
  /** The rules on other hooks. */
  readonly otherRules: readonly CompiledRule[];
  readonly status?: StatusComparison;
  /** The end of the override that lifts the policy. */
  readonly liftedUntil?: Date;
}

export interface ExplainedRule {
  readonly trace: RuleTrace;
  readonly release: Release;
  /** Whether the start of the block is known: the rule's deadline counts from there. */
  readonly isSinceKnown: boolean;
  /** How long the deadline is. */
  readonly deadlineMs?: number;
}

export function explain(fleet: Fleet, options: ExplainOptions): Explanation {
  const { cluster, hook, at, now, unread } = options;
  const { namespace = "", name, uid } = cluster.metadata;
  const found = subjects(fleet, options);
  return {
    cluster: { namespace, name, uid },
    at: at ?? now,
    notes: [
      notCalled(cluster),
      ...unread.map(({ text }) => text),
      hook === undefined ? omittedRows(fleet, cluster) : undefined,
      found.some(({ call }) => skipsMinor(call)) ? MINOR_STEPS : undefined,
    ].filter((note) => note !== undefined),
    operations: found.map((subject) => explainOperation(fleet, subject, options)),
  };
}

/** The objects that gates look at for the whole explanation. */
export function queriesFor(fleet: Fleet, options: ExplainOptions): readonly ObjectQuery[] {
  const { cluster, now, at = now } = options;
  return subjects(fleet, options).flatMap(({ call, asked }) => {
    const world = fleet.world(cluster, asked);
    const ofPolicies = fleet
      .policiesFor(cluster.metadata.namespace ?? "")
      .filter((policy) => matches(policy, world) !== "no")
      .flatMap(({ rules }) => rules.filter(({ hooks }) => hooks.has(call.hook)))
      .flatMap(({ gates }) => gates.flatMap((gate) => gate.queries?.(world, call, at) ?? []));
    return [...ofPolicies, ...rolloutQueries(fleet, { world, call, at })];
  });
}

/** The verdicts of the policies from now on, for each operation of the explanation; without those of rollouts. */
export function spansAhead(fleet: Fleet, options: ExplainOptions, to: Date): readonly (readonly Span[])[] {
  const { cluster, now } = options;
  const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
  return subjects(fleet, options).map(({ call, asked }) => {
    const operation = { policies, world: fleet.world(cluster), call, asked };
    const seconds = (to.getTime() - now.getTime()) / 1000 / MAX_SAMPLES;
    const followed = readsClock(operation, lookAt(operation, now))
      ? { ...operation, lookAgain: () => seconds }
      : operation;
    return spansOf(walk(followed, now, to), to);
  });
}

/** Of expressions that look at the clock, whose value can change at any time. */
const MAX_SAMPLES = 400;

interface Subject {
  readonly call: HookCall;
  readonly asked: Ask;
  /** Whether Cluster API is waiting for the answer. */
  readonly isAsked: boolean;
}

function subjects(fleet: Fleet, options: ExplainOptions): readonly Subject[] {
  const { cluster, hook, now } = options;
  const asks = fleet.asked(cluster);
  if (hook === undefined) {
    return [...asks, ...askedOfRollouts(fleet, asks, options)]
      .toSorted((a, b) => HOOK_NAMES.indexOf(a.call.hook) - HOOK_NAMES.indexOf(b.call.hook))
      .map((asked) => ({ call: comingFrom(asked.call, options.fromVersion), asked, isAsked: true }));
  }
  const known = asks.find(({ call }) => call.hook === hook);
  const call =
    known === undefined || options.toVersion !== undefined
      ? expectedCall(hook, cluster, options.toVersion)
      : known.call;
  const asked = newAsk(comingFrom(call, options.fromVersion), cluster, options.at ?? now, known);
  const isAsked = known !== undefined && targetVersion(known.call) === targetVersion(call);
  return [{ call: asked.call, asked, isAsked }];
}

/** No policy has a row of an operation that only a rollout holds: the Cluster shows that it waits. */
function askedOfRollouts(
  { rollouts, served }: Fleet,
  asks: readonly Ask[],
  { cluster, now }: ExplainOptions,
): readonly Ask[] {
  const hooks = new Set(rollouts.map(({ compiled }) => BEGINS[compiled.operation]));
  return [...hooks]
    .filter((hook) => !asks.some(({ call }) => call.hook === hook) && isWanted(hook, cluster, served))
    .map((hook) => {
      const since = rollouts
        .flatMap(({ status }) => status.next ?? [])
        .find((each) => isOf(each, cluster))?.since;
      const ask = newAsk(expectedCall(hook, cluster), cluster, now, undefined);
      return { ...ask, firstAsked: readTimestamp(since) ?? ask.firstAsked };
    });
}

function explainOperation(
  fleet: Fleet,
  { call, asked: before, isAsked }: Subject,
  options: ExplainOptions,
): ExplainedOperation {
  const { cluster, now, at = now } = options;
  const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const operation = { policies, world: fleet.world(cluster), call, asked: before };
  const { decision, asked } = isAsked && at > now ? lookAhead(operation, now, at) : lookAt(operation, at);
  const world = fleet.world(cluster, asked);
  const situation: Situation = { fleet, world, call, at, policies, before, asked, isAsked, options };
  const version = targetVersion(call);
  const rollouts = decision.holds ? [] : explainRollouts(fleet, { world, call, at });
  return {
    hook: call.hook,
    ...(version !== undefined && { targetVersion: version }),
    ...(isAsked && { firstAsked: before.firstAsked }),
    passed: !isAsked && options.toVersion === undefined && hasEnded(before, cluster, fleet.served),
    ...answerOf(decision, rollouts, options.unread),
    ...wayOut(decision, situation),
    policies: decision.trace.map((trace, index) => explainPolicy(trace, policies[index], situation)),
    rollouts,
  };
}

type Operation = Parameters<typeof lookAt<Ask>>[0];

/** The timers of waits and deadlines at that instant, computed like the operator does. */
function lookAhead(operation: Operation, now: Date, at: Date): ReturnType<typeof lookAt<Ask>> {
  let { asked } = operation;
  for (const look of walk(operation, now, at)) ({ asked } = look);
  return lookAt({ ...operation, asked }, at);
}

interface Situation {
  readonly fleet: Fleet;
  readonly world: World;
  readonly call: HookCall;
  readonly at: Date;
  readonly policies: readonly CompiledPolicy[];
  /** The state that was known before now. */
  readonly before: Ask;
  readonly asked: Ask;
  readonly isAsked: boolean;
  readonly options: ExplainOptions;
}

function answerOf(
  { verdict, holds, retryAfterSeconds, message }: Decision,
  rollouts: readonly ExplainedRollout[],
  unread: readonly Unread[],
): Pick<ExplainedOperation, "verdict" | "holds" | "retryAfterSeconds" | "message"> {
  const rollout = rollouts.find((each) => each.holds);
  if (rollout !== undefined)
    return {
      verdict: "Blocked",
      holds: true,
      retryAfterSeconds: rollout.retryAfterSeconds,
      message: rollout.message,
    };
  const open = !holds && unread.some(({ policies }) => policies);
  return { ...(open ? { verdict: "NotEvaluable" } : { verdict, holds }), retryAfterSeconds, message };
}

function wayOut(decision: Decision, situation: Situation): Pick<ExplainedOperation, "release" | "steps"> {
  if (!decision.holds) return { release: undefined, steps: [] };
  return {
    release: releaseOf(situation.policies, decision.trace, situation),
    steps: stepsOf(decision, situation),
  };
}

function explainPolicy(
  trace: PolicyTrace,
  policy: CompiledPolicy | undefined,
  situation: Situation,
): ExplainedPolicy {
  if (policy === undefined) return { trace, mismatch: [], release: undefined, rules: [], otherRules: [] };
  const { fleet, world, call, asked, isAsked, options } = situation;
  const known = fleet.policies.find(({ compiled }) => compiled === policy);
  const status =
    options.live && options.at === undefined && known !== undefined
      ? compareStatus(known, trace, {
          ...(isAsked && { asked: remember(asked, [policy], [trace]) }),
          ...options,
        })
      : undefined;
  const lifting = fleet.overrides.find(({ name }) => name === trace.overriddenBy);
  return {
    trace,
    mismatch: trace.matched ? [] : mismatchOf(known?.raw, world),
    release: releaseIfHeld(policy, trace.rules, situation),
    rules: trace.rules.map((rule) => ({
      trace: rule,
      release:
        trace.overriddenBy === undefined ? releaseIfHeld(only(policy, rule), [rule], situation) : undefined,
      isSinceKnown: isSinceKnown(policy, rule, situation),
      ...deadlineOf(policy, rule),
    })),
    otherRules: policy.rules.filter(({ hooks }) => !hooks.has(call.hook)),
    ...(status !== undefined && { status }),
    ...(lifting !== undefined && { liftedUntil: lifting.expiresAt }),
  };
}

function isSinceKnown({ uid }: CompiledPolicy, { rule }: RuleTrace, { before }: Situation): boolean {
  return before.rules.get(timerKey(uid, rule))?.blockedSince !== undefined;
}

function deadlineOf({ rules }: CompiledPolicy, { rule }: RuleTrace): Pick<ExplainedRule, "deadlineMs"> {
  const deadline = rules.find(({ name }) => name === rule)?.deadline;
  return deadline === undefined ? {} : { deadlineMs: deadline.afterMs };
}

function only(policy: CompiledPolicy, { rule }: RuleTrace): CompiledPolicy {
  return { ...policy, rules: policy.rules.filter(({ name }) => name === rule) };
}

/** An Audit policy counts as if it were enforced. */
function releaseIfHeld(policy: CompiledPolicy, rules: readonly RuleTrace[], situation: Situation): Release {
  if (!rules.some(({ holds }) => holds)) return undefined;
  return releaseOf([{ ...policy, mode: "Enforce" }], [{ holds: true, rules }], situation);
}

function releaseOf(
  policies: readonly CompiledPolicy[],
  trace: readonly Pick<PolicyTrace, "holds" | "rules">[],
  situation: Situation,
): Release {
  const { world, call, at } = situation;
  const release = forecast(policies, world, call, at);
  const isCounted = trace.some(({ rules }, index) => {
    const policy = policies[index];
    return rules.some(
      (rule) =>
        policy !== undefined &&
        rule.deadlineReleases === true &&
        rule.deadlineAt?.getTime() === release?.getTime() &&
        !isSinceKnown(policy, rule, situation),
    );
  });
  if (release !== undefined) return isCounted ? "Unknown" : release;
  const open = trace
    .filter(({ holds }) => holds)
    .flatMap(({ rules }) => rules.filter(({ holds }) => holds))
    .flatMap(({ gates }) => gates.filter(({ holds }) => holds !== true));
  return open.length > 0 && open.every(({ changesAt }) => changesAt !== undefined) ? "Unknown" : undefined;
}

/** What a user can act on comes first: a Blocked verdict is not about a rule that cannot be evaluated. */
function stepsOf({ trace }: Decision, situation: Situation): Step[] {
  const held = trace.flatMap((policy, index) =>
    policy.rules
      .filter(({ holds }) => policy.holds && holds)
      .map((rule) => ({ rule, steps: stepsOfRule(policy, rule, situation.policies[index]) })),
  );
  return held
    .toSorted((a, b) => Number(b.rule.verdict === "Blocked") - Number(a.rule.verdict === "Blocked"))
    .flatMap(({ steps }) => steps);
}

function stepsOfRule(
  { policy }: PolicyTrace,
  rule: RuleTrace,
  compiled: CompiledPolicy | undefined,
): readonly Step[] {
  const message = compiled?.rules.find(({ name }) => name === rule.rule)?.message;
  const rest = { policy, rule: rule.rule, ...(message !== undefined && { message }) };
  const open = rule.gates
    .filter(({ holds, reason }) => holds !== true && reason !== "WaitNotStarted")
    .toSorted((a, b) => Number(b.holds === false) - Number(a.holds === false));
  if (open.length === 0) {
    return [{ ...rest, wanted: rule.message, evaluable: false, commands: [], release: undefined }];
  }
  return open.map((gate) => ({
    ...rest,
    gate: gate.gate,
    wanted: gate.holds === undefined && commandsOf(gate).length === 0 ? gate.observed : wantedOf(gate),
    evaluable: gate.holds !== undefined,
    commands: commandsOf(gate),
    release: gate.isSearchEnd === true ? "Unknown" : gate.changesAt,
  }));
}

/** Leaves out the commands, which are printed next to it. */
function wantedOf({ wanted, wantedInFull = wanted, members }: GateTrace): string {
  return members === undefined ? wantedInFull : `one of: ${members.map(wantedOf).join("; or ")}`;
}

function commandsOf({ remedy, members = [] }: GateTrace): readonly string[] {
  return [remedy, ...members.map((member) => member.remedy)].filter((each) => each !== undefined);
}
