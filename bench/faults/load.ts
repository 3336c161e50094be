/** Calls of one hook as Cluster API makes them, whatever becomes of the answers. */

import { Agent } from "node:https";
import type { HookName } from "../../src/api/runtimehooks.ts";
import { SERVICE_HOST } from "../../test/controlplane/operator.ts";
import { type Answer, callHook } from "../calls/caller.ts";
import { atPace } from "../calls/pace.ts";
import type { Call } from "./judge.ts";
import type { Subject } from "./subjects.ts";

export interface LoadOptions {
  /** Of the next call. */
  readonly port: () => number;
  readonly hook: HookName;
  readonly subjects: readonly Subject[];
  /** PEM of the authorities that callers trust at that moment. */
  readonly trusted: () => string;
  readonly perSecond?: number;
}

const CALLS_PER_SECOND = 200;
/** Cluster API before 1.12 opens a connection for each call, newer ones keep theirs. */
const NEW_CONNECTION_EVERY = 4;
const OLDER_COPY_EVERY = 5;

/** Until `signal` aborts; what is under way then is still waited for. Each call is handed over when it has ended. */
export async function load(
  options: LoadOptions,
  onCall: (call: Call) => void,
  signal: AbortSignal,
): Promise<void> {
  const kept = new Agent({ keepAlive: true, maxFreeSockets: 20 });
  const { subjects, perSecond = CALLS_PER_SECOND } = options;
  await atPace(perSecond, signal, async (n) => {
    const subject = subjects[n % subjects.length];
    if (subject === undefined) throw new Error("there is no Cluster to ask about");
    const turn = n + Math.floor(n / subjects.length); // not always the same Clusters
    const body = subject.bodies[turn % OLDER_COPY_EVERY === 0 ? 1 : 0];
    const agent = turn % NEW_CONNECTION_EVERY === 0 ? false : kept;
    onCall(await call(subject, body, agent, options));
  });
  kept.destroy();
}

async function call(
  { namespace, name, timeline }: Subject,
  body: string,
  agent: Agent | false,
  { port, hook, trusted }: LoadOptions,
): Promise<Call> {
  const from = performance.now();
  const to = { port: port(), ca: trusted(), servername: SERVICE_HOST };
  const outcome = await callHook(hook, { ...to, agent, body }).then(resultOf, failed);
  return { cluster: `${namespace}/${name}`, timeline, from, to: performance.now(), ...outcome };
}

type Result = Pick<Call, "result" | "message">;

function resultOf({ status, retryAfterSeconds, message }: Answer): Result {
  if (status !== "Success") return { result: "Failed", message: `${status}: ${message}` };
  return { result: retryAfterSeconds === 0 ? "Go" : "Held", message };
}

function failed(error: unknown): Result {
  return { result: "Failed", message: error instanceof Error ? error.message : String(error) };
}
