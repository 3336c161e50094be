/** A client that behaves, beside those that do not: what it feels of them is measured. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface Errand {
  readonly port: number;
  readonly ca: string;
  readonly path: string;
  readonly body: string;
  /** The answer, byte for byte. */
  readonly expected: string;
  /** Half of them over a connection that is kept, half over a new one each. */
  readonly perSecond: number;
}

/** Milliseconds of the answers, and what went wrong. */
export interface Calls {
  readonly kept: readonly number[];
  readonly fresh: readonly number[];
  readonly failures: readonly string[];
}

export class Bystander {
  readonly #worker: Worker;

  constructor(errand: Errand) {
    this.#worker = new Worker(new URL("bystanderworker.ts", import.meta.url), { workerData: errand });
  }

  /** The calls since it was asked last. */
  async calls(): Promise<Calls> {
    const answer = once(this.#worker, "message");
    this.#worker.postMessage("calls"); // oxlint-disable-line unicorn/require-post-message-target-origin -- no window
    const [calls]: Calls[] = await answer;
    if (calls === undefined) throw new Error("the well-behaved client said nothing");
    return calls;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
