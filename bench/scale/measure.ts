/** Everything that is measured of a fleet of one size. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { HookCaller } from "../calls/caller.ts";
import { callUnderLoad, hookUrl, type LoadResult, writeBodies } from "../calls/generator.ts";
import { createFleet, EVERYTHING, type FleetSize, range } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { Noise } from "../measure/noise.ts";
import { countRequests } from "../measure/requests.ts";
import { kubeVersionOf, onControlPlane, type Progress } from "../part.ts";
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

interface Lab {
  readonly cp: ControlPlane;
  readonly size: ScaleSize;
  readonly clusters: readonly KubeObject[];
  /** The load generator, and what it sends. */
  readonly generator: string;
  readonly bodiesFile: string;
  readonly noise: Noise;
  readonly progress: Progress;
}

/** With a control plane of its own. */
export async function measureSize(size: ScaleSize, progress: Progress): Promise<Measured> {
  const { load: generator } = await benchBinaries(progress);
  return await onControlPlane(progress, async (cp) => {
    const noise = new Noise();
    const kubeVersion = await kubeVersionOf(cp);
    const idle = await idleMemory(cp);
    const clusters = await createFleet(cp, size, progress);
    const bodiesFile = join(cp.folder, "bodies");
    await writeBodies(bodiesFile, clusters, (cluster) => requestAbout(cluster));
    const lab: Lab = { cp, size, clusters, generator, bodiesFile, noise, progress };
    const memory = await usedMemory(lab);
    const { starts, operator } = await measureStarts(lab);
    await settled(cp, operator);
    const caller = new HookCaller(cp, operator, CONNECTIONS);
    const approved = await measureApprovals(lab, caller);
    const edits = await measureEdits(lab, operator, caller);
    caller.close();
    await settled(cp, operator);
    const rest = await measureRest(lab, operator);
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

async function measureStarts({
  cp,
  size,
  noise,
  progress,
}: Lab): Promise<{ starts: Start[]; operator: Operator }> {
  const list = await bundleList(cp);
  const starts: Start[] = [];
  for (let round = 1; ; round++) {
    noise.sample();
    const { start, operator } = await measureStart(cp, list, { round, clusters: size.clusters });
    starts.push(start);
    progress(`start ${round}: ${JSON.stringify(start)}`);
    if (round === size.startRounds) return { starts, operator };
    await settled(cp, operator);
    await operator.daemon.stop();
  }
}

async function measureApprovals(
  { cp, clusters, size, noise, progress }: Lab,
  caller: HookCaller,
): Promise<number[][]> {
  const { approvalRounds, approvalsPerRound } = size;
  const rounds: number[][] = [];
  for (const round of range(approvalRounds)) {
    noise.sample();
    const chosen = clusters.slice(round * approvalsPerRound, (round + 1) * approvalsPerRound);
    rounds.push(await approvals(cp, caller, chosen));
    progress(`approvals: round ${round + 1} of ${approvalRounds}`);
  }
  return rounds;
}

async function measureEdits(
  { cp, clusters, size, noise, progress }: Lab,
  operator: Operator,
  caller: HookCaller,
): Promise<Edit[]> {
  const edits: Edit[] = [];
  for (const round of range(size.editRounds)) {
    await settled(cp, operator);
    noise.sample();
    const edit = await measureEdit({ cp, operator, caller, clusters }, round);
    edits.push(edit);
    const { calls, ...rest } = edit;
    progress(`edit ${round + 1}: ${JSON.stringify({ ...rest, slowest: Math.max(...calls) })}`);
  }
  return edits;
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
