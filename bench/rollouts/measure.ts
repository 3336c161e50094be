/** Measures a HookRollout over a fleet of one size, with two replicas. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beginUpgrade } from "../../test/apiserver/operator-lab.ts";
import { loadGenerator } from "../../test/controlplane/binaries.ts";
import type { KubeObject, Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { storeRollout } from "../../test/controlplane/policies.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import { keptConnections } from "../calls/caller.ts";
import { callAboutAll, PERIOD_SECONDS, writeBodies } from "../calls/generator.ts";
import { rests } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { startProbes } from "../measure/probes.ts";
import { countRequests, type Requests } from "../measure/requests.ts";
import { kibibytes, median, quantile, rounded } from "../measure/statistics.ts";
import { LARGE_FLEET_MIB, type Site } from "../part.ts";
import { atMost, below, none, row, type Row } from "../result.ts";
import { Callers, type Go } from "./callers.ts";
import { createWaiting, endUpgrade, rolloutSpec, upgradeRequest } from "./fleet.ts";

export interface RolloutSize {
  readonly clusters: number;
  readonly slots: number;
  /** How many upgrades end, one after the other. */
  readonly ends: number;
  readonly endsPerSecond: number;
  readonly loadSeconds: number;
  readonly restSeconds: number;
}

/** A figure of each replica. */
type Both = Readonly<Record<keyof Replicas, number>>;

/** `cpu`: percent of a core. */
type Cost = Requests & { readonly cpu: Both };

/** A call that is being confirmed occupies one; the calls that are held must not wait for it. */
const CONNECTIONS = 300;
const LIMIT_MS = 600_000;

interface Replicas {
  /** Cluster API keeps its connections, so that one replica answers all calls: here the one that does not lead. */
  readonly called: Operator;
  readonly leader: Operator;
}

interface Lab extends Replicas, Site {
  readonly size: RolloutSize;
  readonly rollout: Ref;
  readonly clusters: readonly KubeObject[];
  /** The program of the load generator. */
  readonly generator: string;
}

export async function measureRollout(size: RolloutSize, site: Site): Promise<Row[]> {
  const { cp, progress } = site;
  const generator = await loadGenerator(progress);
  const clusters = await createWaiting(cp, size.clusters, progress);
  const rollout = await storeRollout(cp, "upgrades", rolloutSpec(size.slots));
  const lab = { ...site, size, rollout, clusters, generator, ...(await startReplicas(cp)) };
  const { gos, meanwhile, waiting } = await measureTurnover(lab);
  const status = kibibytes((await cp.get(rollout)).status);
  return [
    ...gos,
    await waitingRow(lab, waiting),
    ...meanwhile,
    row("status", "size of the status, with every slot taken", status, { unit: "KiB", goal: atMost(256) }),
    ...(await restRows(lab)),
  ];
}

async function startReplicas(cp: ControlPlane): Promise<Replicas> {
  const start = async (name: string): Promise<Operator> =>
    await startShipped(cp, {
      name,
      memoryMiB: LARGE_FLEET_MIB,
      flags: { "leader-elect": "true", namespace: NAMESPACE },
    });
  const leader = await start("hookpolicy-leader");
  await cp.waitFor("the first replica to lead", async () => (await leader.metric("hookpolicy_leader")) === 1);
  return { leader, called: await start("hookpolicy-called") };
}

interface Turnover {
  readonly gos: readonly Row[];
  /** What else is seen while upgrades end and begin. */
  readonly meanwhile: readonly Row[];
  /** The Clusters that still wait. */
  readonly waiting: readonly KubeObject[];
}

async function measureTurnover(lab: Lab): Promise<Turnover> {
  const { cp, called, leader, size, clusters, noise, progress } = lab;
  const gos: Go[] = [];
  const begins: Promise<void>[] = [];
  const begun = performance.now();
  const callers = new Callers(clusters, keptConnections(cp, called, CONNECTIONS), (go) => {
    gos.push(go);
    begins.push(beginUpgrade(cp, ...namesOf(go.cluster)));
  });
  await cp.waitFor("every slot to be taken", () => gos.length >= size.slots, LIMIT_MS);
  const fillSeconds = (performance.now() - begun) / 1000;
  progress(`${gos.length} slots taken in ${fillSeconds.toFixed(1)} s`);
  await sleep(2 * PERIOD_SECONDS * 1000);
  const running = gos.splice(0);
  noise.sample();
  callers.held = [];
  const probes = { called: startProbes(called), leader: startProbes(leader) };
  const cost = await costOf(lab);
  const freed: number[] = [];
  for (const { cluster } of running.slice(0, size.ends)) {
    await Promise.all([endUpgrade(cp, ...namesOf(cluster)), sleep(1000 / size.endsPerSecond)]);
    freed.push(performance.now());
  }
  await cp.waitFor("every free slot to be taken", () => gos.length >= size.ends, LIMIT_MS);
  const spent = await cost();
  const blocked = { called: await probes.called(), leader: await probes.leader() };
  await Promise.all(begins);
  const waiting = await callers.stop();
  const freeFor = freed.map((at, index) => ((gos[index]?.at ?? NaN) - at) / 1000);
  progress(`turnover: ${JSON.stringify({ fillSeconds, freeFor, cost: spent, blocked })}`);
  return {
    gos: [...slotRows(size, freeFor, fillSeconds), ...goRows(gos, spent)],
    meanwhile: meanwhileRows(callers, spent, blocked),
    waiting,
  };
}

function namesOf({ metadata: { namespace = "", name } }: KubeObject): [namespace: string, name: string] {
  return [namespace, name];
}

function slotRows({ slots, endsPerSecond }: RolloutSize, freeFor: readonly number[], fill: number): Row[] {
  const [p50, p99] = [median(freeFor), quantile(freeFor, 0.99)];
  const work = `an upgrade has ended → the next one is released, p99, beyond the ${PERIOD_SECONDS} s after which Cluster API asks again`;
  return [
    row("free-slot", work, rounded(Math.max(0, p99 - PERIOD_SECONDS), 2), {
      unit: "s",
      goal: below(2),
      note: `in all p50 ${rounded(p50, 2)} s, p99 ${rounded(p99, 2)} s; ${freeFor.length} slots, ${endsPerSecond} per second`,
    }),
    row("fill", `the first call → all ${slots} slots are taken`, rounded(fill), { unit: "s" }),
  ];
}

function goRows(gos: readonly Go[], { reads, rolloutWrites, bytes }: Requests): Row[] {
  const ms = gos.map((go) => go.ms);
  const each = (of: number, digits = 1): number => rounded(of / gos.length, digits);
  return [
    row("go-ms", "one release: the answer to its call, p50", rounded(median(ms), 0), {
      unit: "ms",
      note: `p99 ${rounded(quantile(ms, 0.99), 0)} ms`,
    }),
    row("go-reads", "one release: reads of the API server, by both replicas", each(reads), {
      unit: "requests",
      note: `pages of lists count each; ${each(rolloutWrites)} writes of the status`,
    }),
    row("go-bytes", "one release: the answers to these reads", each(bytes / 1e6, 2), { unit: "MB" }),
  ];
}

function meanwhileRows({ held, unanswered }: Callers, { cpu }: Cost, blocked: Both): Row[] {
  const busy = "the longest that the event loop is busy meanwhile, in the replica that is called";
  return [
    row("turnover-cpu", "the same while upgrades end and begin", rounded(cpu.called), {
      unit: "% of a core",
      note: `the leader ${rounded(cpu.leader)} %`,
    }),
    row("held-ms", "answers that hold meanwhile, p99", rounded(quantile(held, 0.99)), {
      unit: "ms",
      note: `p50 ${rounded(median(held))} ms, ${held.length} calls; ${unanswered} calls had no answer within 10 s`,
    }),
    row("blocked", busy, rounded(blocked.called), {
      unit: "ms",
      note: `in the leader ${rounded(blocked.leader)} ms`,
    }),
  ];
}

/** The returned function tells the cost since this call. */
async function costOf({ cp, called, leader }: Lab): Promise<() => Promise<Cost>> {
  const requests = await countRequests(cp);
  const began = performance.now();
  const percentOf = ({ daemon }: Operator): (() => number) => {
    const before = cpuSeconds(daemon.pid);
    return () => (100 * (cpuSeconds(daemon.pid) - before)) / ((performance.now() - began) / 1000);
  };
  const cpu = { called: percentOf(called), leader: percentOf(leader) };
  return async () => ({ cpu: { called: cpu.called(), leader: cpu.leader() }, ...(await requests()) });
}

/** All slots are taken, and Cluster API asks about all other Clusters. */
async function waitingRow(lab: Lab, waiting: readonly KubeObject[]): Promise<Row> {
  const { cp, called, generator, size, progress } = lab;
  const bodies = join(cp.folder, "bodies");
  await writeBodies(bodies, waiting, upgradeRequest);
  await settled(lab);
  const cost = await costOf(lab);
  const load = await callAboutAll(generator, waiting.length, {
    hook: "BeforeClusterUpgrade",
    port: called.ports.webhook,
    bodies,
    seconds: size.loadSeconds,
    connections: CONNECTIONS,
  });
  const { cpu } = await cost();
  progress(`all ask: ${JSON.stringify({ ...load, cpu })}`);
  const others = (size.clusters - size.slots).toLocaleString("en");
  const work = `the ${others} others at most wait, and ask every ${PERIOD_SECONDS} s: the replica that is called`;
  return row("waiting-cpu", work, rounded(cpu.called), {
    unit: "% of a core",
    goal: atMost(50),
    note: `the leader ${rounded(cpu.leader)} %; ${load.calls} calls of 26 KB in ${rounded(load.seconds, 0)} s, p50 ${rounded(load.p50)} ms, p99 ${rounded(load.p99)} ms`,
  });
}

/** Nothing changes, and there are no calls. */
async function restRows(lab: Lab): Promise<Row[]> {
  const { restSeconds } = lab.size;
  await settled(lab);
  const cost = await costOf(lab);
  await sleep(restSeconds * 1000);
  const { rolloutWrites, reads, cpu } = await cost();
  return [
    row("rest-writes", `writes of the status in ${restSeconds} s of rest`, rolloutWrites, {
      ...none("writes"),
      note: `${reads} reads`,
    }),
    row("rest-cpu", "at rest: the leader", rounded(cpu.leader, 2), {
      unit: "% of a core",
      note: `the other replica ${rounded(cpu.called, 2)} %`,
    }),
  ];
}

/** Resolves once the status has every slot and is not written any more. */
async function settled({ cp, size, rollout, noise }: Lab): Promise<void> {
  const read = async (): Promise<string | false> => {
    const { metadata, status } = await cp.get(rollout);
    return status?.running?.length === size.slots && (metadata.resourceVersion ?? "");
  };
  await rests(cp, read, { everyMs: 5000, timeoutMs: LIMIT_MS });
  noise.sample();
}
