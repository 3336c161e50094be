/** Asks for the health of an operator again and again: what keeps its event loop keeps the answer. */

import type { Operator } from "../../test/controlplane/operator.ts";
import { repeat } from "../calls/pace.ts";

const PAUSE_MS = 5;

/** One request after the other; the function ends that, and gives the longest that an answer took. */
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
