/** Everything that is measured of a HookRollout over a fleet of one size, with two replicas. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import type { KubeObject, Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { storeRollout } from "../../test/controlplane/policies.ts";
import { HookCaller } from "../calls/caller.ts";
import { callUnderLoad, hookUrl, type LoadResult, writeBodies } from "../calls/generator.ts";
import { rests } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import type { Noise } from "../measure/noise.ts";
import { startProbes } from "../measure/probes.ts";
import { countRequests, type Requests } from "../measure/requests.ts";
import { kubeVersionOf, onControlPlane, type Progress, type Site } from "../part.ts";
import { startShipped } from "../shipped.ts";
import { Callers, type Go } from "./callers.ts";
import {
  beginUpgrade,
  createWaiting,
  endUpgrade,
  RETRY_SECONDS,
  rolloutSpec,
  upgradeRequest,
} from "./fleet.ts";

export interface RolloutSize {
  readonly clusters: number;
  readonly slots: number;
  /** How many upgrades end, one after the other. */
  readonly ends: number;
  readonly endsPerSecond: number;
  readonly loadSeconds: number;
  readonly restSeconds: number;
}

/** Of the replica that is called, and of the one that leads. */
export interface Both {
  readonly called: number;
  readonly leader: number;
}

/** `cpu`: CPU seconds per second. */
type Cost = Requests & { readonly cpu: Both };

export interface Turnover {
  /** Seconds from the first call until every slot is taken. */
  readonly fillSeconds: number;
  /** Milliseconds from the end of an upgrade until the go that took its slot. */
  readonly freeFor: readonly number[];
  /** Of each call that was answered with a go while upgrades ended, and of those that were held meanwhile. */
  readonly goMs: readonly number[];
  readonly heldMs: readonly number[];
  /** From the first call on. */
  readonly unanswered: number;
  readonly cost: Cost;
  /** The longest that the health checks took to answer meanwhile. */
  readonly blockedMs: Both;
}

export interface Measured {
  readonly size: RolloutSize;
  readonly kubeVersion: string;
  readonly turnover: Turnover;
  readonly statusBytes: number;
  /** All slots are taken, and all others ask. */
  readonly load: LoadResult & { readonly cpu: Both };
  /** Nothing changes and nothing asks. */
  readonly rest: Cost;
  readonly noise: Noise;
}

/** A call that is being confirmed keeps one; those that are held must not wait for it. */
const CONNECTIONS = 300;
const LIMIT_MS = 600_000;

interface Replicas {
  readonly leader: Operator;
  /** Cluster API keeps its connections, so that one replica answers all calls: here the one that does not lead. */
  readonly called: Operator;
}

interface Lab extends Replicas, Site {
  readonly size: RolloutSize;
  readonly rollout: Ref;
  readonly clusters: readonly KubeObject[];
  /** The load generator. */
  readonly generator: string;
}

/** With a control plane of its own. */
export async function measureRollout(size: RolloutSize, progress: Progress): Promise<Measured> {
  const { load: generator } = await benchBinaries(progress);
  return await onControlPlane(progress, async (site) => {
    const { cp, noise } = site;
    const clusters = await createWaiting(cp, size.clusters, progress);
    const rollout = await storeRollout(cp, "upgrades", rolloutSpec(size.slots));
    const lab = { ...site, size, rollout, clusters, generator, ...(await startReplicas(cp)) };
    const { waiting, ...turnover } = await measureTurnover(lab);
    progress(`turnover: ${JSON.stringify({ ...turnover, heldMs: undefined })}`);
    const statusBytes = Buffer.byteLength(JSON.stringify((await cp.get(rollout)).status));
    const load = await measureLoad(lab, waiting);
    const rest = await measureRest(lab);
    return { size, kubeVersion: await kubeVersionOf(site), turnover, statusBytes, load, rest, noise };
  });
}

async function startReplicas(cp: ControlPlane): Promise<Replicas> {
  const start = async (name: string): Promise<Operator> =>
    await startShipped(cp, { name, flags: { "leader-elect": "true", namespace: NAMESPACE } });
  const leader = await start("hookpolicy-leader");
  await cp.waitFor("the first replica to lead", async () => (await leader.metric("hookpolicy_leader")) === 1);
  return { leader, called: await start("hookpolicy-called") };
}

async function measureTurnover(lab: Lab): Promise<Turnover & { readonly waiting: KubeObject[] }> {
  const { cp, called, leader, size, clusters, noise, progress } = lab;
  const caller = new HookCaller(cp, called, CONNECTIONS);
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
  noise.sample();
  callers.held = [];
  const probes = { called: startProbes(called), leader: startProbes(leader) };
  const cost = await costOf(lab);
  const freed: number[] = [];
  for (const { cluster } of running.slice(0, size.ends)) {
    await Promise.all([endUpgrade(cp, cluster), sleep(1000 / size.endsPerSecond)]);
    freed.push(performance.now());
  }
  await cp.waitFor("every free slot to be taken", () => gos.length >= size.ends, LIMIT_MS);
  const spent = await cost();
  const blockedMs = { called: await probes.called(), leader: await probes.leader() };
  await Promise.all(begins);
  const waiting = await callers.stop();
  caller.close();
  return {
    fillSeconds,
    freeFor: freed.map((at, index) => (gos[index]?.at ?? NaN) - at),
    goMs: gos.map(({ ms }) => ms),
    heldMs: callers.held,
    unanswered: callers.unanswered,
    cost: spent,
    blockedMs,
    waiting,
  };
}

/** Begins to count; the function gives what it has cost until then. */
async function costOf({ cp, called, leader }: Lab): Promise<() => Promise<Cost>> {
  const read = (): Both => ({ called: cpuSeconds(called.daemon.pid), leader: cpuSeconds(leader.daemon.pid) });
  const requests = await countRequests(cp);
  const [began, before] = [performance.now(), read()];
  return async () => {
    const [seconds, now] = [(performance.now() - began) / 1000, read()];
    const cpu = {
      called: (now.called - before.called) / seconds,
      leader: (now.leader - before.leader) / seconds,
    };
    return { ...(await requests()), cpu };
  };
}

async function measureLoad(lab: Lab, waiting: readonly KubeObject[]): Promise<Measured["load"]> {
  const { cp, called, generator, size, progress } = lab;
  const bodiesFile = join(cp.folder, "bodies");
  await writeBodies(bodiesFile, waiting, upgradeRequest);
  await settled(lab);
  const cost = await costOf(lab);
  const result = await callUnderLoad(generator, {
    url: hookUrl("BeforeClusterUpgrade", called.ports.webhook),
    bodiesFile,
    seconds: size.loadSeconds,
    connections: Math.min(CONNECTIONS, waiting.length),
    rate: Math.ceil(waiting.length / RETRY_SECONDS),
    fresh: false,
  });
  const { cpu } = await cost();
  progress(`all ask: ${JSON.stringify({ ...result, cpu })}`);
  return { ...result, cpu };
}

async function measureRest(lab: Lab): Promise<Cost> {
  await settled(lab);
  const cost = await costOf(lab);
  await sleep(lab.size.restSeconds * 1000);
  const rest = await cost();
  lab.progress(`rest: ${JSON.stringify(rest)}`);
  return rest;
}

/** The status tells every slot, and nothing is written any more. */
async function settled({ cp, size, rollout, noise }: Lab): Promise<void> {
  const read = async (): Promise<string | false> => {
    const { metadata, status } = await cp.get(rollout);
    return status?.running?.length === size.slots && (metadata.resourceVersion ?? "");
  };
  await rests(cp, read, { everyMs: 5000, timeoutMs: LIMIT_MS });
  noise.sample();
}
