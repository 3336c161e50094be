import { setTimeout as delay } from "node:timers/promises";

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
