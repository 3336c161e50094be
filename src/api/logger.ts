/** What every part of HookPolicy writes its log through; src/log.ts makes the real one. */

export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Messages start with a capital and have no final period; what varies goes into the fields
 * (Cluster API's logging guide). Never put a token, a key or a whole object into a field.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}
