/** One policy that holds every Cluster is edited, while calls come in. */

import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { bodyAbout } from "./bodies.ts";
import type { HookCaller } from "./calls.ts";
import { EVERYTHING } from "./fleet.ts";
import { startProbes } from "./probes.ts";

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
  const before = await decisions(operator);
  const traffic = startTraffic(parts, message);
  const probes = startProbes(operator);
  await sleep(500); // calls are in flow
  const { spec } = await cp.get(EVERYTHING);
  const rules = spec.rules.map((rule: object) => ({ ...rule, message }));
  traffic.begin();
  probes.begin();
  const { metadata } = await cp.patch(EVERYTHING, { spec: { rules } });
  const edited = performance.now();
  const status = await statusSeen(cp, metadata.generation ?? 0, edited);
  await sleep(Math.max(0, WATCHED_MS - (performance.now() - edited)));
  const [calls, blocked] = await Promise.all([traffic.end(), probes.end()]);
  const after = await decisions(operator);
  return {
    answered: Math.max(0, ...calls.filter(({ isNew }) => !isNew).map(({ sent }) => sent - edited)),
    status,
    decided: bound(before, after, parts.clusters.length - calls.length),
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

function startTraffic(
  { caller, clusters }: EditParts,
  message: string,
): { begin: () => void; end: () => Promise<Call[]> } {
  const calls: Call[] = [];
  const pending = new Set<Promise<void>>();
  let counted = false;
  let next = 0;
  const ask = async (): Promise<void> => {
    const cluster = clusters[(next++ * 97) % clusters.length]; // all over the fleet
    if (cluster === undefined) return;
    const body = bodyAbout(cluster);
    const sent = performance.now();
    const isCounted = counted;
    const answer = await caller.call("BeforeClusterDelete", body);
    if (isCounted) calls.push({ sent, ms: answer.ms, isNew: answer.message.includes(message) });
  };
  const timer = setInterval(() => {
    const call = ask().finally(() => pending.delete(call));
    pending.add(call);
  }, 1000 / CALLS_PER_SECOND);
  return {
    begin: () => {
      counted = true;
    },
    end: async () => {
      clearInterval(timer);
      await Promise.all(pending);
      return calls;
    },
  };
}

/** Cumulative counts by upper bound in seconds. */
type Buckets = ReadonlyMap<number, number>;

const BUCKET = /^hookpolicy_decision_latency_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm;

async function decisions(operator: Operator): Promise<Buckets> {
  const text = await operator.scrape();
  return new Map(
    [...text.matchAll(BUCKET)].map(([, le = "", count]) => [
      le === "+Inf" ? Infinity : Number(le),
      Number(count),
    ]),
  );
}

/** In milliseconds; at least so many were decided anew, or something else was measured: a call may come first. */
function bound(before: Buckets, after: Buckets, least: number): number {
  const counted = (le: number): number => (after.get(le) ?? 0) - (before.get(le) ?? 0);
  const all = counted(Infinity);
  if (all < least) throw new Error(`only ${all} decisions of at least ${least} have changed`);
  const found = [...after.keys()].toSorted((a, b) => a - b).find((le) => counted(le) === all);
  return (found ?? Infinity) * 1000;
}
