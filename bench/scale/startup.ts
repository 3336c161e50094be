/** From the start of the process until every call is answered from what is loaded, beside the bare LIST. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { build } from "esbuild";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { type LogLine, NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { environment } from "../../test/controlplane/processes.ts";
import { settled } from "../fleet/settled.ts";
import { median, rounded } from "../measure/statistics.ts";
import { inRounds } from "../part.ts";
import { atMost, row, type Row } from "../result.ts";
import { startShipped } from "../shipped.ts";
import type { Lab } from "./lab.ts";

/** Milliseconds from the spawn of the process. */
interface Start {
  /** Until the last page is listed, by a process that does nothing else. */
  readonly list: number;
  /** Until every call is decided. */
  readonly loaded: number;
  /** Until the metrics, too, tell that every Cluster is held. */
  readonly held: number;
}

const LOADED = "Loaded policies, Clusters and Namespaces";
const TIMEOUT_MS = 180_000;

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

/** The operator of the last round is left running. */
export async function measureStarts(lab: Lab): Promise<{ start: Row; operator: Operator }> {
  const { cp, size, progress } = lab;
  const list = await bundleList(cp);
  const operators: Operator[] = [];
  const starts = await inRounds(lab, size.startRounds, async (round) => {
    await operators.at(-1)?.daemon.stop();
    const { start, operator } = await startOnce(lab, list, `hookpolicy-${round}`);
    progress(`start ${round + 1}: ${JSON.stringify(start)}`);
    await settled(cp, operator);
    operators.push(operator);
    return start;
  });
  const operator = operators.at(-1);
  if (operator === undefined) throw new Error("no operator was started");
  return { start: startRow(starts), operator };
}

function startRow(starts: readonly Start[]): Row {
  const seconds = (of: keyof Start): number => rounded(median(starts.map((start) => start[of])) / 1000, 2);
  const work = "start until every call is decided, against the bare LIST of the same objects";
  const ratios = starts.map(({ list, loaded }) => rounded(loaded / list, 2));
  const note = `${seconds("loaded")} s; LIST ${seconds("list")} s; every Cluster's decision in the metrics after ${seconds("held")} s`;
  return row("start", work, ratios, { unit: "× bare LIST", goal: atMost(1.3), note });
}

/** One after the other; the operator is left running. */
async function startOnce(
  { cp, size }: Lab,
  program: string,
  name: string,
): Promise<{ start: Start; operator: Operator }> {
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy");
  const list = await listOnce(program, kubeconfig);
  const spawned = Date.now();
  const operator = await startShipped(cp, { kubeconfig, name, waitReady: false });
  const isLoaded = (): LogLine | undefined => operator.lines().find(({ msg }) => msg === LOADED);
  const line = await cp.waitFor("the operator to load", isLoaded, TIMEOUT_MS);
  await allHeld(cp, operator, size.clusters);
  const held = Date.now() - spawned;
  return { start: { list, loaded: Date.parse(String(line["ts"])) - spawned, held }, operator };
}

async function listOnce(program: string, kubeconfig: string): Promise<number> {
  const spawned = Date.now();
  const child = spawn(process.execPath, [program, kubeconfig], {
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
    timeout: TIMEOUT_MS,
  });
  const done = Number(await text(child.stdout));
  if (!(done > spawned)) throw new Error("the bare LIST has failed");
  return done - spawned;
}

/** The metrics tell of every Cluster that it is held. */
export async function allHeld(cp: ControlPlane, operator: Operator, clusters: number): Promise<void> {
  const held = async (): Promise<boolean> => (await operator.metric("hookpolicy_held_clusters")) === clusters;
  await cp.waitFor("every Cluster to be held", held, TIMEOUT_MS);
}
