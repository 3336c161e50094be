/** Hook calls as Cluster API makes them, over connections that are kept. */

import { Agent } from "node:https";
import { hookPath } from "../../src/api/hookcatalog.ts";
import type { HookName } from "../../src/api/runtimehooks.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { post } from "../../test/controlplane/post.ts";

export interface Answer {
  readonly status: "Success" | "Failure";
  readonly message: string;
  /** 0: go on. */
  readonly retryAfterSeconds: number;
  readonly ms: number;
}

export class HookCaller {
  readonly #port: number;
  readonly #ca: string;
  readonly #agent: Agent;

  constructor({ authority }: ControlPlane, { ports }: Operator, connections: number) {
    this.#port = ports.webhook;
    this.#ca = authority.certificate;
    this.#agent = new Agent({ ca: this.#ca, keepAlive: true, maxSockets: connections });
  }

  /** Rejects when there is no answer in Cluster API's time. */
  async call(hook: HookName, body: string): Promise<Answer> {
    return await this.#send(hook, body, this.#agent);
  }

  /** As Cluster API up to 1.11 did each time. */
  async callOnNewConnection(hook: HookName, body: string): Promise<Answer> {
    return await this.#send(hook, body, false);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(hook: HookName, body: string, agent: Agent | false): Promise<Answer> {
    const path = `${hookPath(hook)}?timeout=10s`;
    const answer = await post({ port: this.#port, ca: this.#ca, path, body, agent });
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a member that is missing is seen as a wrong answer
    const { status, message, retryAfterSeconds } = JSON.parse(answer.text) as Answer;
    return { status, message, retryAfterSeconds, ms: answer.ms };
  }
}
