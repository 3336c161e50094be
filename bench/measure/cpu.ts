/** CPU time of other processes, as Linux counts it. */

import { readFileSync } from "node:fs";

/** Of Linux, for programs. */
const TICKS_PER_SECOND = 100;

/** Until now, all of its threads together. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // proc_pid_stat(5): the name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
