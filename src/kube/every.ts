import { setTimeout as delay } from "node:timers/promises";

export interface EveryOptions {
  /** Milliseconds from the end of one call to the begin of the next. */
  readonly ms: number;
  /** The first call comes after `ms`, too. */
  readonly waitFirst?: boolean;
}

/**
 * Calls `work` again and again until `signal` aborts; rejects when `work` does. The wait alone does not keep a process
 * alive.
 */
export async function every(
  { ms, waitFirst = false }: EveryOptions,
  signal: AbortSignal,
  work: () => void | Promise<void>,
): Promise<void> {
  for (let wait = waitFirst; !signal.aborted; wait = true) {
    if (wait) await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}
