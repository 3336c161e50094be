import type { LogFields, Logger } from "../../../src/lib/logger.ts";

export interface Recorder extends Logger {
  readonly entries: { readonly level: string; readonly message: string; readonly fields: LogFields }[];
}

/** A logger that keeps what it is told. */
export function createRecorder(): Recorder {
  const entries: Recorder["entries"] = [];
  const keep =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      entries.push({ level, message, fields });
    };
  const recorder: Recorder = {
    entries,
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    child: () => recorder,
  };
  return recorder;
}
