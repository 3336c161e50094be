import { setTimeout as delay } from "node:timers/promises";

/**
 * Calls `work` until `signal` aborts, and waits `ms` between the end of one call and the start of the next; rejects when
 * `work` does. The wait alone does not keep a process alive.
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
