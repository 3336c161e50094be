/** Gauges that mirror what is in memory: read when they are scraped, and at no other time. */

import { CONDITION } from "../api/hookpolicy.ts";
import type { DecisionStore } from "../controller/store.ts";
import type { Informer } from "../kube/informer.ts";
import type { Stored } from "../kube/store.ts";
import type { WorkQueue } from "../kube/workqueue.ts";
import type { Metrics, Sample } from "../metrics.ts";
import type { ObjectInformers } from "./objects.ts";

type AnyInformer = Pick<
  Informer<Stored>,
  "contactAgeMs" | "restarts" | "size" | "synced" | "whenSynced" | "run"
>;

export type Named = readonly [name: string, informer: AnyInformer];

export interface Memory {
  readonly store: DecisionStore;
  readonly queue: WorkQueue;
  readonly named: readonly Named[];
  readonly objects: ObjectInformers;
  readonly now: () => Date;
}

export function followMemory(metrics: Metrics, { store, queue, named, objects, now }: Memory): void {
  const informers = (): Named[] => [...named, ...objects.informers()];
  const perInformer = (read: (informer: AnyInformer) => number) => (): Sample<"resource">[] =>
    informers().map(([resource, informer]) => ({ labels: { resource }, value: read(informer) }));
  metrics.heldClusters.follow(() =>
    [...store.heldByHook()].map(([hook, value]) => ({ labels: { hook }, value })),
  );
  metrics.policies.follow(() => countPolicies(store));
  metrics.windowsOpen.follow(() => openWindows(store));
  metrics.deadlines.follow(() => countDeadlines(store));
  metrics.overrides.follow(() => countOverrides(store, now()));
  metrics.workqueueDepth.follow(() => [{ labels: {}, value: queue.depth }]);
  metrics.informerContactAge.follow(perInformer((informer) => informer.contactAgeMs() / 1000));
  metrics.informerRestarts.follow(perInformer((informer) => informer.restarts));
  metrics.informerObjects.follow(perInformer((informer) => informer.size));
}

function* countPolicies(
  store: DecisionStore,
): Iterable<{ labels: { kind: string; ready: string }; value: number }> {
  const counts = new Map<string, number>();
  for (const { object } of store.policies.entries()) {
    const ready =
      object.status?.conditions?.find(({ type }) => type === CONDITION.Ready)?.status ?? "Unknown";
    const key = `${object.kind} ${ready}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [key, value] of counts) {
    const [kind = "", ready = ""] = key.split(" ");
    yield { labels: { kind, ready }, value };
  }
}

function* openWindows(
  store: DecisionStore,
): Iterable<Sample<"kind" | "namespace" | "policy" | "rule" | "gate">> {
  for (const { compiled, windows } of store.policies.entries()) {
    const { kind, namespace = "", name: policy } = compiled.ref;
    for (const { rule, gate, open } of windows.values()) {
      yield { labels: { kind, namespace, policy, rule, gate }, value: Number(open) };
    }
  }
}

/** How many operations have passed which part of their deadline. */
function* countDeadlines(store: DecisionStore): Iterable<Sample<"kind" | "namespace" | "policy" | "passed">> {
  for (const { compiled, deadlines } of store.policies.entries()) {
    const { kind, namespace = "", name: policy } = compiled.ref;
    for (const passed of [0, 50, 80, 100]) {
      const value = [...deadlines.values()].filter((step) => step === passed).length;
      if (deadlines.size > 0) yield { labels: { kind, namespace, policy, passed: String(passed) }, value };
    }
  }
}

function countOverrides(store: DecisionStore, now: Date): Sample<"state">[] {
  const counts = { active: 0, expired: 0, ineffective: 0 };
  for (const { compiled } of store.overrides.entries()) {
    if (compiled.problem !== undefined) counts.ineffective += 1;
    else if (now < compiled.expiresAt) counts.active += 1;
    else counts.expired += 1;
  }
  return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
}
