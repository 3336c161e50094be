import type { Logger } from "../api/logger.ts";

const REPORT_INTERVAL_MS = 60_000;

/** Logs a warning that any caller can cause only now and then, however often it happens. */
export function sparing(log: Logger): Logger["warn"] {
  let reportedAt = -Infinity;
  return (message, fields) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    log.warn(message, fields);
  };
}
