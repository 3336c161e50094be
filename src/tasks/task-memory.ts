/** The HookTasks that this replica knows, by Cluster. Memory can only hold: a release reads them again. */

import { entryOf } from "../lib/entry-of.ts";
import { namespacedName } from "../lib/keys.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { compareResourceVersions } from "../policy/cluster.ts";
import type { TaskReader, TaskRecord } from "../policy/tasks/task-record.ts";
import type { StoredTask } from "./stored-task.ts";

export interface TaskMemoryOptions {
  /** Whether all HookTasks could be read, and still can. */
  readonly isKnown: () => boolean;
  /** What the Cluster's HookTasks say has changed. */
  readonly onChange: (key: string, task: StoredTask) => void;
}

export class TaskMemory implements TaskReader {
  readonly #options: TaskMemoryOptions;
  readonly #tasks = new Map<string, StoredTask>();
  readonly #byCluster = new Map<string, Set<string>>();

  constructor(options: TaskMemoryOptions) {
    this.#options = options;
  }

  find(clusterUID: string, hook: HookName): readonly TaskRecord[] | undefined {
    if (!this.#options.isKnown()) return undefined;
    return this.ofCluster(clusterUID)
      .map(({ record }) => record)
      .filter(({ identity }) => identity.hook === hook);
  }

  get(key: string): StoredTask | undefined {
    return this.#tasks.get(key);
  }

  ofCluster(clusterUID: string): readonly StoredTask[] {
    return [...(this.#byCluster.get(clusterUID) ?? [])].flatMap((key) => this.#tasks.get(key) ?? []);
  }

  all(): Iterable<StoredTask> {
    return this.#tasks.values();
  }

  /** From the informer, which can be behind the answers to this replica's own writes. */
  changed(key: string, task: StoredTask | undefined): void {
    const before = this.#tasks.get(key);
    if (task !== undefined) return this.learn(task);
    if (before === undefined) return;
    this.#tasks.delete(key);
    const { clusterUID } = before;
    const keys = this.#byCluster.get(clusterUID);
    keys?.delete(key);
    if (keys?.size === 0) this.#byCluster.delete(clusterUID);
    this.#options.onChange(key, before);
  }

  /** Takes what was read or written. */
  learn(task: StoredTask): void {
    const key = namespacedName(task.metadata);
    const before = this.#tasks.get(key);
    if (before?.metadata.uid === task.metadata.uid && isOlder(task, before)) return;
    if (before !== undefined && before.clusterUID !== task.clusterUID) this.changed(key, undefined);
    this.#tasks.set(key, task);
    entryOf(this.#byCluster, task.clusterUID, () => new Set()).add(key);
    this.#options.onChange(key, task);
  }
}

/** Versions that cannot be compared prove nothing, so the later copy counts. */
function isOlder({ metadata: a }: StoredTask, { metadata: b }: StoredTask): boolean {
  return (compareResourceVersions(a.resourceVersion, b.resourceVersion) ?? 1) < 0;
}
