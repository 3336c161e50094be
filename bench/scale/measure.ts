/** Everything that is measured of a fleet of one size. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../../test/controlplane/controlplane.ts";
import { installHookPolicy, type Operator } from "../../test/controlplane/operator.ts";
import { callUnderLoad, type LoadResult } from "../speed/load.ts";
import { hookPath } from "../../src/api/hookcatalog.ts";
import { cpuSeconds } from "../speed/servers.ts";
import { settled } from "../speed/fleet.ts";
import { bodyAbout } from "./bodies.ts";
import { HookCaller } from "./calls.ts";
import { approvals } from "./changes.ts";
import { type Edit, measureEdit } from "./edits.ts";
import { createFleet, EVERYTHING, type FleetSize } from "./fleet.ts";
import { type Resident, startInspected } from "./memory.ts";
import { allHeld, bundleList, measureStart, type Start } from "./startup.ts";
import { writes } from "./writes.ts";

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
}

type Progress = (line: string) => void;

const ASK_PERIOD_SECONDS = 10;
const CONNECTIONS = 100;
const ROUNDTRIP_SECONDS = 2;

/** With a control plane of its own. */
export async function measureSize(size: ScaleSize, progress: Progress): Promise<Measured> {
  const { load } = await benchBinaries(progress);
  const cp = await startControlPlane({ progress });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const { gitVersion: kubeVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
    const idle = await idleMemory(cp);
    const clusters = await createFleet(cp, size, progress);
    const bodiesFile = join(cp.folder, "bodies");
    await writeBodies(bodiesFile, clusters);
    const memory = await usedMemory(cp, size, { load, bodiesFile }, progress);
    const { starts, operator } = await measureStarts(cp, size, progress);
    await settled(cp, operator);
    const lab = { cp, operator, clusters, size };
    const approved = await measureApprovals(lab, progress);
    const edits = await measureEdits(lab, progress);
    await settled(cp, operator);
    const rest = await measureRest(lab, { load, bodiesFile }, progress);
    return { size, kubeVersion, idle, ...memory, starts, approvals: approved, edits, ...rest };
  } finally {
    await cp.stop();
  }
}

async function idleMemory(cp: ControlPlane): Promise<Resident> {
  const { operator, resident } = await startInspected(cp, "hookpolicy-idle");
  const memory = await resident();
  await operator.daemon.stop();
  return memory;
}

interface LoadGenerator {
  readonly load: string;
  readonly bodiesFile: string;
}

async function usedMemory(
  cp: ControlPlane,
  { clusters }: ScaleSize,
  generator: LoadGenerator,
  progress: Progress,
): Promise<Pick<Measured, "loaded" | "asked">> {
  const { operator, resident } = await startInspected(cp, "hookpolicy-memory");
  await allHeld(cp, operator, clusters);
  await settled(cp, operator);
  const loaded = await resident();
  await ask(operator, generator, { clusters, seconds: ASK_PERIOD_SECONDS + ROUNDTRIP_SECONDS });
  await settled(cp, operator);
  const asked = await resident();
  progress(`memory: ${JSON.stringify({ loaded, asked })}`);
  await operator.daemon.stop();
  return { loaded, asked };
}

/** Each Cluster every 10 s. */
async function ask(
  operator: Operator,
  { load, bodiesFile }: LoadGenerator,
  { clusters, seconds }: { readonly clusters: number; readonly seconds: number },
): Promise<LoadResult> {
  const url = `${operator.url.replace(/\/$/, "")}${hookPath("BeforeClusterDelete")}?timeout=10s`;
  const connections = Math.min(CONNECTIONS, clusters);
  const rate = Math.ceil(clusters / ASK_PERIOD_SECONDS);
  return await callUnderLoad(load, { url, bodiesFile, seconds, connections, rate, fresh: false });
}

async function measureStarts(
  cp: ControlPlane,
  size: ScaleSize,
  progress: Progress,
): Promise<{ starts: Start[]; operator: Operator }> {
  const list = await bundleList(cp);
  const starts: Start[] = [];
  for (let round = 1; ; round++) {
    const { start, operator } = await measureStart(cp, list, { round, clusters: size.clusters });
    starts.push(start);
    progress(`start ${round}: ${JSON.stringify(start)}`);
    if (round === size.startRounds) return { starts, operator };
    await settled(cp, operator);
    await operator.daemon.stop();
  }
}

interface Lab {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  readonly clusters: readonly KubeObject[];
  readonly size: ScaleSize;
}

async function measureApprovals(
  { cp, operator, clusters, size }: Lab,
  progress: Progress,
): Promise<number[][]> {
  const caller = callerOf(cp, operator);
  const rounds: number[][] = [];
  for (let round = 0; round < size.approvalRounds; round++) {
    const chosen = clusters.slice(round * size.approvalsPerRound, (round + 1) * size.approvalsPerRound);
    rounds.push(await approvals(cp, caller, chosen));
    progress(`approvals: round ${round + 1} of ${size.approvalRounds}`);
  }
  caller.close();
  return rounds;
}

async function measureEdits({ cp, operator, clusters, size }: Lab, progress: Progress): Promise<Edit[]> {
  const caller = callerOf(cp, operator);
  const edits: Edit[] = [];
  for (let round = 1; round <= size.editRounds; round++) {
    await settled(cp, operator);
    const edit = await measureEdit({ cp, operator, caller, clusters }, round);
    edits.push(edit);
    const { calls, ...rest } = edit;
    progress(`edit ${round}: ${JSON.stringify({ ...rest, slowest: Math.max(...calls) })}`);
  }
  caller.close();
  return edits;
}

function callerOf(cp: ControlPlane, { ports }: Operator): HookCaller {
  return new HookCaller({ port: ports.webhook, ca: cp.authority.certificate, connections: CONNECTIONS });
}

/** Nothing changes; everybody asks for a while, and then nobody. */
async function measureRest(
  { cp, operator, size }: Lab,
  generator: LoadGenerator,
  progress: Progress,
): Promise<Pick<Measured, "load" | "statusBytes" | "writesAtRest">> {
  await ask(operator, generator, { clusters: size.clusters, seconds: ASK_PERIOD_SECONDS }); // all have asked once
  await settled(cp, operator);
  const writtenBefore = await writes(cp);
  const begun = performance.now();
  const cpuBefore = cpuSeconds(operator.daemon.pid);
  const result = await ask(operator, generator, { clusters: size.clusters, seconds: size.loadSeconds });
  const operatorCpuSeconds = cpuSeconds(operator.daemon.pid) - cpuBefore;
  progress(`all ask: ${operatorCpuSeconds} s of CPU in ${result.seconds} s, p99 ${result.p99} ms`);
  await sleep(Math.max(0, size.restSeconds * 1000 - (performance.now() - begun)));
  const { status } = await cp.get(EVERYTHING);
  return {
    load: { ...result, operatorCpuSeconds },
    statusBytes: Buffer.byteLength(JSON.stringify(status)),
    writesAtRest: (await writes(cp)) - writtenBefore,
  };
}

async function writeBodies(file: string, clusters: readonly KubeObject[]): Promise<void> {
  await writeFile(file, linesOf(clusters));
}

/** One after the other: together they are as long as memory would be for something better. */
function* linesOf(clusters: readonly KubeObject[]): Iterable<string> {
  for (const cluster of clusters) yield `${bodyAbout(cluster).toString()}\n`;
}
