/** The attackers are part of this process: they must not have the processor that the operator or its other client needs. */

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

const LAST = 19;
/** The nice value of this session, between which Linux shares the processor first (sched(7), autogroup); not everywhere. */
const SESSION = "/proc/self/autogroup";

/** For this process as it is now, and not for those that it has started. Returns what ends it for the session. */
export function standBack(): () => void {
  for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), LAST);
  if (!existsSync(SESSION)) return () => undefined;
  writeFileSync(SESSION, String(LAST));
  return () => {
    try {
      writeFileSync(SESSION, "0");
    } catch {
      // Only root may raise it again; the session ends with its shell.
    }
  };
}
