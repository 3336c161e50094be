import { once } from "node:events";
import { entryOf } from "../lib/entry-of.ts";
import { fieldsOf } from "../lib/fields.ts";
import { messageOf } from "../lib/thrown.ts";
import { FairTurns } from "../turns/fair-queue.ts";
import { Instants } from "../turns/instants.ts";
import type { Requeue } from "../lib/requeue.ts";
import type { Logger } from "../lib/logger.ts";
import { type BackoffOptions, backoffMs, MAX_TIMER_MS } from "../lib/signals.ts";
import { KubeError, isConflict, isThrottled } from "./kube-error.ts";

export interface WorkQueueOptions {
  /** Brings one object to its spec; reads the newest copy itself. When it throws, the key is retried. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;
  readonly log: Logger;
  /** Only tests set it: keys reconciled at the same time; never the same key twice, and one group always leaves a worker for another. */
  readonly concurrency?: number;
  /** Groups take turns; absent: each key is a group of its own. */
  readonly groupOf?: (key: string) => string;
  /** Whether the key precedes the others of its group, as of its last add. */
  readonly isUrgent?: (key: string) => boolean;
  /** For metrics. */
  readonly onError?: (key: string, error: unknown) => void;
  /** Only tests set these. */
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
  readonly random?: () => number;
}

/** A requeue without any pause would be a hot loop. */
const MIN_REQUEUE_MS = 10;
/** With four workers, one group can use at most two. */
const CONCURRENCY = 4;

/** Waiting keys, each list in the order of adding. */
interface Group {
  readonly urgent: Set<string>;
  readonly others: Set<string>;
}

const NONE: Group = { urgent: new Set(), others: new Set() };

/**
 * Keys that need work, each at most once; a key that is added while it is reconciled is reconciled again afterwards
 * (the semantics of controller-runtime's queue).
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #backoff: BackoffOptions;
  readonly #turns: FairTurns;
  readonly #groups = new Map<string, Group>();
  /** The group of each waiting key, as of its first add. */
  readonly #waitingIn = new Map<string, string>();
  readonly #processing = new Set<string>();
  /** Keys added while they are processed. */
  readonly #dirty = new Set<string>();
  /** When keys are added, by the monotonic clock: one timer for all, because ten thousand may wait for hours. */
  readonly #delayed = new Instants();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  readonly #failures = new Map<string, number>();
  readonly #working = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(options: WorkQueueOptions) {
    const { minBackoffMs: minMs = 50, maxBackoffMs: maxMs = 60_000, random = Math.random } = options;
    this.#options = options;
    this.#turns = new FairTurns(options.concurrency ?? CONCURRENCY);
    this.#backoff = { minMs, maxMs, random };
  }

  /** Number of keys that are ready and wait for a worker. */
  get depth(): number {
    return this.#dirty.size + this.#waitingIn.size;
  }

  add(key: string): void {
    if (this.#processing.has(key)) this.#dirty.add(key);
    else this.#wait(key);
  }

  /** Adds the key later; the earliest of several times counts. */
  addAfter(key: string, ms: number): void {
    if (!(ms > 0)) return this.add(key);
    if (this.#signal?.aborted === true) return;
    const delay = Math.min(ms, MAX_TIMER_MS); // a key that is early is only reconciled once more
    const at = performance.now() + delay;
    if ((this.#delayed.get(key) ?? Infinity) <= at) return;
    this.#delayed.set(key, at);
    if (at < this.#wakesAt) this.#wakeAt(at);
  }

  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    if (at === Infinity) return;
    this.#timer = setTimeout(() => this.#addDue(), Math.max(at - performance.now(), 1));
  }

  #addDue(): void {
    for (const { key } of this.#delayed.take(performance.now())) this.add(key);
    this.#wakeAt(this.#delayed.next);
  }

  /** Runs until `signal` fires and reconciles in progress have ended. Never rejects. Run once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const [name, { urgent, others }] of this.#groups)
      for (const key of [...urgent, ...others]) this.#takeTurn(name, key);
    if (!signal.aborted) await once(signal, "abort");
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#working);
  }

  #wait(key: string): void {
    const waits = this.#waitingIn.has(key);
    const name = entryOf(this.#waitingIn, key, () => this.#options.groupOf?.(key) ?? key);
    const group = this.#groups.get(name) ?? { urgent: new Set(), others: new Set() };
    this.#groups.set(name, group);
    if (this.#options.isUrgent?.(key) === true) {
      group.others.delete(key);
      group.urgent.add(key);
    } else if (!waits) group.others.add(key);
    if (!waits && this.#signal !== undefined) this.#takeTurn(name, key);
  }

  /** There are as many turns as waiting keys: each takes the first key of the group at that moment. */
  #takeTurn(group: string, member: string): void {
    this.#turns.queue(group, member, {
      over: () => this.#signal?.aborted === true,
      begin: () => this.#beginNext(group),
    });
  }

  #beginNext(name: string): Promise<void> {
    const { urgent, others } = this.#groups.get(name) ?? NONE;
    const [key] = urgent.size > 0 ? urgent : others;
    if (key === undefined) return Promise.resolve();
    if (!urgent.delete(key)) others.delete(key);
    this.#waitingIn.delete(key);
    if (urgent.size + others.size === 0) this.#groups.delete(name);
    this.#processing.add(key);
    const work = this.#work(key, this.#signal);
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
    return work;
  }

  async #work(key: string, signal = AbortSignal.abort()): Promise<void> {
    let settle: () => void;
    try {
      const result = await this.#options.reconcile(key, signal);
      settle = () => this.#succeeded(key, result);
    } catch (error) {
      settle = () => this.#failed(key, error);
    }
    this.#processing.delete(key);
    if (this.#dirty.delete(key)) this.#wait(key);
    if (!signal.aborted) settle();
  }

  #succeeded(key: string, { requeueAfterMs: after }: Requeue = {}): void {
    this.#failures.delete(key);
    if (after !== undefined) this.addAfter(key, after > MIN_REQUEUE_MS ? after : MIN_REQUEUE_MS);
  }

  /** The only place that schedules a retry and logs an error. */
  #failed(key: string, error: unknown): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const retryInMs = Math.round(this.#retryDelay(error, failures));
    this.#report(key, error, retryInMs);
    this.addAfter(key, retryInMs);
  }

  #retryDelay(error: unknown, failures: number): number {
    const delay = backoffMs(failures, this.#backoff);
    const seconds = error instanceof KubeError && isThrottled(error) ? error.retryAfterSeconds : undefined;
    return Math.max(delay, (seconds ?? 0) * 1000);
  }

  #report(key: string, error: unknown, retryInMs: number): void {
    const { log, onError } = this.#options;
    const fields = { key, error: messageOf(error), retryInMs };
    if (isConflict(error)) log.debug("Object changed meanwhile", fields);
    // A stack helps with a bug, but not with an error that the API server returned.
    else if (error instanceof KubeError) log.error("Reconcile failed", fields);
    else log.error("Reconcile failed", { ...fields, stack: fieldsOf(error)["stack"] });
    onError?.(key, error);
  }
}
