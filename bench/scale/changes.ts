/** How soon a change in the API server changes the answers: an approval, and an edit of a policy that holds every Cluster. */

import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { waitFor } from "../../test/controlplane/waits.ts";
import { callHook, type HookServer } from "../calls/caller.ts";
import { atPace } from "../calls/pace.ts";
import { APPROVED, EVERYTHING, inTurn } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { between, type Buckets, bucketsOf } from "../measure/histogram.ts";
import { startProbes } from "../measure/probes.ts";
import { median, quantile, rounded } from "../measure/statistics.ts";
import { inRounds } from "../part.ts";
import { atMost, below, type Goal, row, type Row } from "../result.ts";
import type { Lab } from "./lab.ts";

const LIMIT_MS = 30_000;

/** Longer than the 100 ms after which the API server asks etcd again how new its cache is. */
const PAUSE_MS = [150, 600] as const;

export async function approvalRows(lab: Lab, server: HookServer): Promise<Row[]> {
  const [least, most] = PAUSE_MS;
  const apart = await approvals(lab, server, () => sleep(least + Math.random() * (most - least)));
  const inARow = await approvals(lab, server, () => Promise.resolve());
  const work = "annotation set → answer changes, p99";
  return [
    row("annotation", work, ...p99Of(apart, below(120))),
    row("annotation-in-a-row", `${work}, one approval right after the other`, ...p99Of(inARow)),
  ];
}

/** The latencies of each round. */
async function approvals(lab: Lab, server: HookServer, pause: () => Promise<void>): Promise<number[][]> {
  const { cp, clusters, size, progress } = lab;
  const { approvalRounds, approvalsPerRound } = size;
  return await inRounds(lab, approvalRounds, async (round) => {
    const latencies: number[] = [];
    for (const cluster of clusters.slice(round * approvalsPerRound, (round + 1) * approvalsPerRound)) {
      await pause();
      latencies.push(await approve(cp, server, cluster));
    }
    progress(`approvals: round ${round + 1} of ${approvalRounds}`);
    return latencies;
  });
}

function p99Of(rounds: readonly number[][], goal?: Goal): readonly [number[], Parameters<typeof row>[3]] {
  const note = `p50 ${rounded(median(rounds.flat()))} ms, ${rounds.flat().length} changes`;
  return [rounds.map((latencies) => rounded(quantile(latencies, 0.99))), { unit: "ms", goal, note }];
}

/**
 * Milliseconds from the API server's answer to the annotation until the first call that is released; calls follow one
 * another. The annotation is removed afterwards.
 */
async function approve(cp: ControlPlane, server: HookServer, cluster: KubeObject): Promise<number> {
  const { namespace = "", name } = cluster.metadata;
  const annotate = async (value: string | null): Promise<unknown> =>
    await cp.patch(clusterRef(namespace, name), { metadata: { annotations: { [APPROVED]: value } } });
  const call = { ...server, body: requestAbout(cluster) };
  await annotate("yes");
  const annotated = performance.now();
  while ((await callHook("BeforeClusterDelete", call)).retryAfterSeconds !== 0) {
    if (performance.now() - annotated > LIMIT_MS) throw new Error(`${namespace}/${name} is never released`);
  }
  const latency = performance.now() - annotated;
  await annotate(null);
  return latency;
}

/** Milliseconds, the first three from the API server's answer to the edit. */
interface Edit {
  /** Until the operator had received the last call that it answered as before the edit. */
  readonly answered: number;
  /** Until the status was about the new generation. */
  readonly status: number;
  /** Until the last changed decision: an upper bound, from the operator's own histogram. */
  readonly decided: number;
  readonly p99: number;
  readonly slowest: number;
  /** The slowest answer of the health check. */
  readonly blocked: number;
}

const CALLS_PER_SECOND = 100;
const WATCHED_MS = 3000;
const LATENCY = "hookpolicy_decision_latency_seconds";

export async function editRows(lab: Lab, operator: Operator, server: HookServer): Promise<Row[]> {
  const edits = await inRounds(lab, lab.size.editRounds, async (round) => {
    const edit = await measureEdit(lab, operator, server, `ask for number ${round}`);
    lab.progress(`edit ${round + 1}: ${JSON.stringify(edit)}`);
    await settled(lab.cp, operator);
    return edit;
  });
  const samples = (of: keyof Edit): number[] => edits.map((edit) => rounded(edit[of]));
  const ms = (of: keyof Edit, goal?: Goal, note?: string): readonly [number[], Parameters<typeof row>[3]] => [
    samples(of),
    { unit: "ms", goal, note },
  ];
  const edited = "ClusterHookPolicy edited →";
  const bucket = "upper bound of the bucket in the operator's own histogram";
  const slowest = `slowest ${Math.max(...samples("slowest"))} ms`;
  const checks = "slowest of health checks that follow one another";
  return [
    row("edit-answers", `${edited} no call gets the old answer`, ...ms("answered", below(1000))),
    row("edit-decided", `${edited} decided for all Clusters`, ...ms("decided", atMost(1000), bucket)),
    row("edit-status", `${edited} status of the new generation`, ...ms("status")),
    row(
      "edit-p99",
      `answers meanwhile, p99 at ${CALLS_PER_SECOND} calls/s`,
      ...ms("p99", below(20), slowest),
    ),
    row(
      "edit-event-loop",
      "longest that the event loop is busy meanwhile",
      ...ms("blocked", atMost(25), checks),
    ),
  ];
}

interface Call {
  readonly sent: number;
  readonly ms: number;
  readonly isNew: boolean;
}

async function measureEdit(
  { cp, clusters }: Lab,
  operator: Operator,
  server: HookServer,
  message: string,
): Promise<Edit> {
  const before = await bucketsOf(operator, LATENCY);
  const stop = new AbortController();
  const all: Call[] = [];
  const traffic = atPace(CALLS_PER_SECOND, stop.signal, async (n) => {
    const body = requestAbout(inTurn(clusters, n * 97)); // all over the fleet
    const sent = performance.now();
    const answer = await callHook("BeforeClusterDelete", { ...server, body });
    all.push({ sent, ms: answer.ms, isNew: answer.message.includes(message) });
  });
  await sleep(500); // calls come in before the edit
  const { spec } = await cp.get(EVERYTHING);
  const rules = spec.rules.map((rule: object) => ({ ...rule, message }));
  const probes = startProbes(operator);
  const begun = performance.now();
  const { metadata } = await cp.patch(EVERYTHING, { spec: { rules } });
  const edited = performance.now();
  const isSeen = async (): Promise<boolean> =>
    (await cp.get(EVERYTHING)).status?.observedGeneration === metadata.generation;
  await waitFor("the status to follow the edit", isSeen, { everyMs: 10 });
  const status = performance.now() - edited;
  await sleep(Math.max(0, WATCHED_MS - status));
  const blocked = await probes();
  stop.abort();
  await traffic;
  const calls = all.filter(({ sent }) => sent >= begun);
  const times = calls.map(({ ms }) => ms);
  const decided = between(before, await bucketsOf(operator, LATENCY));
  return {
    answered: Math.max(0, ...calls.filter(({ isNew }) => !isNew).map(({ sent }) => sent - edited)),
    status,
    decided: bound(decided, clusters.length - calls.length),
    p99: quantile(times, 0.99),
    slowest: Math.max(...times),
    blocked,
  };
}

/**
 * The smallest bound of the histogram, in milliseconds, below which all decisions are. Rejects fewer decisions than
 * `least`: the edit then was not what changed them. A call may have decided about its Cluster first.
 */
function bound(counted: Buckets, least: number): number {
  const all = counted.get(Infinity) ?? 0;
  if (all < least) throw new Error(`only ${all} decisions of at least ${least} have changed`);
  const [found = Infinity] = [...counted].find(([, count]) => count === all) ?? [];
  return found * 1000;
}
