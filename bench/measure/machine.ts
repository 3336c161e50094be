/** What a measurement was made on. */

import { availableParallelism, cpus, release, totalmem } from "node:os";
import type { Machine } from "../result.ts";

/** `versions`: of what is measured or measured with, besides Node.js. */
export function describeMachine(versions: Readonly<Record<string, string>>): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    versions: { node: process.versions.node, ...versions },
  };
}
