/**
 * Runs the operator's rollouts in a suite, and plays Cluster API, which asks again about every held Cluster, begins a
 * released operation, and ends it when a step says so.
 */

import { isDeepStrictEqual } from "node:util";
import type { HookRollout } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import { untilDue } from "../../rollouts/stages.ts";
import { CLAIM_MS, RolloutReconciler, UNHEALTHY_MS } from "../../rollouts/rollout-reconciler.ts";
import { Rollouts } from "../../rollouts/rollout-decisions.ts";
import { rolloutEvents } from "../../rollouts/rollout-events.ts";
import { about } from "../../operations/call.ts";
import { isAwaited, isPossible } from "../../operations/hook-lives.ts";
import { Decider } from "../../memory/decider.ts";
import { Revisions } from "../../memory/memory.ts";
import { TooManyChanges } from "../../operations/timeline.ts";
import { clusterKey } from "../../views/cluster.ts";
import type { Decision } from "../../policy/decision.ts";
import { after, earliest } from "../../lib/instant.ts";
import { type Health, healthOf } from "../../rollouts/health.ts";
import { memberOf, showsMark } from "../../rollouts/member.ts";
import { type Operation, operationOf, OPERATIONS } from "../../operations/beginnings.ts";
import { gateEdges } from "../../rollouts/promotion.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import type { RolloutApi } from "../../rollouts/rollout-api.ts";
import { viewRollout } from "../fleet/kinds.ts";
import { asBegun, asEnded, asWaiting } from "./cluster-api.ts";
import { type CallDecision, LOOK_AGAIN_SECONDS, type Session } from "./session.ts";
import { SuiteError } from "./suite-error.ts";
import type { SuiteTasks } from "./suite-tasks.ts";

/** A suite exceeds this only by mistake, such as windows of a minute over months. */
const MAX_STOPS = 20_000;

export class SuiteRollouts {
  readonly #session: Session;
  /** As an API server stores them, by name. */
  readonly #stored = new Map<string, HookRollout>();
  /** Of the last write. */
  #version = 0;
  readonly #rollouts: Rollouts;
  readonly #reconciler: RolloutReconciler;
  /** The held calls, by clusterKey(). */
  readonly #held = new Map<string, HookCall>();
  readonly #tasks: SuiteTasks;
  /** The held calls with the last decisions of the policies. */
  #waiting: readonly CallDecision[] = [];
  #changedAt: Date;

  constructor(session: Session, tasks: SuiteTasks) {
    const { objects, served } = session;
    this.#tasks = tasks;
    this.#session = session;
    this.#changedAt = session.now;
    const shared = {
      api: this.#api(),
      clusters: objects.memory.clusters,
      served,
      now: () => session.now,
      nowMs: () => session.now.getTime(),
    };
    this.#rollouts = new Rollouts({
      ...shared,
      namespaces: objects.memory.namespaces,
      decider: new Decider(objects.memory, new Revisions(), { served }),
      refreshMs: 0,
      turnMs: Infinity,
      enqueue: () => undefined,
      onDemands: () => undefined,
      onError: () => undefined,
      onStale: () => undefined,
      reasonOf: String,
    });
    tasks.lacksSlot = (...operation) => this.#rollouts.lacksSlot(...operation);
    this.#reconciler = new RolloutReconciler({
      ...shared,
      rollouts: this.#rollouts,
      leading: () => true,
      loaded: () => true,
      tasks: tasks.slots,
      onStored: (object, before, status) =>
        session.reported.tell(rolloutEvents(object, before, status), session.now),
    });
  }

  all(): readonly HookRollout[] {
    return [...this.#stored.values()];
  }

  #api(): RolloutApi {
    const { objects } = this.#session;
    return {
      getRollout: async (name) => await Promise.resolve(this.#stored.get(name)),
      members: async () => await Promise.resolve(objects.fleet.clusters().map(({ metadata }) => metadata)),
      namespaces: async () => await Promise.resolve([...objects.fleet.namespaces()]),
      findCluster: async (...name) => await Promise.resolve(objects.fleet.cluster(...name)),
      replaceRolloutStatus: async ({ metadata }, status) => {
        const known = this.#stored.get(metadata.name);
        return await Promise.resolve(known && this.#put({ ...known, status }));
      },
      // A suite has one clock and one replica, which writes one status after the other.
      clockAheadMs: () => 0,
      isConflict: () => false,
    };
  }

  /**
   * Stores the rollouts that a step has created, edited or deleted, and returns their names. The stored status is newer than
   * that of the file.
   */
  #follow(): readonly string[] {
    const raw = this.#session.objects.rollouts();
    const found = new Map(raw.map(viewRollout).map((each) => [each.metadata.name, each]));
    const names = new Set([...this.#stored.keys(), ...found.keys()]);
    return [...names].filter((name) => {
      const [known, object] = [this.#stored.get(name), found.get(name)];
      if (isDeepStrictEqual(known?.spec, object?.spec)) return false;
      const { status = object?.status } = known ?? {};
      const generation = (known?.metadata.generation ?? 0) + 1;
      if (object === undefined) this.#stored.delete(name);
      else this.#put({ ...object, metadata: { ...object.metadata, generation }, ...(status && { status }) });
      return true;
    });
  }

  #put(object: HookRollout): HookRollout {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#stored.set(stored.metadata.name, stored);
    return stored;
  }

  /** The operation that the call is about; `undefined`: no rollout speaks about the call. */
  selectedOperation(cluster: Cluster, { hook }: HookCall): Operation | undefined {
    const operation = operationOf(hook);
    return operation && this.#selecting(cluster, operation).length > 0 ? operation : undefined;
  }

  /** Called after objects have changed: updates the statuses, and begins every operation that may begin now. */
  async settle(): Promise<void> {
    this.#changedAt = this.#session.now;
    await this.#settle();
  }

  async #settle(): Promise<void> {
    do {
      await this.#settleTasks();
      await this.#reconcile();
    } while (await this.#askAgain());
  }

  async #settleTasks(): Promise<void> {
    await this.#tasks.settle();
    this.#session.objectsChanged();
  }

  /** Stops at each instant at which time alone can change the answer about a waiting Cluster. */
  async advanceTo(to: Date): Promise<void> {
    let stop = this.#nextStop();
    for (let count = 0; stop !== undefined && stop < to; count += 1) {
      if (count > MAX_STOPS)
        throw new TooManyChanges(`more than ${MAX_STOPS} changes of rollouts lie before ${to.toISOString()}`);
      this.#session.advanceTo(stop);
      await this.#settle();
      stop = this.#nextStop();
    }
    this.#session.advanceTo(to);
    await this.#settle();
  }

  #nextStop(): Date | undefined {
    const { now } = this.#session;
    const entries = this.#rollouts.entries();
    const edges = [
      this.#tasks.nextChange(),
      ...entries.map(({ rollout, status }) => after(now, untilDue(rollout, status, now))),
    ];
    if (entries.length > 0) {
      edges.push(after(this.#changedAt, UNHEALTHY_MS), after(this.#changedAt, CLAIM_MS));
      edges.push(...this.#waiting.map((each) => this.#session.nextChange(each)));
    }
    if (this.#waiting.length > 0)
      edges.push(...entries.flatMap(({ rollout }) => gateEdges(rollout, now, LOOK_AGAIN_SECONDS * 1000)));
    // An end that never comes is no valid time, and so not later than now.
    return earliest(edges.filter((at) => at !== undefined && at > now));
  }

  /** Cluster API asks. It will ask about a held operation again until it is released. */
  async ask(asked: Cluster, call: HookCall): Promise<Decision> {
    const operation = this.selectedOperation(asked, call);
    if (operation === undefined) {
      const decision = this.#session.ask(asked, call);
      await this.#beginTasks({ cluster: asked, call, decision });
      return decision;
    }
    const key = clusterKey(asked);
    this.show(asked, call);
    await this.#reconcile();
    const cluster = this.#find(key) ?? asked;
    const answer = await this.#answer({ cluster, call, decision: this.#session.ask(cluster, call) });
    if (answer.holds) this.#held.set(key, call);
    else this.#begin(cluster, operation);
    await this.#beginTasks({ cluster, call, decision: answer });
    await this.settle();
    return answer;
  }

  /** Writes on the Cluster that Cluster API waits for the answer. */
  show(asked: Cluster, call: HookCall): void {
    const { hook } = call;
    // The call itself may have changed the Cluster's version.
    const cluster = this.#find(clusterKey(asked)) ?? asked;
    const operation = this.selectedOperation(cluster, call);
    if (operation === undefined || showsMark(operation, cluster)) return;
    const { served, now } = this.#session;
    if (!isAwaited(hook, cluster, served)) this.#write(cluster, (raw) => asWaiting(raw, operation, now));
  }

  /** Records that an earlier call was held. */
  adopt(cluster: Cluster, call: HookCall): void {
    if (this.selectedOperation(cluster, call) !== undefined) this.#held.set(clusterKey(cluster), call);
  }

  /** The operations of these Clusters end, and the Clusters are healthy or not. */
  async end(keys: readonly string[], isHealthy: boolean): Promise<void> {
    for (const key of keys) this.#end(key, isHealthy);
    await this.settle();
    // A Cluster has failed only after it has been unhealthy for some time.
    if (!isHealthy) await this.advanceTo(after(this.#session.now, UNHEALTHY_MS));
  }

  #end(key: string, isHealthy: boolean): void {
    const cluster = this.#find(key);
    if (cluster === undefined) throw new SuiteError(`there is no Cluster ${key}`);
    const operation = runningOperation(cluster);
    const { now } = this.#session;
    if (operation === undefined)
      throw new SuiteError(`${key} shows no operation that runs: a call has to be released first`);
    if (operation !== "Upgrade" && !isHealthy)
      throw new SuiteError(
        `only an upgrade ends unhealthy; another operation of ${key} fails when progressDeadline has passed`,
      );
    this.#session.running.delete(key);
    if (operation === "Delete") return this.#write(cluster, () => undefined);
    this.#write(cluster, (raw) => asEnded(raw, operation, { isHealthy, now }));
    if (operation === "Upgrade") this.#checkHealth(key, isHealthy ? "Healthy" : "Unhealthy");
  }

  /** Throws if healthyWhen contradicts the step. */
  #checkHealth(key: string, wanted: Health): void {
    const cluster = this.#find(key);
    if (cluster === undefined) return;
    for (const rollout of this.#selecting(cluster, "Upgrade")) {
      const health = healthOf(rollout, cluster, this.#session.now);
      if (health === wanted) continue;
      throw new SuiteError(
        `${key} is ${health} by healthyWhen of HookRollout ${rollout.name}, which has to be ${wanted}: patch what it looks at in this step`,
      );
    }
  }

  #begin(cluster: Cluster, operation: Operation): void {
    const { now } = this.#session;
    this.#held.delete(clusterKey(cluster));
    this.#session.running.add(clusterKey(cluster));
    if (!showsMark(operation, cluster)) this.#write(cluster, (raw) => asBegun(raw, operation, now));
  }

  async #reconcile(): Promise<void> {
    for (const name of this.#follow()) this.#rollouts.rolloutChanged(name, this.#stored.get(name));
    for (const { rollout } of this.#rollouts.entries()) {
      let before: HookRollout | undefined;
      do {
        before = this.#stored.get(rollout.name);
        await this.#reconciler.reconcile(rollout.name);
      } while (this.#stored.get(rollout.name) !== before);
    }
  }

  /** Every waiting operation asks before the first is answered. Returns whether one has begun, or has got a slot for its tasks. */
  async #askAgain(): Promise<boolean> {
    this.#waiting = [...this.#held].flatMap(([key, call]) => this.#repeat(key, call));
    for (const each of this.#waiting) this.#fromMemory(each);
    for (const each of this.#waiting) {
      const operation = operationOf(each.call.hook);
      if (operation === undefined) continue;
      const lacksSlot = (): boolean => this.#rollouts.lacksSlot(each.cluster, each.call.hook);
      const lacked = lacksSlot();
      const decision = await this.#answer(each);
      if (!decision.holds) this.#begin(each.cluster, operation);
      const begins = !decision.holds || (await this.#beginTasks({ ...each, decision }));
      if (begins || (lacked && !lacksSlot())) return true;
    }
    return false;
  }

  /** Returns whether any has begun. */
  async #beginTasks({ cluster, call, decision }: CallDecision): Promise<boolean> {
    const stores = call.hook === "AfterControlPlaneInitialized";
    if (decision.tasksDue !== true && !stores) return false;
    const { begins = [], toStore = [] } = this.#session.intents(cluster, call);
    const may = begins.filter(({ task }) => decision.waitsForTasks === true || task.begins === "First");
    if (!this.#tasks.store([...may, ...toStore])) return false;
    await this.#settleTasks();
    return true;
  }

  #repeat(key: string, known: HookCall): CallDecision[] {
    const found = this.#find(key);
    const { served } = this.#session;
    if (found?.paused === true) return [];
    const isOver =
      found === undefined || (known.hook !== "BeforeClusterDelete" && !isPossible(known.hook, found, served));
    if (isOver || this.selectedOperation(found, known) === undefined) {
      this.#held.delete(key);
      return [];
    }
    const call = known.hook === "BeforeClusterUpgrade" ? about(known, found.topology?.version) : known;
    this.show(found, call);
    const cluster = this.#find(key) ?? found;
    return [{ cluster, call, decision: this.#session.ask(cluster, call) }];
  }

  async #answer(waiting: CallDecision): Promise<Decision> {
    const known = this.#fromMemory(waiting);
    if (known.holds && known.tasksDue !== true) return withoutBasis(known);
    const { cluster, call } = waiting;
    const snapshot = this.#rollouts.snapshot(call.hook);
    snapshot?.hasAll(
      this.all().map(({ metadata }) => metadata),
      String(this.#version),
    );
    const confirmed = await this.#rollouts.takeSlots({ call, cluster }, known, snapshot, Infinity);
    if (!confirmed.ok) throw new Error(confirmed.reason);
    return withoutBasis(confirmed.decision);
  }

  #fromMemory({ cluster, call, decision }: CallDecision): Decision {
    const basis = {
      source: "Memory" as const,
      world: this.#session.objects.fleet.world(cluster),
      policies: [],
    };
    return this.#rollouts.ask({ call, cluster }, { ...decision, basis });
  }

  #selecting(cluster: Cluster, operation: Operation): readonly CompiledRollout[] {
    const { fleet } = this.#session.objects;
    const namespace = fleet.namespaceOf(cluster);
    return fleet.rollouts
      .map(({ compiled }) => compiled)
      .filter((each) => each.operation === operation && memberOf(each, cluster, namespace) !== undefined);
  }

  #find(key: string): Cluster | undefined {
    return this.#session.objects.memory.clusters.get(key);
  }

  #write(cluster: Cluster, change: Parameters<Session["objects"]["rewrite"]>[1]): void {
    this.#session.objects.rewrite(cluster, change);
    this.#session.objectsChanged();
  }
}

function withoutBasis({ basis: _, ...decision }: Decision): Decision {
  return decision;
}

/** The running operation, or else an ended upgrade, whose Cluster can still become unhealthy, or healthy again. */
function runningOperation(cluster: Cluster): Operation | undefined {
  const running = OPERATIONS.findLast((each) => showsMark(each, cluster));
  return running ?? (cluster.progress?.reconciled === true ? "Upgrade" : undefined);
}
