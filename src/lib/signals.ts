/** Pauses and work that a signal or a limit of time ends. */

import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** A longer timer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Child {
  readonly controller: AbortController;
  /** Detaches the child from its parent when the work is done. */
  release(): void;
}

/** A controller that also aborts when `signal` does. */
export function childOf(signal: AbortSignal, controller = new AbortController()): Child {
  const abort = (): void => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return { controller, release: () => signal.removeEventListener("abort", abort) };
}

/** Resolves after `ms`, or as soon as the signal fires; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * Calls `work` until `signal` aborts, with a pause of `ms` after each call; rejects when `work` does. The pause alone
 * does not keep a process alive.
 */
export async function every(
  ms: number,
  signal: AbortSignal,
  work: () => void | Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** The result is `late` after `budgetMs`, whatever the work finds out later. Infinity: no limit. */
export async function withinBudget<T>(budgetMs: number, late: T, work: () => Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<T>();
  const timer = Number.isFinite(budgetMs) ? setTimeout(() => timeout.resolve(late), budgetMs) : undefined;
  try {
    return await Promise.race([work(), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export interface BackoffOptions {
  readonly minMs: number;
  readonly maxMs: number;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
}

/** Doubles from `minMs` to `maxMs`; each pause is between half of the value and all of it, so that replicas spread out. */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const full = Math.min(options.maxMs, options.minMs * 2 ** Math.min(failures, 30));
  return full * (0.5 + options.random() / 2);
}

/** Work that runs until it is stopped, such as that of informers: each piece by itself, or all of it with the group. */
export class RunGroup {
  readonly #signal = Promise.withResolvers<AbortSignal>();
  readonly #running = new Set<Promise<void>>();

  /** Runs `work` once the group runs. It has to end when its signal aborts, and must not reject. Returns what stops it alone. */
  start(work: (signal: AbortSignal) => Promise<void>): () => void {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      const child = childOf(await this.#signal.promise, stop);
      await work(stop.signal);
      child.release();
    };
    const running: Promise<void> = run().finally(() => this.#running.delete(running));
    this.#running.add(running);
    return () => stop.abort();
  }

  /** Runs until `signal` aborts and all work has ended; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal.resolve(signal);
    if (!signal.aborted) await once(signal, "abort");
    await Promise.all(this.#running);
  }
}
