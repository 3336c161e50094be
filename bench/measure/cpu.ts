/** CPU time of other processes, as Linux counts it. */

import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

/** The CPU time of all threads of the process until now. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // proc_pid_stat(5): the name in parentheses may hold anything; utime and stime are the 12th and 13th fields after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
