/** Carries out HookTasks: creates, applies and deletes as their ServiceAccounts. Runs in one replica at a time. */

import type { HookTask, HookTaskStatus, TaskAttempt } from "../api/hook-policy.ts";
import { entryOf } from "../lib/entry-of.ts";
import { namespacedName } from "../lib/keys.ts";
import { FOLLOW_MS, type Requeue, WATCH_LAG_MS } from "../lib/requeue.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Logger } from "../lib/logger.ts";
import { durationOrNever, HOUR_MS } from "../lib/duration.ts";
import type { Allowance, Rate } from "../turns/allowance.ts";
import { type AttemptWork, carryOut, newAttempt, observe, removeAll, whyNotGone } from "./attempt-work.ts";
import { pollAfterMs, type Polls } from "./polls.ts";
import { mayBeAtWork, type NextStep, nextStep, RECHECK_MS } from "./next-step.ts";
import { goneCluster, type Permit, taskRunKey } from "./permit.ts";
import type { Permits } from "./permits.ts";
import {
  attemptBegun,
  attemptHindered,
  cancelled,
  givenUp,
  hasFinished,
  isCarriedOut,
  kindOf,
  openAttempt,
  operationOver,
} from "./task-progress.ts";
import { storedTask, type StoredTask } from "./stored-task.ts";
import type { TaskMemory } from "./task-memory.ts";
import type { TaskObjects } from "./task-objects.ts";
import type { TaskStore } from "./task-store.ts";

export interface TaskReconcilerOptions {
  readonly memory: TaskMemory;
  readonly store: TaskStore;
  readonly objects: TaskObjects;
  readonly permits: Permits;
  /** The apiVersion in which the API server serves Clusters. */
  readonly clusterVersion: () => string;
  readonly polls: Polls;
  /** How many tasks of each namespace may begin. */
  readonly allowance: Pick<Allowance, "restMs" | "spend">;
  readonly leading: () => boolean;
  readonly loaded: () => boolean;
  readonly now: () => Date;
  /** This replica has stored the status of `now` in place of that of `before`. */
  readonly onStored: (before: HookTask, now: HookTask) => void;
  readonly log: Logger;
}

/** Twenty at once, then one each three seconds, so that other namespaces keep their share of the leader's time. */
export const BEGINNINGS: Rate = { perMs: 20 / 60_000, burst: 19, debt: 1 };

/** FOLLOW_MS for what has only to be deleted in time. */
const FOLLOW_OVER_MS = 60_000;
/** An object that is deleted may need it, however short the time-out is. */
const GRACE_MS = 60_000;
/** From one look at a HookTask to the next: more steps than a task ever has in a row. */
const MAX_STEPS = 12;

/** What a step has led to: the HookTask to go on with, or when to look again. */
type StepResult = { readonly task: HookTask } | Requeue;

export class TaskReconciler {
  readonly #options: TaskReconcilerOptions;
  /** The tasks whose attempt is being begun: by policy, rule, task and Cluster. */
  readonly #beginning = new Set<string>();
  /** By the keys of HookTasks. */
  readonly #memos = new Map<string, Memo>();

  constructor(options: TaskReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<Requeue> {
    const { memory, store, polls, leading, loaded } = this.#options;
    const known = memory.get(key);
    if (known === undefined) {
      polls.forget(key);
      this.#memos.delete(key);
      return {};
    }
    if (!leading() || !loaded()) {
      // Changes in memory are ignored until then, and another replica may send requests.
      this.#forgetLead(key);
      return { requeueAfterMs: followMs(known) };
    }
    const { outline } = known;
    const planned = this.#next(known, outline);
    if (planned.do === "Rest") return restFor(planned);
    if (planned.do === "Observe" && !polls.take(key)) {
      this.#poll(outline, planned.attempt);
      return {};
    }
    // The attempt was made.
    if (planned.do === "CarryOut" && polls.isScheduled(key)) return {};
    const task = await store.find(known.metadata);
    if (task === undefined || task.metadata.uid !== known.metadata.uid) return {};
    return await this.#perform(task);
  }

  #forgetLead(key: string): void {
    const { inTheWay, cleanedUp, removed } = this.#memos.get(key) ?? {};
    if ([inTheWay, cleanedUp, removed].every((each) => each === undefined)) this.#memos.delete(key);
    else this.#memos.set(key, { inTheWay, cleanedUp, removed });
  }

  #memoOf({ metadata }: Pick<HookTask, "metadata">): Memo {
    return entryOf(this.#memos, namespacedName(metadata), () => ({}));
  }

  #next(known: StoredTask, task: HookTask): NextStep {
    const { memory, permits, now } = this.#options;
    const isOver = permits.isOver(task, permits.clusterOf(task.spec.clusterRef));
    const memo = this.#memos.get(namespacedName(task.metadata)) ?? {};
    if (!isOver) memo.overSinceMs = undefined;
    return nextStep({
      task,
      permit: hasFinished(task) ? { may: "Wait" } : this.#permit(task),
      isUnmade: memo.unmade !== undefined && memo.unmade === openAttempt(task.status)?.name,
      isOver,
      altered: known.altered,
      keepMs: memo.cleanedUp === task.metadata.uid ? undefined : permits.keepMs(task.spec),
      removed: memo.removed,
      isSurplus: memory.isSurplus(known),
      hasSuccessor: memory.hasSuccessor(known),
      now: now(),
    });
  }

  #permit(task: HookTask): Permit {
    const { permits, allowance } = this.#options;
    const permit = permits.fromMemory(task);
    if (permit.may !== "Begin") return permit;
    const isTurn = allowance.restMs(task.spec.clusterRef.namespace) <= 0;
    if (isTurn && !this.#beginning.has(taskRunKey(task))) return permit;
    // That passes by itself, and what else it waits for is not known before.
    return { may: "Wait", why: task.status?.message };
  }

  async #perform(read: HookTask): Promise<Requeue> {
    let task = read;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const step = this.#next(storedTask(task), task);
      if (step.do === "Rest") return restFor(step);
      const done = await this.#do(step, task);
      if (!("task" in done)) return done;
      task = done.task;
    }
    return { requeueAfterMs: FOLLOW_MS };
  }

  #poll(task: HookTask, { startedAt }: TaskAttempt): void {
    const { polls, now } = this.#options;
    const ageMs = now().getTime() - Date.parse(startedAt);
    polls.schedule(namespacedName(task.metadata), task.spec.clusterRef.namespace, pollAfterMs(ageMs));
  }

  async #do(step: Exclude<NextStep, { do: "Rest" }>, task: HookTask): Promise<StepResult> {
    switch (step.do) {
      case "MarkOver":
        return await this.#markOver(task);
      case "Write":
        return await this.#write(task, step.status);
      case "Reconsider":
        return await this.#reconsider(task);
      case "Begin":
        return await this.#begin(task, step.after);
      case "CarryOut":
        return await this.#carryOut(this.#workOn(task, step.attempt));
      case "Observe":
        return await this.#lookedAt(task, await observe(this.#workOn(task, step.attempt)));
      case "Remove":
        return await this.#remove(task, [step.attempt]);
      case "CleanUp":
        return await this.#cleanUp(task, step.deleteHookTask);
    }
  }

  /**
   * The other replicas have to learn from the Cluster that an operation has passed before they learn that its tasks count no
   * more: they would say that it passed while tasks held it.
   */
  async #markOver(task: HookTask): Promise<StepResult> {
    const { permits, now } = this.#options;
    if (!permits.isTakenBack(task.spec)) {
      const [memo, nowMs] = [this.#memoOf(task), performance.now()];
      memo.overSinceMs ??= nowMs;
      const waitMs = memo.overSinceMs + WATCH_LAG_MS - nowMs;
      if (waitMs > 0) return { requeueAfterMs: waitMs };
    }
    if (!(await permits.isOverNow(task))) return { requeueAfterMs: RECHECK_MS };
    return await this.#write(task, operationOver(task.status ?? {}, now()));
  }

  async #reconsider(task: HookTask): Promise<StepResult> {
    const { permits, now } = this.#options;
    const permit = await permits.now(task);
    if (permit.may !== "Never") return { requeueAfterMs: RECHECK_MS };
    return await this.#write(task, cancelled(task.status ?? {}, permit.why, now()));
  }

  /** Every attempt is a new run, so Cluster, policy and overrides are read again. */
  async #begin(task: HookTask, after: TaskAttempt | undefined): Promise<StepResult> {
    const { permits, allowance, now } = this.#options;
    const run = taskRunKey(task);
    const memo = this.#memoOf(task);
    const waitMs = (memo.inTheWay?.untilMs ?? 0) - performance.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    this.#beginning.add(run);
    try {
      const permit = await permits.now(task);
      if (permit.may === "Never")
        return await this.#write(task, cancelled(task.status ?? {}, permit.why, now()));
      if (permit.may === "Wait") return { requeueAfterMs: FOLLOW_MS };
      const hindrance = await this.#hindrance(task, after);
      if (hindrance !== undefined) return await this.#hindered(task, hindrance);
      memo.inTheWay = undefined;
      allowance.spend(task.spec.clusterRef.namespace, 1);
      const attempt = newAttempt(task);
      const done = await this.#write(task, attemptBegun(task, attempt, now()));
      memo.unmade = attempt.name;
      return done;
    } finally {
      this.#beginning.delete(run);
    }
  }

  /** Two runs of one task at once could undo each other's work. */
  async #hindrance(task: HookTask, after: TaskAttempt | undefined): Promise<Hindrance | undefined> {
    const { objects, permits, store } = this.#options;
    const own = after === undefined ? [] : [[task, after] as const];
    for (const [of, attempt] of [...permits.leftBehind(task), ...own]) {
      // Memory has no expressions.
      const whole = of === task || attempt.outcome !== "Failed" ? of : await store.find(of.metadata);
      if (whole === undefined || !mayBeAtWork(whole, attempt)) continue;
      const why = await whyNotGone(objects, whole, attempt);
      if (why !== undefined) return { of: whole, attempt, why };
    }
    return undefined;
  }

  /** For as long as an attempt may take, but at most an hour, as each leader counts from the beginning: then `onFailure` decides. */
  async #hindered(task: HookTask, { of, attempt, why }: Hindrance): Promise<StepResult> {
    const { now, log } = this.#options;
    const { status = {}, spec, metadata } = task;
    const [memo, key] = [this.#memoOf(task), namespacedName(metadata)];
    const message = `${kindOf(of.spec).kind} ${attempt.name} of an earlier attempt is not gone yet: ${why}`;
    log.warn("Failed to remove what an earlier attempt has created", { task: key, error: why });
    if (triedMs(memo) >= Math.max(GRACE_MS, Math.min(durationOrNever(spec.timeout), HOUR_MS))) {
      memo.inTheWay = undefined;
      return await this.#write(task, givenUp(status, message, now()));
    }
    await this.#write(task, attemptHindered(status, message));
    return { requeueAfterMs: RECHECK_MS };
  }

  #workOn(task: HookTask, attempt: TaskAttempt): AttemptWork {
    const { objects, permits, clusterVersion, now } = this.#options;
    const { clusterRef } = task.spec;
    const cluster = permits.clusterOf(clusterRef) ?? goneCluster(clusterRef);
    return { objects, task, attempt, cluster, clusterVersion: clusterVersion(), now: now() };
  }

  /** A request whose answer is lost may still be carried out. */
  async #carryOut(work: AttemptWork): Promise<StepResult> {
    const { task, attempt } = work;
    const memo = this.#memoOf(task);
    const unmade = memo.unmade === attempt.name ? attempt.name : undefined;
    memo.unmade = undefined;
    const onRefused = (): void => void (memo.unmade = unmade);
    const status = await carryOut({ ...work, onRefused });
    const open = openAttempt(status);
    const hasToWait = open !== undefined && !isCarriedOut(open);
    return hasToWait ? await this.#lookedAt(task, status) : await this.#write(task, status);
  }

  /** What has not ended is looked at again in its turn, whatever was written. */
  async #lookedAt(task: HookTask, status: HookTaskStatus): Promise<StepResult> {
    const done = await this.#write(task, status);
    const [open, next] = [openAttempt(status), "task" in done ? done.task : task];
    if (open === undefined) return done;
    this.#poll(next, open);
    return {};
  }

  async #remove(task: HookTask, attempts: readonly TaskAttempt[]): Promise<StepResult> {
    const { objects, log } = this.#options;
    await removeAll(objects, task, attempts, ({ name: object }, error) =>
      log.warn("Failed to remove what a task has created", { object, error: messageOf(error) }),
    );
    this.#memoOf(task).removed = attempts.at(-1)?.name;
    return { task };
  }

  async #cleanUp(task: HookTask, deleteHookTask: boolean): Promise<StepResult> {
    await this.#remove(task, task.status?.attempts ?? []);
    const { store } = this.#options;
    this.#memoOf(task).cleanedUp = task.metadata.uid;
    if (!deleteHookTask) return { requeueAfterMs: FOLLOW_MS };
    await store.delete(task);
    return {};
  }

  /** The same HookTask if there is nothing to write. Rejects on a conflict: the work queue then retries. */
  async #write(task: HookTask, status: HookTaskStatus): Promise<StepResult> {
    if (status === task.status) return { task };
    const { store, memory, onStored } = this.#options;
    const stored = await store.replaceStatus(task, status);
    if (stored === undefined) return {};
    onStored(task, stored);
    // It was deleted meanwhile: learnt now, it would never leave memory.
    if (memory.get(namespacedName(task.metadata))?.metadata.uid !== task.metadata.uid) return {};
    memory.learn(storedTask(stored));
    return { task: stored };
  }
}

interface Hindrance {
  readonly of: HookTask;
  readonly attempt: TaskAttempt;
  readonly why: string;
}

/** What this replica knows of a HookTask, and what no status says. */
interface Memo {
  /** Since when the operation has been over as memory knows; monotonic, as all times here. */
  overSinceMs?: number | undefined;
  /** Since when an earlier attempt's object is in the way of the next attempt, and when that is tried again. */
  inTheWay?: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** The name of the open attempt, if this replica has begun it, and has heard nothing of it but refusals. */
  unmade?: string | undefined;
  /** The name of the attempt whose object was removed last. */
  removed?: string | undefined;
  /** The uid of the HookTask, once what its success has created is removed. */
  cleanedUp?: string | undefined;
}

/** How long it has blocked every attempt, this one included. */
function triedMs(memo: Memo): number {
  const nowMs = performance.now();
  const { sinceMs = nowMs, untilMs = nowMs } = memo.inTheWay ?? {};
  memo.inTheWay = { sinceMs: nowMs < untilMs + GRACE_MS ? sinceMs : nowMs, untilMs: nowMs + RECHECK_MS };
  return nowMs - memo.inTheWay.sinceMs;
}

/** Sooner if it has something to do, or if a decision may count it until its operation is known to be over. */
function followMs({ phase, over }: StoredTask): number {
  return !over || phase === "Pending" || phase === "Running" ? FOLLOW_MS : FOLLOW_OVER_MS;
}

function restFor({ forMs }: { readonly forMs?: number }): Requeue {
  return forMs === undefined ? {} : { requeueAfterMs: Math.min(Math.max(forMs, 50), HOUR_MS) };
}
