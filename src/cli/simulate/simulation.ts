/** Compares the old and the new policies over every Cluster, hook and request. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { comingFrom, expectedCall, skipsMinor } from "../../operations/call.ts";
import { type PendingOperation, newOperation } from "../../operations/operation.ts";
import { windowsOf } from "../../policy/policy.ts";
import { forgetEdited } from "../../operations/timers.ts";
import { earliest } from "../../lib/instant.ts";
import { clusterKey } from "../../views/cluster.ts";
import { type Fleet, nameOf } from "../fleet/fleet.ts";
import { rolloutEdges } from "../fleet/rollout-state.ts";
import type { FleetPair } from "./changed-fleet.ts";
import { lookAt, type OperationInputs } from "../../operations/timeline.ts";
import type { Doubt, SimulatedAnswer } from "./answer.ts";
import type { SimulatedChange } from "./change.ts";
import { type OperationAnswers, differences } from "./differences.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { holdText } from "../../rollouts/hold.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import { requestsOf, requestTurns, type SimulationOptions, sampleSeconds } from "./request-turns.ts";
import { type SimulatedTask, simulatedTasks } from "./simulated-tasks.ts";
import { type SpecChange, unseenChanges } from "./spec-changes.ts";
import { type HoldChanges, type HoldFrom, type HoldInStage, holdKey, rolloutHolds } from "./rollout-holds.ts";
import { type AnswerTurn, distinct, turnsOf } from "./turns.ts";
import { policyName } from "../../policy/policy-ref.ts";

/** A rule of the new policies that is not evaluable at the beginning, with the reason for the first operation. */
export interface NotEvaluableRule extends Doubt {
  readonly operations: number;
}

export interface Simulation {
  readonly totals: Readonly<Totals>;
  readonly specs: readonly SpecChange[];
  readonly unseen: readonly string[];
  readonly selectsNothing: readonly string[];
  readonly changes: readonly SimulatedChange[];
  readonly notEvaluable: readonly NotEvaluableRule[];
  /** The policies and rollouts of either side with windows. */
  readonly windowed: readonly string[];
  /** The number of simulated calls that Cluster API never makes, because they skip a minor version. */
  readonly skippingMinor: number;
  /** What tasks of new and changed policies do, as of the beginning. */
  readonly tasks: readonly SimulatedTask[];
}

interface Totals {
  clusters: number;
  /** Clusters for which Cluster API calls no hook: they have no topology, or are paused. */
  skipped: number;
  operations: number;
  /** Policies and rollouts before the change; 0: nothing can be newly allowed. */
  policiesBefore: number;
  /** Operations that are held at the beginning. */
  blockedBefore: number;
  blockedAfter: number;
  /** Clusters that policies no longer hold at some time, and a HookRollout still does. */
  heldByRolloutAlone: number;
  /** Requests at admission that rules of either side are about, and those that the API server refuses at the beginning. */
  requests: number;
  deniedBefore: number;
  deniedAfter: number;
}

/** `onProgress` is awaited after each Cluster, so that a long simulation can let other work run. */
export async function simulate(
  pair: FleetPair,
  options: SimulationOptions,
  onProgress: (done: number, total: number) => Promise<void> | void = () => undefined,
): Promise<Simulation> {
  const all = pair.after.clusters();
  const clusters = all.filter(({ topology, paused }) => topology !== undefined && !paused);
  const comparison = new Comparison(pair, options, clusters);
  for (const [index, cluster] of clusters.entries()) {
    comparison.compareOperations(cluster);
    await onProgress(index + 1, clusters.length);
  }
  for (const cluster of all) {
    comparison.compareRequests(cluster);
    await onProgress(clusters.length, clusters.length);
  }
  const { changes, notEvaluable, tasks, totals, skippingMinor } = comparison;
  return {
    totals,
    specs: pair.specs,
    unseen: unseenChanges(pair.changed, pair.specs, changes, pair.after.overrides),
    selectsNothing: pair.selectsNothing,
    changes,
    notEvaluable: [...Map.groupBy(notEvaluable, ({ policy, rule }) => `${policy} ${rule}`).values()].flatMap(
      (same) => same.slice(0, 1).map((first) => ({ ...first, operations: same.length })),
    ),
    windowed: [...new Set([pair.before, pair.after].flatMap(windowedIn))],
    skippingMinor,
    tasks,
  };
}

interface Side {
  readonly fleet: Fleet;
  /** What rollouts hold, from the beginning on. */
  readonly holds: HoldChanges;
}

interface KnownCluster {
  readonly cluster: Cluster;
  readonly pending: readonly PendingOperation[];
}

class Comparison {
  readonly changes: SimulatedChange[] = [];
  readonly tasks: SimulatedTask[] = [];
  readonly notEvaluable: Doubt[] = [];
  skippingMinor = 0;
  readonly totals: Totals;
  readonly #pair: FleetPair;
  readonly #options: SimulationOptions;
  readonly #before: Side;
  readonly #after: Side;

  constructor(pair: FleetPair, options: SimulationOptions, clusters: readonly Cluster[]) {
    const sideOf = (fleet: Fleet): Side => ({
      fleet,
      holds: rolloutHoldsOf(fleet, clusters, options),
    });
    this.#pair = pair;
    this.#options = options;
    this.#before = sideOf(pair.before);
    this.#after = sideOf(pair.after);
    this.totals = {
      clusters: clusters.length,
      skipped: pair.after.clusters().length - clusters.length,
      operations: clusters.length * options.hooks.length,
      policiesBefore: pair.before.policies.length + pair.before.rollouts.length,
      blockedBefore: 0,
      blockedAfter: 0,
      heldByRolloutAlone: 0,
      requests: 0,
      deniedBefore: 0,
      deniedAfter: 0,
    };
  }

  compareOperations(cluster: Cluster): void {
    const known = this.#inBefore(cluster);
    // What is known about an operation still counts when the policies change. An edit resets clocks, as in the operator.
    const pending = this.#pair.before.pendingOperations(known);
    const edited = pending.map((operation) =>
      this.#pair.edits.reduce((rest, { uid, edit }) => forgetEdited(rest, uid, edit), operation),
    );
    const freed = this.#options.hooks.map((hook) =>
      this.#compareOperation(hook, { cluster: known, pending }, { cluster, pending: edited }),
    );
    this.totals.heldByRolloutAlone += Number(freed.includes(true));
  }

  /** Whether policies no longer hold the operation at some time, and a HookRollout still does. */
  #compareOperation(hook: HookName, known: KnownCluster, now: KnownCluster): boolean {
    const { totals } = this;
    const cluster = clusterKey(now.cluster);
    const before = answers(this.#before, known, hook, this.#options);
    const after = answers(this.#after, now, hook, this.#options);
    totals.blockedBefore += Number(before.turns[0]?.answer.holds === true);
    totals.blockedAfter += Number(after.turns[0]?.answer.holds === true);
    this.skippingMinor += Number(skipsMinor(after.call));
    this.notEvaluable.push(...notEvaluableIn(after));
    this.#addTasks(now.cluster, after);
    this.#addChanges(before.turns, after.turns, { hook, cluster });
    if (after.turns === after.ofPolicies) return false;
    const own = this.#differences(before.ofPolicies, after.ofPolicies);
    return own.some(({ change }) => change === "newly-allowed");
  }

  #addTasks(cluster: Cluster, { call, first }: OperationAnswers): void {
    const { after: fleet, changed } = this.#pair;
    const policies = fleet.policiesFor(cluster);
    if (!policies.some(({ account }) => account !== undefined)) return;
    const situation = { world: fleet.world(cluster, first.state), call, now: this.#options.from };
    this.tasks.push(...simulatedTasks(first.decision.trace, policies, changed, situation));
  }

  /** A creation request creates a Cluster of the fleet again, for example from Git or a backup. */
  compareRequests(cluster: Cluster): void {
    const { before: old, after: now } = this.#pair;
    for (const request of requestsOf(cluster, [old, now], this.#options)) {
      const before = requestTurns(old, request, this.#inBefore(cluster), this.#options);
      const after = requestTurns(now, request, cluster, this.#options);
      if (before === undefined || after === undefined) continue;
      this.totals.requests += 1;
      this.totals.deniedBefore += Number(before[0]?.answer.holds === true);
      this.totals.deniedAfter += Number(after[0]?.answer.holds === true);
      const subject = { hook: BEGINS[request], request, cluster: clusterKey(cluster) };
      this.#addChanges(before, after, subject);
    }
  }

  #addChanges(
    before: readonly AnswerTurn[],
    after: readonly AnswerTurn[],
    subject: Pick<SimulatedChange, "hook" | "request" | "cluster">,
  ): void {
    for (const { old, now, ...change } of this.#differences(before, after))
      this.changes.push({ ...change, before: old.answer, after: now.answer, ...subject });
  }

  #differences(before: readonly AnswerTurn[], after: readonly AnswerTurn[]): ReturnType<typeof differences> {
    return differences(before, after, this.#options.to ?? this.#options.from, this.#pair.changed);
  }

  #inBefore(cluster: Cluster): Cluster {
    const { namespace = "", name } = cluster.metadata;
    return this.#pair.before.cluster(namespace, name) ?? cluster;
  }
}

function windowedIn({ policies, rollouts }: Fleet): readonly string[] {
  const found = rollouts.filter(({ compiled: { stages } }) =>
    stages.some(({ until }) => until.some(({ windows = [] }) => windows.length > 0)),
  );
  return [
    ...policies.filter(({ compiled }) => windowsOf(compiled).length > 0).map(nameOf),
    ...found.map(({ compiled }) => `HookRollout ${compiled.name}`),
  ];
}

/** Slots are as at the beginning; time changes what gates of stages say. */
function rolloutHoldsOf(
  fleet: Fleet,
  clusters: readonly Cluster[],
  options: SimulationOptions,
): Side["holds"] {
  const { from: at, to, version } = options;
  const begins = new Set(fleet.rollouts.map(({ compiled }) => BEGINS[compiled.operation]));
  const hooks = options.hooks.filter((hook) => begins.has(hook));
  const operations = clusters.flatMap(({ metadata: { namespace = "", name } }) => {
    const cluster = fleet.cluster(namespace, name);
    if (cluster === undefined) return [];
    const pending = fleet.pendingOperations(cluster);
    return hooks.map((hook) => {
      const operation = operationOf(fleet, { cluster, pending }, hook, options);
      const { decision } = lookAt(operation, at);
      const { world, call, state } = operation;
      return { world, call, firstAsked: state.firstAsked, released: !decision.holds };
    });
  });
  const lookAgainMs = sampleSeconds(options) * 1000;
  const edges = to === undefined ? [at] : rolloutEdges(fleet, { from: at, to, lookAgainMs });
  return rolloutHolds(fleet, operations, edges, { at, version });
}

/** Replaces releases by the holds of rollouts, which are asked after every policy has released the operation. */
function underRollouts(answered: OperationAnswers, changes: readonly HoldFrom[] = []): OperationAnswers {
  if (changes.length === 0) return answered;
  return { ...answered, turns: distinct(heldTurns(answered.turns, changes)) };
}

function* heldTurns(
  turns: readonly AnswerTurn[],
  changes: readonly HoldFrom[],
): Generator<AnswerTurn, undefined> {
  let [i, j] = [0, 0];
  for (;;) {
    const at = earliest([turns[i]?.at, changes[j]?.at]);
    if (at === undefined) return;
    i += Number(isAt(turns[i], at));
    j += Number(isAt(changes[j], at));
    const turn = turns[i - 1];
    if (turn !== undefined) yield underRollout({ ...turn, at }, changes[j - 1]?.held);
  }
}

function isAt(next: Pick<HoldFrom, "at"> | undefined, at: Date): boolean {
  return next?.at.getTime() === at.getTime();
}

function underRollout(turn: AnswerTurn, held: HoldInStage | undefined): AnswerTurn {
  if (held === undefined || turn.answer.holds) return turn;
  const { hold, stage = WHOLE } = held;
  const { rollout, reason, retryAfterSeconds, problem } = hold;
  const rule = { policy: `HookRollout ${rollout}`, rule: stage, reason };
  const doubts = problem === undefined ? [] : [{ policy: rule.policy, rule: "", message: problem }];
  const answer: SimulatedAnswer = {
    verdict: "Blocked",
    holds: true,
    retryAfterSeconds,
    message: holdText(hold),
    rules: [rule],
  };
  return { ...turn, answer, doubts: [...turn.doubts, ...doubts], isDoubtful: problem !== undefined };
}

function notEvaluableIn({ first }: OperationAnswers): Doubt[] {
  return first.decision.trace.flatMap(({ policy, rules }) =>
    rules
      .filter(({ verdict }) => verdict === "NotEvaluable")
      .map(({ rule, message }) => ({ policy: policyName(policy), rule, message })),
  );
}

function answers(
  { fleet, holds }: Side,
  known: KnownCluster,
  hook: HookName,
  options: SimulationOptions,
): OperationAnswers {
  const operation = operationOf(fleet, known, hook, options);
  const { from, to } = options;
  const first = lookAt(operation, from);
  const seconds = sampleSeconds(options);
  const turns = turnsOf({ ...operation, lookAgain: () => seconds }, first, to);
  const own: OperationAnswers = { call: operation.call, first, ofPolicies: turns, turns };
  return underRollouts(own, holds.get(holdKey(hook, clusterKey(known.cluster))));
}

function operationOf(
  fleet: Fleet,
  { cluster, pending }: KnownCluster,
  hook: HookName,
  { from, version, fromVersion }: SimulationOptions,
): OperationInputs<PendingOperation> {
  const known = pending.find(({ call }) => call.hook === hook);
  const expected = (version === undefined ? known?.call : undefined) ?? expectedCall(hook, cluster, version);
  const call = comingFrom(expected, fromVersion);
  const state = newOperation(call, cluster, from, known);
  const policies = fleet.policiesFor(cluster);
  return { policies, world: fleet.world(cluster, state), call, state };
}
