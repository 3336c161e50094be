/** Connects tasks: the informer of HookTasks, their memory, what the leader does about them, and what a call stores. */

import { type HookRollout, REASON } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { namespacedName } from "../lib/keys.ts";
import { Informer } from "../kube/informer.ts";
import { HOOK_TASKS } from "../kube/resources.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Unavailable } from "../memory/memory.ts";
import { Permits, type PermitsOptions } from "../tasks/permits.ts";
import { Polls } from "../tasks/polls.ts";
import { changedSlots, slotTasks } from "../tasks/slot-tasks.ts";
import { type StoredTask, storedTask } from "../tasks/stored-task.ts";
import { StoredTaskBeginner } from "../tasks/task-beginner.ts";
import { TaskMemory } from "../tasks/task-memory.ts";
import { TaskObjects } from "../tasks/task-objects.ts";
import { BEGINNINGS, TaskReconciler } from "../tasks/task-reconciler.ts";
import { TaskStore } from "../tasks/task-store.ts";
import type { SlotTasks } from "../rollouts/rollout-reconciler.ts";
import { observeTask } from "../report/fleet-metrics.ts";
import { taskEvent, taskNotStored } from "../tasks/task-events.ts";
import { Allowance } from "../turns/allowance.ts";
import type { Shared } from "./shared.ts";

export interface TaskWiring extends Shared, Pick<PermitsOptions, "lacksSlot"> {
  readonly store: () => DecisionStore;
  /** The slots of HookRollouts may have to change. */
  readonly onTasksChanged: () => void;
}

const UNAVAILABLE: Readonly<Record<"NotServed" | "Forbidden", Unavailable>> = {
  NotServed: {
    reason: REASON.HookTasksNotInstalled,
    message:
      "The API server serves no hooktasks.hookpolicy.dev: apply the CRDs of the operator's version. Until then rules with tasks hold every Cluster",
  },
  Forbidden: {
    reason: REASON.HookTasksForbidden,
    message:
      "The operator may not list and watch hooktasks.hookpolicy.dev. Until then rules with tasks hold every Cluster",
  },
};

export class Tasks {
  readonly memory: TaskMemory;
  readonly informer: Informer<StoredTask>;
  readonly beginner: StoredTaskBeginner;
  readonly slots: SlotTasks;
  readonly #queue: WorkQueue;
  readonly #polls = new Polls((key) => this.#queue.add(key));

  constructor(wiring: TaskWiring) {
    const { client, store, served, onEvent, log } = wiring;
    const taskStore = new TaskStore(client);
    const memory: TaskMemory = new TaskMemory({
      isKnown: () => this.isKnown(),
      onChange: (key, task) => {
        store().tasksChanged(namespacedName(task.cluster));
        wiring.onTasksChanged();
        this.#queue.add(key);
        // No event is about the oldest.
        const surplus = memory.surplusLike(task).at(-1);
        if (surplus !== undefined) this.#queue.add(namespacedName(surplus.metadata));
      },
    });
    this.memory = memory;
    this.informer = new Informer<StoredTask>({
      client,
      log,
      resource: HOOK_TASKS,
      project: storedTask,
      // A CRD that is applied shows or hides the hash.
      isSame: (a, b) => a.altered === b.altered,
      onChange: ({ key, new: task }) => memory.changed(key, task),
    });
    this.#queue = this.#createQueue(wiring, taskStore);
    this.beginner = new StoredTaskBeginner({
      store: taskStore,
      served,
      log,
      onUnstored: ({ spec, name }, error) => onEvent(taskNotStored(spec, name, error, wiring.now())),
    });
    this.slots = slotTasks({ memory, store: taskStore, policies: store().policies });
  }

  /** Whether all HookTasks could be read, and still can. */
  isKnown(): boolean {
    return this.informer.synced() && this.informer.refusal === undefined;
  }

  /** Why they cannot, for users, if the API server says so. */
  unavailable(): Unavailable | undefined {
    return this.informer.refusal && UNAVAILABLE[this.informer.refusal];
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    for (const { metadata } of this.memory.ofCluster((before ?? now)?.metadata.uid ?? ""))
      this.#queue.add(namespacedName(metadata));
  }

  /** It may have kept attempts from beginning. */
  rolloutChanged(before: HookRollout | undefined, now: HookRollout | undefined): void {
    const changed = changedSlots(before, now);
    const tasks =
      changed === undefined ? this.memory.all() : [...changed].flatMap((uid) => this.memory.ofCluster(uid));
    for (const { metadata, phase } of tasks)
      if (phase === "Pending" || phase === "Running") this.#queue.add(namespacedName(metadata));
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(signal);
  }

  /** Namespaces of Clusters take turns. */
  #createQueue(wiring: TaskWiring, taskStore: TaskStore): WorkQueue {
    const { taskClient, api, store, onEvent, metrics, log } = wiring;
    const { memory } = this;
    const { policies, overrides } = store();
    const reconciler = new TaskReconciler({
      ...wiring,
      memory,
      store: taskStore,
      objects: new TaskObjects(taskClient),
      permits: new Permits({ ...wiring, memory, store: { policies, overrides }, reader: api }),
      clusterVersion: () => api.clusterVersion,
      polls: this.#polls,
      allowance: new Allowance(BEGINNINGS),
      loaded: () => store().loaded && this.isKnown(),
      onStored: (before, after) => {
        observeTask(metrics, before, after);
        const event = taskEvent(before, after);
        if (event !== undefined) onEvent(event);
      },
    });
    return new WorkQueue({
      reconcile: async (key) => await reconciler.reconcile(key),
      log,
      groupOf: (key) => memory.get(key)?.cluster.namespace ?? "",
      isUrgent: (key) => isNew(memory.get(key)),
      onError: (_, error) => metrics.reconcileErrors.inc({ reason: api.reasonOf(error) }),
    });
  }
}

/** One that is refused is no longer urgent, however often it is tried. */
function isNew(task: StoredTask | undefined): boolean {
  return task?.phase === "Pending" && !task.isRunning;
}
