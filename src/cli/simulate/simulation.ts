/** Compares the old and the new policies over every Cluster and hook. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { comingFrom, expectedCall, skipsMinor } from "../../operations/call.ts";
import { type PendingOperation, newOperation } from "../../operations/operation.ts";
import { matches } from "../../policy/decide.ts";
import { type CompiledPolicy, windowsOf } from "../../policy/policy.ts";
import { editOf, forgetEdited } from "../../operations/timers.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { Fleet, FleetPolicy } from "../fleet/fleet.ts";
import { changedPolicies, type FleetPair, type PolicyEdit } from "./changed-fleet.ts";
import { lookAt, type OperationInputs } from "../../operations/timeline.ts";
import { type SimulatedAnswer, keyOf } from "./answer.ts";
import { type OperationAnswers, type Change, type ChangeKind, comparingOnce } from "./comparison.ts";
import { BEGINS } from "../../rollouts/member.ts";
import { holdText } from "../../rollouts/hold.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import {
  type Progress,
  type RequestChanges,
  requestChanges,
  type SimulationOptions,
  sampleSeconds,
} from "./request-changes.ts";
import { type SimulatedTask, simulatedTasks } from "./simulated-tasks.ts";
import type { SpecChange } from "./spec-changes.ts";
import { type HoldInStage, holdKey, type HoldsByCluster, rolloutHolds } from "./rollout-holds.ts";
import { unseenChanges } from "./unseen-changes.ts";
import { decisionAt, Walks } from "./walks.ts";
import { policyName } from "../../policy/policy-ref.ts";

/** A rule of the new policies that is not evaluable at the beginning. */
export interface NotEvaluableRule {
  readonly policy: string;
  readonly rule: string;
  /** The reason for the first operation. */
  readonly message: string;
  readonly operations: number;
}

export interface Simulation extends RequestChanges {
  readonly specs: readonly SpecChange[];
  /** By unseenChanges(). */
  readonly unseen: readonly string[];
  /** As in FleetPair. */
  readonly selectsNothing: readonly string[];
  readonly notEvaluable: readonly NotEvaluableRule[];
  /** The policies of either side with windows. */
  readonly windowed: readonly string[];
  /** The number of simulated calls that Cluster API never makes, because they skip a minor version. */
  readonly skippingMinor: number;
  readonly clusters: number;
  /** The number of Clusters for which Cluster API calls no hook: they have no topology, or are paused. */
  readonly skipped: number;
  readonly operations: number;
  /** The number of policies and rollouts before the change; 0: nothing can be newly allowed. */
  readonly policiesBefore: number;
  /** The number of operations that are held at the beginning. */
  readonly blockedBefore: number;
  readonly blockedAfter: number;
  /** The number of Clusters that policies no longer hold at some time, and a HookRollout still does. */
  readonly heldByRolloutAlone: number;
  /** What tasks of new and changed policies do, as of the beginning. */
  readonly tasks: readonly SimulatedTask[];
}

/** Yields the progress after each Cluster. */
export function* simulate(pair: FleetPair, options: SimulationOptions): Generator<Progress, Simulation> {
  const all = pair.after.clusters();
  const changed = new Map(options.hooks.map((hook) => [hook, changedPolicies(pair, hook)]));
  const clusters = all.filter(({ topology, paused }) => topology !== undefined && !paused);
  const changes: Change[] = [];
  const tasks: SimulatedTask[] = [];
  const notEvaluable = new Map<string, NotEvaluableRule>();
  const held = {
    before: heldBy(pair.before, clusters, options),
    after: heldBy(pair.after, clusters, options),
  };
  const differencesOf = comparingOnce({ end: options.to ?? options.from, changed: pair.changed });
  const walks = { before: new Walks(), after: new Walks() };
  const heldByRolloutAlone = new Set<string>();
  let [blockedBefore, blockedAfter, skippingMinor] = [0, 0, 0];
  for (const [index, cluster] of clusters.entries()) {
    const sides = sidesOf(pair, cluster, walks);
    for (const hook of options.hooks) {
      const alone = answerBoth(sides, changed.get(hook) ?? [], hook, options);
      const key = holdKey(hook, clusterKey(cluster));
      const before = underRollout(alone.before, held.before.get(key));
      const after = underRollout(alone.after, held.after.get(key));
      blockedBefore += Number(before.turns[0]?.answer.holds === true);
      blockedAfter += Number(after.turns[0]?.answer.holds === true);
      skippingMinor += Number(skipsMinor(after.call));
      for (const rule of notEvaluableIn(after)) count(notEvaluable, rule);
      tasks.push(
        ...tasksIn(pair.after, cluster, alone.after, { changed: changed.get(hook), now: options.from }),
      );
      if (held.after.has(key) && differencesOf(alone.before.turns, alone.after.turns).some(isNewlyAllowed))
        heldByRolloutAlone.add(clusterKey(cluster));
      for (const { old, now, ...change } of differencesOf(before.turns, after.turns)) {
        const subject = { hook, cluster: clusterKey(cluster) };
        changes.push({ ...change, before: before.answerAt(old), after: after.answerAt(now), ...subject });
      }
    }
    yield { done: index + 1, total: clusters.length };
  }
  const done = { done: clusters.length, total: clusters.length };
  const { changes: atAdmission, ...requests } = yield* requestChanges(pair, options, done);
  const everyChange = [...changes, ...atAdmission];
  return {
    specs: pair.specs,
    unseen: unseenChanges(pair.changed, pair.specs, everyChange),
    selectsNothing: pair.selectsNothing,
    changes: everyChange,
    notEvaluable: [...notEvaluable.values()],
    windowed: windowedIn([...pair.before.policies, ...pair.after.policies]),
    skippingMinor,
    clusters: clusters.length,
    skipped: all.length - clusters.length,
    operations: clusters.length * options.hooks.length,
    policiesBefore: pair.before.policies.length + pair.before.rollouts.length,
    blockedBefore,
    blockedAfter,
    heldByRolloutAlone: heldByRolloutAlone.size,
    tasks,
    ...requests,
  };
}

function isNewlyAllowed({ change }: Pick<Change, "change">): boolean {
  return change === "newly-allowed";
}

function tasksIn(
  fleet: Fleet,
  cluster: Cluster,
  { call, first }: OperationAnswers,
  { changed = [], now }: { readonly changed: readonly CompiledPolicy[] | undefined; readonly now: Date },
): readonly SimulatedTask[] {
  if (!changed.some(({ account }) => account !== undefined)) return [];
  return simulatedTasks(first.decision.trace, changed, { world: fleet.world(cluster), call, now });
}

function windowedIn(policies: readonly FleetPolicy[]): readonly string[] {
  const found = policies.filter(({ compiled }) => windowsOf(compiled).length > 0);
  return [...new Set(found.map(({ compiled }) => policyName(compiled.ref)))];
}

/** The holds of rollouts at the beginning. */
function heldBy(fleet: Fleet, clusters: readonly Cluster[], options: SimulationOptions): HoldsByCluster {
  const begins = new Set(fleet.rollouts.map(({ compiled }) => BEGINS[compiled.operation]));
  const hooks = options.hooks.filter((hook) => begins.has(hook));
  const operations = clusters.flatMap(({ metadata: { namespace = "", name } }) => {
    const cluster = fleet.cluster(namespace, name);
    if (cluster === undefined) return [];
    const pending = fleet.pendingOperations(cluster);
    return hooks.map((hook) => {
      const operation = operationOf({ fleet, cluster, pending }, hook, options);
      const { decision } = lookAt(operation, options.from);
      const { firstAsked } = operation.state;
      return { cluster, call: operation.call, firstAsked, released: !decision.holds };
    });
  });
  return rolloutHolds(fleet, operations, options.from);
}

/** Replaces releases by the hold of the rollout, which is asked after every policy has released the operation. */
function underRollout(answered: OperationAnswers, held: HoldInStage | undefined): OperationAnswers {
  if (held === undefined) return answered;
  const { hold, stage = WHOLE } = held;
  const { rollout, reason, retryAfterSeconds, problem } = hold;
  const rule = { policy: `HookRollout ${rollout}`, rule: stage, reason };
  const doubts = problem === undefined ? [] : [{ policy: rule.policy, rule: "", message: problem }];
  const own: SimulatedAnswer = {
    verdict: "Blocked",
    holds: true,
    retryAfterSeconds,
    message: holdText(hold),
    rules: [rule],
  };
  const turns = answered.turns.map((turn) =>
    turn.answer.holds
      ? turn
      : {
          ...turn,
          answer: own,
          key: keyOf(own),
          doubts: [...turn.doubts, ...doubts],
          isDoubtful: problem !== undefined,
        },
  );
  return {
    ...answered,
    turns,
    answerAt: (turn) => (turn.answer === own ? own : answered.answerAt(turn)),
  };
}

function notEvaluableIn({ first }: OperationAnswers): NotEvaluableRule[] {
  return first.decision.trace.flatMap(({ policy, rules }) =>
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

interface Side {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  readonly pending: readonly PendingOperation[];
  readonly walks: Walks;
}

interface Sides {
  readonly before: Side;
  readonly after: Side;
  readonly sameWorld: boolean;
}

function sidesOf(
  { before, after, sameWorld, edits }: FleetPair,
  cluster: Cluster,
  walks: { readonly before: Walks; readonly after: Walks },
): Sides {
  const { namespace = "", name } = cluster.metadata;
  const known = before.cluster(namespace, name) ?? cluster;
  // What is known about an operation still counts when the policies change.
  const pending = before.pendingOperations(known);
  return {
    before: { fleet: before, cluster: known, pending, walks: walks.before },
    after: {
      fleet: after,
      cluster,
      pending: pending.map((operation) => edited(operation, edits)),
      walks: walks.after,
    },
    sameWorld,
  };
}

/** An edit resets clocks, as in the operator. */
function edited(operation: PendingOperation, edits: readonly PolicyEdit[]): PendingOperation {
  return edits.reduce(
    (rest, { uid, before, after }) => forgetEdited(rest, uid, editOf(before, after)),
    operation,
  );
}

/** If no changed policy applies, both answers are the same at every time, and one look is enough. */
function answerBoth(
  { before, after, sameWorld }: Sides,
  changed: readonly CompiledPolicy[],
  hook: HookName,
  options: SimulationOptions,
): { readonly before: OperationAnswers; readonly after: OperationAnswers } {
  const world = after.fleet.world(after.cluster);
  if (sameWorld && changed.every((policy) => matches(policy, world) === "no")) {
    const { to: _, ...now } = options;
    const same = answers(after, hook, now);
    return { before: same, after: same };
  }
  return { before: answers(before, hook, options), after: answers(after, hook, options) };
}

function answers(side: Side, hook: HookName, options: SimulationOptions): OperationAnswers {
  const operation = operationOf(side, hook, options);
  const { from, to } = options;
  const first = lookAt(operation, from);
  const seconds = sampleSeconds(options);
  return {
    call: operation.call,
    first,
    turns: side.walks.turns({ ...operation, lookAgain: () => seconds }, first, to),
    answerAt: (turn) => ({
      ...turn.answer,
      // Computed on demand, because only JSON has the message.
      get message() {
        return turn.at > from ? decisionAt(operation, turn).message : first.decision.message;
      },
    }),
  };
}

function operationOf(
  { fleet, cluster, pending }: Omit<Side, "walks">,
  hook: HookName,
  { from, version, fromVersion }: SimulationOptions,
): OperationInputs<PendingOperation> {
  const known = pending.find(({ call }) => call.hook === hook);
  const expected = (version === undefined ? known?.call : undefined) ?? expectedCall(hook, cluster, version);
  const call = comingFrom(expected, fromVersion);
  const state = newOperation(call, cluster, from, known);
  const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
  return { policies, world: fleet.world(cluster, state), call, state };
}

export function countOf({ changes }: Simulation, kind: ChangeKind): number {
  return changes.filter(({ change }) => change === kind).length;
}
