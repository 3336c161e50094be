/** Work that is done again and again: at a steady pace, whatever becomes of it, or with a pause in between. */

import { setTimeout as sleep } from "node:timers/promises";

const TICK_MS = 2;
/** At most; a caller that is late makes so many calls fewer, as Cluster API, whose workers wait for their answers. */
const UNDER_WAY = 200;

/** Until `signal` aborts; what is under way then is still waited for. `send`: of calls counted from 0. */
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

/** One after the other, until `signal` aborts; rejects with what `work` throws. */
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
