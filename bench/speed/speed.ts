/** Speed of the answer, against the Go peer and bare Node.js in the same rounds. */

import { join } from "node:path";
import { benchPeer, loadGenerator } from "../../test/controlplane/binaries.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { callUnderLoad, writeBodies } from "../calls/generator.ts";
import {
  createFleet,
  createMatching,
  createReader,
  type FleetSize,
  policiesPerCluster,
} from "../fleet/fleet.ts";
import { COMMON_BYTES, requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { between, bucketsOf, quantileOf } from "../measure/histogram.ts";
import { rounded } from "../measure/statistics.ts";
import { type PartResult, row, type Row } from "../result.ts";
import { inRounds, onControlPlane, type Progress, QUICK, resultOf, type Site } from "../part.ts";
import { VERSION } from "../../src/version.ts";
import { MEASUREMENTS, type Round, rowsOf, type Sample, type Work } from "./rows.ts";
import { type Servers, startServers } from "./servers.ts";

interface Size extends FleetSize {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

const MORE_POLICIES = 100;

const FULL: Size = { clusters: 1000, policies: 100, rounds: 5, seconds: 5, warmupSeconds: 4 };
/** Few enough for `make bench-check`, and comparable with FULL. */
export const CHECK: Size = { clusters: 200, policies: 100, rounds: 3, seconds: 2, warmupSeconds: 2 };
const SKETCH: Size = { clusters: 100, policies: 100, rounds: 1, seconds: 1, warmupSeconds: 0.5 };

export async function runSpeed(progress: Progress, size = QUICK ? SKETCH : FULL): Promise<PartResult> {
  const peer = await benchPeer(progress);
  const load = await loadGenerator(progress);
  return await onControlPlane(progress, async (site) => {
    const { cp, noise } = site;
    const clusters = await createFleet(cp, size, progress);
    const servers = await startServers(cp, peer.program);
    await settled(cp, servers.operator);
    const lab: Lab = { ...site, ...servers, load, clusters };
    const rounds = await measureRounds(lab, size);
    const growth = await growthRow(lab, size);
    return resultOf("speed", {
      versions: { HookPolicy: VERSION, "Go peer": `(sigs.k8s.io/cluster-api) ${peer.version}` },
      tables: [{ title: "Speed of the answer", rows: [...rowsOf(rounds), growth, noise.row("speed")] }],
      notes: notes(size),
    });
  });
}

/** The order is reversed in every other round, so that no server always comes after the same one. */
async function measureRounds(lab: Lab, { rounds, seconds, warmupSeconds }: Size): Promise<Round[]> {
  const works = MEASUREMENTS.map(({ work }) => work);
  await writeAllBodies(lab, works);
  lab.progress("warming up");
  for (const work of works) await measure(lab, work, warmupSeconds);
  return await inRounds(lab, rounds, async (round) => {
    const samples = new Map<string, Sample>();
    for (const { name, work } of round % 2 === 0 ? MEASUREMENTS : MEASUREMENTS.toReversed()) {
      const sample = await measure(lab, work, seconds);
      samples.set(name, sample);
      lab.progress(`round ${round + 1} of ${rounds}: ${name}: ${JSON.stringify(sample)}`);
    }
    return samples;
  });
}

/** The cost of more policies, which stay: it is measured last. */
async function growthRow(lab: Lab, size: Size): Promise<Row> {
  const work = { server: "hookpolicy", bytes: COMMON_BYTES, fresh: true, newSettings: true } as const;
  const cost = async (): Promise<number> => {
    await settled(lab.cp, lab.operator);
    await measure(lab, work, size.warmupSeconds);
    return rounded(1e6 / (await measure(lab, work, size.seconds)).callsPerCpuSecond, 0);
  };
  await createReader(lab.cp);
  const before = await cost();
  await createMatching(lab.cp, MORE_POLICIES);
  const title = `26 KB body, other settings in every call, which a rule reads, ${MORE_POLICIES} policies more that match each Cluster`;
  const note = `${before} µs with this rule and the ${rounded(policiesPerCluster(size))} policies of the other rows`;
  return row("policies-100", title, await cost(), { unit: "µs of CPU per call", note });
}

interface Lab extends Site, Servers {
  readonly load: string;
  readonly clusters: readonly KubeObject[];
}

const CONNECTIONS = 16;
const DURATION = "hookpolicy_hook_call_duration_seconds";

async function measure(lab: Lab, work: Work, seconds: number): Promise<Sample> {
  const { operator, servers } = lab;
  const { server, bytes, newSettings, ...load } = work;
  const { port, pid } = servers[server];
  const before = await bucketsOf(operator, DURATION);
  const cpuBefore = cpuSeconds(pid);
  const result = await callUnderLoad(lab.load, {
    connections: CONNECTIONS,
    ...load,
    hook: "BeforeClusterDelete",
    port,
    bodies: bodiesOf(lab, work),
    seconds,
  });
  const cpu = cpuSeconds(pid) - cpuBefore;
  const answered = between(before, await bucketsOf(operator, DURATION));
  return {
    callsPerSecond: result.calls / result.seconds,
    callsPerCpuSecond: result.calls / cpu,
    p99: result.p99,
    clientCores: result.cpuSeconds / result.seconds,
    serverP99: server === "hookpolicy" ? quantileOf(answered, 0.99) * 1000 : undefined,
  };
}

/** Writes the requests of all works before the first of them is measured. */
async function writeAllBodies(lab: Lab, works: readonly Work[]): Promise<void> {
  for (const [file, { bytes, newSettings }] of new Map(works.map((work) => [bodiesOf(lab, work), work]))) {
    await writeBodies(file, lab.clusters, (cluster) => requestAbout(cluster, bytes, newSettings));
  }
}

function bodiesOf({ cp }: Lab, { bytes, newSettings = false }: Work): string {
  return join(cp.folder, `bodies-${bytes}-${newSettings}`);
}

function notes(size: Size): string[] {
  const { clusters, policies, rounds, seconds } = size;
  return [
    `Every server has the same ECDSA P-256 certificate and TLS 1.3, runs alone and is called by the same client (\`bench/load\`, one core at most): ${rounds} rounds of ${seconds} s each, one server after the other in every round. Each ratio is of one round. CPU time is the kernel's count for the whole process.`,
    `HookPolicy runs as \`dist/main.js\` on a real API server with ${clusters.toLocaleString("en")} Clusters that are being deleted and ${policies} policies (annotation, window and CEL gates in equal parts), ${rounded(policiesPerCluster(size))} of which match each Cluster. The client checks that every answer holds.`,
    'The Go peer is Cluster API\'s own runtime-extension server with one handler that looks into a map: it knows no policies, and watches nothing. It uses both cores, HookPolicy uses one. "node:https" throws the body away, "node:https with JSON.parse" parses it: they are the most that Node.js can do.',
    "HookPolicy decides about a Cluster from memory. While its decision to hold stands, and no rule that took part reads the settings, it answers each call that names the Cluster at its beginning without parsing the rest, whether the bytes are the same or new. Where a rule reads the settings, it parses the call, and evaluates the rules whenever the settings differ.",
  ];
}
