/**
 * Loaded into an operator's process before the operator (node --import=…?log=FILE): writes down each long stretch of its
 * event loop, during which it answers no call. CPU time is the operator's own; the rest is the machine's.
 */

import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

export interface Stretch {
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

const EVERY_MS = 2;
const WORTH_A_LINE_MS = 5;

const log = new URL(import.meta.url).searchParams.get("log");
if (log !== null && isMainThread) follow(log);

function follow(file: string): void {
  let last = read();
  const timer = setInterval(() => {
    const now = read();
    const stretch: Stretch = {
      at: Date.now(),
      wallMs: now.wallMs - last.wallMs,
      cpuMs: now.cpuMs - last.cpuMs,
    };
    if (stretch.cpuMs > WORTH_A_LINE_MS) appendFileSync(file, `${JSON.stringify(stretch)}\n`);
    last = read();
  }, EVERY_MS);
  timer.unref();
}

/** Of this thread: other threads do not hold up calls. */
function read(): Pick<Stretch, "wallMs" | "cpuMs"> {
  const { user, system } = process.threadCpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}
