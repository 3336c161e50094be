/** Pauses and work that a signal or a limit of time ends. */

import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

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

/** What runs until the end, or until it is stopped before. */
export class Lives {
  readonly #begun = Promise.withResolvers<AbortSignal>();
  readonly #lives = new Set<Promise<void>>();

  /** `run` ends when its signal aborts, and never rejects. It begins with that of all. Returns what stops it. */
  begin(run: (signal: AbortSignal) => Promise<void>): () => void {
    const stop = new AbortController();
    const live = async (): Promise<void> => {
      const child = childOf(await this.#begun.promise, stop);
      await run(stop.signal);
      child.release();
    };
    const life: Promise<void> = live().finally(() => this.#lives.delete(life));
    this.#lives.add(life);
    return () => stop.abort();
  }

  /** Runs until `signal` aborts and everything has ended; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#begun.resolve(signal);
    if (!signal.aborted) await once(signal, "abort");
    await Promise.all(this.#lives);
  }
}
