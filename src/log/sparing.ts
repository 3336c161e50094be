import type { Logger } from "../api/logger.ts";

const REPORT_INTERVAL_MS = 60_000;

/** What strangers can cause is a line now and then, however often they do. */
export function sparing(log: Logger): Logger["warn"] {
  let reportedAt = -Infinity;
  return (message, fields) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    log.warn(message, fields);
  };
}
