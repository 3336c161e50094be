/**
 * Examines reviews one after another in a thread of its own. The first one starts it: reviews are rare, and the thread
 * takes a fifth of the memory.
 */

import { once } from "node:events";
import type { Logger } from "../lib/logger.ts";
import type { Examined, Settings } from "./examine.ts";
import { startThread, type Task } from "./review-worker.ts";

export interface Examination {
  /** Absent: it took too long, or `signal` had aborted. */
  readonly examined?: Examined;
  /** Its cost, without the wait for others and for the thread. */
  readonly ms: number;
}

export interface ThreadOptions {
  readonly settings: Settings;
  readonly log: Logger;
  readonly start?: typeof startThread;
}

/** A review that takes longer ends with its thread; the largest legal review takes a fraction of it. */
const OVERRUN_MS = 2000;
/** Reviews have given up long before, and the next one starts another thread. */
const START_MS = 30_000;

type Thread = ReturnType<typeof startThread>;

export class ThreadExaminer {
  readonly #options: ThreadOptions;
  #thread: Thread | undefined;
  /** Settles at the end of the last task. */
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async examine(task: Task, signal: AbortSignal): Promise<Examination> {
    const { promise, resolve } = Promise.withResolvers<Examination>();
    let begun: number | undefined;
    const spent = (): number => (begun === undefined ? 0 : performance.now() - begun);
    const giveUp = (): void => resolve({ ms: spent() });
    signal.addEventListener("abort", giveUp, { once: true });
    this.#last = this.#last.then(async () => {
      if (signal.aborted) return giveUp();
      await this.#start();
      begun = performance.now();
      const examined = await this.#run(task);
      resolve({ ...(examined !== undefined && { examined }), ms: spent() });
    });
    const examination = await promise;
    signal.removeEventListener("abort", giveUp);
    return examination;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #run({ body, now }: Task): Promise<Examined | undefined> {
    const thread = this.#thread;
    if (thread === undefined) return undefined;
    const copy = Uint8Array.prototype.slice.call(body); // a Buffer may be part of a larger one
    try {
      const answer = once(thread, "message", { signal: AbortSignal.timeout(OVERRUN_MS) });
      thread.postMessage({ body: copy, now } satisfies Task, [copy.buffer]);
      const [examined]: Examined[] = await answer;
      return examined;
    } catch (error) {
      await this.#fail("A review took too long or too much memory: ended its thread", error);
      return undefined;
    }
  }

  /** Does nothing if the thread is running. */
  async #start(): Promise<void> {
    if (this.#closed || this.#thread !== undefined) return;
    try {
      const { settings, start = startThread } = this.#options;
      const thread = start(settings);
      this.#thread = thread;
      thread.unref();
      thread.on("error", () => undefined); // once() rejects for callers that wait for a message
      thread.once("exit", () => {
        if (this.#thread === thread) this.#thread = undefined;
      });
      await once(thread, "message", { signal: AbortSignal.timeout(START_MS) });
    } catch (error) {
      await this.#fail("Cannot start the thread for reviews", error);
    }
  }

  async #fail(message: string, error: unknown): Promise<void> {
    if (!this.#closed) this.#options.log.warn(message, { error });
    await this.#end();
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}
