/** Everything that is measured of a fleet of one size. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { HookCaller } from "../calls/caller.ts";
import { callUnderLoad, hookUrl, type LoadResult, writeBodies } from "../calls/generator.ts";
import { createFleet, EVERYTHING, type FleetSize } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import type { Noise } from "../measure/noise.ts";
import { countRequests } from "../measure/requests.ts";
import { inRounds, kubeVersionOf, onControlPlane, type Progress, type Site } from "../part.ts";
import { approvals } from "./changes.ts";
import { type Edit, measureEdit } from "./edits.ts";
import { type Resident, startInspected } from "./memory.ts";
import { allHeld, bundleList, measureStart, type Start } from "./startup.ts";

export interface ScaleSize extends FleetSize {
  readonly startRounds: number;
  readonly editRounds: number;
  readonly approvalRounds: number;
  readonly approvalsPerRound: number;
  readonly loadSeconds: number;
  readonly restSeconds: number;
}

export interface Measured {
  readonly size: ScaleSize;
  readonly idle: Resident;
  readonly loaded: Resident;
  readonly asked: Resident;
  readonly starts: readonly Start[];
  /** Milliseconds of each change, by round. */
  readonly approvals: readonly (readonly number[])[];
  readonly edits: readonly Edit[];
  readonly load: LoadResult & { readonly operatorCpuSeconds: number };
  readonly statusBytes: number;
  /** Under load and after it. */
  readonly writesAtRest: number;
  readonly kubeVersion: string;
  readonly noise: Noise;
}

const ASK_PERIOD_SECONDS = 10;
const CONNECTIONS = 100;
const ROUNDTRIP_SECONDS = 2;

interface Lab extends Site {
  readonly size: ScaleSize;
  readonly clusters: readonly KubeObject[];
  /** The load generator, and what it sends. */
  readonly generator: string;
  readonly bodiesFile: string;
}

/** With a control plane of its own. */
export async function measureSize(size: ScaleSize, progress: Progress): Promise<Measured> {
  const { load: generator } = await benchBinaries(progress);
  return await onControlPlane(progress, async (site) => {
    const { cp, noise } = site;
    const idle = await idleMemory(cp);
    const clusters = await createFleet(cp, size, progress);
    const bodiesFile = join(cp.folder, "bodies");
    await writeBodies(bodiesFile, clusters, (cluster) => requestAbout(cluster));
    const lab: Lab = { ...site, size, clusters, generator, bodiesFile };
    const memory = await usedMemory(lab);
    const { starts, operator } = await measureStarts(lab);
    const caller = new HookCaller(cp, operator, CONNECTIONS);
    const approved = await measureApprovals(lab, caller);
    await settled(cp, operator);
    const edits = await measureEdits(lab, operator, caller);
    caller.close();
    const rest = await measureRest(lab, operator);
    const kubeVersion = await kubeVersionOf(site);
    return { size, kubeVersion, idle, ...memory, starts, approvals: approved, edits, ...rest, noise };
  });
}

async function idleMemory(cp: ControlPlane): Promise<Resident> {
  const { operator, resident } = await startInspected(cp, "hookpolicy-idle");
  const memory = await resident();
  await operator.daemon.stop();
  return memory;
}

async function usedMemory(lab: Lab): Promise<Pick<Measured, "loaded" | "asked">> {
  const { cp, size, progress } = lab;
  const { operator, resident } = await startInspected(cp, "hookpolicy-memory");
  await allHeld(cp, operator, size.clusters);
  await settled(cp, operator);
  const loaded = await resident();
  await ask(lab, operator, ASK_PERIOD_SECONDS + ROUNDTRIP_SECONDS);
  await settled(cp, operator);
  const asked = await resident();
  progress(`memory: ${JSON.stringify({ loaded, asked })}`);
  await operator.daemon.stop();
  return { loaded, asked };
}

/** Each Cluster every 10 s. */
async function ask(
  { size: { clusters }, generator, bodiesFile }: Lab,
  { ports }: Operator,
  seconds: number,
): Promise<LoadResult> {
  const url = hookUrl("BeforeClusterDelete", ports.webhook);
  const connections = Math.min(CONNECTIONS, clusters);
  const rate = Math.ceil(clusters / ASK_PERIOD_SECONDS);
  return await callUnderLoad(generator, { url, bodiesFile, seconds, connections, rate, fresh: false });
}

/** The operator of the last round is left running. */
async function measureStarts(lab: Lab): Promise<{ starts: Start[]; operator: Operator }> {
  const { cp, size, progress } = lab;
  const list = await bundleList(cp);
  const rounds = await inRounds(lab, size.startRounds, async (round) => {
    const started = await measureStart(cp, list, { round, clusters: size.clusters });
    progress(`start ${round + 1}: ${JSON.stringify(started.start)}`);
    await settled(cp, started.operator);
    if (round + 1 < size.startRounds) await started.operator.daemon.stop();
    return started;
  });
  const last = rounds.at(-1);
  if (last === undefined) throw new Error("no operator was started");
  return { starts: rounds.map(({ start }) => start), operator: last.operator };
}

async function measureApprovals(lab: Lab, caller: HookCaller): Promise<number[][]> {
  const { cp, clusters, size, progress } = lab;
  const { approvalRounds, approvalsPerRound } = size;
  return await inRounds(lab, approvalRounds, async (round) => {
    const chosen = clusters.slice(round * approvalsPerRound, (round + 1) * approvalsPerRound);
    const latencies = await approvals(cp, caller, chosen);
    progress(`approvals: round ${round + 1} of ${approvalRounds}`);
    return latencies;
  });
}

async function measureEdits(lab: Lab, operator: Operator, caller: HookCaller): Promise<Edit[]> {
  const { cp, clusters, size, progress } = lab;
  return await inRounds(lab, size.editRounds, async (round) => {
    const edit = await measureEdit({ cp, operator, caller, clusters }, round);
    const { calls, ...rest } = edit;
    progress(`edit ${round + 1}: ${JSON.stringify({ ...rest, slowest: Math.max(...calls) })}`);
    await settled(cp, operator);
    return edit;
  });
}

/** Nothing changes; all Clusters ask for a while, and then none. */
async function measureRest(
  lab: Lab,
  operator: Operator,
): Promise<Pick<Measured, "load" | "statusBytes" | "writesAtRest">> {
  const { cp, size, noise, progress } = lab;
  await ask(lab, operator, ASK_PERIOD_SECONDS); // all have asked once
  await settled(cp, operator);
  noise.sample();
  const requests = await countRequests(cp);
  const begun = performance.now();
  const cpuBefore = cpuSeconds(operator.daemon.pid);
  const result = await ask(lab, operator, size.loadSeconds);
  const operatorCpuSeconds = cpuSeconds(operator.daemon.pid) - cpuBefore;
  progress(`all ask: ${operatorCpuSeconds} s of CPU in ${result.seconds} s, p99 ${result.p99} ms`);
  await sleep(Math.max(0, size.restSeconds * 1000 - (performance.now() - begun)));
  const { status } = await cp.get(EVERYTHING);
  return {
    load: { ...result, operatorCpuSeconds },
    statusBytes: Buffer.byteLength(JSON.stringify(status)),
    writesAtRest: (await requests()).writes,
  };
}
