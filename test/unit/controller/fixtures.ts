/** A decision store over plain maps instead of informers. */

import type { Logger } from "../../../src/api/logger.ts";
import type { Cluster, Namespace } from "../../../src/api/meta.ts";
import { policyKey, type PolicyObject } from "../../../src/controller/policyset.ts";
import { DecisionStore, type Lister } from "../../../src/controller/store.ts";
import type { Transition } from "../../../src/controller/transitions.ts";
import type { ObjectReader } from "../../../src/policy/objects.ts";
import { ALL_HOOKS, namespace, NO_OBJECTS, NOW } from "../builders.ts";

export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

class MapLister<T extends Cluster | Namespace> implements Lister<T> {
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
  readonly transitions: Transition[];
  setCluster(cluster: Cluster | undefined, key?: string): void;
  setNamespace(namespace: Namespace): void;
  setPolicy(object: PolicyObject): void;
  deletePolicy(object: PolicyObject): void;
}

export function keyOf({ kind, metadata }: PolicyObject): string {
  return policyKey(kind, metadata.namespace, metadata.name);
}

/** Loaded, unless `load` is false. */
export function storeWith(
  world: {
    policies?: PolicyObject[];
    clusters?: Cluster[];
    namespaces?: Namespace[];
    objects?: ObjectReader;
    load?: boolean;
  } = {},
): Fixture {
  const clusters = new MapLister<Cluster>();
  const namespaces = new MapLister<Namespace>();
  const dirty: string[] = [];
  const transitions: Transition[] = [];
  const { objects = NO_OBJECTS } = world;
  const clock = { now: NOW };
  const store = new DecisionStore({
    clusters,
    namespaces,
    objects,
    served: ALL_HOOKS,
    maxOverrideMs: 7 * 86_400_000,
    log: silent,
    now: () => clock.now,
    onDirty: (key) => dirty.push(key),
    onStatusWritten: () => undefined,
    onDemands: () => undefined,
    onTransition: (transition) => transitions.push(transition),
  });
  const fixture: Fixture = {
    store,
    dirty,
    clock,
    transitions,
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
  };
  for (const object of world.namespaces ?? [namespace()]) fixture.setNamespace(object);
  for (const object of world.clusters ?? []) fixture.setCluster(object);
  for (const object of world.policies ?? []) fixture.setPolicy(object);
  if (world.load !== false) store.load();
  return fixture;
}
