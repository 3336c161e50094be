/** Health checks of an operator, one after the other: a busy event loop delays the answer. */

import type { Operator } from "../../test/controlplane/operator.ts";
import { repeat } from "../calls/pace.ts";

const PAUSE_MS = 5;

/** The returned function ends the checks, and gives the milliseconds of the slowest answer. */
export function startProbes({ ports }: Operator): () => Promise<number> {
  let longest = 0;
  const stop = new AbortController();
  const running = repeat(PAUSE_MS, stop.signal, async () => {
    const sent = performance.now();
    await (await fetch(`http://127.0.0.1:${ports.health}/healthz`)).text();
    longest = Math.max(longest, performance.now() - sent);
  });
  return async () => {
    stop.abort();
    await running;
    return longest;
  };
}
