/** A replica of the operator that carries out tasks in a world of the model. */

import { KubeError } from "../../../src/kube/kube-error.ts";
import type { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import type { TaskRecord } from "../../../src/policy/tasks/task-record.ts";
import { Allowance } from "../../../src/turns/allowance.ts";
import type { Polls } from "../../../src/tasks/polls.ts";
import { Permits, type PermitsOptions } from "../../../src/tasks/permits.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { StoredTaskBeginner } from "../../../src/tasks/task-beginner.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import type { TaskObjects } from "../../../src/tasks/task-objects.ts";
import { BEGINNINGS, TaskReconciler } from "../../../src/tasks/task-reconciler.ts";
import type { TaskStore } from "../../../src/tasks/task-store.ts";
import { namespace } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import type { TaskLaws } from "./task-laws.ts";
import {
  clusterOf,
  compiledOf,
  type Facts,
  jobObject,
  metaOf,
  overridesOf,
  SERVED,
  type TaskWorld,
} from "./task-world.ts";

/** What is taken away from the operator, to see that the search misses it. */
export interface Weakness {
  readonly decide?: (
    policies: readonly CompiledPolicy[],
    ...rest: Parameters<typeof decide> extends [unknown, ...infer R] ? R : never
  ) => Decision;
  readonly records?: (
    live: readonly TaskRecord[],
    remembered: readonly TaskRecord[],
  ) => readonly TaskRecord[];
  readonly permits?: (permits: Permits) => void;
  readonly store?: (
    store: Pick<TaskStore, "find" | "replaceStatus" | "delete">,
  ) => Pick<TaskStore, "find" | "replaceStatus" | "delete">;
  readonly wanted?: true;
  /** The leader does not look at other runs of the task. */
  readonly alone?: true;
  /** The Pods of what it deletes are deleted later. */
  readonly background?: true;
}

/** A replica between two starts. */
interface Life {
  isOver: boolean;
  /** The HookTasks that are being reconciled. */
  readonly works: Set<string>;
}

export interface Replica {
  life: Life;
  facts: Facts;
  memory: TaskMemory;
  reconciler: TaskReconciler;
  beginner: StoredTaskBeginner;
  calls: number;
}

interface Request {
  readonly by: Life;
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Ask = <T>(run: () => T) => Promise<T>;

/** The requests of all replicas that the API server has not carried out. */
export class Requests {
  readonly #requests: Request[] = [];

  async ask<T>(by: Life, run: () => T): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      this.#requests.push({ by, run, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Carries out one request, or not, and answers it, or not. */
  serve(below: (below: number) => number): void {
    const [request] = this.#requests.splice(below(Math.max(1, this.#requests.length)), 1);
    if (request === undefined) return;
    const { by, run, resolve, reject } = request;
    const luck = below(20);
    const lost = new KubeError("the connection was lost", { code: 503, reason: "ServiceUnavailable" });
    if (luck === 0) return by.isOver ? undefined : reject(lost);
    try {
      const value = run();
      if (by.isOver) return;
      if (luck === 1) reject(lost);
      else resolve(value);
    } catch (error) {
      if (!by.isOver) reject(error);
    }
  }
}

interface ReplicaOptions {
  readonly world: TaskWorld;
  readonly laws: TaskLaws;
  readonly weakness: Weakness;
  readonly requests: Requests;
  readonly isLeading: () => boolean;
}

const none = (): undefined => undefined;
const FORGETFUL = { othersLike: () => [], get: none } as unknown as TaskMemory;

export function startReplica({ world, laws, weakness, requests, isLeading }: ReplicaOptions): Replica {
  const life: Life = { isOver: false, works: new Set() };
  const replica: { facts: Facts } = { facts: world.facts };
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  for (const task of world.tasks.values()) memory.learn(storedTask(task));
  const ask: Ask = async (run) => await requests.ask(life, run);
  const permits = new Permits(
    permitsOptions(world, replica, weakness.alone === true ? FORGETFUL : memory, ask),
  );
  weakness.permits?.(permits);
  const log = new MemoryLogger();
  const own = storeFor(world, laws, ask);
  const store = { ...own, ...weakness.store?.(own) };
  const reconciler = new TaskReconciler({
    memory,
    store: store as unknown as TaskStore,
    objects: objectsFor(world, laws, ask, weakness.background === true),
    permits,
    clusterVersion: () => "cluster.x-k8s.io/v1beta2",
    polls: { take: () => true, isScheduled: none, schedule: none, forget: none } as unknown as Polls,
    allowance: new Allowance(BEGINNINGS),
    leading: isLeading,
    loaded: () => true,
    now: () => world.now,
    onStored: () => undefined,
    log,
  });
  const beginner = new StoredTaskBeginner({
    store: { create: async (intent) => await ask(() => world.store(intent)) },
    served: SERVED,
    onUnstored: () => undefined,
    log,
  });
  return Object.assign(replica, { life, memory, reconciler, beginner, calls: 0 });
}

function permitsOptions(
  world: TaskWorld,
  replica: { readonly facts: Facts },
  memory: TaskMemory,
  ask: Ask,
): PermitsOptions {
  const overridesIn = (facts: Facts) => overridesOf(facts);
  return {
    memory,
    store: {
      policies: { compiledOf: () => compiledOf(replica.facts) },
      overrides: {
        ofCluster: () => overridesIn(replica.facts),
        get: () => overridesIn(replica.facts).map((each) => ({ compiled: each }))[0],
      },
    } as unknown as PermitsOptions["store"],
    clusters: { get: () => clusterOf(replica.facts) },
    namespaces: { get: () => namespace() },
    reader: {
      findCluster: async () => await ask(() => clusterOf(world.facts)),
      findNamespace: async () => await ask(() => namespace()),
      findPolicy: async () => await ask(() => metaOf(compiledOf(world.facts), "protect")),
      overrides: async () => await ask(() => overridesOf(world.facts).map((each) => metaOf(each, each.name))),
    },
    served: SERVED,
    lacksSlot: () => false,
    now: () => world.now,
  };
}

function storeFor(
  world: TaskWorld,
  laws: TaskLaws,
  ask: Ask,
): Pick<TaskStore, "find" | "replaceStatus" | "delete"> {
  /** The moment in history at which a HookTask was last read. */
  const readAt = new Map<string, number>();
  return {
    find: async ({ name }) =>
      await ask(() => {
        readAt.set(name, world.history.length - 1);
        return world.tasks.get(name);
      }),
    replaceStatus: async (task, status) =>
      await ask(() => {
        const before = world.tasks.get(task.metadata.name)?.status?.begun ?? 0;
        const stored = world.replaceStatus(task, status);
        if (stored !== undefined && (status.begun ?? 0) > before)
          laws.attempts(stored, readAt.get(task.metadata.name) ?? 0);
        return stored;
      }),
    delete: async ({ metadata: { name } }) => await ask(() => void world.tasks.delete(name)),
  };
}

function objectsFor(world: TaskWorld, laws: TaskLaws, ask: Ask, inBackground: boolean): TaskObjects {
  const objects: Pick<TaskObjects, "create" | "find" | "delete"> = {
    create: async (account, { metadata }) =>
      await ask(() => {
        const { labels = {}, annotations = {} } = metadata as { labels?: object; annotations?: object };
        const all = { ...labels, ...annotations } as Record<string, string>;
        const job = world.createJob(`${account.namespace}/${account.name}`, metadata.name, all);
        laws.creates(job);
        return jobObject(job);
      }),
    find: async (_, { name }) =>
      await ask(() => {
        const job = world.jobs.get(name);
        return job && jobObject(job);
      }),
    delete: async (_, { name }, uid, propagation) =>
      await ask(() => {
        const job = world.jobs.get(name);
        if (job?.uid !== uid) return;
        if (propagation === "Foreground" && !inBackground) world.jobs.set(name, { ...job, deleting: true });
        else {
          world.jobs.delete(name);
          world.left.set(name, job);
        }
      }),
  };
  return objects as TaskObjects;
}
