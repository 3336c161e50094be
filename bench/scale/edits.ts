/** One policy that holds every Cluster is edited, while calls come in. */

import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import type { HookCaller } from "../calls/caller.ts";
import { atPace } from "../calls/pace.ts";
import { EVERYTHING } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { between, type Buckets, bucketsOf } from "../measure/histogram.ts";
import { startProbes } from "../measure/probes.ts";

/** Milliseconds; the first three from the API server's answer to the edit on. */
export interface Edit {
  /** Until the last call that got the answer of before had been sent. */
  readonly answered: number;
  /** Until the status was about the new generation. */
  readonly status: number;
  /** Upper bound of the operator's own histogram for the last decision that changed. */
  readonly decided: number;
  /** Of each call in the three seconds after the edit. */
  readonly calls: readonly number[];
  /** The longest that the health check, asked again and again, took to answer in these. */
  readonly blocked: number;
}

export interface EditParts {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  readonly caller: HookCaller;
  readonly clusters: readonly KubeObject[];
}

const CALLS_PER_SECOND = 100;
const WATCHED_MS = 3000;
const LIMIT_MS = 60_000;

export async function measureEdit(parts: EditParts, round: number): Promise<Edit> {
  const { cp, operator } = parts;
  const message = `ask for number ${round}`;
  const before = await bucketsOf(operator, LATENCY);
  const stop = new AbortController();
  const all: Call[] = [];
  const traffic = atPace(CALLS_PER_SECOND, stop.signal, async (n) => {
    all.push(await ask(parts, n, message));
  });
  await sleep(500); // calls are in flow
  const { spec } = await cp.get(EVERYTHING);
  const rules = spec.rules.map((rule: object) => ({ ...rule, message }));
  const probes = startProbes(operator);
  const begun = performance.now();
  const { metadata } = await cp.patch(EVERYTHING, { spec: { rules } });
  const edited = performance.now();
  const status = await statusSeen(cp, metadata.generation ?? 0, edited);
  await sleep(Math.max(0, WATCHED_MS - (performance.now() - edited)));
  const blocked = await probes();
  stop.abort();
  await traffic;
  const calls = all.filter(({ sent }) => sent >= begun);
  const decided = between(before, await bucketsOf(operator, LATENCY));
  return {
    answered: Math.max(0, ...calls.filter(({ isNew }) => !isNew).map(({ sent }) => sent - edited)),
    status,
    decided: bound(decided, parts.clusters.length - calls.length),
    calls: calls.map(({ ms }) => ms),
    blocked,
  };
}

async function statusSeen(cp: ControlPlane, generation: number, since: number): Promise<number> {
  for (;;) {
    const { status } = await cp.get(EVERYTHING);
    if (status?.observedGeneration === generation) return performance.now() - since;
    if (performance.now() - since > LIMIT_MS) throw new Error("the status does not follow the edit");
    await sleep(10);
  }
}

interface Call {
  readonly sent: number;
  readonly ms: number;
  readonly isNew: boolean;
}

async function ask({ caller, clusters }: EditParts, n: number, message: string): Promise<Call> {
  const cluster = clusters[(n * 97) % clusters.length]; // all over the fleet
  if (cluster === undefined) throw new Error("there is no Cluster to ask about");
  const body = requestAbout(cluster);
  const sent = performance.now();
  const answer = await caller.call("BeforeClusterDelete", body);
  return { sent, ms: answer.ms, isNew: answer.message.includes(message) };
}

const LATENCY = "hookpolicy_decision_latency_seconds";

/** In milliseconds; at least so many were decided anew, or something else was measured: a call may come first. */
function bound(counted: Buckets, least: number): number {
  const all = counted.get(Infinity) ?? 0;
  if (all < least) throw new Error(`only ${all} decisions of at least ${least} have changed`);
  const [found = Infinity] = [...counted].find(([, count]) => count === all) ?? [];
  return found * 1000;
}
