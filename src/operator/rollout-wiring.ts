/** Connects the HookRollouts with their informer's memory, their claims and their work queue. */

import type { DecisionStore } from "../memory/decision-store.ts";
import { RolloutReconciler, type RolloutReconcilerOptions } from "../rollouts/rollout-reconciler.ts";
import { Rollouts, type RolloutsOptions } from "../rollouts/rollout-decisions.ts";
import { rolloutEvents } from "../rollouts/rollout-events.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { Shared } from "./shared.ts";

export interface RolloutWiring
  extends Shared, Pick<RolloutsOptions, "onStale">, Pick<RolloutReconcilerOptions, "tasks" | "notCalled"> {
  readonly store: DecisionStore;
}

/** Time to collect changes before reconciling a rollout, because thousands of Clusters can change at once. */
const DELAY_MS = 300;

const nowMs = (): number => performance.now();

export function createRollouts(wiring: RolloutWiring): {
  readonly rollouts: Rollouts;
  readonly queue: WorkQueue;
} {
  const { api, store, metrics, log } = wiring;
  const rollouts = new Rollouts({
    ...wiring,
    decider: store.decider,
    nowMs,
    enqueue: (name) => queue.addAfter(name, DELAY_MS),
    onError: (error) =>
      log.warn("Failed to take a slot of a HookRollout, or to find whose turn it is", { error }),
    reasonOf: (error) => api.reasonOf(error),
  });
  const reconciler = new RolloutReconciler({
    ...wiring,
    rollouts,
    loaded: () => store.loaded,
    nowMs,
    onStored: (object, before, status) => {
      for (const event of rolloutEvents(object, before, status)) wiring.onEvent(event);
    },
  });
  const queue = new WorkQueue({
    reconcile: async (name) => await reconciler.reconcile(name),
    log,
    onError: (_, error) => metrics.reconcileErrors.inc({ reason: api.reasonOf(error) }),
  });
  return { rollouts, queue };
}
