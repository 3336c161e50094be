/** Hours of ordinary life for one operator: calls, Clusters that come and go, edits, cuts; does its memory grow? */

import { setTimeout as sleep } from "node:timers/promises";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { type ControlPlane, startControlPlane } from "../../test/controlplane/controlplane.ts";
import { installHookPolicy, NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { startProxy } from "../../test/controlplane/proxy.ts";
import { describeMachine, today } from "../machine.ts";
import type { PartResult } from "../result.ts";
import { HookCaller } from "../scale/calls.ts";
import { startShipped } from "../shipped.ts";
import { Churn } from "./churn.ts";
import { Lives } from "./lives.ts";
import { namespacedPolicies, waitingPolicy } from "./policies.ts";
import { type Reading, read, tell, type Traffic } from "./readings.ts";
import { resultOf } from "./report.ts";

export interface SoakOptions {
  readonly minutes: number;
  /** Ends the soak before its time, without a result. */
  readonly signal: AbortSignal;
}

type Progress = (line: string) => void;

const NAMESPACES = ["soak-a", "soak-b", "soak-c", "soak-d"];
const POPULATION = 120;
const CALLS_PER_SECOND = 25;
/** One call in so many comes on a connection of its own. */
const NEW_CONNECTION_EVERY = 50;
const SAMPLE_MS = 10_000;
const MAX_FAILURES_KEPT = 10;

export async function runSoak(progress: Progress, { minutes, signal }: SoakOptions): Promise<PartResult> {
  const cp = await startControlPlane({ progress });
  try {
    const { gitVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
    const { soak, stop } = await prepare(cp, minutes);
    progress(`${minutes} minutes of calls and churn begin`);
    try {
      const readings = await run(soak, { minutes, signal, progress });
      const { lives, churn, traffic } = soak;
      const machine = describeMachine({ "kube-apiserver": gitVersion });
      const lived = { minutes, readings, traffic, lives: lives.counts, churn: churn.counts };
      return { ...resultOf(lived), date: today(), machine };
    } finally {
      await stop();
    }
  } finally {
    await cp.stop();
  }
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
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  for (const name of NAMESPACES) {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await cp.apply(namespacedPolicies(name));
  }
  await cp.apply(waitingPolicy());
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", {
    server: proxy.url,
    expirationSeconds: minutes * 60 + 3600,
  });
  const operator = await startShipped(cp, { kubeconfig });
  const ca = cp.authority.certificate;
  const caller = new HookCaller({ port: operator.ports.webhook, ca, connections: 10 });
  const lives = new Lives(cp, NAMESPACES, POPULATION);
  const churn = new Churn({ cp, proxy, operator, lives, namespaces: NAMESPACES });
  const traffic: Traffic = { calls: 0, failed: 0, failures: [] };
  const stop = async (): Promise<void> => {
    caller.close();
    await proxy.stop();
  };
  return { soak: { cp, operator, caller, lives, churn, traffic }, stop };
}

interface Run extends SoakOptions {
  readonly progress: Progress;
}

async function run(soak: Soak, { minutes, signal, progress }: Run): Promise<Reading[]> {
  const stop = new AbortController();
  const end = AbortSignal.any([signal, stop.signal]);
  const calling = setInterval(() => void ask(soak), 1000 / CALLS_PER_SECOND);
  const churning = repeat(500, end, async () => {
    await Promise.all([soak.lives.advance(), soak.churn.advance()]);
  });
  const readings: Reading[] = [];
  const begun = performance.now();
  const reading = repeat(SAMPLE_MS, end, async () => {
    const failure = soak.cp.processes.failure();
    if (failure !== undefined) throw failure;
    const latest = await read(soak.operator, (performance.now() - begun) / 60_000);
    const before = readings.at(-1);
    readings.push(latest);
    if (Math.floor(latest.minute) > Math.floor(before?.minute ?? 0)) {
      progress(tell(readings, soak.traffic, soak.lives.counts));
    }
  });
  try {
    await Promise.race([churning, reading, sleep(minutes * 60_000, undefined, { signal: end })]);
  } finally {
    clearInterval(calling);
    stop.abort();
    await Promise.allSettled([churning, reading]);
  }
  return readings;
}

/** Until `signal` aborts; rejects with what `work` throws. */
async function repeat(ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await sleep(ms, undefined, { signal }).catch(() => undefined);
  }
}

async function ask({ caller, lives, traffic }: Soak): Promise<void> {
  const next = lives.nextAsked();
  if (next === undefined) return;
  const { life, hook, body } = next;
  const isNew = traffic.calls++ % NEW_CONNECTION_EVERY === 0;
  try {
    const answer = await (isNew ? caller.callOnNewConnection(hook, body) : caller.call(hook, body));
    if (answer.status !== "Success" || typeof answer.retryAfterSeconds !== "number") {
      throw new Error(`unexpected answer: ${answer.status} ${answer.message}`);
    }
    await lives.judge(life, hook, answer);
  } catch (error) {
    traffic.failed += 1;
    if (traffic.failures.length < MAX_FAILURES_KEPT) traffic.failures.push(String(error));
  }
}
