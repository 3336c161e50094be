/** A client that behaves, beside those that do not: what it feels of them is measured. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

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

/** Milliseconds of the answers, and of what still waited for its turn; calls that failed have no time. */
export interface Calls {
  readonly kept: readonly number[];
  readonly fresh: readonly number[];
  readonly failures: readonly string[];
}

export class Bystander {
  readonly #client: ChildProcess;

  constructor(errand: Errand) {
    // A session of its own: by default Linux shares the processor between sessions first (sched(7), autogroup).
    const options = { detached: true, execArgv: [] };
    this.#client = fork(new URL("bystander-client.ts", import.meta.url), [JSON.stringify(errand)], options);
  }

  /** The calls that were due since it was asked last: at least one over each kind of connection. */
  async calls(): Promise<Calls> {
    const answer = once(this.#client, "message");
    this.#client.send("calls");
    const [calls]: Calls[] = await answer;
    if (calls === undefined) throw new Error("the well-behaved client said nothing");
    return calls;
  }

  async stop(): Promise<void> {
    const ended = once(this.#client, "exit");
    this.#client.kill();
    await ended;
  }
}
