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

function abortedError(attempt: Attempt): KubeError {
  return new KubeError(`${attempt}: aborted`, { code: 0, reason: "Aborted" });
}

function timeoutError(attempt: Attempt, ms: number): KubeError {
  const message = `${attempt}: timeout: no answer within ${ms / 1000} s`;
  return new KubeError(message, { code: 0, reason: "Timeout" });
}
