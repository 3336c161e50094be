/** Carries out tasks in a suite as the operator does, with every right, and whenever something changes. */

import { TASK_LABEL } from "../../policy/tasks/template-metadata.ts";
import type { HookTask, HookTaskStatus } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import { namespacedName } from "../../lib/keys.ts";
import { asCalled, type PendingOperation } from "../../operations/operation.ts";
import { after, earliest, timestamp } from "../../lib/instant.ts";
import { targetVersion } from "../../api/target-version.ts";
import type { TaskIntent } from "../../policy/tasks/task-trace.ts";
import { operationOf } from "../../operations/beginnings.ts";
import type { SlotTasks } from "../../rollouts/rollout-reconciler.ts";
import { carryOut, newAttempt, observe } from "../../tasks/attempt-work.ts";
import { type NextStep, nextStep, RETRY_ANNOTATION, timesOutAt } from "../../tasks/next-step.ts";
import { goneCluster, isOperationOver, type Permit, permitOf, taskRunKey } from "../../tasks/permit.ts";
import { type PermitsOptions, waitForOther } from "../../tasks/permits.ts";
import {
  attemptBegun,
  cancelled,
  hasFinished,
  kindOf,
  lastAttempt,
  openAttempt,
  operationOver,
} from "../../tasks/task-progress.ts";
import { slotTasks } from "../../tasks/slot-tasks.ts";
import { storedTask } from "../../tasks/stored-task.ts";
import type { TaskMemory } from "../../tasks/task-memory.ts";
import { hookTaskOf } from "../../tasks/task-store.ts";
import { taskEvent } from "../../tasks/task-events.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { Session } from "./session.ts";
import { SuiteError } from "./suite-error.ts";
import { suiteTaskObjects } from "./task-objects.ts";

/** What newAttempt() puts behind the name of a template. */
const RANDOM = /-[0-9a-f]{10}$/;

/** No request is lost, nothing is altered, and what is created stays, so that the suite can look at it. */
const PLAYED = {
  isUnmade: true,
  keepMs: undefined,
  isSurplus: false,
  hasSuccessor: false,
  altered: false,
} as const;

export class SuiteTasks {
  readonly memory: TaskMemory;
  readonly slots: SlotTasks;
  /** Whether a rollout has no slot for the Cluster. */
  lacksSlot: PermitsOptions["lacksSlot"] = () => false;
  readonly #session: Session;
  readonly #objects: ReturnType<typeof suiteTaskObjects>;
  readonly #tasks = new Map<string, HookTask>();
  #versions = 0;

  constructor(session: Session, memory: TaskMemory) {
    this.memory = memory;
    this.#session = session;
    this.#objects = suiteTaskObjects(session.objects, () => session.now);
    const store = {
      ofCluster: async (_: unknown, uid: string) =>
        await Promise.resolve(memory.ofCluster(uid).map(({ record }) => record)),
    };
    this.slots = slotTasks({ memory, store, policies: session.objects.memory.policies });
  }

  all(): readonly HookTask[] {
    return [...this.#tasks.values()];
  }

  /** The object of its last attempt. */
  objectOf(task: HookTask): RawObject | undefined {
    const attempt = lastAttempt(task.status);
    return attempt && this.#session.objects.named({ ...kindOf(task.spec), ...attempt });
  }

  /** Returns whether any of them is new. */
  store(intents: readonly TaskIntent[]): boolean {
    const added = intents.filter((each) => !this.#tasks.has(namespacedName(each)));
    for (const intent of added) {
      const task = hookTaskOf(intent);
      const creationTimestamp = timestamp(this.#session.now);
      const uid = `uid-of-HookTask-${namespacedName(task.metadata)}`;
      this.#write({ ...task, metadata: { ...task.metadata, uid, creationTimestamp, resourceVersion: "" } });
    }
    return added.length > 0;
  }

  /** A person retries the failed HookTasks of the task. */
  retry(name: string): void {
    const failed = this.all().filter(
      ({ spec, status }) => spec.task === name && status?.phase === "Failed" && status.over === undefined,
    );
    if (failed.length === 0) throw new SuiteError(`no HookTask of a task ${JSON.stringify(name)} has failed`);
    for (const task of failed) {
      const annotations = { ...task.metadata.annotations, [RETRY_ANNOTATION]: String(this.#versions + 1) };
      this.#write({ ...task, metadata: { ...task.metadata, annotations } });
    }
  }

  /** Does whatever can be done now. */
  async settle(): Promise<void> {
    let before: number;
    do {
      before = this.#versions;
      for (const task of this.all()) await this.#reconcile(task);
    } while (this.#versions !== before);
  }

  /** When time alone lets a further attempt begin, or ends one. */
  nextChange(): Date | undefined {
    const times = this.all().flatMap((task) => {
      const attempt = openAttempt(task.status);
      if (attempt !== undefined) return [timesOutAt(task, attempt)];
      const permit = this.#permit(task);
      const step = permit.may === "Begin" ? this.#next(task, permit) : undefined;
      if (step?.do !== "Rest" || step.forMs === undefined || hasFinished(task)) return [];
      return [after(this.#session.now, step.forMs)];
    });
    return earliest(times);
  }

  /** One step. */
  async #reconcile(task: HookTask): Promise<void> {
    const status = await this.#do(this.#next(task, this.#permit(task)), task);
    if (status === undefined || status === task.status) return;
    const written = { ...task, status };
    this.#write(written);
    const event = taskEvent(task, written);
    if (event !== undefined) this.#session.reported.tell([event], this.#session.now);
  }

  #next(task: HookTask, permit: Permit): NextStep {
    const { now } = this.#session;
    const removed = lastAttempt(task.status)?.name;
    return nextStep({ ...PLAYED, removed, task, permit, isOver: this.#isOver(task), now });
  }

  /** `undefined`: there is nothing to do. */
  async #do(step: NextStep, task: HookTask): Promise<HookTaskStatus | undefined> {
    const { now } = this.#session;
    const { status = {} } = task;
    const cluster = this.#clusterOf(task) ?? goneCluster(task.spec.clusterRef);
    const work = { objects: this.#objects, task, cluster, clusterVersion: "cluster.x-k8s.io/v1beta2", now };
    switch (step.do) {
      case "MarkOver":
        return operationOver(status, now);
      case "Reconsider":
        return cancelled(status, step.why, now);
      case "Write":
        return step.status;
      case "Begin":
        return attemptBegun(task, this.#attemptOf(task), now);
      case "CarryOut":
        return await carryOut({ ...work, attempt: step.attempt });
      case "Observe":
        return await observe({ ...work, attempt: step.attempt });
      case "Remove":
      case "CleanUp":
      case "Rest":
        return undefined;
    }
  }

  /** Without random letters, so that steps can name the object: it replaces that of the attempt before. */
  #attemptOf(task: HookTask): { readonly name: string; readonly namespace?: string } {
    const attempt = newAttempt(task);
    if (task.spec.action.create === undefined) return attempt;
    const run = taskRunKey(task);
    const earlier = this.all().filter((each) => taskRunKey(each) === run);
    this.#session.objects.dropLabelled(
      TASK_LABEL,
      earlier.map(({ metadata }) => metadata.name),
    );
    const base = attempt.name.replace(RANDOM, "");
    const isTaken = (name: string): boolean =>
      this.#session.objects.named({ ...kindOf(task.spec), ...attempt, name }) !== undefined;
    let name = base;
    for (let number = 2; isTaken(name); number += 1) name = `${base}-${number}`;
    return { ...attempt, name };
  }

  #isOver(task: HookTask): boolean {
    const { spec } = task;
    const operation = this.#pending(task);
    // A step has asked, so its Cluster need not show all that a real one would.
    if (operation !== undefined && targetVersion(operation.call) === spec.version) return false;
    const { served, running } = this.#session;
    // While it runs, a step may still ask about it.
    if (running.has(namespacedName(spec.clusterRef)) && operationOf(spec.hook) !== undefined) return false;
    const { policies } = this.#session.objects.memory;
    return isOperationOver(task, this.#clusterOf(task), served, policies.compiledOf(spec.policyRef));
  }

  #permit(task: HookTask): Permit {
    const { served, now, objects } = this.#session;
    const { spec } = task;
    const cluster = this.#clusterOf(task);
    const { policies, overrides } = objects.memory;
    const policy = policies.compiledOf(spec.policyRef);
    const namespace = objects.fleet.namespace(spec.clusterRef.namespace);
    const permit = permitOf(task, { cluster, namespace, policy, overrides, served, now });
    if (permit.may !== "Begin" && permit.why !== undefined) return permit;
    const isAsked = permit.may === "Begin" || this.#pending(task) !== undefined;
    const waits = waitForOther(task, cluster, policies, this) !== undefined;
    return { may: isAsked && !waits ? "Begin" : "Wait" };
  }

  #pending({ spec }: HookTask): PendingOperation | undefined {
    return this.#session.objects.memory.operations.get(spec.clusterRef.uid, spec.hook);
  }

  #clusterOf(task: HookTask): Cluster | undefined {
    const { namespace, name, uid } = task.spec.clusterRef;
    const cluster = this.#session.objects.memory.clusters.get(namespacedName({ namespace, name }));
    if (cluster?.metadata.uid !== uid) return undefined;
    const operation = this.#pending(task);
    return operation === undefined ? cluster : asCalled(cluster, operation);
  }

  #write(task: HookTask): void {
    this.#versions += 1;
    const { metadata } = task;
    const stored = { ...task, metadata: { ...metadata, resourceVersion: String(this.#versions) } };
    this.#tasks.set(namespacedName(metadata), stored);
    this.memory.learn(storedTask(stored));
  }
}
