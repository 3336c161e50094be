/** Work that is repeated: at a steady pace, or with a pause after each time. */

import { setTimeout as sleep } from "node:timers/promises";

const TICK_MS = 2;
/** Calls beyond these are left out: Cluster API's workers wait for their answers, too. */
const UNDER_WAY = 200;

/** Calls `send` until `signal` aborts, with numbers from 0, and then waits for all that is under way. */
export async function atPace(
  perSecond: number,
  signal: AbortSignal,
  send: (n: number) => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const started = performance.now();
  for (let sent = 0; !signal.aborted; await sleep(TICK_MS)) {
    const due = ((performance.now() - started) * perSecond) / 1000;
    for (; sent < due; sent++) {
      if (underWay.size >= UNDER_WAY) continue;
      const ended = send(sent).finally(() => underWay.delete(ended));
      underWay.add(ended);
    }
  }
  await Promise.all(underWay);
}

/** Runs `work` again and again until `signal` aborts; rejects with what it throws. */
export async function repeat(
  pauseMs: number,
  signal: AbortSignal,
  work: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
