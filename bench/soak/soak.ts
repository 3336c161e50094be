/** Hours of ordinary life for one operator: calls, Clusters that come and go, edits, cuts; does its memory grow? */

import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { startProxy } from "../../test/controlplane/proxy.ts";
import { HookCaller } from "../calls/caller.ts";
import { atPace, repeat } from "../calls/pace.ts";
import type { Noise } from "../measure/noise.ts";
import { onControlPlane, type Progress, QUICK, resultOf } from "../part.ts";
import type { PartResult } from "../result.ts";
import { startShipped } from "../shipped.ts";
import { Churn } from "./churn.ts";
import { Lives } from "./lives.ts";
import { storeAll } from "./policies.ts";
import { notesOf, type Reading, read, tableOf, tell, type Traffic } from "./report.ts";

const NAMESPACES = ["soak-a", "soak-b", "soak-c", "soak-d"];
const POPULATION = 120;
const CALLS_PER_SECOND = 25;
/** One call in so many comes on a connection of its own. */
const NEW_CONNECTION_EVERY = 50;
const CONNECTIONS = 10;
const SAMPLE_MS = 10_000;
const STEP_MS = 500;
const MAX_FAILURES_KEPT = 10;

/** MINUTES: how long; an hour, unless it says otherwise. */
export async function runSoak(progress: Progress): Promise<PartResult> {
  const minutes = Number(process.env["MINUTES"] ?? (QUICK ? 2 : 60));
  if (!(minutes > 0)) throw new Error(`MINUTES is ${process.env["MINUTES"]}; allowed: a number above 0`);
  return await onControlPlane(progress, async (site) => {
    const { cp, versions, noise } = site;
    const { soak, stop } = await prepare(cp, minutes);
    progress(`${minutes} minutes of calls and churn begin`);
    try {
      const readings = await run(soak, { minutes, noise, progress });
      const { traffic, lives, churn } = soak;
      const lived = { minutes, readings, traffic, lives: lives.counts, churn: churn.counts, noise };
      return resultOf("soak", {
        command: `make soak MINUTES=${minutes}`,
        versions,
        tables: [tableOf(lived)],
        notes: notesOf(lived),
      });
    } finally {
      await stop();
    }
  });
}

interface Soak {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  readonly caller: HookCaller;
  readonly lives: Lives;
  readonly churn: Churn;
  readonly traffic: Traffic;
}

async function prepare(
  cp: ControlPlane,
  minutes: number,
): Promise<{ soak: Soak; stop: () => Promise<void> }> {
  await storeAll(cp, NAMESPACES);
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", {
    server: proxy.url,
    expirationSeconds: minutes * 60 + 3600,
  });
  const operator = await startShipped(cp, { kubeconfig });
  const caller = new HookCaller(cp, operator, CONNECTIONS);
  const lives = new Lives(cp, NAMESPACES, POPULATION);
  const churn = new Churn({ cp, proxy, operator, lives, namespaces: NAMESPACES });
  const traffic: Traffic = { calls: 0, failed: 0, failures: [] };
  const stop = async (): Promise<void> => {
    caller.close();
    await proxy.stop();
  };
  return { soak: { cp, operator, caller, lives, churn, traffic }, stop };
}

interface Run {
  readonly minutes: number;
  readonly noise: Noise;
  readonly progress: Progress;
}

async function run(soak: Soak, { minutes, noise, progress }: Run): Promise<Reading[]> {
  const end = new AbortController();
  const { signal } = end;
  const calling = atPace(CALLS_PER_SECOND, signal, async () => await ask(soak));
  const churning = repeat(STEP_MS, signal, async () => {
    await Promise.all([soak.lives.advance(), soak.churn.advance()]);
  });
  const readings: Reading[] = [];
  const begun = performance.now();
  const reading = repeat(SAMPLE_MS, signal, async () => {
    const failure = soak.cp.processes.failure();
    if (failure !== undefined) throw failure;
    const latest = await read(soak.operator, (performance.now() - begun) / 60_000);
    const before = readings.at(-1);
    readings.push(latest);
    if (Math.floor(latest.minute) === Math.floor(before?.minute ?? 0)) return;
    noise.sample();
    progress(tell(latest, soak.traffic, soak.lives.counts));
  });
  try {
    await Promise.race([churning, reading, sleep(minutes * 60_000, undefined, { signal })]);
  } finally {
    end.abort();
    await Promise.allSettled([calling, churning, reading]);
  }
  return readings;
}

async function ask({ caller, lives, traffic }: Soak): Promise<void> {
  const next = lives.nextAsked();
  if (next === undefined) return;
  const { life, hook, body } = next;
  const isNew = traffic.calls++ % NEW_CONNECTION_EVERY === 0;
  try {
    const answer = await (isNew ? caller.callOnNewConnection(hook, body) : caller.call(hook, body));
    if (answer.status !== "Success") {
      throw new Error(`unexpected answer: ${answer.status} ${answer.message}`);
    }
    await lives.judge(life, hook, answer);
  } catch (error) {
    traffic.failed += 1;
    if (traffic.failures.length < MAX_FAILURES_KEPT) traffic.failures.push(String(error));
  }
}
