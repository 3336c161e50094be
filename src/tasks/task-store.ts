/** HookTasks in the API server, which the operator writes as itself. */

import { GROUP, type HookTask, type HookTaskStatus, CRD_VERSION } from "../api/hook-policy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isReplaced, unlessNotFound } from "../kube/kube-error.ts";
import type { ObjectKey } from "../kube/resource.ts";
import { HOOK_TASKS } from "../kube/resources.ts";
import { unless } from "../lib/thrown.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { TaskIntent } from "../policy/tasks/task-trace.ts";
import { CLUSTER_UID, MANAGED_BY } from "../policy/tasks/template-metadata.ts";
import { recordsOf, viewTask } from "./stored-task.ts";

interface UnstoredTask extends Pick<HookTask, "apiVersion" | "kind" | "spec"> {
  readonly metadata: Pick<ObjectMeta, "name" | "namespace" | "labels">;
}

type Client = Pick<KubeClient, "create" | "get" | "list" | "replaceStatus" | "delete">;

export class TaskStore {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Rejects with AlreadyExists if another call, or another replica, has stored it. What an older CRD does not know is not
   * dropped: without its hash, a HookTask holds until a person deletes it.
   */
  async create(intent: TaskIntent): Promise<HookTask> {
    return viewTask(await this.#client.create(HOOK_TASKS, hookTaskOf(intent), { strict: true }));
  }

  /** A quorum read (no resourceVersion) of the HookTasks of one Cluster, in one namespace or in all. */
  async ofCluster(namespace: string | undefined, clusterUID: string): Promise<readonly TaskRecord[]> {
    const labelSelector = `${CLUSTER_UID}=${clusterUID}`;
    const { items } = await this.#client.list(HOOK_TASKS, {
      ...(namespace !== undefined && { namespace }),
      labelSelector,
    });
    return recordsOf(items).filter(({ identity }) => identity.clusterRef.uid === clusterUID);
  }

  async find(key: ObjectKey): Promise<HookTask | undefined> {
    const raw = await unlessNotFound(this.#client.get(HOOK_TASKS, key));
    return raw && viewTask(raw);
  }

  /** Rejects with a conflict if the HookTask has changed since it was read. `undefined`: it is gone. */
  async replaceStatus(task: HookTask, status: HookTaskStatus): Promise<HookTask | undefined> {
    const { name, namespace = "", uid, resourceVersion } = task.metadata;
    const value = { ...task, metadata: { name, namespace, uid, resourceVersion }, status };
    const raw = await unlessNotFound(this.#client.replaceStatus(HOOK_TASKS, value));
    return raw && viewTask(raw);
  }

  async delete({ metadata: { name, namespace = "", uid } }: HookTask): Promise<void> {
    await unless(isReplaced, this.#client.delete(HOOK_TASKS, { namespace, name }, { uid }));
  }
}

/** By its label a confirmation finds it, so one without is altered (task-identity.ts). */
export function hookTaskOf({ name, namespace, spec }: TaskIntent): UnstoredTask {
  const labels = { [MANAGED_BY]: "hookpolicy", [CLUSTER_UID]: spec.clusterRef.uid };
  const metadata = { name, namespace, labels };
  return { apiVersion: `${GROUP}/${CRD_VERSION}`, kind: "HookTask", metadata, spec };
}
