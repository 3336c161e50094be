/** Runs the load generator (bench/load). */

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { hookPath } from "../../src/api/hook-catalog.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import { flags } from "../../test/controlplane/processes.ts";

const run = promisify(execFile);

export interface Load {
  readonly hook: HookName;
  readonly port: number;
  /** A file of request bodies, one per line. */
  readonly bodies: string;
  readonly seconds: number;
  readonly connections: number;
  /** Calls per second, whether answers come or not; absent: the next call follows the answer. */
  readonly rate?: number;
  readonly reconnect?: boolean;
  /** Other bytes in every call. */
  readonly fresh?: boolean;
}

/** Times in milliseconds. */
export interface LoadResult {
  readonly calls: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuSeconds: number;
}

/** Writes request after request: all together may not fit into memory. */
export async function writeBodies<T>(
  file: string,
  items: readonly T[],
  request: (item: T) => string,
): Promise<void> {
  await writeFile(
    file,
    Iterator.from(items).map((item) => `${request(item)}\n`),
  );
}

/** Cluster API calls again after so many seconds. */
export const PERIOD_SECONDS = 10;

/**
 * Calls about so many Clusters, each once in PERIOD_SECONDS. There are no more connections than calls per second, because
 * the server closes connections that send nothing in their first ten seconds.
 */
export async function callAboutAll(
  binary: string,
  clusters: number,
  load: Omit<Load, "rate">,
): Promise<LoadResult> {
  const rate = Math.ceil(clusters / PERIOD_SECONDS);
  return await callUnderLoad(binary, { ...load, rate, connections: Math.min(load.connections, rate) });
}

/** Rejects if a call failed or was not held: then the figures mean nothing. */
export async function callUnderLoad(binary: string, load: Load): Promise<LoadResult> {
  const { hook, port, bodies, seconds, connections, rate = 0, reconnect = false, fresh = false } = load;
  const url = `https://127.0.0.1:${port}${hookPath(hook)}?timeout=10s`;
  const args = flags({ url, bodies, duration: `${seconds}s`, connections, rate, reconnect, fresh });
  const { stdout } = await run(binary, args, { timeout: (seconds + 60) * 1000 });
  const result: LoadResult & { wrong: number; failed: number; firstFailure?: string } = JSON.parse(stdout);
  const { failed, wrong, calls, firstFailure = "the wrong answers did not hold" } = result;
  if (failed + wrong > 0)
    throw new Error(
      `${url}: of ${calls} calls ${failed} failed, ${wrong} got a wrong answer: ${firstFailure}`,
    );
  return result;
}
