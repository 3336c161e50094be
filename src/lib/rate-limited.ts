import type { Logger } from "./logger.ts";

const REPORT_INTERVAL_MS = 60_000;

/** Logs a warning at most once a minute: any caller can cause it. */
export function rateLimited(log: Logger): Logger["warn"] {
  let reportedAt = -Infinity;
  return (message, fields) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    log.warn(message, fields);
  };
}
