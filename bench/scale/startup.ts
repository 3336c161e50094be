/** From the start of the process until every call is answered from what is loaded, beside the bare LIST. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { build } from "esbuild";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { environment } from "../../test/controlplane/processes.ts";
import { startShipped } from "../shipped.ts";

export interface Start {
  /** Milliseconds; spawn until the last page is listed. */
  readonly list: number;
  /** Spawn until every call is decided. */
  readonly loaded: number;
  /** Spawn until the metrics, too, tell that every Cluster is held. */
  readonly held: number;
}

const LOADED = "Loaded policies, Clusters and Namespaces";
const TIMEOUT_MS = 180_000;

/** Bundled as the operator is, so that both load one file. */
export async function bundleList(cp: ControlPlane): Promise<string> {
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

/** One after the other; the operator is left running. */
export async function measureStart(
  cp: ControlPlane,
  list: string,
  at: { readonly round: number; readonly clusters: number },
): Promise<{ start: Start; operator: Operator }> {
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy");
  const listed = await listOnce(list, kubeconfig);
  const spawned = Date.now();
  const operator = await startShipped(cp, {
    kubeconfig,
    name: `hookpolicy-${at.round}`,
    waitReady: false,
  });
  const loaded = await cp.waitFor(
    "the operator to load",
    () => operator.lines().find(({ msg }) => msg === LOADED),
    TIMEOUT_MS,
  );
  await allHeld(cp, operator, at.clusters);
  const start = {
    list: listed,
    loaded: Date.parse(String(loaded["ts"])) - spawned,
    held: Date.now() - spawned,
  };
  return { start, operator };
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
