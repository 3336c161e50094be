/** One policy that holds every Cluster is edited, while calls come in. */

import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { waitFor } from "../../test/controlplane/waits.ts";
import type { HookCaller } from "../calls/caller.ts";
import { atPace } from "../calls/pace.ts";
import { EVERYTHING } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { between, type Buckets, bucketsOf } from "../measure/histogram.ts";
import { startProbes } from "../measure/probes.ts";
import { quantile, rounded } from "../measure/statistics.ts";
import { inRounds } from "../part.ts";
import { atMost, below, row, type Row } from "../result.ts";
import type { Lab } from "./lab.ts";

/** Milliseconds; the first three from the API server's answer to the edit on. */
interface Edit {
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

const CALLS_PER_SECOND = 100;
const WATCHED_MS = 3000;

export async function editRows(lab: Lab, operator: Operator, caller: HookCaller): Promise<Row[]> {
  const edits = await inRounds(lab, lab.size.editRounds, async (round) => {
    const edit = await measureEdit(lab, operator, caller, round);
    const { calls, ...rest } = edit;
    lab.progress(`edit ${round + 1}: ${JSON.stringify({ ...rest, slowest: Math.max(...calls) })}`);
    await settled(lab.cp, operator);
    return edit;
  });
  const samples = (of: Exclude<keyof Edit, "calls">): number[] => edits.map((edit) => rounded(edit[of]));
  const p99 = edits.map(({ calls }) => rounded(quantile(calls, 0.99)));
  const slowest = rounded(Math.max(...edits.flatMap(({ calls }) => calls)));
  const edited = "ClusterHookPolicy edited →";
  const unit = "ms";
  return [
    row("edit-answers", `${edited} no call gets the old answer`, samples("answered"), {
      unit,
      goal: below(1000),
    }),
    row("edit-decided", `${edited} decided for all Clusters`, samples("decided"), {
      unit,
      goal: atMost(1000),
      note: "upper bound of the bucket in the operator's own histogram",
    }),
    row("edit-status", `${edited} status of the new generation`, samples("status"), { unit }),
    row("edit-p99", `answers meanwhile, p99 at ${CALLS_PER_SECOND} calls/s`, p99, {
      unit,
      goal: below(20),
      note: `slowest ${slowest} ms`,
    }),
    row("edit-event-loop", "longest that the event loop is busy meanwhile", samples("blocked"), {
      unit,
      goal: atMost(25),
      note: "slowest of health checks that follow one another",
    }),
  ];
}

async function measureEdit(
  { cp, clusters }: Lab,
  operator: Operator,
  caller: HookCaller,
  round: number,
): Promise<Edit> {
  const message = `ask for number ${round}`;
  const before = await bucketsOf(operator, LATENCY);
  const stop = new AbortController();
  const all: Call[] = [];
  const traffic = atPace(CALLS_PER_SECOND, stop.signal, async (n) => {
    all.push(await ask(caller, clusters[(n * 97) % clusters.length], message)); // all over the fleet
  });
  await sleep(500); // calls are in flow
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
  await sleep(Math.max(0, WATCHED_MS - (performance.now() - edited)));
  const blocked = await probes();
  stop.abort();
  await traffic;
  const calls = all.filter(({ sent }) => sent >= begun);
  const decided = between(before, await bucketsOf(operator, LATENCY));
  return {
    answered: Math.max(0, ...calls.filter(({ isNew }) => !isNew).map(({ sent }) => sent - edited)),
    status,
    decided: bound(decided, clusters.length - calls.length),
    calls: calls.map(({ ms }) => ms),
    blocked,
  };
}

interface Call {
  readonly sent: number;
  readonly ms: number;
  readonly isNew: boolean;
}

async function ask(caller: HookCaller, cluster: KubeObject | undefined, message: string): Promise<Call> {
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
