/**
 * The life of operations, as Clusters show it: they begin, proceed and end. The operator follows the changes that its
 * informers report, a test suite those of its steps. The result of an operation that has proceeded is recorded when there
 * is time, from the inputs that were known when it proceeded.
 */

import { entryOf } from "../lib/entry-of.ts";
import type { Cluster } from "../api/meta.ts";
import {
  answering,
  type OperationChanges,
  operationKey,
  type PendingOperation,
} from "../operations/operation.ts";
import { passedHooks, passesUnasked } from "../operations/hook-lives.ts";
import { passedCall } from "../operations/call.ts";
import { clusterKey } from "../views/cluster.ts";
import { decide } from "../policy/decide.ts";
import type { Decision, PolicyTrace } from "../policy/decision.ts";
import { type Memory, type StoreOptions, withSettings, worldOf } from "./memory.ts";
import type { DecisionRequest } from "../policy/world.ts";
import { type ProceededOperation, type ResultOptions, Results } from "./results.ts";

/** Per Cluster: nine hooks, a few times each. Operations beyond that are not recorded. */
const MAX_WAITING = 32;

type LifeOptions = ResultOptions & Pick<StoreOptions, "served" | "now" | "settings" | "liftedRollouts">;

export class OperationLife {
  readonly #memory: Memory;
  readonly #options: LifeOptions;
  readonly #results: Results;
  /** By clusterKey, the oldest first. */
  readonly #waiting = new Map<string, ProceededOperation[]>();

  constructor(memory: Memory, options: LifeOptions) {
    this.#memory = memory;
    this.#options = options;
    this.#results = new Results(memory, options);
  }

  /**
   * `undefined`: the Cluster is new, or gone; another Cluster may have its name. The caller then evaluates it, and records
   * what has proceeded.
   */
  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): OperationChanges {
    const { served } = this.#options;
    if (before !== undefined)
      this.#follow(before, now?.metadata.uid === before.metadata.uid ? now : undefined);
    const context = { now: this.#options.now(), served };
    const followed = this.#memory.operations.clusterChanged(before, now, context);
    for (const operation of followed.ended) this.ended(operation);
    if (before !== undefined && followed.isGone) this.#forget(before);
    return followed;
  }

  ended(operation: PendingOperation): void {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    for (const entry of this.#memory.policies.candidates(operation.namespace).entries) {
      if (entry.end(key)) this.#options.enqueue(entry.key);
    }
  }

  #forget(cluster: Cluster): void {
    const { uid, namespace = "" } = cluster.metadata;
    for (const entry of this.#memory.policies.candidates(namespace).entries) {
      if (entry.forget(uid, clusterKey(cluster))) this.#options.enqueue(entry.key);
    }
  }

  /** Finds the operations that have proceeded. The Cluster shows that, not calls and their answers. */
  #follow(before: Cluster, now: Cluster | undefined): void {
    const { served } = this.#options;
    const { operations, policies } = this.#memory;
    const cluster = now ?? before;
    const { namespace = "", uid } = cluster.metadata;
    for (const hook of passedHooks(before, now, served)) {
      if (!served.advertised.has(hook)) continue;
      const operation = operations.get(uid, hook);
      const { entries, compiled } = policies.candidates(namespace);
      const held = entries.filter((entry) => entry.hasHeld.delete(operationKey(uid, hook)));
      const passed = passedCall(hook, operation?.call, { before, now: cluster });
      const call = withSettings(passed, namespace, this.#options);
      const at = this.#options.now();
      const world = worldOf(this.#memory, cluster, answering(operation, call, at));
      this.#add(cluster, {
        request: { call, cluster },
        world,
        at,
        before,
        policies: compiled,
        heldBy: new Set(held.map(({ key }) => key)),
        unasked: hook === "BeforeClusterUpgrade" && passesUnasked(before, cluster, served),
        // When there is time to record, the Cluster may have a slot.
        lifted: this.#options.liftedRollouts?.(world, hook) ?? [],
      });
    }
  }

  /** A request about a Cluster in memory was refused at admission. */
  refused(request: DecisionRequest, decision: Decision): void {
    this.#results.refused(request, decision, this.#options.now());
  }

  /** Whether operations of the Cluster have still to be recorded. */
  hasProceeded(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Records an operation that has proceeded. Returns whether there was one. */
  record(key: string): boolean {
    const waiting = this.#waiting.get(key);
    const passed = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(key);
    if (passed !== undefined) this.#results.record(passed, decisionOn(passed));
    return passed !== undefined;
  }

  #add(cluster: Cluster, passed: ProceededOperation): void {
    const waiting = entryOf(this.#waiting, clusterKey(cluster), () => []);
    if (waiting.length < MAX_WAITING) waiting.push(passed);
  }
}

/**
 * What each policy said when the operation proceeded: about the Cluster that shows it, or, where only the Cluster before was
 * allowed to proceed, about that one. Cluster API can delete an approval in the very write with which it creates the
 * Cluster: if the Cluster had no annotation when the reconcile began, the patch says `annotations: null` (1.14,
 * reconcileCluster in core/reconcilers/topology/cluster/reconcile_state.go, after MarkAsPending has annotated the current
 * Cluster alone).
 */
function decisionOn({
  policies,
  world,
  request: { call, cluster },
  before,
  at,
}: ProceededOperation): Decision {
  const shown = decide(policies, world, call, at);
  const isSameVersion = before.topology?.version === cluster.topology?.version;
  if (!isSameVersion || shown.trace.every(agrees)) return shown;
  const earlier = decide(policies, { ...world, cluster: before }, call, at).trace;
  const trace = shown.trace.map((said, index) => {
    const then = earlier[index];
    return then !== undefined && isBetter(then, said) ? then : said;
  });
  return { ...shown, trace, holds: trace.some(({ holds }) => holds) };
}

function isBetter(then: PolicyTrace, said: PolicyTrace): boolean {
  return !agrees(said) && (agrees(then) || (said.holds && !then.holds));
}

/** Whether the policy agrees by itself: not because of an override, its mode or its failurePolicy. */
function agrees({ verdict, overriddenBy }: PolicyTrace): boolean {
  return overriddenBy === undefined && (verdict === "Allowed" || verdict === "Observed");
}
