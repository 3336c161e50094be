/** Connects informers, decision store, work queue and reconciler. */

import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";

import type { EventText } from "../api/event-text.ts";
import { REASON } from "../api/hook-policy.ts";
import { every } from "../lib/signals.ts";
import { createDecisions, type Decisions } from "../decisions/decisions.ts";
import { finalizerIsDue } from "../status/finalizer.ts";
import { parsePolicyKey } from "../memory/policy-set.ts";
import type { StoreOptions, Unavailable } from "../memory/memory.ts";
import { PolicyReconciler } from "../status/policy-reconciler.ts";
import { DecisionStore } from "../memory/decision-store.ts";
import { MemoryBudget } from "../kube/memory-budget.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { ObjectKind } from "../policy/watched-objects.ts";
import { ApiServerAdapter } from "../adapters/api-server.ts";
import { createInformers, type Informers, mayHaveTasks, nameInformers, withoutWaiting } from "./informers.ts";
import { tellOlderCrds } from "./older-crds.ts";
import type { ControllerOptions, Shared } from "./shared.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { Tasks } from "./task-wiring.ts";
import { createRollouts } from "./rollout-wiring.ts";
import { ClusterResource } from "../kube/cluster-resource.ts";
import type { InformerEntry, MetricsWorld } from "../report/metric-makers.ts";
import { ObjectInformers } from "../objects/object-informers.ts";
import { OwnedObjects } from "../objects/owned-objects.ts";
import { MOVE } from "../registration/registration.ts";
import { Registrations } from "../registration/registration-informer.ts";

/** Another client wrote a status: check it later, so that writes do not answer writes. */
const STATUS_WRITTEN_DELAY_MS = 30_000;
const AVAILABILITY_POLL_MS = 1000;
/** Objects that gates look at belong to memory, but no kind may delay the Clusters of other kinds for long. */
const OBJECTS_BUDGET_MS = 5000;

export class Controller {
  /** About calls, and about requests to the API server. */
  readonly decisions: Decisions;
  readonly memory: Pick<StoreOptions, "clusters" | "namespaces"> & { readonly store: DecisionStore };
  readonly #options: ControllerOptions;
  readonly #informers: Informers;
  readonly #objects: ObjectInformers;
  readonly #registrations: Registrations;
  readonly #rollouts: Rollouts;
  readonly #tasks: Tasks;
  readonly #queue: WorkQueue;
  /** Without these, nothing is decided. */
  readonly #named: readonly InformerEntry[];
  /** What else runs until the end. */
  readonly #others: readonly Pick<WorkQueue, "run">[];

  constructor(options: ControllerOptions) {
    const { client, place, events, log } = options;
    this.#options = options;
    // These parts call each other through `this`, and none is called before all of them exist.
    const [budget, clusterResource] = [new MemoryBudget(log), new ClusterResource(client)];
    const changed = (kind: ObjectKind): void => this.memory.store.objectsChanged(kind);
    const objects = new ObjectInformers({ client, budget, log, onChange: changed, onAvailability: changed });
    const partsChanged = (namespace: string): void => this.memory.store.partsChanged(namespace);
    const owned = new OwnedObjects({ client, log, onChange: partsChanged });
    this.#objects = objects;
    this.#informers = createInformers({ client, budget, log }, clusterResource, {
      store: () => this.memory.store,
      rollouts: () => this.#rollouts,
      tasks: () => this.#tasks,
      owned,
      lookAgain: (namespace) => this.#lookAgain(namespace),
    });
    this.#named = nameInformers(this.#informers);
    const { clusters, namespaces, policies } = this.#informers;
    const onRegistered = (): void => this.#registered();
    this.#registrations = new Registrations({ client, namespaces, place, log, onChange: onRegistered });
    const api = new ApiServerAdapter({ client, clusters: clusterResource, objects, memory: () => clusters });
    const onEvent = (event: EventText): void => events.record(event);
    const onDemands = oncePerTurn(() =>
      objects.want([...this.#rollouts.demands(), ...this.memory.store.demands()]),
    );
    // Memory's clock: a wait that starts while this machine's clock is behind must not start too early.
    const { now } = client.serverClock;
    const shared: Shared = { ...options, api, objects, clusters, namespaces, onEvent, onDemands, now };
    const store = this.#createStore(shared, owned);
    this.memory = { store, clusters, namespaces };
    const lacksSlot: Rollouts["lacksSlot"] = (...asked) => this.#rollouts.lacksSlot(...asked);
    const onTasksChanged = (): void => this.#rollouts.membersChanged();
    const tasks = new Tasks({ ...shared, store: () => store, lacksSlot, onTasksChanged });
    this.#tasks = tasks;
    const onStale = (): void => this.#informers.rollouts.refresh();
    const { hookNotCalled: notCalled } = this.#registrations;
    const { rollouts, queue } = createRollouts({ ...shared, store, tasks: tasks.slots, onStale, notCalled });
    this.#rollouts = rollouts;
    this.#queue = this.#createQueue(shared);
    this.#others = [this.#queue, queue, owned, tasks];
    this.decisions = createDecisions({
      store,
      rollouts,
      tasks: tasks.beginner,
      reader: api,
      log,
      mayHaveTasks: () => mayHaveTasks(policies),
      onStale: (kinds) => kinds.forEach((kind) => policies[kind].refresh()),
    });
  }

  #createStore(shared: Shared, owned: OwnedObjects): DecisionStore {
    const { decisionLatency } = shared.metrics;
    return new DecisionStore({
      ...shared,
      tasks: {
        count: (scope) => this.#tasks.memory.count(scope),
        find: (scope) => this.#tasks.memory.find(scope),
      },
      settings: this.#registrations.settings,
      liftedRollouts: (world, hook) => this.#rollouts.lifted(world, hook),
      isBeingDeleted: (namespace, part) => owned.isBeingDeleted(namespace, part),
      enqueue: (key) => this.#queue.add(key),
      onStatusWritten: (key) => this.#queue.addAfter(key, STATUS_WRITTEN_DELAY_MS),
      onAnswerChanged: (latencyMs) => decisionLatency.observe(latencyMs / 1000),
    });
  }

  /** The kinds whose first list is still missing. */
  waitingFor(): readonly string[] {
    return this.#named.filter(([, informer]) => !informer.synced()).map(([name]) => name);
  }

  /** Why no ExtensionConfig can lead Cluster API to this operator. */
  misplaced(): string | undefined {
    return this.#registrations.misplaced();
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const informing = [
      ...this.#named.map(([, informer]) => informer),
      this.#registrations.informer,
      this.#tasks.informer,
    ];
    const parts = [...informing, ...this.#others, this.#objects];
    const { client, log } = this.#options;
    await Promise.all([
      this.#load(signal),
      tellOlderCrds(client, log, signal),
      every(AVAILABILITY_POLL_MS, signal, this.#watchAvailability()),
      ...parts.map((part) => part.run(signal)),
    ]);
    this.memory.store.stop();
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { store } = this.memory;
    const { log } = this.#options;
    try {
      await this.#whenRead(signal);
    } catch (error) {
      if (!signal.aborted) log.error("Failed to load policies, Clusters and Namespaces", { error });
      return;
    }
    store.load();
    log.info("Loaded policies, Clusters and Namespaces", {
      policies: [...store.policies.entries()].length,
      clusters: this.#informers.clusters.size,
    });
  }

  /**
   * Rejects when it is stopped. Waits also for objects and ExtensionConfigs, but not for long: a gate that is not
   * evaluable would stop the waits that the status remembers.
   */
  async #whenRead(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#named.map(([, informer]) => informer.whenSynced(signal)));
    if (!signal.aborted) await Promise.race([this.memory.store.compiled(), once(signal, "abort")]);
    // The demands are collected at the end of a turn.
    await nextTurn();
    const budget = AbortSignal.any([signal, AbortSignal.timeout(OBJECTS_BUDGET_MS)]);
    await Promise.all([this.#objects.whenAnswered(budget), this.#registrations.whenKnown(budget)]);
    signal.throwIfAborted();
  }

  #watchAvailability(): () => void {
    const { log } = this.#options;
    const { clusters, policies } = this.#informers;
    const [registrations, tasks] = [this.#registrations, this.#tasks];
    const readable = onChange(
      () => clusters.refusal,
      (reason) => {
        log.info(reason === undefined ? "Clusters can be read" : "Clusters cannot be read", { reason });
        this.#lookAgain();
      },
    );
    const state = onChange(
      () => `${registrations.state} ${registrations.awaitsDiscovery()}`,
      () => this.#registered(),
    );
    const place = onChange(
      () => registrations.misplaced(),
      (why) => {
        if (why === undefined) log.info("An ExtensionConfig leads to this operator");
        else log.error(why, { remedy: MOVE });
      },
    );
    const known = onChange(
      () => {
        if (tasks.isKnown()) return "known";
        return mayHaveTasks(policies) ? tasks.informer.refusal : undefined;
      },
      (what) => {
        if (what !== "known" && what !== undefined)
          log.warn("HookTasks cannot be read, so rules with tasks hold every Cluster", { reason: what });
        this.memory.store.allTasksChanged();
        this.#lookAgain();
      },
    );
    return () => {
      for (const look of [readable, state, place, known]) look();
    };
  }

  /** Re-evaluates all policies, or those of a namespace. */
  #lookAgain(namespace?: string): void {
    for (const { key, compiled } of this.memory.store.policies.entries())
      if (namespace === undefined || compiled.ref.namespace === namespace) this.#queue.add(key);
  }

  /** The ExtensionConfigs, or the right to read them, changed. */
  #registered(): void {
    this.memory.store.settingsChanged();
    this.#lookAgain();
    this.#rollouts.membersChanged();
  }

  #createQueue(shared: Shared): WorkQueue {
    const { api, log, metrics } = shared;
    const { store } = this.memory;
    const { clusters } = this.#informers;
    const reconciler = new PolicyReconciler({
      ...shared,
      store,
      notCalled: this.#registrations.notCalled,
      clustersUnavailable: () => clusters.refusal && CLUSTERS_UNAVAILABLE[clusters.refusal],
      tasksUnavailable: () => this.#tasks.unavailable(),
      onStatusWrite: (kind, result) => metrics.statusWrites.inc({ kind, result }),
    });
    return new WorkQueue({
      reconcile: async (key) => {
        await nextTurn(); // calls are answered between a change and its status
        return await reconciler.reconcile(key);
      },
      log,
      groupOf: (key) => parsePolicyKey(key).namespace ?? "",
      isUrgent: (key) => wantsFinalizer(store, key),
      onError: (_, error) => metrics.reconcileErrors.inc({ reason: api.reasonOf(error) }),
    });
  }

  /** What metrics mirror of it. */
  mirrored(): Omit<MetricsWorld, "expiries" | "leading" | "clusterNames"> {
    const { policies } = this.#informers;
    const { informer, notCalled, hookNotCalled, discoveryFailed } = this.#registrations;
    return {
      ...this.memory,
      rollouts: this.#rollouts,
      tasks: this.#tasks.memory,
      queue: this.#queue,
      informers: () => [
        ...this.#named,
        ...withoutWaiting(policies, informer, this.#tasks.informer),
        ...this.#objects.informers(),
      ],
      notCalled,
      hookNotCalled,
      discoveryFailed,
      now: this.#options.client.serverClock.now,
    };
  }
}

/** Such a key is urgent, because a policy that is deleted before it has its finalizer stops holding its Clusters. */
function wantsFinalizer({ policies }: DecisionStore, key: string): boolean {
  const entry = policies.get(key);
  return entry !== undefined && finalizerIsDue(entry.compiled, entry.object.metadata, entry.matched.size);
}

/** Runs the work at the end of a turn of the event loop: requests for it may come by the thousand. */
function oncePerTurn(work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      work();
    });
  };
}

/** Calls `react` when `read` returns another value than the last time (at first: than undefined). */
function onChange<T>(read: () => T | undefined, react: (value: T | undefined) => void): () => void {
  let last: T | undefined;
  return () => {
    const value = read();
    if (value === last) return;
    last = value;
    react(value);
  };
}

const CLUSTERS_UNAVAILABLE: Readonly<Record<"NotServed" | "Forbidden", Unavailable>> = {
  NotServed: {
    reason: REASON.ClusterAPINotInstalled,
    message:
      "The API server serves no clusters.cluster.x-k8s.io: install Cluster API. Until then nothing is released",
  },
  Forbidden: {
    reason: REASON.ClustersForbidden,
    message: "The operator may not list and watch clusters.cluster.x-k8s.io. Until then nothing is released",
  },
};
