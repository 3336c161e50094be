/** Connects the HookRollouts with their informer's memory, their claims and their work queue. */

import type { ServedHooks } from "../api/hookcatalog.ts";
import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import type { DecisionStore } from "../controller/decisionstore.ts";
import type { Lister } from "../controller/ports.ts";
import { RolloutReconciler } from "../controller/rolloutreconciler.ts";
import { Rollouts } from "../controller/rollouts.ts";
import { type RolloutTransition, rolloutTransitions } from "../controller/rollouttransitions.ts";
import { WorkQueue } from "../kube/workqueue.ts";
import { followRollouts } from "../metrics/rolloutgauges.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ApiServer } from "./apiserver.ts";

export interface RolloutWiring {
  readonly api: ApiServer;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly store: DecisionStore;
  readonly served: ServedHooks;
  readonly now: () => Date;
  /** Whether this replica writes the statuses. */
  readonly leading: () => boolean;
  readonly onDemands: () => void;
  readonly onStale: () => void;
  readonly onTransition: (transition: RolloutTransition) => void;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Time to collect changes before a rollout is reconciled: thousands of Clusters can change at once. */
const DELAY_MS = 300;

const nowMs = (): number => performance.now();

export function createRollouts(wiring: RolloutWiring): {
  readonly rollouts: Rollouts;
  readonly queue: WorkQueue;
} {
  const { api, clusters, namespaces, store, served, now, leading, onDemands, onStale, metrics, log } = wiring;
  const rollouts = new Rollouts({
    api,
    clusters,
    namespaces,
    served,
    firstAsked: (uid, hook) => store.answers.firstAsked(uid, hook),
    now,
    nowMs,
    onDemands,
    onDirty: (name) => queue.addAfter(name, DELAY_MS),
    onError: (error) => log.warn("Failed to take or to give back a slot of a HookRollout", { error }),
    onStale,
    reasonOf: (error) => api.reasonOf(error),
  });
  const reconciler = new RolloutReconciler({
    rollouts,
    api,
    clusters,
    leading,
    loaded: () => store.loaded,
    now,
    nowMs,
    onStored: (object, before, status) => {
      for (const transition of rolloutTransitions(object, before, status)) wiring.onTransition(transition);
    },
  });
  const queue = new WorkQueue({
    reconcile: async (name) => await reconciler.reconcile(name),
    log,
    onError: (_, error) => metrics.reconcileErrors.inc({ reason: api.reasonOf(error) }),
  });
  followRollouts(metrics, rollouts);
  return { rollouts, queue };
}
