/** Hook calls as Cluster API makes them. */

import { Agent } from "node:https";
import { hookPath } from "../../src/api/hook-catalog.ts";
import type { HookName, HookResponse } from "../../src/api/runtime-hooks.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { IDLE_MS, post, type Post } from "../../test/controlplane/post.ts";

export interface Answer {
  readonly message: string;
  /** 0 releases the Cluster. */
  readonly retryAfterSeconds: number;
  readonly ms: number;
}

/** Everything of a call but the hook and the body. */
export type HookServer = Omit<Post, "path" | "body">;

/** Cluster API reads a missing field as 0. Rejects without a success within the time that Cluster API waits. */
export async function callHook(hook: HookName, how: Omit<Post, "path">): Promise<Answer> {
  const { status: code, text, ms } = await post({ ...how, path: `${hookPath(hook)}?timeout=10s` });
  if (code !== 200) throw new Error(`HTTP ${code}: ${text.slice(0, 200)}`);
  const response: HookResponse = JSON.parse(text);
  const { status, message = "", retryAfterSeconds = 0 } = response;
  if (status !== "Success") throw new Error(`${status}: ${message}`);
  return { message, retryAfterSeconds, ms };
}

/** The operator, called over at most so many connections, which are kept. */
export function keptConnections(
  { authority }: ControlPlane,
  { ports }: Operator,
  maxSockets: number,
): HookServer {
  const ca = authority.certificate;
  return { port: ports.webhook, ca, agent: new Agent({ ca, keepAlive: true, maxSockets, timeout: IDLE_MS }) };
}
