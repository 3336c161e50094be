/**
 * Examines reviews one after another in a thread of its own, which starts with the first and ends when there is none for
 * a while. It works half of the time at most: reviews can never cost more than half a CPU.
 */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import type { Logger } from "../api/logger.ts";
import type { Examined, Settings } from "./examine.ts";
import { startThread, type Task } from "./worker.ts";

export interface Examiner {
  /** `undefined`: it took too long, or `signal` was aborted before. Never rejects. */
  examine(task: Task, signal: AbortSignal): Promise<Examined | undefined>;
}

export interface ThreadOptions {
  readonly settings: Settings;
  readonly log: Logger;
  /** A review that takes longer ends with its thread. Default 2 s: the largest legal one takes a fraction of it. */
  readonly overrunMs?: number;
  /** Default 5 minutes: it takes 50 MB, and most of a second to start. */
  readonly idleMs?: number;
}

type Thread = ReturnType<typeof startThread>;

export class ThreadExaminer implements Examiner {
  readonly #options: Required<ThreadOptions>;
  #thread: Thread | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** The end of the last one that was asked for. */
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: ThreadOptions) {
    this.#options = { overrunMs: 2000, idleMs: 300_000, ...options };
  }

  /** Whether there is a thread. */
  get running(): boolean {
    return this.#thread !== undefined;
  }

  async examine(task: Task, signal: AbortSignal): Promise<Examined | undefined> {
    const { promise, resolve } = Promise.withResolvers<Examined | undefined>();
    const giveUp = (): void => resolve(undefined);
    signal.addEventListener("abort", giveUp, { once: true });
    const before = this.#last;
    this.#last = (async () => {
      await before;
      if (signal.aborted || this.#closed) return giveUp();
      const begun = performance.now();
      resolve(await this.#run(task));
      await sleep(performance.now() - begun);
    })();
    const examined = await promise;
    signal.removeEventListener("abort", giveUp);
    return examined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #run({ body, now }: Task): Promise<Examined | undefined> {
    clearTimeout(this.#idle);
    try {
      const thread = (this.#thread ??= await this.#start());
      thread.ref();
      const copy = Uint8Array.prototype.slice.call(body); // a Buffer may be a part of a larger one
      const answer = once(thread, "message", { signal: AbortSignal.timeout(this.#options.overrunMs) });
      thread.postMessage({ body: copy, now } satisfies Task, [copy.buffer]);
      const [examined]: Examined[] = await answer;
      thread.unref();
      this.#idle = setTimeout(() => void this.#end(), this.#options.idleMs).unref();
      return examined;
    } catch (error) {
      this.#options.log.warn("Ended the thread for reviews", { error });
      await this.#end();
      return undefined;
    }
  }

  async #start(): Promise<Thread> {
    const thread = startThread(this.#options.settings);
    try {
      await once(thread, "message");
    } catch (error) {
      await thread.terminate();
      throw error;
    }
    thread.on("error", () => undefined); // whoever waits for a message is told
    thread.once("exit", () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    return thread;
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    clearTimeout(this.#idle);
    await thread?.terminate();
  }
}
