/**
 * Hours of ordinary life for one operator, to see whether its memory grows. A higher pace brings as many calls and changes in
 * less time: memory that each of them leaves behind shows as well, memory that only time leaves behind does not.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { NAMESPACE } from "../../test/controlplane/operator.ts";
import { startProxy } from "../../test/controlplane/proxy.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import { callHook, keptConnections } from "../calls/caller.ts";
import { atPace, repeat } from "../calls/pace.ts";
import { onControlPlane, type Progress, QUICK, resultOf, type Site } from "../part.ts";
import type { PartResult } from "../result.ts";
import { churn, type ChurnParts, type Counts } from "./churn.ts";
import { Lives } from "./lives.ts";
import { storeAll } from "./policies.ts";
import { notesOf, type Reading, read, rowsOf, type SoakResult, type Traffic } from "./report.ts";

const NAMESPACES = ["soak-a", "soak-b", "soak-c", "soak-d"];
const POPULATION = 120;
const CALLS_PER_SECOND = 25;
/** One call in so many comes over a connection of its own. */
const NEW_CONNECTION_EVERY = 50;
/** Kept ones, at the pace of ordinary life. */
const CONNECTIONS = 10;
const SAMPLE_MS = 10_000;
const MAX_FAILURES_KEPT = 10;

/** MINUTES says how long it takes (default: an hour), PACE how many times as much happens meanwhile (default: 1). */
export async function runSoak(progress: Progress): Promise<PartResult> {
  const minutes = above0("MINUTES", QUICK ? 2 : 60);
  const pace = above0("PACE", 1);
  return await onControlPlane(progress, async (site) => {
    const { cp, versions, noise } = site;
    await storeAll(cp, NAMESPACES);
    const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    const token = { server: proxy.url, expirationSeconds: minutes * 60 + 3600 };
    const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", token);
    const operator = await startShipped(cp, { kubeconfig });
    const lives = new Lives(cp, NAMESPACES, pace);
    progress(`${minutes} minutes of calls and churn begin, at ${pace} times the pace of ordinary life`);
    try {
      const soaked = await soak(site, { cp, proxy, operator, lives, namespaces: NAMESPACES, pace }, minutes);
      return resultOf("soak", {
        command: `make soak MINUTES=${minutes}${pace === 1 ? "" : ` PACE=${pace}`}`,
        versions,
        tables: [{ title: titleOf(minutes, pace), rows: [...rowsOf(soaked), noise.row("soak")] }],
        notes: notesOf(soaked),
      });
    } finally {
      await proxy.stop();
    }
  });
}

function above0(name: string, normal: number): number {
  const value = Number(process.env[name] ?? normal);
  if (value > 0 && value < Infinity) return value;
  throw new Error(`${name} is ${process.env[name]}; allowed: a number above 0`);
}

function titleOf(minutes: number, pace: number): string {
  const title = `${minutes} minutes with churn`;
  return pace === 1 ? title : `${title} at ${pace} times the pace: what ${minutes * pace} minutes bring`;
}

async function soak({ noise, progress }: Site, parts: ChurnParts, minutes: number): Promise<SoakResult> {
  const { cp, operator, lives, pace } = parts;
  const traffic: Traffic = { calls: 0, failed: 0, failures: [] };
  const counts: Counts = new Map();
  const readings: Reading[] = [];
  const end = new AbortController();
  const { signal } = end;
  const begun = performance.now();
  const reading = async (): Promise<void> => {
    const failure = cp.processes.failure();
    if (failure !== undefined) throw failure;
    const latest = await read(operator, (performance.now() - begun) / 60_000);
    const before = readings.at(-1)?.minute ?? 0;
    readings.push(latest);
    if (Math.floor(latest.minute) === Math.floor(before)) return;
    noise.sample();
    progress(JSON.stringify({ ...latest, ...traffic, ...lives.counts }));
  };
  const running = [
    churn(parts, counts, signal),
    lives.run(POPULATION, signal),
    repeat(SAMPLE_MS, signal, reading),
  ];
  const calling = atPace(CALLS_PER_SECOND * pace, signal, asker(parts, traffic));
  try {
    await Promise.race([...running, sleep(minutes * 60_000, undefined, { signal })]);
  } finally {
    end.abort();
    await Promise.allSettled([...running, calling]);
  }
  return { readings, pace, traffic, lives: lives.counts, churn: counts };
}

function asker({ cp, operator, lives, pace }: ChurnParts, traffic: Traffic): () => Promise<void> {
  const kept = keptConnections(cp, operator, Math.ceil(CONNECTIONS * pace));
  return async () => {
    const life = lives.nextAsked();
    if (life?.hook === undefined) return;
    const { hook, body } = life;
    const isNew = traffic.calls++ % NEW_CONNECTION_EVERY === 0;
    try {
      const { retryAfterSeconds } = await callHook(hook, { ...kept, body, ...(isNew && { agent: false }) });
      if (retryAfterSeconds === 0) lives.release(life, hook);
    } catch (error) {
      traffic.failed += 1;
      if (traffic.failures.length < MAX_FAILURES_KEPT) traffic.failures.push(String(error));
    }
  };
}
