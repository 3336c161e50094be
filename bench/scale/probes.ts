/** Asks for the health of an operator again and again: what keeps its event loop keeps the answer. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Operator } from "../../test/controlplane/operator.ts";

/** `end` gives the longest that an answer took since `begin`. */
export interface Probes {
  readonly begin: () => void;
  readonly end: () => Promise<number>;
}

/** One connection, one request after the other. */
export function startProbes({ ports }: Operator): Probes {
  let longest = 0;
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const sent = performance.now();
      await (await fetch(`http://127.0.0.1:${ports.health}/healthz`)).text();
      longest = Math.max(longest, performance.now() - sent);
      await sleep(5);
    }
  };
  const running = run();
  return {
    begin: () => {
      longest = 0;
    },
    end: async () => {
      stop.abort();
      await running;
      return longest;
    },
  };
}
