/** Connects informers, decision store, work queue and reconciler. */

import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";

import type { ClusterHookPolicy, HookOverride, HookPolicy } from "../api/hookpolicy.ts";
import { REASON } from "../api/hookpolicy.ts";
import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import { CallTurns, shareOf } from "../controller/callturns.ts";
import { Confirmer } from "../controller/confirmation.ts";
import { finalizerIsDue } from "../controller/finalizer.ts";
import { parsePolicyKey, policyKey, type PolicyObject } from "../controller/policyset.ts";
import { Reconciler } from "../controller/reconciler.ts";
import { isSameSpec } from "../controller/samespec.ts";
import { DecisionStore } from "../controller/decisionstore.ts";
import type { Transition } from "../controller/transitions.ts";
import type { DecisionSource } from "../hooks/hookhandler.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { isForbidden, isNotFound } from "../kube/kubeerror.ts";
import { Informer } from "../kube/informer.ts";
import { resourceName } from "../kube/resource.ts";
import { WorkQueue } from "../kube/workqueue.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { viewCluster, viewNamespace } from "../policy/cluster.ts";
import type { ServedHooks } from "../api/hookcatalog.ts";
import type { ObjectKind } from "../policy/objects.ts";
import type { PolicyKind } from "../policy/policyref.ts";
import type { Memory } from "./admission.ts";
import { ApiServer } from "./apiserver.ts";
import { viewOverride, viewPolicy } from "../controller/storedviews.ts";
import { ClusterResource } from "../kube/clusterresource.ts";
import { NAMESPACES, OVERRIDES, POLICY_RESOURCES } from "../kube/resources.ts";
import { compactCluster } from "../controller/compactcluster.ts";
import { followCoverage } from "../metrics/coverage.ts";
import type { EventRecorder } from "../events/eventrecorder.ts";
import { followMemory, type Named } from "../metrics/gauges.ts";
import { ObjectInformers } from "../objects/objectinformers.ts";
import { Registrations } from "../hooks/registrationinformer.ts";

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  /** Name of the Service that callers use. */
  readonly serviceName: string;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Logger;
}

export interface Controller {
  readonly source: DecisionSource;
  readonly memory: Memory & { readonly store: DecisionStore };
  /** The kinds whose first list is still missing. */
  waitingFor(): readonly string[];
  /** Runs until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

interface Informers {
  readonly hookPolicies: Informer<PolicyObject>;
  readonly clusterHookPolicies: Informer<PolicyObject>;
  readonly clusters: Informer<Cluster>;
  readonly namespaces: Informer<Namespace>;
  readonly overrides: Informer<HookOverride>;
}

/** Another client wrote a status: check it later, so that writes do not answer writes. */
const STATUS_WRITTEN_DELAY_MS = 30_000;
const AVAILABILITY_POLL_MS = 1000;
/** Objects that gates look at belong to memory, but no kind may delay the Clusters of other kinds for long. */
const OBJECTS_BUDGET_MS = 5000;

export function createController(options: ControllerOptions): Controller {
  const { client, served, maxOverrideMs, serviceName, metrics, events, log } = options;
  // Memory's clock: a wait that starts while this machine's clock is behind must not start too early.
  const { now } = client.serverClock;
  const clusterResource = new ClusterResource(client);
  // Informers, store and queue call each other; each is called only when all of them exist.
  const objects = createObjects(options, () => store);
  const api = new ApiServer(client, clusterResource, objects);
  const lookAgain = (namespace?: string): void => {
    for (const key of keysIn(store, namespace)) queue.add(key);
  };
  const informers = createInformers(options, clusterResource, { store: () => store, lookAgain });
  const { clusters, namespaces } = informers;
  const registered = (): void => {
    store.settingsChanged();
    lookAgain();
  };
  const registrations = new Registrations({ client, namespaces, serviceName, log, onChange: registered });
  const { notCalled, settings } = registrations;
  const onTransition = (transition: Transition): void => events.record(transition);
  const store = new DecisionStore({
    clusters,
    namespaces,
    objects,
    served,
    maxOverrideMs,
    settings,
    log,
    now,
    onDirty: (key) => queue.add(key),
    onStatusWritten: (key) => queue.addAfter(key, STATUS_WRITTEN_DELAY_MS),
    onDemands: oncePerTurn(() => objects.want(store.demands())),
    onTransition,
    onAnswerChanged: (latencyMs) => metrics.decisionLatency.observe(latencyMs / 1000),
  });
  const reconciler = new Reconciler({
    store,
    writer: api,
    objects,
    log,
    now,
    clustersUnavailable: () => clustersUnavailable(clusters),
    notCalled,
    onStatusWrite: (kind, result) => metrics.statusWrites.inc({ kind, result }),
    onTransition,
  });
  const queue = createQueue(store, reconciler, api, options);
  const named = nameInformers(informers);
  followMemory(metrics, { store, queue, named: [...named, nameOf(registrations)], objects, now });
  followCoverage(metrics, { store, clusters, notCalled });
  return {
    source: createSource(store, api, informers, log),
    memory: { store, clusters, namespaces },
    waitingFor: () => named.filter(([, informer]) => !informer.synced()).map(([name]) => name),
    run: async (signal) => {
      const parts = { informers, objects, registrations, named, store, queue, lookAgain, registered, log };
      await run(parts, signal);
    },
  };
}

function createQueue(
  store: DecisionStore,
  reconciler: Reconciler,
  api: ApiServer,
  { log, metrics }: ControllerOptions,
): WorkQueue {
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

/**
 * A flood of statuses must not delay it: a policy without its finalizer vanishes before it releases the Clusters that
 * it holds.
 */
function wantsFinalizer({ policies }: DecisionStore, key: string): boolean {
  const entry = policies.get(key);
  return entry !== undefined && finalizerIsDue(entry.compiled, entry.object.metadata, entry.matched.size);
}

function keysIn({ policies }: DecisionStore, namespace: string | undefined): string[] {
  return [...policies.entries()]
    .filter(({ compiled }) => namespace === undefined || compiled.ref.namespace === namespace)
    .map(({ key }) => key);
}

function createObjects({ client, log }: ControllerOptions, store: () => DecisionStore): ObjectInformers {
  const changed = (kind: ObjectKind): void => store().objectsChanged(kind);
  return new ObjectInformers({ client, log, onChange: changed, onAvailability: changed });
}

function createSource(
  store: DecisionStore,
  reader: ApiServer,
  { hookPolicies, clusterHookPolicies }: Informers,
  log: Logger,
): DecisionSource {
  const onStale = (kinds: ReadonlySet<PolicyKind>): void => {
    if (kinds.has("HookPolicy")) hookPolicies.refresh();
    if (kinds.has("ClusterHookPolicy")) clusterHookPolicies.refresh();
  };
  const turns = new CallTurns();
  const confirmer = new Confirmer({ store, reader, turns, log, now: () => new Date(), onStale });
  return {
    loaded: () => store.loaded,
    inTurn: ({ cluster }, decide, refuse) => turns.run(shareOf(cluster, store.answers), decide, refuse),
    ask: (request, at) => store.answers.ask(request, at),
    standing: (request, decision, at) => store.answers.standing(request, decision, at),
    confirm: (request) => confirmer.confirm(request),
  };
}

function createInformers(
  { client, log }: ControllerOptions,
  clusterResource: ClusterResource,
  {
    store,
    lookAgain,
  }: { readonly store: () => DecisionStore; readonly lookAgain: (namespace: string) => void },
): Informers {
  const policies = (kind: PolicyKind): Informer<HookPolicy | ClusterHookPolicy> =>
    new Informer<PolicyObject>({
      client,
      resource: POLICY_RESOURCES[kind],
      project: (raw) => viewPolicy(kind, raw),
      isSame: isSameSpec,
      onChange: ({ old, new: object }) => {
        const metadata = (object ?? old)?.metadata;
        if (metadata !== undefined) {
          store().policyChanged(policyKey(kind, metadata.namespace, metadata.name), object);
        }
      },
      log,
    });
  return {
    hookPolicies: policies("HookPolicy"),
    clusterHookPolicies: policies("ClusterHookPolicy"),
    clusters: new Informer<Cluster>({
      client,
      resource: (signal) => clusterResource.resolve(signal),
      project: (raw, known) => compactCluster(viewCluster(raw, known)),
      onChange: ({ old, new: cluster }) => store().clusterChanged(old, cluster),
      log,
    }),
    overrides: new Informer<HookOverride>({
      client,
      resource: OVERRIDES,
      project: viewOverride,
      isSame: isSameSpec,
      onChange: ({ key, new: object }) => store().overrideChanged(key, object),
      log,
    }),
    namespaces: new Informer<Namespace>({
      client,
      resource: NAMESPACES,
      metadataOnly: true,
      project: viewNamespace,
      onChange: ({ key }) => {
        store().namespaceChanged(key);
        lookAgain(key);
      },
      log,
    }),
  };
}

function nameInformers(informers: Informers): readonly Named[] {
  return [
    [resourceName(POLICY_RESOURCES.HookPolicy), informers.hookPolicies],
    [resourceName(POLICY_RESOURCES.ClusterHookPolicy), informers.clusterHookPolicies],
    ["clusters.cluster.x-k8s.io", informers.clusters],
    ["namespaces", informers.namespaces],
    [resourceName(OVERRIDES), informers.overrides],
  ];
}

/** No call waits for it: decisions do not depend on the registrations. */
function nameOf({ informer }: Registrations): Named {
  return ["extensionconfigs.runtime.cluster.x-k8s.io", informer];
}

interface Parts {
  readonly informers: Informers;
  readonly objects: ObjectInformers;
  readonly registrations: Registrations;
  readonly named: readonly Named[];
  readonly store: DecisionStore;
  readonly queue: WorkQueue;
  /** Re-evaluates all policies. */
  readonly lookAgain: () => void;
  /** The ExtensionConfigs, or the right to read them, changed. */
  readonly registered: () => void;
  readonly log: Logger;
}

async function run(parts: Parts, signal: AbortSignal): Promise<void> {
  const { informers, objects, registrations, named, store, queue, log } = parts;
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
  const informing = [...named, nameOf(registrations)].map(([, informer]) => informer.run(signal));
  await Promise.all([load, queue.run(signal), objects.run(signal), ...informing]);
  clearInterval(polling);
  store.stop();
}

function watchAvailability({ informers, registrations, lookAgain, registered, log }: Parts): () => void {
  const clusters = onChange(
    () => clustersUnavailable(informers.clusters)?.reason,
    (reason) => {
      log.info(reason === undefined ? "Clusters can be read" : "Clusters cannot be read", { reason });
      lookAgain();
    },
  );
  const state = onChange(() => registrations.state, registered);
  return () => {
    clusters();
    state();
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
function clustersUnavailable(clusters: Informer<Cluster>): { reason: string; message: string } | undefined {
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
