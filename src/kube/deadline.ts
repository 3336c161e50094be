import { setTimeout as delay } from "node:timers/promises";
import { type Attempt, KubeError } from "./kube-error.ts";

export interface Limits {
  /** Absent: only the signal ends the work. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` with a signal that fires after `timeoutMs` or when the caller's signal fires, and rejects then even if
 * `work` ignores its signal (a credentials plugin that hangs). AbortSignal.any is not used: the caller's signal lives
 * as long as the process, and every request would leave a listener attached to it.
 */
export async function withDeadline<T>(
  attempt: Attempt,
  limits: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs } = limits;
  const inner = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (error: KubeError): void => {
    stopped.reject(error);
    inner.abort(error);
  };
  const onAbort = (): void => stop(abortedError(attempt));
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => stop(timeoutError(attempt, timeoutMs)), timeoutMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal?.aborted === true) throw abortedError(attempt);
    return await Promise.race([work(inner.signal), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

export interface Child {
  readonly controller: AbortController;
  /** Detaches the child from its parent when the work is done. */
  release(): void;
}

/** A controller that also aborts when `signal` does. */
export function childOf(signal: AbortSignal): Child {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return { controller, release: () => signal.removeEventListener("abort", abort) };
}

function abortedError(attempt: Attempt): KubeError {
  return new KubeError(`${attempt}: aborted`, { code: 0, reason: "Aborted" });
}

function timeoutError(attempt: Attempt, ms: number): KubeError {
  const message = `${attempt}: timeout: no answer within ${ms / 1000} s`;
  return new KubeError(message, { code: 0, reason: "Timeout" });
}

/** Resolves after `ms`, or as soon as the signal fires; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

export interface BackoffOptions {
  readonly minMs: number;
  readonly maxMs: number;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
}

/**
 * Doubles from `minMs` to `maxMs`; each pause is between half of the value and all of it, so that replicas spread out.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  next(): number {
    return backoffMs(this.#failures++, this.#options);
  }

  reset(): void {
    this.#failures = 0;
  }
}

export function backoffMs(failures: number, options: BackoffOptions): number {
  const full = Math.min(options.maxMs, options.minMs * 2 ** Math.min(failures, 30));
  return full * (0.5 + options.random() / 2);
}
