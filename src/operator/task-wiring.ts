/** Connects tasks: the informer of HookTasks, their memory, what the leader does about them, and what a call stores. */

import type { EventText } from "../api/event-text.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { REASON } from "../api/hook-policy.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { namespacedName } from "../lib/keys.ts";
import type { Logger } from "../lib/logger.ts";
import { Informer } from "../kube/informer.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isForbidden, isNotFound } from "../kube/kube-error.ts";
import { HOOK_TASKS } from "../kube/resources.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import { policyKey } from "../memory/policy-set.ts";
import type { Lister, Unavailable } from "../memory/ports.ts";
import type { TaskReader } from "../policy/tasks/task-record.ts";
import { Polls } from "../tasks/polls.ts";
import { Permits, surplusLike } from "../tasks/permits.ts";
import { slotTasks } from "../tasks/slot-tasks.ts";
import { type StoredTask, storedTask } from "../tasks/stored-task.ts";
import { StoredTaskBeginner, type TaskBeginnerOptions } from "../tasks/task-beginner.ts";
import { TaskMemory } from "../tasks/task-memory.ts";
import { TaskObjects } from "../tasks/task-objects.ts";
import { BEGINNINGS, TaskReconciler } from "../tasks/task-reconciler.ts";
import { TaskStore } from "../tasks/task-store.ts";
import type { SlotTasks } from "../rollouts/rollout-reconciler.ts";
import { followTasks, observeTask } from "../report/task-metrics.ts";
import { taskEvent, taskNotStored } from "../tasks/task-events.ts";
import { messageOf } from "../lib/thrown.ts";
import { Allowance } from "../turns/allowance.ts";
import type { Metrics } from "../report/metrics.ts";
import type { ApiServer } from "./api-server.ts";

export interface TaskWiring {
  readonly client: KubeClient;
  /** Acts as ServiceAccounts, on connections of its own, so that what tasks do delays nothing else. */
  readonly taskClient: KubeClient;
  readonly api: ApiServer;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly store: () => DecisionStore;
  readonly lacksSlot: (cluster: Cluster, hook: HookName) => boolean;
  /** The slots of HookRollouts may have to change. */
  readonly onTasksChanged: () => void;
  readonly served: ServedHooks;
  readonly leading: () => boolean;
  readonly now: () => Date;
  readonly onTransition: (event: EventText) => void;
  readonly metrics: Metrics;
  readonly log: Logger;
}

export interface Tasks {
  readonly memory: TaskMemory;
  readonly informer: Informer<StoredTask>;
  readonly beginner: StoredTaskBeginner;
  readonly slots: SlotTasks;
  /** Whether all HookTasks could be read, and still can. */
  isKnown(): boolean;
  /** Why they cannot, for users, if the API server says so. */
  unavailable(): Unavailable | undefined;
  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void;
  /** Something that may have kept attempts from beginning has changed. */
  recheck(): void;
  run(signal: AbortSignal): Promise<void>;
}

/** Decisions are made of memory, which tasks are connected to. */
export function taskReader(tasks: () => Pick<Tasks, "memory">): TaskReader {
  return {
    count: (scope) => tasks().memory.count(scope),
    find: (scope) => tasks().memory.find(scope),
  };
}

export function createTasks(wiring: TaskWiring): Tasks {
  const { client, store, served, onTransition, metrics, log } = wiring;
  const taskStore = new TaskStore(client);
  const isKnown = (): boolean => {
    const failure = informer.failure();
    return informer.synced() && !isNotFound(failure) && !isForbidden(failure);
  };
  const memory: TaskMemory = new TaskMemory({
    isKnown,
    onChange: (key, task) => {
      store().tasksChanged(namespacedName(task.cluster));
      wiring.onTasksChanged();
      queue.add(key);
      // No event is about the oldest.
      const surplus = surplusLike(memory, task).at(-1);
      if (surplus !== undefined) queue.add(namespacedName(surplus.metadata));
    },
  });
  const informer: Informer<StoredTask> = new Informer<StoredTask>({
    client,
    log,
    resource: HOOK_TASKS,
    project: storedTask,
    // A CRD that is applied shows or hides the hash.
    isSame: (a, b) => a.altered === b.altered,
    onChange: ({ key, new: task }) => memory.changed(key, task),
  });
  const polls = new Polls({ onDue: (key) => queue.add(key) });
  const queue = createQueue(wiring, { memory, taskStore, polls, isKnown });
  const onUnstored = oncePerReason(onTransition);
  followTasks(metrics, memory);
  return {
    memory,
    informer,
    beginner: new StoredTaskBeginner({ store: taskStore, served, log, onUnstored }),
    slots: slotTasks({
      memory,
      store: taskStore,
      policyOf: ({ kind, namespace, name }) =>
        store().policies.get(policyKey(kind, namespace, name))?.compiled,
    }),
    isKnown,
    unavailable: () => unavailable(informer.failure()),
    clusterChanged: (before, cluster) => {
      for (const { metadata } of memory.ofCluster((before ?? cluster)?.metadata.uid ?? ""))
        queue.add(namespacedName(metadata));
    },
    recheck: () => {
      for (const { metadata, phase } of memory.all())
        if (phase === "Pending" || phase === "Running") queue.add(namespacedName(metadata));
    },
    run: async (signal) => await queue.run(signal),
  };
}

/** Losing contact does not count as a refusal. */
function unavailable(failure: unknown): Unavailable | undefined {
  const until = "Until then rules with tasks hold every Cluster";
  if (isNotFound(failure)) {
    const message = `The API server serves no hooktasks.hookpolicy.dev: apply the CRDs of the operator's version. ${until}`;
    return { reason: REASON.HookTasksNotInstalled, message };
  }
  if (isForbidden(failure)) {
    const message = `The operator may not list and watch hooktasks.hookpolicy.dev. ${until}`;
    return { reason: REASON.HookTasksForbidden, message };
  }
  return undefined;
}

interface Parts {
  readonly memory: TaskMemory;
  readonly taskStore: TaskStore;
  readonly polls: Polls;
  readonly isKnown: () => boolean;
}

/** Namespaces of Clusters take turns. */
function createQueue(wiring: TaskWiring, { memory, taskStore, polls, isKnown }: Parts): WorkQueue {
  const { taskClient, api, store, onTransition, metrics, log } = wiring;
  const { policies, overrides } = store();
  const reconciler = new TaskReconciler({
    ...wiring,
    memory,
    store: taskStore,
    objects: new TaskObjects(taskClient),
    permits: new Permits({ ...wiring, memory, store: { policies, overrides }, reader: api }),
    polls,
    allowance: new Allowance(() => performance.now(), BEGINNINGS),
    loaded: () => store().loaded && isKnown(),
    onStored: (before, after) => {
      observeTask(metrics, before, after);
      const event = taskEvent(before, after);
      if (event !== undefined) onTransition(event);
    },
  });
  return new WorkQueue({
    reconcile: async (key) => await reconciler.reconcile(key),
    log,
    groupOf: (key) => memory.get(key)?.cluster.namespace ?? "",
    isUrgent: (key) => memory.get(key)?.phase === "Pending",
    onError: (_, error) => metrics.reconcileErrors.inc({ reason: api.reasonOf(error) }),
  });
}

/** Each call about the Cluster tries again. */
function oncePerReason(onTransition: TaskWiring["onTransition"]): TaskBeginnerOptions["onUnstored"] {
  const told = new Set<string>();
  return ({ spec, name }, error) => {
    const why = messageOf(error);
    const key = `${name} ${why}`;
    if (told.has(key)) return;
    if (told.size >= MAX_TOLD) told.clear();
    told.add(key);
    onTransition(taskNotStored(spec, name, why));
  };
}

const MAX_TOLD = 1000;
