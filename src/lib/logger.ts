/** The log interface of all parts of HookPolicy; src/report/process-log.ts implements it. */

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
