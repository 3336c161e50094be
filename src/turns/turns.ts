/** A bounded, fair queue for work that clients cause: shares take turns, and nothing waits longer than a limit. */

import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FairTurns } from "./fair-queue.ts";

interface Limits {
  /** How much work may be under way at the same time; one share gets half of the places at most. */
  readonly places: number;
  readonly waitingOfOne?: number;
  readonly waitMs?: number;
  /** The work blocks the event loop, so each piece begins in a turn of its own, and leaves as much time for others as it takes. */
  readonly rests?: boolean;
}

/** `TooMany`: of the share wait already. */
type Outcome<T> = { readonly result: T } | { readonly refused: "TooMany" | "TooLate" };

export class Turns {
  readonly #limits: Limits;
  readonly #turns: FairTurns;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#turns = new FairTurns(limits.places);
  }

  /** Rejects if the work does. */
  async run<T>(share: string, work: () => T | Promise<T>): Promise<Outcome<T>> {
    const { waitingOfOne = Infinity, waitMs, rests = false } = this.#limits;
    if (this.#turns.waitingOf(share, "") >= waitingOfOne) return { refused: "TooMany" };
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
    let isOver = false;
    const giveUp = (): void => {
      isOver = true;
      resolve({ refused: "TooLate" });
    };
    const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs);
    const begin = async (): Promise<void> => {
      clearTimeout(timer);
      if (rests) await nextTurn();
      const began = performance.now();
      try {
        resolve({ result: await work() });
      } catch (error) {
        reject(error);
      }
      if (rests) await sleep(performance.now() - began);
    };
    this.#turns.queue(share, "", { begin, over: () => isOver });
    return await promise;
  }
}
