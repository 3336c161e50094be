/** Calls of one hook as Cluster API makes them, at a steady pace. */

import { Agent } from "node:https";
import { SERVICE_HOST } from "../../test/controlplane/operator.ts";
import { IDLE_MS } from "../../test/controlplane/post.ts";
import { type Answer, callHook } from "../calls/caller.ts";
import { atPace } from "../calls/pace.ts";
import { inTurn } from "../fleet/fleet.ts";
import type { Call } from "./judge.ts";
import type { Lab } from "./lab.ts";

/** Cluster API before 1.12 opens a connection for each call, newer versions keep theirs. */
const NEW_CONNECTION_EVERY = 4;
const OLDER_COPY_EVERY = 5;

interface LoadOptions {
  readonly perSecond: number;
  readonly port: () => number;
  readonly onCall: (call: Call) => void;
}

/** Calls until `signal` aborts, and then waits for the answers that are still due. */
export async function load(lab: Lab, options: LoadOptions, signal: AbortSignal): Promise<void> {
  const { hook, subjects } = lab;
  const kept = new Agent({ keepAlive: true, maxFreeSockets: 20, timeout: IDLE_MS });
  await atPace(options.perSecond, signal, async (n) => {
    const { namespace, name, timeline, bodies } = inTurn(subjects, n);
    const turn = n + Math.floor(n / subjects.length); // not always the same Clusters
    const from = performance.now();
    const answer = await callHook(hook, {
      port: options.port(),
      ca: lab.trusted,
      servername: SERVICE_HOST,
      agent: turn % NEW_CONNECTION_EVERY === 0 ? false : kept,
      body: bodies[turn % OLDER_COPY_EVERY === 0 ? 1 : 0],
    }).then(resultOf, failureOf);
    options.onCall({ cluster: `${namespace}/${name}`, timeline, from, to: performance.now(), ...answer });
  });
  kept.destroy();
}

function resultOf({ retryAfterSeconds, message }: Answer): Pick<Call, "result" | "message"> {
  return { result: retryAfterSeconds === 0 ? "Go" : "Held", message };
}

function failureOf(error: unknown): Pick<Call, "result" | "message"> {
  return { result: "Failed", message: error instanceof Error ? error.message : String(error) };
}
