/** A decision store over plain maps instead of informers. */

import type { HookOverride, HookPolicyStatus } from "../../../src/api/hook-policy.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import type { Cluster, ObjectMeta, StoredNamespace } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyRow } from "../../../src/operations/rows.ts";
import { policyKey, type PolicyObject } from "../../../src/memory/policy-set.ts";
import { computeStatus } from "../../../src/status/policy-status.ts";
import { DecisionStore } from "../../../src/memory/decision-store.ts";
import type { EventText } from "../../../src/api/event-text.ts";
import type { ServedHooks } from "../../../src/api/hook-catalog.ts";
import type { ObjectReader } from "../../../src/policy/watched-objects.ts";
import { ALL_HOOKS, MAX_OVERRIDE_MS, namespace, NO_OBJECTS, NOW } from "../builders.ts";
import { rowSetsOf } from "../../../src/memory/policy-entry.ts";
import type { Lister, StoreOptions } from "../../../src/memory/memory.ts";
import type { PolicyList } from "../../../src/decisions/live-reads.ts";
import type { PolicyEntry } from "../../../src/memory/policy-entry.ts";

export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

class MapLister<T extends Cluster | StoredNamespace> implements Lister<T> {
  readonly objects = new Map<string, T>();

  get(key: string): T | undefined {
    return this.objects.get(key);
  }

  list(): Iterable<T> {
    return this.objects.values();
  }

  byNamespace(ns: string): Iterable<T> {
    return [...this.objects.values()].filter(({ metadata }) => metadata.namespace === ns);
  }
}

export interface Fixture {
  readonly store: DecisionStore;
  readonly dirty: string[];
  readonly clock: { now: Date };
  /** But for holds. */
  readonly events: EventText[];
  /** That they begin and end. */
  readonly holds: EventText[];
  readonly latencies: number[];
  /** Uids of Clusters. */
  readonly gone: string[];
  cluster(key: string): Cluster | undefined;
  setCluster(cluster: Cluster | undefined, key?: string): void;
  setNamespace(namespace: StoredNamespace): void;
  setPolicy(object: PolicyObject): void;
  deletePolicy(object: PolicyObject): void;
  setOverride(object: HookOverride): void;
}

/** As a list of the API server; "1": another list is of the same moment. */
export function policyList(items: readonly ObjectMeta[], resourceVersion = "1000000"): PolicyList {
  return { resourceVersion, items };
}

export function keyOf({ kind, metadata }: PolicyObject): string {
  return policyKey(kind, metadata.namespace, metadata.name);
}

const DEFAULTS = {
  policies: [],
  overrides: [],
  clusters: [],
  objects: NO_OBJECTS,
  served: ALL_HOOKS,
  load: true,
  turnMs: Infinity,
  compileMs: Infinity,
  log: silent,
} satisfies Setup;

interface Setup {
  policies?: PolicyObject[];
  overrides?: HookOverride[];
  clusters?: Cluster[];
  namespaces?: StoredNamespace[];
  objects?: ObjectReader;
  tasks?: StoreOptions["tasks"];
  served?: ServedHooks;
  settings?: (namespace: string) => HookCall["settings"];
  liftedRollouts?: StoreOptions["liftedRollouts"];
  load?: boolean;
  turnMs?: number;
  compileMs?: number;
  log?: Logger;
}

/** Loaded, unless `load` is false. */
export function storeWith(given: Setup = {}): Fixture {
  const world = { ...DEFAULTS, namespaces: [namespace()], ...given };
  const clusters = new MapLister<Cluster>();
  const namespaces = new MapLister<StoredNamespace>();
  const dirty: string[] = [];
  const events: EventText[] = [];
  const holds: EventText[] = [];
  const latencies: number[] = [];
  const gone: string[] = [];
  const { objects, served, turnMs, compileMs, log } = world;
  const clock = { now: NOW };
  const store = new DecisionStore({
    clusters,
    namespaces,
    objects,
    served,
    ...(given.tasks && { tasks: given.tasks }),
    ...(given.settings && { settings: given.settings }),
    ...(given.liftedRollouts && { liftedRollouts: given.liftedRollouts }),
    maxOverrideMs: MAX_OVERRIDE_MS,
    turnMs,
    compileMs,
    // How much is done at a time must not depend on how fast the machine is.
    allowance: { spend: () => undefined, restMs: () => 0 },
    log,
    now: () => clock.now,
    enqueue: (key) => dirty.push(key),
    onStatusWritten: () => undefined,
    onDemands: () => undefined,
    onEvent: (event) => (event.reason === "Held" || event.reason === "Released" ? holds : events).push(event),
    onAnswerChanged: (latencyMs) => latencies.push(latencyMs),
  });
  store.onClusterGone((uid) => gone.push(uid));
  const fixture: Fixture = {
    store,
    dirty,
    clock,
    events,
    holds,
    latencies,
    gone,
    cluster: (key) => clusters.get(key),
    setCluster: (now, key = `${now?.metadata.namespace}/${now?.metadata.name}`) => {
      const before = clusters.objects.get(key);
      if (now === undefined) clusters.objects.delete(key);
      else clusters.objects.set(key, now);
      store.clusterChanged(before, now);
    },
    setNamespace: (now) => {
      namespaces.objects.set(now.metadata.name, now);
      store.namespaceChanged(now.metadata.name);
    },
    setPolicy: (object) => store.policyChanged(keyOf(object), object),
    deletePolicy: (object) => store.policyChanged(keyOf(object), undefined),
    setOverride: (object) => store.overrideChanged(object.metadata.name, object),
  };
  for (const object of world.namespaces) fixture.setNamespace(object);
  for (const object of world.clusters) fixture.setCluster(object);
  for (const object of world.policies) fixture.setPolicy(object);
  for (const object of world.overrides) fixture.setOverride(object);
  if (world.load) store.load();
  return fixture;
}

export function entryOf({ store }: Fixture, policy: PolicyObject): PolicyEntry {
  const entry = store.policies.get(keyOf(policy));
  if (entry === undefined) throw new Error(`${keyOf(policy)} is not in memory`);
  return entry;
}

export function rowsOf(fixture: Fixture, policy: PolicyObject): PolicyRow[] {
  return [...entryOf(fixture, policy).held.values()];
}

/** The status that this replica would write now, as the reconciler computes it. */
export function statusOf(fixture: Fixture, policy: PolicyObject): HookPolicyStatus {
  const entry = entryOf(fixture, policy);
  const held = [...entry.held.values()];
  const { compiled, object, matched, known, recent } = entry;
  const input = { policy: compiled, stored: object.status, matchedClusters: matched.size, held, recent };
  const status = computeStatus({ ...input, before: known }, fixture.clock.now);
  entry.known = rowSetsOf(held);
  return status;
}

/** The clock goes on, and what is due by then is done. */
export function passTo(fixture: Fixture, now: Date): void {
  fixture.clock.now = now;
  fixture.store.wake();
}
