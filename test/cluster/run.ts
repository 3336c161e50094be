/**
 * Runs the tests of this folder on a cluster of two nodes: `node test/cluster/run.ts [FILE…]`. They run in the network of the
 * first node, one file after the other. BUILD_MINUTES limits what is built first; KEEP=1 leaves the cluster running.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../controlplane/gobuild.ts";
import { startCluster } from "./cluster.ts";
import { CLUSTER_CACHE, ROOT } from "./folders.ts";
import { reasonAgainst } from "./machine.ts";
import { networkOf, nodeLogs, stopNodes } from "./nodes.ts";
import { makeProduct } from "./product.ts";

const FILES = "test/cluster/*.test.ts";
const REPORTERS = ["failures", "slowest"].flatMap((name) => [
  `--test-reporter=./test/${name}.ts`,
  "--test-reporter-destination=stdout",
]);

let child: ChildProcess | undefined;
let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interrupted = true;
    if (child?.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  });
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Whether it ended with 0; in a process group of its own, so that what it has started ends with it. */
async function succeeds(command: string, args: readonly string[], timeoutMs?: number): Promise<boolean> {
  const started = spawn(command, args, { cwd: ROOT, stdio: "inherit", detached: true });
  child = started;
  const end = (): boolean => started.pid !== undefined && process.kill(-started.pid, "SIGTERM");
  const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  const code = await new Promise((resolve, reject) => {
    started.once("error", reject);
    started.once("exit", resolve);
  });
  clearTimeout(timer);
  return code === 0 && !interrupted;
}

async function built(): Promise<boolean> {
  const minutes = Number(process.env["BUILD_MINUTES"] || Infinity);
  const limit = Number.isFinite(minutes) ? minutes * 60_000 : undefined;
  const started = Date.now();
  if (await succeeds(process.execPath, ["test/cluster/build.ts"], limit)) return true;
  if (interrupted || limit === undefined || Date.now() - started < limit)
    throw new Error("The parts of the cluster were not built: see above");
  return false;
}

async function runTests(files: readonly string[]): Promise<boolean> {
  const product = await makeProduct();
  await startCluster([product]);
  const setup = `--test-global-setup=${join(import.meta.dirname, "setup.ts")}`;
  const test = [process.execPath, "--test", "--test-concurrency=1", setup, ...REPORTERS, ...files];
  const passed = await succeeds("nsenter", [`--net=${networkOf(1)}`, "--", ...test]);
  if (!passed) say(`\nThe ends of the nodes' logs:\n${await nodeLogs()}`);
  return passed;
}

function notTested(reason: string): void {
  say(`test-cluster: NOT TESTED on nodes, because ${reason}.`);
  say(`Nothing of this ran: ${globSync(FILES, { cwd: ROOT }).toSorted().join(", ")}`);
}

async function main(): Promise<void> {
  const reason = await reasonAgainst();
  if (reason !== undefined) return notTested(reason);
  if (!(await built()))
    return notTested("BUILD_MINUTES was over before its parts were built (the next run goes on)");
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
