/**
 * Loaded into an operator's process before the operator (node --import=…?log=FILE): writes down each long stretch of its
 * event loop, during which it answers no call. The CPU time is the operator's own, the rest is the machine's.
 */

import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

export interface Stretch {
  /** Its end, in milliseconds since 1970. */
  readonly at: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

const EVERY_MS = 2;
const WORTH_A_LINE_MS = 5;

const log = new URL(import.meta.url).searchParams.get("log");
if (log !== null && isMainThread) follow(log);

function follow(file: string): void {
  let last = now();
  const timer = setInterval(() => {
    const { at, wallMs, cpuMs } = now();
    const stretch: Stretch = { at, wallMs: wallMs - last.wallMs, cpuMs: cpuMs - last.cpuMs };
    if (stretch.cpuMs > WORTH_A_LINE_MS) appendFileSync(file, `${JSON.stringify(stretch)}\n`);
    last = now();
  }, EVERY_MS);
  timer.unref();
}

/** Counts this thread alone: other threads do not hold up calls. */
function now(): Stretch {
  const { user, system } = process.threadCpuUsage();
  return { at: Date.now(), wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}
