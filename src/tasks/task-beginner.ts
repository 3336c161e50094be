/** Stores the HookTasks that a confirmed decision lets begin. The leader carries them out. */

import type { ServedHooks } from "../api/hook-catalog.ts";
import { isAlreadyExists, isNamespaceTerminating } from "../kube/kube-error.ts";
import { namespacedName } from "../lib/keys.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Logger } from "../lib/logger.ts";
import { HOUR_MS } from "../lib/duration.ts";
import { Kept } from "../lib/kept.ts";
import type { DecisionRequest } from "../policy/world.ts";
import { isAwaited } from "../operations/hook-lives.ts";
import type { Decision } from "../policy/decision.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { TaskIntent } from "../policy/tasks/task-trace.ts";
import type { TaskStore } from "./task-store.ts";

export interface TaskBeginnerOptions {
  readonly store: Pick<TaskStore, "create">;
  readonly served: ServedHooks;
  /** It could not be stored, for the first time in an hour for this reason: each call tries it again. */
  readonly onUnstored: (intent: TaskIntent, error: unknown) => void;
  readonly log: Logger;
}

/** One policy can have hundreds of rules with tasks, and each HookTask is a request. */
const MAX_STORED = 16;

/** `error`: why it is not stored; `undefined`: it was not tried. */
interface Unstored {
  readonly intent: TaskIntent;
  readonly error: unknown;
}

export class StoredTaskBeginner {
  readonly #options: TaskBeginnerOptions;
  /** The names of those that could not be stored last time, which come last. */
  readonly #failed = new Kept<true>();
  /** When it was said why one cannot be stored; an Event lasts an hour. */
  readonly #toldMs = new Kept<number>();

  constructor(options: TaskBeginnerOptions) {
    this.#options = options;
  }

  /** A call proves nothing. The Cluster itself, as it was just read, has to show that it waits. */
  async begin({ call }: DecisionRequest, { begins = [], basis }: Decision): Promise<readonly TaskRecord[]> {
    const { served } = this.#options;
    if (basis?.source !== "ApiServer" || !isAwaited(call.hook, basis.world.cluster, served)) return [];
    return (await this.#store(begins)).flatMap((each) => (each.error === undefined ? [] : standIn(each)));
  }

  /** Whether all are stored, or can never be. */
  async storeAll({ toStore = [] }: Decision): Promise<boolean> {
    return (await this.#store(toStore)).every(isNever);
  }

  /** Stores some, so that one call writes little. The others have their turn at the next calls. Returns those that are not stored. */
  async #store(intents: readonly TaskIntent[]): Promise<readonly Unstored[]> {
    const sorted = intents.toSorted(
      (a, b) => Number(this.#failed.has(a.name)) - Number(this.#failed.has(b.name)),
    );
    const tries = sorted.slice(0, MAX_STORED).map(async (intent) => await this.#try(intent));
    const failed = (await Promise.all(tries)).filter((each) => each !== undefined);
    const never = failed.filter(isNever);
    const later = sorted.slice(MAX_STORED).map((intent) => {
      const like = never.find((each) => each.intent.namespace === intent.namespace);
      return { intent, error: like?.error };
    });
    const unstored = [...failed, ...later];
    for (const { intent, error } of unstored) if (error !== undefined) this.#tell(intent, error);
    return unstored;
  }

  #tell(intent: TaskIntent, error: unknown): void {
    const [key, nowMs] = [`${intent.name} ${messageOf(error)}`, performance.now()];
    if (nowMs - (this.#toldMs.get(key) ?? -Infinity) < HOUR_MS) return;
    this.#toldMs.set(key, nowMs);
    this.#options.onUnstored(intent, error);
  }

  /** `undefined`: it is stored. */
  async #try(intent: TaskIntent): Promise<Unstored | undefined> {
    const { store, log } = this.#options;
    const { namespace, name, spec } = intent;
    try {
      await store.create(intent);
      const cluster = namespacedName(spec.clusterRef);
      log.info("Stored a HookTask", { task: `${namespace}/${name}`, hook: spec.hook, cluster });
    } catch (error) {
      // Another call, or another replica, may have been first.
      if (!isAlreadyExists(error)) {
        this.#failed.set(name, true);
        return { intent, error };
      }
    }
    this.#failed.delete(name);
    return undefined;
  }
}

function isNever({ error }: Unstored): boolean {
  return isNamespaceTerminating(error);
}

/** What stands for a HookTask that cannot be stored; it has failed if it never can be. */
function standIn(unstored: Unstored): TaskRecord {
  const { namespace, name, spec: identity } = unstored.intent;
  const message = `its HookTask cannot be stored: ${messageOf(unstored.error)}`;
  const record = { namespace, name, identity, over: false, altered: false, attempts: 0, message };
  const ended = isNever(unstored)
    ? { phase: "Failed" as const }
    : { phase: "Pending" as const, hindered: true };
  return { ...record, ...ended, unstored: true };
}
