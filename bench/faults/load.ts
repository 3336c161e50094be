/** Calls of one hook at a steady pace, as Cluster API makes them, whatever becomes of the answers. */

import { Agent, request as post } from "node:https";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { HookName, HookResponse } from "../../src/api/runtimehooks.ts";
import { hookPath } from "../../src/api/hookcatalog.ts";
import { SERVICE_HOST } from "../../test/controlplane/operator.ts";
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
const TICK_MS = 2;
/** At most; Cluster API's default is 10 Clusters at a time. */
const UNDER_WAY = 200;
/** Cluster API's own limit. */
const TIMEOUT_MS = 10_000;
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
  const perCall = new Agent({ keepAlive: false });
  const underWay = new Set<Promise<void>>();
  const { subjects, perSecond = CALLS_PER_SECOND } = options;
  const send = (n: number): void => {
    const subject = subjects[n % subjects.length];
    if (subject === undefined) throw new Error("there is no Cluster to ask about");
    const turn = n + Math.floor(n / subjects.length); // not always the same Clusters
    const body = subject.bodies[turn % OLDER_COPY_EVERY === 0 ? 1 : 0];
    const agent = turn % NEW_CONNECTION_EVERY === 0 ? perCall : kept;
    const ended = call(subject, body, agent, options).then(onCall);
    underWay.add(ended);
    void ended.then(() => underWay.delete(ended));
  };
  const started = performance.now();
  for (let sent = 0; !signal.aborted; await sleep(TICK_MS)) {
    const due = ((performance.now() - started) * perSecond) / 1000;
    // Who is late has so many calls fewer, as Cluster API would have, whose workers wait for their answers.
    for (; sent < due; sent++) if (underWay.size < UNDER_WAY) send(sent);
  }
  await Promise.all(underWay);
  kept.destroy();
}

async function call(subject: Subject, body: string, agent: Agent, options: LoadOptions): Promise<Call> {
  const { namespace, name, timeline } = subject;
  const from = performance.now();
  const outcome = await answerOf(body, agent, options).then(resultOf, failed);
  return { cluster: `${namespace}/${name}`, timeline, from, to: performance.now(), ...outcome };
}

type Result = Pick<Call, "result" | "message">;

/** As Cluster API reads it: a field that is missing is 0. */
function resultOf({ status, retryAfterSeconds = 0, message = "" }: HookResponse): Result {
  if (status !== "Success") return { result: "Failed", message: `${status}: ${message}` };
  return { result: retryAfterSeconds === 0 ? "Go" : "Held", message };
}

function failed(error: unknown): Result {
  return { result: "Failed", message: error instanceof Error ? error.message : String(error) };
}

async function answerOf(body: string, agent: Agent, options: LoadOptions): Promise<HookResponse> {
  const url = `https://127.0.0.1:${options.port()}${hookPath(options.hook)}?timeout=10s`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    post(url, { method: "POST", agent, ca: options.trusted(), servername: SERVICE_HOST, signal }, resolve)
      .once("error", reject)
      .end(body);
  });
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}: ${answer.slice(0, 200)}`);
  const parsed: HookResponse = JSON.parse(answer);
  return parsed;
}
