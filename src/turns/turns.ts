/** Bounded, fair turns for the work that clients cause: for the decisions about calls and reviews, and for other work. */

import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FairQueue, FairTurns } from "./fair-queue.ts";
import { Slice } from "./slice.ts";

/** The namespace and Cluster whose turn a call uses. */
export interface CallShare {
  readonly namespace: string;
  readonly cluster: string;
}

/** Cluster API has at most one call about a Cluster under way. */
const MAX_WAITING_OF_ONE = 256;

/**
 * The order of decisions when calls come faster than the operator decides: namespaces take turns, and so do the Clusters
 * of a namespace. A decision about a tenant's policies can take milliseconds, and any caller can ask for many.
 */
export class CallTurns {
  readonly #slice: Slice;
  /** By namespace and Cluster. */
  readonly #queue = new FairQueue<{ readonly begin: () => void }>();

  /** `sliceMs`: how long decisions may keep the event loop; the remaining calls are decided in its next turns. */
  constructor(sliceMs?: number) {
    this.#slice = new Slice(sliceMs);
  }

  /**
   * Decides at once if nothing waits and this turn of the event loop has time left. If too many calls of the share wait,
   * the result is that of `refuse`; without `refuse` the call waits, too.
   */
  run<T>({ namespace, cluster }: CallShare, decide: () => T | Promise<T>, refuse?: () => T): T | Promise<T> {
    if (this.#queue.size === 0 && !this.#slice.isOver()) return decide();
    const waiting = this.#queue.waitingOf(namespace, cluster);
    if (waiting >= MAX_WAITING_OF_ONE && refuse !== undefined) return refuse();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const begin = (): void => {
      try {
        resolve(decide());
      } catch (error) {
        reject(error);
      }
    };
    if (this.#queue.size === 0) setImmediate(() => this.#serve());
    this.#queue.add(namespace, cluster, { begin });
    return promise;
  }

  #serve(): void {
    do {
      const next = this.#queue.take();
      next?.end();
      next?.work.begin();
    } while (this.#queue.size > 0 && !this.#slice.isOver());
    if (this.#queue.size > 0) setImmediate(() => this.#serve());
  }
}

interface Limits {
  /** How much work may be under way at the same time; one share gets half of the places at most. */
  readonly places: number;
  readonly waitingOfOne?: number;
  readonly waitMs?: number;
  /** The work blocks the event loop, so each piece begins in a turn of its own, and leaves as much time for others as it takes. */
  readonly rests?: boolean;
}

/** `TooMany`: too much work of the share waits already. `TooLate`: the work did not begin in time. */
type Outcome<T> = { readonly result: T } | { readonly refused: "TooMany" | "TooLate" };

/** Shares take turns, and nothing waits longer than a limit. */
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
