/** Everything that is measured of a HookRollout over a fleet of one size, with two replicas. */

import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { HookRolloutStatus } from "../../src/api/hookpolicy.ts";
import { hookPath } from "../../src/api/hookcatalog.ts";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../../test/controlplane/controlplane.ts";
import { installHookPolicy, NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { HookCaller } from "../scale/calls.ts";
import { startProbes } from "../scale/probes.ts";
import { startShipped } from "../shipped.ts";
import { callUnderLoad, type LoadResult } from "../speed/load.ts";
import { cpuSeconds } from "../speed/servers.ts";
import { Callers, type Go } from "./callers.ts";
import {
  beginUpgrade,
  createWaiting,
  endUpgrade,
  RETRY_SECONDS,
  rollout,
  ROLLOUT,
  upgradeRequest,
} from "./fleet.ts";
import { between, type Requests, requestsUntilNow } from "./requests.ts";

export interface RolloutSize {
  readonly clusters: number;
  readonly slots: number;
  /** How many upgrades end, one after the other. */
  readonly ends: number;
  readonly endsPerSecond: number;
  readonly loadSeconds: number;
  readonly restSeconds: number;
}

/** CPU seconds per second of the replica that is called, and of the one that leads. */
export interface Cpu {
  readonly called: number;
  readonly leader: number;
}

export interface Measured {
  readonly size: RolloutSize;
  readonly kubeVersion: string;
  /** Seconds from the first call until every slot is taken. */
  readonly fillSeconds: number;
  /** Milliseconds from the end of an upgrade until the go that took its slot. */
  readonly freeFor: readonly number[];
  /** Of each call that was answered with a go while upgrades ended, and of those that were held meanwhile. */
  readonly goMs: readonly number[];
  readonly heldMs: readonly number[];
  /** From the first call on. */
  readonly unanswered: number;
  /** While upgrades ended. */
  readonly turnover: Requests & { readonly gos: number; readonly cpu: Cpu };
  /** The longest that the health checks of the two took to answer meanwhile. */
  readonly blockedMs: Cpu;
  /** All slots are taken, and all others ask. */
  readonly load: LoadResult & { readonly cpu: Cpu };
  /** Nothing changes and nothing asks. */
  readonly rest: Requests & { readonly cpu: Cpu };
  readonly statusBytes: number;
  /** Of the machine, as the kernel tells it, before each part. */
  readonly loadAverages: Readonly<Record<"turnover" | "load" | "rest", number>>;
}

type Progress = (line: string) => void;

/** A call that is being confirmed keeps one; those that are held must not wait for it. */
const CONNECTIONS = 300;
const LIMIT_MS = 600_000;

/** With a control plane of its own. */
export async function measureRollout(size: RolloutSize, progress: Progress): Promise<Measured> {
  const { load } = await benchBinaries(progress);
  const cp = await startControlPlane({ progress });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const { gitVersion: kubeVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
    const clusters = await createWaiting(cp, size.clusters, progress);
    await cp.create(rollout(size.slots));
    const replicas = await startReplicas(cp);
    const lab = { cp, size, clusters, load, progress, ...replicas };
    const { waiting, ...turnover } = await measureTurnover(lab);
    const statusBytes = Buffer.byteLength(JSON.stringify(await statusOf(cp)));
    const rest = await measureRest(lab, waiting);
    const loadAverages = { ...turnover.loadAverages, ...rest.loadAverages };
    return { size, kubeVersion, statusBytes, ...turnover, ...rest, loadAverages };
  } finally {
    await cp.stop();
  }
}

interface Replicas {
  readonly leader: Operator;
  /** Cluster API keeps its connections, so that one replica answers all calls: here the one that does not lead. */
  readonly called: Operator;
}

async function startReplicas(cp: ControlPlane): Promise<Replicas> {
  const start = async (name: string): Promise<Operator> =>
    await startShipped(cp, { name, flags: { "leader-elect": "true", namespace: NAMESPACE } });
  const leader = await start("hookpolicy-leader");
  await cp.waitFor("the first replica to lead", async () => (await leader.metric("hookpolicy_leader")) === 1);
  return { leader, called: await start("hookpolicy-called") };
}

interface Lab extends Replicas {
  readonly cp: ControlPlane;
  readonly size: RolloutSize;
  readonly clusters: readonly KubeObject[];
  /** The load generator. */
  readonly load: string;
  readonly progress: Progress;
}

async function statusOf(cp: ControlPlane): Promise<HookRolloutStatus> {
  return (await cp.get(ROLLOUT)).status ?? {};
}

type Turnover = Pick<
  Measured,
  "fillSeconds" | "freeFor" | "goMs" | "heldMs" | "unanswered" | "turnover" | "blockedMs"
>;

async function measureTurnover(
  lab: Lab,
): Promise<Turnover & { waiting: KubeObject[]; loadAverages: { turnover: number } }> {
  const { cp, called, leader, size, clusters, progress } = lab;
  const caller = new HookCaller({
    port: called.ports.webhook,
    ca: cp.authority.certificate,
    connections: CONNECTIONS,
  });
  const gos: Go[] = [];
  const begins = new Set<Promise<void>>();
  const onGo = (go: Go): void => {
    gos.push(go);
    begins.add(beginUpgrade(cp, go.cluster));
  };
  const callers = new Callers({ caller, clusters, onGo });
  const begun = performance.now();
  callers.start();
  await cp.waitFor("every slot to be taken", () => gos.length >= size.slots, LIMIT_MS);
  const fillSeconds = (performance.now() - begun) / 1000;
  progress(`${gos.length} slots taken in ${fillSeconds.toFixed(1)} s`);
  await sleep(2 * RETRY_SECONDS * 1000);
  const running = gos.splice(0);
  callers.held = [];
  const loadAverages = { turnover: loadavg()[0] ?? NaN };
  const probes = { called: startProbes(called), leader: startProbes(leader) };
  probes.called.begin();
  probes.leader.begin();
  const before = await requestsUntilNow(cp);
  const cpu = cpuOf(lab);
  const freed: number[] = [];
  for (const { cluster } of running.slice(0, size.ends)) {
    await Promise.all([endUpgrade(cp, cluster), sleep(1000 / size.endsPerSecond)]);
    freed.push(performance.now());
  }
  await cp.waitFor("every free slot to be taken", () => gos.length >= size.ends, LIMIT_MS);
  const turnover = { ...between(before, await requestsUntilNow(cp)), gos: gos.length, cpu: cpu() };
  const blockedMs = { called: await probes.called.end(), leader: await probes.leader.end() };
  await Promise.all(begins);
  const waiting = await callers.stop();
  caller.close();
  const freeFor = freed.map((at, index) => (gos[index]?.at ?? NaN) - at);
  progress(
    `turnover: ${JSON.stringify({ turnover, blockedMs, slowest: Math.max(...freeFor), unanswered: callers.unanswered })}`,
  );
  const goMs = gos.map(({ ms }) => ms);
  return {
    fillSeconds,
    freeFor,
    goMs,
    heldMs: callers.held,
    unanswered: callers.unanswered,
    turnover,
    blockedMs,
    waiting,
    loadAverages,
  };
}

/** Begins to count; the function gives the shares of a core until then. */
function cpuOf({ called, leader }: Replicas): () => Cpu {
  const read = (): Cpu => ({
    called: cpuSeconds(called.daemon.pid),
    leader: cpuSeconds(leader.daemon.pid),
  });
  const [began, before] = [performance.now(), read()];
  return () => {
    const [seconds, now] = [(performance.now() - began) / 1000, read()];
    return { called: (now.called - before.called) / seconds, leader: (now.leader - before.leader) / seconds };
  };
}

async function measureRest(
  lab: Lab,
  waiting: readonly KubeObject[],
): Promise<Pick<Measured, "load" | "rest"> & { loadAverages: { load: number; rest: number } }> {
  const { cp, called, load, size, progress } = lab;
  const bodiesFile = join(cp.folder, "bodies");
  await writeFile(bodiesFile, linesOf(waiting));
  await settled(lab);
  const loadAverage = loadavg()[0] ?? NaN;
  const cpu = cpuOf(lab);
  const url = `${called.url.replace(/\/$/, "")}${hookPath("BeforeClusterUpgrade")}?timeout=10s`;
  const result = await callUnderLoad(load, {
    url,
    bodiesFile,
    seconds: size.loadSeconds,
    connections: Math.min(CONNECTIONS, waiting.length),
    rate: Math.ceil(waiting.length / RETRY_SECONDS),
    fresh: false,
  });
  const loaded = { ...result, cpu: cpu() };
  progress(`all ask: ${JSON.stringify(loaded)}`);
  await settled(lab);
  const restAverage = loadavg()[0] ?? NaN;
  const [before, idle] = [await requestsUntilNow(cp), cpuOf(lab)];
  await sleep(size.restSeconds * 1000);
  const rest = { ...between(before, await requestsUntilNow(cp)), cpu: idle() };
  progress(`rest: ${JSON.stringify(rest)}`);
  return { load: loaded, rest, loadAverages: { load: loadAverage, rest: restAverage } };
}

/** The status tells every slot, and nothing is written any more. */
async function settled({ cp, size }: Lab): Promise<void> {
  let before = "";
  await cp.waitFor(
    "the rollout to come to rest",
    async () => {
      const { metadata, status } = await cp.get(ROLLOUT);
      const isSame = metadata.resourceVersion === before && status?.running?.length === size.slots;
      before = metadata.resourceVersion ?? "";
      await sleep(5000);
      return isSame;
    },
    LIMIT_MS,
  );
}

function* linesOf(clusters: readonly KubeObject[]): Iterable<string> {
  for (const cluster of clusters) yield `${upgradeRequest(cluster).toString()}\n`;
}
