/** Hook calls as Cluster API makes them: POST without content-type, with the time budget in the query. */

import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import type { HookName } from "../../src/api/runtimehooks.ts";
import { hookPath } from "../../src/api/hookcatalog.ts";

export interface Answer {
  readonly status: "Success" | "Failure";
  readonly message: string;
  /** 0: go on. */
  readonly retryAfterSeconds: number;
  readonly ms: number;
}

export interface CallerOptions {
  readonly port: number;
  /** PEM */
  readonly ca: string;
  /** Kept alive and used again. */
  readonly connections: number;
}

const TIMEOUT_MS = 10_000;

export class HookCaller {
  readonly #options: CallerOptions;
  readonly #agent: Agent;

  constructor(options: CallerOptions) {
    this.#options = options;
    this.#agent = new Agent({ ca: options.ca, keepAlive: true, maxSockets: options.connections });
  }

  /** Rejects when there is no answer in Cluster API's time. */
  async call(hook: HookName, body: Buffer): Promise<Answer> {
    return await this.#send(hook, body, this.#agent);
  }

  /** As Cluster API up to 1.11 did each time. */
  async callOnNewConnection(hook: HookName, body: Buffer): Promise<Answer> {
    return await this.#send(hook, body, false);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(hook: HookName, body: Buffer, agent: Agent | false): Promise<Answer> {
    const { port, ca } = this.#options;
    let started = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      const path = `${hookPath(hook)}?timeout=10s`;
      const headers = { "content-length": body.length };
      const call = request(
        { host: "127.0.0.1", port, path, method: "POST", headers, agent, ca },
        (response) => {
          if (response.statusCode === 200) text(response).then(resolve, reject);
          else reject(new Error(`HTTP ${response.statusCode}`));
        },
      );
      call.setTimeout(TIMEOUT_MS, () => call.destroy(new Error("no answer in time")));
      // The time until a connection is free is this program's.
      call.once("socket", () => (started = performance.now()));
      call.once("error", reject);
      call.end(body);
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a member that is missing is seen as a wrong answer
    const { status, message, retryAfterSeconds } = JSON.parse(answer) as Answer;
    return { status, message, retryAfterSeconds, ms: performance.now() - started };
  }
}
