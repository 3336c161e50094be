/** From the start of the process until it decides every call, compared with a plain LIST of the same objects. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { build } from "esbuild";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { environment } from "../../test/controlplane/processes.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import { settled } from "../fleet/settled.ts";
import { median, rounded } from "../measure/statistics.ts";
import { inRounds } from "../part.ts";
import { atMost, row, type Row } from "../result.ts";
import type { Lab } from "./lab.ts";

/** Milliseconds from the spawn of the process. */
interface Start {
  /** Until the last page is listed, by a process that does nothing else. */
  readonly list: number;
  /** Until the operator decides every call. */
  readonly loaded: number;
  /** Until its metrics, too, count every Cluster as held. */
  readonly held: number;
}

const LOADED = "Loaded policies, Clusters and Namespaces";
const TIMEOUT_MS = 180_000;

/** Starts the operator in each round; that of the last round keeps running. */
export async function measureStarts(lab: Lab): Promise<{ start: Row; operator: Operator }> {
  const { cp, size, progress } = lab;
  const program = await bundleList(cp);
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy");
  let operator: Operator | undefined;
  const starts = await inRounds(lab, size.startRounds, async (round): Promise<Start> => {
    await operator?.daemon.stop();
    await changeOne(lab);
    const list = await listOnce(program, kubeconfig);
    await changeOne(lab);
    const spawned = Date.now();
    const started = await startShipped(cp, {
      kubeconfig,
      name: `hookpolicy-${round}`,
      waitReady: false,
      memoryMiB: size.memoryMiB,
    });
    operator = started;
    const line = await cp.waitFor(
      "the operator to load",
      () => started.lines().find(({ msg }) => msg === LOADED),
      TIMEOUT_MS,
    );
    await allHeld(cp, started, size.clusters);
    const held = Date.now() - spawned;
    await settled(cp, started);
    const start = { list, loaded: Date.parse(String(line["ts"])) - spawned, held };
    progress(`start ${round + 1}: ${JSON.stringify(start)}`);
    return start;
  });
  if (operator === undefined) throw new Error("no operator was started");
  return { start: startRow(starts), operator };
}

/** For a snapshot in the API server's watch cache: see the notes of the page. */
async function changeOne({ cp, clusters }: Lab): Promise<void> {
  const [cluster] = clusters;
  if (cluster === undefined) throw new Error("an empty fleet");
  const { apiVersion, kind, metadata } = cluster;
  const annotations = { "bench.example.com/changed": new Date().toISOString() };
  await cp.patch({ apiVersion, kind, ...metadata }, { metadata: { annotations } });
}

function startRow(starts: readonly Start[]): Row {
  const seconds = (of: keyof Start): number => rounded(median(starts.map((start) => start[of])) / 1000, 2);
  const work = "start until every call is decided, against a plain LIST of the same objects";
  const ratios = starts.map(({ list, loaded }) => rounded(loaded / list, 2));
  const note = `${seconds("loaded")} s; LIST ${seconds("list")} s; every Cluster's decision in the metrics after ${seconds("held")} s`;
  return row("start", work, ratios, { unit: "× plain LIST", goal: atMost(1.3), note });
}

/** Bundled as the operator is, so that both load one file. */
async function bundleList(cp: ControlPlane): Promise<string> {
  const outfile = join(cp.folder, "list.mjs");
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    entryPoints: [join(import.meta.dirname, "list.ts")],
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    outfile,
    banner: { js },
    logLevel: "warning",
  });
  return outfile;
}

async function listOnce(program: string, kubeconfig: string): Promise<number> {
  const spawned = Date.now();
  const child = spawn(process.execPath, [program, kubeconfig], {
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
    timeout: TIMEOUT_MS,
  });
  const done = Number(await text(child.stdout));
  if (!(done > spawned)) throw new Error("the plain LIST has failed");
  return done - spawned;
}

export async function allHeld(cp: ControlPlane, operator: Operator, clusters: number): Promise<void> {
  const held = async (): Promise<boolean> => (await operator.metric("hookpolicy_held_clusters")) === clusters;
  await cp.waitFor("every Cluster to be held", held, TIMEOUT_MS);
}
