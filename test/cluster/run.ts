/**
 * Runs the tests of this folder on a cluster of two nodes: `node test/cluster/run.ts [FILE…]`. They run in the network of the
 * first node, one file after the other. BUILD_MINUTES limits what is built first; KEEP=1 leaves the cluster running.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../controlplane/go-build.ts";
import { startCluster } from "./cluster.ts";
import { CLUSTER_CACHE, ROOT } from "./folders.ts";
import { reasonAgainst } from "./machine.ts";
import type { Image } from "./images.ts";
import { loadImage, networkOf, nodeLogs, stopNodes } from "./nodes.ts";
import { NO_PACKAGES } from "./packages.ts";
import { makeProduct } from "./product.ts";

const FILES = "test/cluster/*.test.ts";
/** Twice what they take on a busy machine. */
const TESTS_MINUTES = 25;
const REPORTER = ["--test-reporter=./test/report.ts", "--test-reporter-destination=stdout"];

let child: ChildProcess | undefined;
let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interrupted = true;
    if (child?.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  });
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Its exit code; in a process group of its own, so that what it has started ends with it. */
async function exitCode(
  command: string,
  args: readonly string[],
  timeoutMs?: number,
): Promise<number | null | "cut"> {
  const started = spawn(command, args, { cwd: ROOT, stdio: "inherit", detached: true });
  child = started;
  let cut = false;
  const end = (): void => {
    cut = true;
    if (started.pid !== undefined) process.kill(-started.pid, "SIGTERM");
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    started.once("error", reject);
    started.once("exit", resolve);
  });
  clearTimeout(timer);
  child = undefined;
  if (interrupted) throw new Error("interrupted");
  return cut ? "cut" : code;
}

/** Why there is not all that the cluster is made of; undefined: it is built. */
async function reasonNotBuilt(): Promise<string | undefined> {
  const minutes = Number(process.env["BUILD_MINUTES"] || Infinity);
  const limit = Number.isFinite(minutes) ? minutes * 60_000 : undefined;
  const code = await exitCode(process.execPath, ["test/cluster/build.ts"], limit);
  if (code === 0) return undefined;
  if (code === NO_PACKAGES) return "the packages that it needs cannot be downloaded (see above)";
  if (code !== "cut") throw new Error("The parts of the cluster were not built: see above");
  return `the first build was not ready after BUILD_MINUTES=${minutes}; the next run continues it`;
}

/** At the same time; if one fails, the other is waited for, because it could start what is being stopped. */
async function productAndCluster(): Promise<Image> {
  const [product, cluster] = await Promise.allSettled([makeProduct(), startCluster()]);
  if (cluster.status === "rejected") throw cluster.reason;
  if (product.status === "rejected") throw product.reason;
  return product.value;
}

async function runTests(files: readonly string[]): Promise<boolean> {
  await loadImage(await productAndCluster());
  // Over WebSockets, `kubectl exec` of 1.32 can read an answer before it has made the stream for it, and then fails.
  process.env["KUBECTL_REMOTE_COMMAND_WEBSOCKETS"] = "false";
  const setup = `--test-global-setup=${join(import.meta.dirname, "setup.ts")}`;
  const test = [process.execPath, "--test", "--test-concurrency=1", setup, ...REPORTER, ...files];
  const code = await exitCode("nsenter", [`--net=${networkOf(1)}`, "--", ...test], TESTS_MINUTES * 60_000);
  if (code === "cut") say(`test-cluster: the tests were cut after ${TESTS_MINUTES} minutes, and have failed`);
  const passed = code === 0;
  if (!passed) say(`\nThe ends of the nodes' logs:\n${await nodeLogs()}`);
  return passed;
}

function notTested(reason: string): void {
  const files = globSync(FILES, { cwd: ROOT }).toSorted().join(", ");
  say(`test-cluster: NOT TESTED on nodes (${files}), because ${reason}`);
}

async function main(): Promise<void> {
  const reason = (await reasonAgainst()) ?? (await reasonNotBuilt());
  if (reason !== undefined) return notTested(reason);
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : globSync(FILES, { cwd: ROOT }).toSorted();
  await withLock(CLUSTER_CACHE, async () => {
    process.exitCode = 1; // until all have passed
    try {
      await stopNodes(); // what a run has left that was killed
      if (await runTests(files)) process.exitCode = 0;
    } finally {
      if (!process.env["KEEP"]) await stopNodes();
    }
  });
}

await main();
