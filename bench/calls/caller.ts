/** Hook calls as Cluster API makes them. */

import { Agent } from "node:https";
import { hookPath } from "../../src/api/hookcatalog.ts";
import type { HookName, HookResponse } from "../../src/api/runtimehooks.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { post, type Post } from "../../test/controlplane/post.ts";

export interface Answer {
  readonly status: string | undefined;
  readonly message: string;
  /** 0: go on. */
  readonly retryAfterSeconds: number;
  readonly ms: number;
}

/** As Cluster API reads it: a field that is missing is 0. Rejects when there is no answer in Cluster API's time. */
export async function callHook(hook: HookName, how: Omit<Post, "path">): Promise<Answer> {
  const { status: code, text, ms } = await post({ ...how, path: `${hookPath(hook)}?timeout=10s` });
  if (code !== 200) throw new Error(`HTTP ${code}: ${text.slice(0, 200)}`);
  const response: HookResponse = JSON.parse(text);
  const { status, message = "", retryAfterSeconds = 0 } = response;
  return { status, message, retryAfterSeconds, ms };
}

/** Over connections that are kept. */
export class HookCaller {
  readonly #to: { readonly port: number; readonly ca: string };
  readonly #agent: Agent;

  constructor({ authority }: ControlPlane, { ports }: Operator, connections: number) {
    this.#to = { port: ports.webhook, ca: authority.certificate };
    this.#agent = new Agent({ ca: this.#to.ca, keepAlive: true, maxSockets: connections });
  }

  async call(hook: HookName, body: string): Promise<Answer> {
    return await callHook(hook, { ...this.#to, body, agent: this.#agent });
  }

  /** As Cluster API up to 1.11 did each time. */
  async callOnNewConnection(hook: HookName, body: string): Promise<Answer> {
    return await callHook(hook, { ...this.#to, body, agent: false });
  }

  close(): void {
    this.#agent.destroy();
  }
}
