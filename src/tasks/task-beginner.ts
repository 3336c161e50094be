/** Stores the HookTasks that a confirmed decision lets begin. The leader carries them out. */

import type { ServedHooks } from "../api/hook-catalog.ts";
import { isAlreadyExists, isNamespaceTerminating } from "../kube/kube-error.ts";
import { namespacedName } from "../lib/keys.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Logger } from "../lib/logger.ts";
import type { DecisionRequest } from "../memory/ports.ts";
import { isAwaited } from "../operations/shows.ts";
import type { Decision } from "../policy/decision.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { TaskIntent } from "../policy/tasks/task-trace.ts";
import type { TaskStore } from "./task-store.ts";

export interface TaskBeginnerOptions {
  readonly store: Pick<TaskStore, "create">;
  readonly served: ServedHooks;
  /** It could not be stored: at the next call it is tried again. */
  readonly onUnstored: (intent: TaskIntent, error: unknown) => void;
  readonly log: Logger;
}

export class StoredTaskBeginner {
  readonly #options: TaskBeginnerOptions;

  constructor(options: TaskBeginnerOptions) {
    this.#options = options;
  }

  /** A call is no evidence: the Cluster itself, as it was just read, has to show that it waits. */
  async begin({ call }: DecisionRequest, { begins = [], basis }: Decision): Promise<readonly TaskRecord[]> {
    const { served } = this.#options;
    if (basis?.source !== "ApiServer" || !isAwaited(call.hook, basis.world.cluster, served)) return [];
    const failed = await Promise.all(begins.map(async (intent) => await this.#store(intent)));
    return failed.flatMap((record) => record ?? []);
  }

  /** Whether all are stored, or can never be. */
  async storeAll({ toStore = [] }: Decision): Promise<boolean> {
    const stored = await Promise.all(
      toStore.map(async (intent) => {
        try {
          await this.#create(intent);
          return true;
        } catch (error) {
          this.#options.onUnstored(intent, error);
          return isNamespaceTerminating(error);
        }
      }),
    );
    return !stored.includes(false);
  }

  /** Another call, or another replica, may have been first. */
  async #create(intent: TaskIntent): Promise<void> {
    const { store, log } = this.#options;
    const { namespace, name, identity } = intent;
    try {
      await store.create(intent);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      throw error;
    }
    const { hook, cluster } = identity;
    log.info("Stored a HookTask", { task: `${namespace}/${name}`, hook, cluster: namespacedName(cluster) });
  }

  /** Returns what stands for a HookTask that can never be stored. */
  async #store(intent: TaskIntent): Promise<TaskRecord | undefined> {
    const { namespace, name, identity } = intent;
    try {
      await this.#create(intent);
      return undefined;
    } catch (error) {
      this.#options.onUnstored(intent, error);
      if (!isNamespaceTerminating(error)) return undefined;
      const message = `its HookTask cannot be stored: ${messageOf(error)}`;
      return { namespace, name, identity, phase: "Failed", over: false, attempts: 0, message };
    }
  }
}
