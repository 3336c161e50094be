/** The HookTasks that this replica knows, by Cluster. Memory alone can only hold; a release reads them again. */

import type { HookTask } from "../api/hook-policy.ts";
import { compareText } from "../lib/compare-text.ts";
import { entryOf } from "../lib/entry-of.ts";
import { namespacedName } from "../lib/keys.ts";
import { isNews } from "../views/versions.ts";
import type { TaskReader, TaskRecord, TaskScope } from "../policy/tasks/task-record.ts";
import type { StoredTask } from "./stored-task.ts";

export interface TaskMemoryOptions {
  /** Whether all HookTasks could be read, and still can. */
  readonly isKnown: () => boolean;
  /** What the Cluster's HookTasks say has changed. */
  readonly onChange: (key: string, task: StoredTask) => void;
}

/** That no longer count, per policy and Cluster. */
const MAX_OVER = 20;

export class TaskMemory implements TaskReader {
  readonly #options: TaskMemoryOptions;
  readonly #tasks = new Map<string, StoredTask>();
  /** The same by the uids of Cluster and policy: a rule pays for its own policy's tasks alone. */
  readonly #byCluster = new Map<string, Map<string, Map<string, StoredTask>>>();

  constructor(options: TaskMemoryOptions) {
    this.#options = options;
  }

  count(scope: TaskScope): number {
    return this.#inScope(scope).length;
  }

  find(scope: TaskScope): readonly TaskRecord[] | undefined {
    return this.#options.isKnown() ? this.#inScope(scope).map(({ record }) => record) : undefined;
  }

  /** Without parsing any of them. */
  #inScope({ clusterUID, hook, policyUID, rule }: TaskScope): readonly StoredTask[] {
    return this.ofPolicy(clusterUID, policyUID).filter((task) => task.hook === hook && task.rule === rule);
  }

  get(key: string): StoredTask | undefined {
    return this.#tasks.get(key);
  }

  ofCluster(clusterUID: string): readonly StoredTask[] {
    return [...(this.#byCluster.get(clusterUID)?.values() ?? [])].flatMap((tasks) => [...tasks.values()]);
  }

  /** Of a policy, for a Cluster. */
  ofPolicy(clusterUID: string, policyUID: string): readonly StoredTask[] {
    return [...(this.#byCluster.get(clusterUID)?.get(policyUID)?.values() ?? [])];
  }

  /** The other HookTasks of the task, without parsing those of any other. */
  othersLike({ metadata: { name }, spec: { policyRef, clusterRef, rule, task } }: HookTask): StoredTask[] {
    const all = this.ofPolicy(clusterRef.uid, policyRef.uid);
    return all.filter((each) => each.rule === rule && each.task === task && each.metadata.name !== name);
  }

  /** Whether another HookTask may still begin after this one, or again. */
  hasSuccessor({ clusterUID, policyUID, metadata: { name } }: StoredTask): boolean {
    return this.ofPolicy(clusterUID, policyUID).some(({ after, over }) => after === name && !over);
  }

  /**
   * Of the HookTasks of its Cluster and policy that no longer count, the latest are kept, and these are not; the oldest is the
   * last. None if it counts.
   */
  surplusLike({ clusterUID, policyUID, over }: StoredTask): readonly StoredTask[] {
    const all = over ? this.ofPolicy(clusterUID, policyUID).filter((each) => each.over) : [];
    return all
      .toSorted((a, b) => b.endMs - a.endMs || compareText(b.metadata.name, a.metadata.name))
      .slice(MAX_OVER);
  }

  isSurplus(task: StoredTask): boolean {
    const key = namespacedName(task.metadata);
    return this.surplusLike(task).some(({ metadata }) => namespacedName(metadata) === key);
  }

  all(): Iterable<StoredTask> {
    return this.#tasks.values();
  }

  /** From the informer, which can be behind the answers to this replica's own writes. */
  changed(key: string, task: StoredTask | undefined): void {
    const before = this.#tasks.get(key);
    if (task !== undefined) return this.learn(task, key);
    if (before === undefined) return;
    this.#tasks.delete(key);
    const { clusterUID, policyUID } = before;
    const ofCluster = this.#byCluster.get(clusterUID);
    const ofPolicy = ofCluster?.get(policyUID);
    ofPolicy?.delete(key);
    if (ofPolicy?.size === 0) ofCluster?.delete(policyUID);
    if (ofCluster?.size === 0) this.#byCluster.delete(clusterUID);
    this.#options.onChange(key, before);
  }

  /** Takes what was read or written. */
  learn(task: StoredTask, key = namespacedName(task.metadata)): void {
    const before = this.#tasks.get(key);
    if (before?.metadata.uid === task.metadata.uid && !isNews(task.metadata, before.metadata)) return;
    if (before !== undefined && !isOfSame(before, task)) this.changed(key, undefined);
    this.#tasks.set(key, task);
    const ofCluster = entryOf(
      this.#byCluster,
      task.clusterUID,
      () => new Map<string, Map<string, StoredTask>>(),
    );
    entryOf(ofCluster, task.policyUID, () => new Map<string, StoredTask>()).set(key, task);
    this.#options.onChange(key, task);
  }
}

function isOfSame(a: StoredTask, b: StoredTask): boolean {
  return a.clusterUID === b.clusterUID && a.policyUID === b.policyUID;
}
