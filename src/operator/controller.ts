/** Connects informers, decision store, work queue and reconciler. */

import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";

import type { EventText } from "../api/event-text.ts";
import { REASON } from "../api/hook-policy.ts";
import type { Logger } from "../lib/logger.ts";
import type { Cluster } from "../api/meta.ts";
import type { ClusterDecisions } from "../admission/cluster-handler.ts";
import { Decisions, type DecisionsOptions } from "../release/decisions.ts";
import { finalizerIsDue } from "../status/finalizer.ts";
import { parsePolicyKey } from "../memory/policy-set.ts";
import { withoutTooLarge } from "../memory/memory.ts";
import type { StoreOptions, Unavailable } from "../memory/ports.ts";
import { PolicyReconciler } from "../status/policy-reconciler.ts";
import { DecisionStore } from "../memory/decision-store.ts";
import type { Transition } from "../memory/transitions.ts";
import type { DecisionSource } from "../hooks/hook-handler.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isForbidden, isNotFound } from "../kube/kube-error.ts";
import type { Informer } from "../kube/informer.ts";
import { MemoryBudget } from "../kube/memory-budget.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { Metrics } from "../report/metrics.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { ObjectKind } from "../policy/objects.ts";
import type { Memory } from "./admission-wiring.ts";
import { ApiServer } from "./api-server.ts";
import { createInformers, type Informers, mayHaveTasks, nameInformers, withoutWaiting } from "./informers.ts";
import { DefinitionCheck } from "./definition-check.ts";
import { createTasks, taskReader, type Tasks } from "./task-wiring.ts";
import { createRollouts } from "./rollout-wiring.ts";
import { ClusterResource } from "../kube/cluster-resource.ts";
import { followCoverage } from "../report/coverage-gauges.ts";
import type { EventRecorder } from "../report/event-recorder.ts";
import { followMemory, type InformerEntry } from "../report/gauges.ts";
import { ObjectInformers } from "../objects/object-informers.ts";
import { OwnedObjects } from "../objects/owned-objects.ts";
import { MOVE, type OperatorPlace } from "../hooks/registration.ts";
import { Registrations } from "../hooks/registration-informer.ts";

export interface ControllerOptions {
  readonly client: KubeClient;
  /** Acts as the ServiceAccounts of tasks. */
  readonly taskClient: KubeClient;
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  /** Whether this replica runs the tasks that only one should run. */
  readonly leading: () => boolean;
  readonly place: OperatorPlace;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Logger;
}

export interface Controller {
  readonly source: DecisionSource;
  /** The same decisions, about requests to the API server. */
  readonly clusters: ClusterDecisions;
  readonly memory: Memory & { readonly store: DecisionStore };
  /** The kinds whose first list is still missing. */
  waitingFor(): readonly string[];
  /** Why no ExtensionConfig can lead Cluster API to this operator. */
  misplaced(): string | undefined;
  /** Runs until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** Another client wrote a status: check it later, so that writes do not answer writes. */
const STATUS_WRITTEN_DELAY_MS = 30_000;
const AVAILABILITY_POLL_MS = 1000;
/** Objects that gates look at belong to memory, but no kind may delay the Clusters of other kinds for long. */
const OBJECTS_BUDGET_MS = 5000;

export function createController(options: ControllerOptions): Controller {
  const { client, place, metrics, events, log } = options;
  // Memory's clock: a wait that starts while this machine's clock is behind must not start too early.
  const { now } = client.serverClock;
  const [budget, clusterResource] = [new MemoryBudget(log), new ClusterResource(client)];
  // Informers, store and queue call each other; each is called only when all of them exist.
  const changed = (kind: ObjectKind): void => store.objectsChanged(kind);
  const objects = new ObjectInformers({ client, budget, log, onChange: changed, onAvailability: changed });
  const owned = new OwnedObjects({ client, log, onChange: (namespace) => store.partsChanged(namespace) });
  const api = new ApiServer({ client, clusters: clusterResource, objects, memory: () => informers.clusters });
  const lookAgain = (namespace?: string): void => keysIn(store, namespace).forEach((key) => queue.add(key));
  const listeners = { store: () => store, rollouts: () => rollouts, tasks: () => tasks, owned, lookAgain };
  const informers = createInformers({ client, budget, log }, clusterResource, listeners);
  const { clusters } = informers;
  const namespaces = withoutTooLarge(informers.namespaces);
  const registered = (): void => {
    store.settingsChanged();
    lookAgain();
  };
  const registrations = new Registrations({ client, namespaces, place, log, onChange: registered });
  const { notCalled, settings } = registrations;
  const onTransition = (transition: Transition | EventText): void => events.record(transition);
  const demandsChanged = oncePerTurn(() => objects.want([...rollouts.demands(), ...store.demands()]));
  const store = createStore(options, {
    clusters,
    namespaces,
    objects,
    tasks: taskReader(() => tasks),
    settings,
    isBeingDeleted: (namespace, part) => owned.isBeingDeleted(namespace, part),
    onTransition,
    enqueue: (key) => queue.add(key),
    onStatusWritten: (key) => queue.addAfter(key, STATUS_WRITTEN_DELAY_MS),
    onDemands: demandsChanged,
  });
  const sources = { store, api, objects, clusters, tasks: () => tasks, notCalled, onTransition };
  const queue = createQueue(sources, options);
  const shared = { ...options, ...sources, namespaces, now };
  const tasks = createTasks({
    ...shared,
    store: () => store,
    lacksSlot: (cluster, hook) => rollouts.lacksSlot(cluster, hook),
    onTasksChanged: () => rollouts.membersChanged(),
  });
  const { rollouts, queue: rolloutQueue } = createRollouts({
    ...shared,
    tasks: tasks.slots,
    onDemands: demandsChanged,
    onStale: () => informers.rollouts.refresh(),
  });
  const named = nameInformers(informers);
  const others = () => withoutWaiting(informers.policies, registrations.informer, tasks.informer);
  followMemory(metrics, { ...sources, rollouts, queue, named: () => [...named, ...others()], now });
  followCoverage(metrics, { store, clusters, notCalled });
  const parts = { informers, tasks, objects, registrations, named, store, lookAgain, registered, log };
  return {
    ...createDecisions({ ...shared, rollouts, tasks: tasks.beginner, reader: api }, informers),
    memory: { store, clusters, namespaces },
    ...controlOf({ ...parts, runs: [queue, rolloutQueue, owned, tasks, new DefinitionCheck(options)] }),
  };
}

function createDecisions(
  parts: Omit<DecisionsOptions, "mayHaveTasks" | "onStale">,
  { policies }: Informers,
): Pick<Controller, "source" | "clusters"> {
  const decisions = new Decisions({
    ...parts,
    mayHaveTasks: () => mayHaveTasks(policies),
    onStale: (kinds) => {
      for (const kind of kinds) policies[kind].refresh();
    },
  });
  return { source: decisions, clusters: decisions };
}

function controlOf(parts: Parts): Pick<Controller, "waitingFor" | "misplaced" | "run"> {
  const { named, registrations } = parts;
  return {
    waitingFor: () => named.filter(([, informer]) => !informer.synced()).map(([name]) => name),
    misplaced: () => registrations.misplaced(),
    run: async (signal) => await run(parts, signal),
  };
}

function createStore(
  { client, served, maxOverrideMs, metrics, log }: ControllerOptions,
  connections: Omit<StoreOptions, "served" | "maxOverrideMs" | "log" | "now">,
): DecisionStore {
  return new DecisionStore({
    ...connections,
    served,
    maxOverrideMs,
    log,
    now: client.serverClock.now,
    onAnswerChanged: (latencyMs) => metrics.decisionLatency.observe(latencyMs / 1000),
  });
}

interface Sources {
  readonly store: DecisionStore;
  readonly api: ApiServer;
  readonly objects: ObjectInformers;
  readonly clusters: Informer<Cluster>;
  readonly tasks: () => Pick<Tasks, "unavailable">;
  readonly notCalled: Registrations["notCalled"];
  readonly onTransition: (transition: Transition) => void;
}

function createQueue(sources: Sources, { client, log, metrics }: ControllerOptions): WorkQueue {
  const { store, api, clusters } = sources;
  const reconciler = new PolicyReconciler({
    ...sources,
    writer: api,
    log,
    now: client.serverClock.now,
    clustersUnavailable: () => clustersUnavailable(clusters),
    tasksUnavailable: () => sources.tasks().unavailable(),
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

/** Such a key is urgent, because a policy that is deleted before it has its finalizer stops holding its Clusters. */
function wantsFinalizer({ policies }: DecisionStore, key: string): boolean {
  const entry = policies.get(key);
  return entry !== undefined && finalizerIsDue(entry.compiled, entry.object.metadata, entry.matched.size);
}

function keysIn({ policies }: DecisionStore, namespace: string | undefined): string[] {
  return [...policies.entries()]
    .filter(({ compiled }) => namespace === undefined || compiled.ref.namespace === namespace)
    .map(({ key }) => key);
}

interface Parts {
  readonly informers: Informers;
  readonly tasks: Tasks;
  readonly objects: ObjectInformers;
  readonly registrations: Registrations;
  readonly named: readonly InformerEntry[];
  readonly store: DecisionStore;
  /** What else runs until the end. */
  readonly runs: readonly Pick<WorkQueue, "run">[];
  /** Re-evaluates all policies. */
  readonly lookAgain: () => void;
  /** The ExtensionConfigs, or the right to read them, changed. */
  readonly registered: () => void;
  readonly log: Logger;
}

async function run(parts: Parts, signal: AbortSignal): Promise<void> {
  const { informers, tasks, objects, registrations, named, store, runs, log } = parts;
  const polling = setInterval(watchAvailability(parts), AVAILABILITY_POLL_MS);
  const load = whenRead(parts, signal).then(
    () => {
      store.load();
      log.info("Loaded policies, Clusters and Namespaces", {
        policies: [...store.policies.entries()].length,
        clusters: informers.clusters.size,
      });
    },
    () => undefined, // Stopped before everything was read.
  );
  const informing = [...named.map(([, informer]) => informer), registrations.informer, tasks.informer];
  await Promise.all([load, ...[...informing, ...runs, objects].map((part) => part.run(signal))]);
  clearInterval(polling);
  store.stop();
}

function watchAvailability(parts: Parts): () => void {
  const { informers, registrations, lookAgain, registered, log, tasks, store } = parts;
  const clusters = onChange(
    () => clustersUnavailable(informers.clusters)?.reason,
    (reason) => {
      log.info(reason === undefined ? "Clusters can be read" : "Clusters cannot be read", { reason });
      lookAgain();
    },
  );
  const state = onChange(() => `${registrations.state} ${registrations.awaitsDiscovery()}`, registered);
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
      return mayHaveTasks(informers.policies) ? tasks.informer.failure()?.reason : undefined;
    },
    (what) => {
      if (what !== "known" && what !== undefined)
        log.warn("HookTasks cannot be read, so rules with tasks hold every Cluster", { reason: what });
      store.allTasksChanged();
      lookAgain();
    },
  );
  return () => {
    clusters();
    state();
    place();
    known();
  };
}

/**
 * Rejects when it is stopped. Waits also for objects and ExtensionConfigs, but not for long: a gate that is not
 * evaluable would stop the waits that the status remembers.
 */
async function whenRead({ named, objects, registrations, store }: Parts, signal: AbortSignal): Promise<void> {
  await Promise.all(named.map(([, informer]) => informer.whenSynced(signal)));
  if (!signal.aborted) await Promise.race([store.compiled(), once(signal, "abort")]);
  // The demands are collected at the end of a turn.
  await nextTurn();
  const budget = AbortSignal.any([signal, AbortSignal.timeout(OBJECTS_BUDGET_MS)]);
  await Promise.all([objects.whenAnswered(budget), registrations.whenKnown(budget)]);
  signal.throwIfAborted();
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

/** The message for users when the API server definitely and permanently refuses; a loss of contact is neither. */
function clustersUnavailable(clusters: Informer<Cluster>): Unavailable | undefined {
  const failure = clusters.failure();
  if (isNotFound(failure)) {
    const message =
      "The API server serves no clusters.cluster.x-k8s.io: install Cluster API. Until then nothing is released";
    return { reason: REASON.ClusterAPINotInstalled, message };
  }
  if (isForbidden(failure)) {
    const message =
      "The operator may not list and watch clusters.cluster.x-k8s.io. Until then nothing is released";
    return { reason: REASON.ClustersForbidden, message };
  }
  return undefined;
}
