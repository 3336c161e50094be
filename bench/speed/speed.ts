/** Speed of the answer, against the Go peer and bare Node.js in the same rounds. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { benchBinaries } from "../../test/controlplane/binaries.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { type ControlPlane, startControlPlane } from "../../test/controlplane/controlplane.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { describeMachine, today } from "../machine.ts";
import type { PartResult } from "../result.ts";
import { createFleet, POLICIES, settled } from "./fleet.ts";
import { Lab, type Sample } from "./measure.ts";
import { measurePlots, type Scale, SKETCH, WHOLE } from "./plots.ts";
import { MEASUREMENTS, type Round, tableOf } from "./rows.ts";
import { SERVER_TITLES, startServers } from "./servers.ts";

type Progress = (line: string) => void;

interface Size {
  readonly clusters: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Absent: no plots. */
  readonly plots?: { readonly seconds: number; readonly scale: Scale };
}

const FULL: Size = {
  clusters: 1000,
  rounds: 5,
  seconds: 5,
  warmupSeconds: 4,
  plots: { seconds: 4, scale: WHOLE },
};
/** For a comparison with what FULL has measured. */
export const CHECK: Size = { clusters: 200, rounds: 3, seconds: 2, warmupSeconds: 2 };
const QUICK: Size = { ...CHECK, plots: { seconds: 1, scale: SKETCH } };

export async function runSpeed(
  progress: Progress,
  size: Size = process.env["BENCH_QUICK"] === "1" ? QUICK : FULL,
): Promise<PartResult> {
  const binaries = await benchBinaries(progress);
  const cp = await startControlPlane({ progress });
  try {
    progress(`creating ${size.clusters} Clusters that are being deleted, and ${POLICIES.loaded} policies`);
    const clusters = await prepare(cp, size.clusters);
    const servers = await startServers(cp, binaries.peer);
    await settled(cp, servers.operator);
    const lab = new Lab({ load: binaries.load, folder: cp.folder, servers, clusters });
    const rounds = await measureRounds(lab, size, progress);
    return {
      part: "speed",
      command: "make bench PART=speed",
      date: today(),
      machine: describeMachine({
        HookPolicy: hookPolicyVersion(),
        "Go peer": `(sigs.k8s.io/cluster-api) ${binaries.clusterApi}`,
      }),
      tables: [tableOf(rounds)],
      plots: size.plots ? await measurePlots({ cp, servers, lab, ...size.plots, progress }) : [],
      notes: notes(size),
    };
  } finally {
    await cp.stop();
  }
}

async function prepare(cp: ControlPlane, clusters: number): ReturnType<typeof createFleet> {
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  return await createFleet(cp, clusters);
}

/** The order turns from round to round, so that no server always comes after the same one. */
async function measureRounds(
  lab: Lab,
  { rounds, seconds, warmupSeconds }: Size,
  progress: Progress,
): Promise<Round[]> {
  for (const { name, work } of MEASUREMENTS) {
    progress(`warming up: ${name}`);
    await lab.measure(work, warmupSeconds);
  }
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const samples = new Map<string, Sample>();
    for (const { name, work } of round % 2 === 0 ? MEASUREMENTS : MEASUREMENTS.toReversed()) {
      const sample = await lab.measure(work, seconds);
      samples.set(name, sample);
      progress(`round ${round + 1} of ${rounds}: ${name}: ${describe(sample)}`);
    }
    measured.push(samples);
  }
  return measured;
}

function describe({ callsPerSecond, callsPerCpuSecond, p99, clientCores }: Sample): string {
  const rates = `${Math.round(callsPerSecond)} calls/s, ${Math.round(callsPerCpuSecond)} per CPU second`;
  return `${rates}, p99 ${p99.toFixed(1)} ms; client: ${clientCores.toFixed(2)} cores`;
}

function notes({ clusters, rounds, seconds }: Size): string[] {
  const { loaded, inScope, matching } = POLICIES;
  return [
    `Every server has the same ECDSA P-256 certificate and TLS 1.3, is called by the same client (\`bench/load\`, one core at most) and runs alone; ${rounds} rounds of ${seconds} s each, one server after the other in every round. Each ratio is of one round. CPU time is what the kernel counts for the whole process.`,
    `HookPolicy runs as \`dist/main.js\` on a real API server with ${clusters.toLocaleString("en")} Clusters that are being deleted and ${loaded} policies (a third each with an annotation, a window and a CEL expression for a gate). For one Cluster ${inScope} of them are in scope and ${matching} match, all of which hold it. Every answer is checked to be a blocked one.`,
    `The Go peer is Cluster API's own runtime-extension server with one handler that looks into a map: it knows no policies, and watches nothing. It uses both cores where HookPolicy uses one. "${SERVER_TITLES.parse}" and "${SERVER_TITLES.discard}" are what Node.js can do at most.`,
    "With the same bytes again HookPolicy answers from a checksum of them. With new bytes it parses them, and decides again only where something has changed that its last decision was made from; a later version of the Cluster is no reason, because a Cluster in memory is decided from memory. With other settings in every call, which no Cluster has in life, it decides each time.",
    "What helped: no framework and no promise on the path of a call, CRC-32 and the uid instead of SHA-256 for answers that can only hold, variables that are viewed only where a decision reads them, nothing of a request in a WeakMap (V8 takes its values for alive in each young collection, so that every body grew old), one write per answer. What was not done: reading only the beginning of the JSON, because a body that is broken further on must be refused; TLS in worker threads, which would hand over each call twice.",
  ];
}

function hookPolicyVersion(): string {
  const file = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  const { version }: { readonly version: string } = JSON.parse(file);
  return version;
}
