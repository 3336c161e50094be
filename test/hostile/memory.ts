/** Resident memory of another process, as Linux counts it. */

import { readFileSync, writeFileSync } from "node:fs";

export interface Memory {
  /** Bytes */
  readonly resident: number;
  /** Of it, what no file contains: the kernel cannot take it back. */
  readonly anonymous: number;
  /** Bytes; since the last forgetPeak(). */
  readonly peak: number;
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (field: string): number =>
    Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  return { resident: of("VmRSS"), anonymous: of("RssAnon"), peak: of("VmHWM") };
}

/** proc(5), clear_refs: 5 sets the peak to the present value. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
