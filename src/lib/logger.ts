/** The log interface of all parts of HookPolicy, which src/report/process-log.ts implements, and warnings that are not repeated. */

import { MINUTE_MS } from "./duration.ts";
import { errorText } from "./thrown.ts";

export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Messages start with a capital and have no final period; variable parts belong in the fields (Cluster API's logging
 * guide). A field never contains a token, a key or a whole object.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** Logs a warning or an error at most once a minute: any caller can cause it. */
export function rateLimited(log: Logger, level: "warn" | "error" = "warn"): Logger["warn"] {
  let reportedAt = -Infinity;
  return (message, fields) => {
    if (performance.now() - reportedAt < MINUTE_MS) return;
    reportedAt = performance.now();
    log[level](message, fields);
  };
}

/** A trouble that lasts is in the log of the last hour, which the runbook reads. */
const REPEAT_MS = 30 * MINUTE_MS;

/** Warns of the trouble of repeated attempts once each half hour, until it is over or a different trouble occurs. */
export class SayOnce {
  #said: string | undefined;
  #saidAt = -Infinity;

  /** `trouble`: what makes it a different one; else the message and its fields. */
  warn(log: Logger, message: string, fields: LogFields, trouble = textOf(message, fields)): void {
    const isSaid = trouble === this.#said && performance.now() - this.#saidAt < REPEAT_MS;
    if (isSaid) return log.debug(message, fields);
    this.#said = trouble;
    this.#saidAt = performance.now();
    log.warn(message, fields);
  }

  /** The next trouble is reported, even if it is the same. */
  reset(): void {
    this.#said = undefined;
  }
}

function textOf(message: string, fields: LogFields): string {
  const texts = Object.values(fields).map((value) =>
    value instanceof Error ? errorText(value) : JSON.stringify(value),
  );
  return [message, ...texts].join(" ");
}
