/** Calls of a hook through the Service's address, as Cluster API's manager makes them, and what became of them. */

import { Agent, request } from "node:https";
import { isIPv6 } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { hookPath } from "../../src/api/hook-catalog.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, policyRef } from "../controlplane/policies.ts";
import { NAMESPACE, SERVING } from "./operator-pods.ts";

const HOOK: HookName = "BeforeClusterDelete";
const SERVICE = "hookpolicy-webhook-service";
/** Cluster API's own default for an extension. A silence that is longer fails each call that begins with it. */
export const CALL_TIMEOUT_MS = 10_000;
/** So many that not all of them wait at the same time for a replica that is gone, which says nothing of the other. */
const WORKERS = 16;
const PAUSE_MS = 40;

export interface Call {
  /** Cluster API keeps its connections; older ones open one per call. */
  readonly kept: boolean;
  /** Which TCP connection it was, of all. */
  readonly connection: number;
  /** From the start of the load, in milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Undefined: held, as it should be. */
  readonly failure?: string;
}

interface Target {
  readonly url: string;
  readonly ca: string;
  readonly body: string;
}

/** Of a Cluster that a policy holds: every answer says "not yet". */
export async function loadUntil(cp: ControlPlane, work: () => Promise<void>): Promise<readonly Call[]> {
  const target = await heldTarget(cp);
  const begin = performance.now();
  const stop = new AbortController();
  const calls: Call[] = [];
  const workers = Array.from({ length: WORKERS }, async (_, n) => {
    const kept = n % 2 === 0;
    const agent = new Agent({ keepAlive: kept, maxSockets: 1 });
    while (!stop.signal.aborted) {
      calls.push(await call(target, agent, kept, begin));
      await sleep(PAUSE_MS);
    }
    agent.destroy();
  });
  try {
    await work();
  } finally {
    stop.abort();
    await Promise.all(workers);
  }
  return calls;
}

async function heldTarget(cp: ControlPlane): Promise<Target> {
  const namespace = "load";
  await applyPolicy(cp, policyRef(namespace, "protect"), { rules: [approvalRule(HOOK)] });
  const cluster =
    (await cp.find(clusterRef(namespace, "held"))) ?? (await createCluster(cp, { namespace, name: "held" }));
  const service = await cp.get({ apiVersion: "v1", kind: "Service", namespace: NAMESPACE, name: SERVICE });
  const secret = await cp.get(SERVING);
  return {
    url: `https://${inUrl(service["spec"].clusterIP)}${hookPath(HOOK)}?timeout=10s`,
    ca: Buffer.from(secret["data"]["ca.crt"], "base64").toString(),
    body: JSON.stringify({ cluster: { ...cluster, status: undefined } }),
  };
}

export function inUrl(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}

const connections = new WeakMap<object, number>();
let opened = 0;

function numberOf(socket: object): number {
  const known = connections.get(socket) ?? ++opened;
  connections.set(socket, known);
  return known;
}

async function call(target: Target, agent: Agent, kept: boolean, begin: number): Promise<Call> {
  const from = performance.now() - begin;
  let connection = 0;
  const answered = new Promise<string | undefined>((resolve) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(target.body) };
    const servername = `${SERVICE}.${NAMESPACE}.svc`;
    const options = { method: "POST", agent, ca: target.ca, servername, headers, timeout: CALL_TIMEOUT_MS };
    const outgoing = request(target.url, options, (response) => {
      text(response).then(
        (body) => resolve(verdict(response.statusCode, body)),
        (error: unknown) => resolve(`broken answer: ${String(error)}`),
      );
    });
    outgoing.once("socket", (socket) => (connection = numberOf(socket)));
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in 10 s")));
    outgoing.once("error", (error) => resolve(error.message));
    outgoing.end(target.body);
  });
  const failure = await answered;
  const to = performance.now() - begin;
  return { kept, connection, from, to, ...(failure !== undefined && { failure }) };
}

function verdict(code: number | undefined, body: string): string | undefined {
  const held = code === 200 && /"status":"Success"/.test(body) && /"retryAfterSeconds":[1-9]/.test(body);
  return held ? undefined : `${code} ${body.slice(0, 200)}`;
}

/** One line for each sort of failure: how many, and when. */
export function failuresOf(calls: readonly Call[]): readonly string[] {
  const kinds = Map.groupBy(
    calls.filter(({ failure }) => failure !== undefined),
    ({ kept, failure }) => `${kept ? "kept" : "new"} connection: ${failure}`,
  );
  return [...kinds].map(([kind, those]) => {
    const seconds = those.map(({ from }) => (from / 1000).toFixed(1));
    return `${those.length} × ${kind} (from ${seconds[0]} s to ${seconds.at(-1)} s)`;
  });
}

/** The longest time in which no call that had begun in it was answered. */
export function longestSilence(calls: readonly Call[]): number {
  const answers = calls.filter(({ failure }) => failure === undefined).map(({ to }) => to);
  const sorted = [0, ...answers.toSorted((a, b) => a - b)];
  return Math.max(...sorted.slice(1).map((to, index) => to - (sorted[index] ?? 0)));
}
