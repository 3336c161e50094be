/** Compares the old and the new policies over every Cluster and hook. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtimehooks.ts";
import { expectedCall } from "../../operations/call.ts";
import { type Ask, newAsk } from "../../operations/operation.ts";
import type { ServedHooks } from "../../api/hookcatalog.ts";
import { matches } from "../../policy/decide.ts";
import type { Decision, Verdict } from "../../policy/decision.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { editOf, forgetEdited } from "../../operations/timers.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { changedPolicies, type FleetPair } from "./changedfleet.ts";
import { decidingGates, findings, reasonOf } from "../test/expect.ts";
import type { PolicyEdit } from "../fleet/edits.ts";
import { type Look, lookAt, type Operation, walk } from "../../operations/timeline.ts";
import { policyName } from "../../policy/policyref.ts";

export const CHANGES = ["newly-blocked", "newly-allowed", "changed-reason"] as const;
export type ChangeKind = (typeof CHANGES)[number];

export interface SimulationOptions {
  readonly served: ServedHooks;
  readonly hooks: readonly HookName[];
  readonly from: Date;
  /** Absent: one instant. */
  readonly to?: Date;
  /** What upgrade hooks are about; default: what the Cluster shows, else what its topology wants. */
  readonly version?: string;
  /** Whether some expression reads the clock. */
  readonly usesNow: boolean;
}

/** The answer to Cluster API, with the rules that caused it. */
export interface Answer {
  readonly verdict: Verdict;
  readonly holds: boolean;
  readonly retryAfterSeconds: number;
  readonly message: string;
  /** If the answer releases: only the rules of Audit policies and those that only observe. */
  readonly rules: readonly AnswerRule[];
}

export interface AnswerRule {
  readonly policy: string;
  readonly rule: string;
  readonly gate?: string;
  readonly reason: string;
}

export interface Change {
  readonly change: ChangeKind;
  readonly cluster: string;
  readonly hook: HookName;
  readonly before: Answer;
  readonly after: Answer;
  /** The first instant of the change within a time range. */
  readonly from: Date;
  /** The total duration of the change within the range. */
  readonly seconds: number;
}

/** A rule of which nothing can be said, at the beginning and with the new policies. */
export interface NotEvaluableRule {
  readonly policy: string;
  readonly rule: string;
  /** Why, of the first of the operations. */
  readonly message: string;
  readonly operations: number;
}

export interface Simulation {
  readonly changes: readonly Change[];
  readonly notEvaluable: readonly NotEvaluableRule[];
  readonly clusters: number;
  /** Clusters for which Cluster API calls no hook: without topology, or paused. */
  readonly skipped: number;
  readonly operations: number;
  /** Whether it is held at the start of the time. */
  readonly blockedBefore: number;
  readonly blockedAfter: number;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Yields the progress after each Cluster. */
export function* simulate(pair: FleetPair, options: SimulationOptions): Generator<Progress, Simulation> {
  const all = pair.after.clusters();
  const changed = new Map(options.hooks.map((hook) => [hook, changedPolicies(pair, hook)]));
  const clusters = all.filter(({ topology, paused }) => topology !== undefined && !paused);
  const changes: Change[] = [];
  const notEvaluable = new Map<string, NotEvaluableRule>();
  const end = endOf(options);
  let [blockedBefore, blockedAfter] = [0, 0];
  for (const [index, cluster] of clusters.entries()) {
    const sides = sidesOf(pair, cluster);
    for (const hook of options.hooks) {
      const answered = answerBoth(sides, changed.get(hook) ?? [], hook, options);
      blockedBefore += Number(answered.before[0]?.answer.holds === true);
      blockedAfter += Number(answered.after[0]?.answer.holds === true);
      for (const rule of notEvaluableIn(answered.after)) count(notEvaluable, rule);
      const different = compareAnswers(answered.before, answered.after, end);
      changes.push(...different.map((change) => ({ ...change, hook, cluster: clusterKey(cluster) })));
    }
    yield { done: index + 1, total: clusters.length };
  }
  const skipped = all.length - clusters.length;
  const operations = clusters.length * options.hooks.length;
  return {
    changes,
    notEvaluable: [...notEvaluable.values()],
    clusters: clusters.length,
    skipped,
    operations,
    blockedBefore,
    blockedAfter,
  };
}

function endOf({ from, to }: SimulationOptions): number {
  return (to ?? from).getTime();
}

function notEvaluableIn([first]: readonly Answered[]): NotEvaluableRule[] {
  return (first?.trace ?? []).flatMap(({ policy, rules }) =>
    rules
      .filter(({ verdict }) => verdict === "NotEvaluable")
      .map(({ rule, message }) => ({ policy: policyName(policy), rule, message, operations: 1 })),
  );
}

function count(found: Map<string, NotEvaluableRule>, rule: NotEvaluableRule): void {
  const key = JSON.stringify([rule.policy, rule.rule]);
  const known = found.get(key);
  found.set(key, known === undefined ? rule : { ...known, operations: known.operations + 1 });
}

interface Answered {
  readonly at: number;
  readonly trace: Decision["trace"];
  readonly answer: Answer;
  readonly key: string;
}

interface Side {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  readonly asked: readonly Ask[];
}

interface Sides {
  readonly before: Side;
  readonly after: Side;
  readonly sameWorld: boolean;
}

function sidesOf({ before, after, sameWorld, edits }: FleetPair, cluster: Cluster): Sides {
  const { namespace = "", name } = cluster.metadata;
  const known = before.cluster(namespace, name) ?? cluster;
  // The present state still counts when the policies change.
  const asked = before.asked(known);
  return {
    before: { fleet: before, cluster: known, asked },
    after: { fleet: after, cluster, asked: asked.map((ask) => edited(ask, edits)) },
    sameWorld,
  };
}

/** An edit resets clocks, as in the operator. */
function edited(ask: Ask, edits: readonly PolicyEdit[]): Ask {
  return edits.reduce((rest, { uid, before, after }) => forgetEdited(rest, uid, editOf(before, after)), ask);
}

/** If no changed policy applies, there is only one answer, and its future does not matter. */
function answerBoth(
  { before, after, sameWorld }: Sides,
  changed: readonly CompiledPolicy[],
  hook: HookName,
  options: SimulationOptions,
): { readonly before: readonly Answered[]; readonly after: readonly Answered[] } {
  const world = after.fleet.world(after.cluster);
  if (sameWorld && changed.every((policy) => matches(policy, world) === "no")) {
    const { to: _, ...now } = options;
    const same = answers(after, hook, now);
    return { before: same, after: same };
  }
  return { before: answers(before, hook, options), after: answers(after, hook, options) };
}

/** The answers from the start, and wherever they change. */
function answers(side: Side, hook: HookName, options: SimulationOptions): Answered[] {
  const operation = operationOf(side, hook, options);
  const { from, to } = options;
  const looks = to === undefined ? [lookAt(operation, from)] : walk(operation, from, to);
  const result: Answered[] = [];
  for (const look of looks) {
    const answered = answeredOf(look);
    if (result.at(-1)?.key !== answered.key) result.push(answered);
  }
  return result;
}

function answeredOf({ at, decision }: Look): Answered {
  const answer = answerOf(decision);
  const { verdict, holds, rules } = answer;
  return { at: at.getTime(), trace: decision.trace, answer, key: JSON.stringify([verdict, holds, rules]) };
}

function answerOf(decision: Decision): Answer {
  const { verdict, holds, retryAfterSeconds, message } = decision;
  const decides = holds || verdict !== "Allowed" ? findings(decision) : [];
  const rules = decides.map((finding): AnswerRule => {
    const gate = finding.rule.verdict === "Observed" ? undefined : decidingGates(finding)[0]?.gate;
    return {
      policy: policyName(finding.policy.policy),
      rule: finding.rule.rule,
      ...(gate !== undefined && { gate }),
      reason: reasonOf(finding),
    };
  });
  return { verdict, holds, retryAfterSeconds, message, rules };
}

/** Limits the samples of an expression with `now`, whose value can change at any time. */
const MAX_SAMPLES = 100;
const SAMPLE_SECONDS = 60;

function operationOf(
  { fleet, cluster, asked }: Side,
  hook: HookName,
  { from, to, usesNow, version }: SimulationOptions,
): Operation {
  const known = asked.find(({ call }) => call.hook === hook);
  const call = (version === undefined ? known?.call : undefined) ?? expectedCall(hook, cluster, version);
  const seconds = Math.max(SAMPLE_SECONDS, ((to ?? from).getTime() - from.getTime()) / 1000 / MAX_SAMPLES);
  return {
    policies: fleet.policiesFor(cluster.metadata.namespace ?? ""),
    world: fleet.world(cluster),
    call,
    asked: newAsk(call, cluster, from, known),
    ...(usesNow && { lookAgain: () => seconds }),
  };
}

type Difference = Omit<Change, "cluster" | "hook">;

/** One entry per kind of change: its first instant and its total duration. */
function compareAnswers(before: readonly Answered[], after: readonly Answered[], end: number): Difference[] {
  const found = new Map<ChangeKind, Difference>();
  const starts = [...new Set([...before, ...after].map(({ at }) => at))].toSorted((a, b) => a - b);
  for (const [index, start] of starts.entries()) {
    const old = before.findLast(({ at }) => at <= start);
    const now = after.findLast(({ at }) => at <= start);
    if (old === undefined || now === undefined || old.key === now.key) continue;
    const change = kindOf(old.answer, now.answer);
    const seconds = ((starts[index + 1] ?? end) - start) / 1000;
    const first = found.get(change) ?? {
      change,
      before: old.answer,
      after: now.answer,
      from: new Date(start),
      seconds: 0,
    };
    found.set(change, { ...first, seconds: first.seconds + seconds });
  }
  return [...found.values()];
}

function kindOf(before: Answer, after: Answer): ChangeKind {
  if (before.holds === after.holds) return "changed-reason";
  return after.holds ? "newly-blocked" : "newly-allowed";
}

export function countOf({ changes }: Simulation, kind: ChangeKind): number {
  return changes.filter(({ change }) => change === kind).length;
}
