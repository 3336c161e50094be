/**
 * The order of decisions when calls come faster than the operator decides: namespaces take turns, and so do the Clusters
 * of a namespace. A decision about a tenant's policies can take milliseconds, and any caller can ask for many.
 */

import { FairQueue } from "./fair-queue.ts";
import { Slice } from "./slice.ts";

/** The namespace and Cluster whose turn a call uses. */
export interface CallShare {
  readonly namespace: string;
  readonly cluster: string;
}

/** Cluster API has at most one call about a Cluster under way. */
const MAX_WAITING_OF_ONE = 256;

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
