/** A decision store over plain maps instead of informers. */

import type { Logger } from "../../../src/api/logger.ts";
import type { Cluster, Namespace } from "../../../src/api/meta.ts";
import { policyKey, type PolicyObject } from "../../../src/controller/policyset.ts";
import { DecisionStore, type Lister } from "../../../src/controller/store.ts";
import { ALL_HOOKS, namespace, NOW } from "../builders.ts";

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
  world: { policies?: PolicyObject[]; clusters?: Cluster[]; namespaces?: Namespace[]; load?: boolean } = {},
): Fixture {
  const clusters = new MapLister<Cluster>();
  const namespaces = new MapLister<Namespace>();
  const dirty: string[] = [];
  const clock = { now: NOW };
  const store = new DecisionStore({
    clusters,
    namespaces,
    served: ALL_HOOKS,
    log: silent,
    now: () => clock.now,
    onDirty: (key) => dirty.push(key),
    onStatusWritten: () => undefined,
  });
  const fixture: Fixture = {
    store,
    dirty,
    clock,
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
