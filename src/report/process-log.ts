/** The process log on winston: one line per entry, as text for people or JSON for collectors. */

import { createLogger as createWinston, format, transports } from "winston";

import type { LogFields, Logger } from "../lib/logger.ts";
import { printable } from "../lib/printable.ts";
import { errorText } from "../lib/thrown.ts";

export const LOG_FORMATS = ["text", "json"] as const;
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly format: LogFormat;
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly stream?: NodeJS.WritableStream;
}

export interface ClosableLogger extends Logger {
  /** Resolves when every entry has been handed to the stream, or the stream is broken. */
  close(): Promise<void>;
}

/** Longer strings are cut, so that no hostile value becomes a line of megabytes. */
const MAX_VALUE_LENGTH = 8192;

/** Text that needs no quotes in `key=value`. */
const BARE = /^[\w.:/@+%,*-]+$/;

interface Entry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly fields: ReadonlyMap<string, unknown>;
}

/** The logging methods never throw, even when the stream's reader is gone. */
export function createLogger({ stream = process.stdout, ...options }: LogOptions): ClosableLogger {
  survivePipeErrors(stream);
  const line = options.format === "json" ? jsonLine : textLine;
  const sink = createWinston({
    level: options.level,
    format: format.printf(({ message }) => String(message)),
    transports: [new transports.Stream({ stream, eol: "\n" })],
  });
  const write: Write = (level, message, ...sources) => {
    if (!sink.isLevelEnabled(level)) return;
    const fields = plainFields(sources, options.level === "debug");
    const entry = { timestamp: new Date().toISOString(), level, message: cut(message), fields };
    sink.log({ level, message: printable(line(entry)) });
  };
  return Object.assign(loggerOf(write, []), {
    close: async (): Promise<void> => {
      const ended = new Promise<void>((resolve) => sink.once("finish", resolve));
      sink.end();
      await ended;
      await new Promise<void>((resolve) => stream.write("", () => resolve()));
    },
  });
}

type Write = (level: LogLevel, message: string, ...fields: readonly LogFields[]) => void;

function loggerOf(write: Write, base: readonly LogFields[]): Logger {
  return {
    debug: (msg, fields = {}) => write("debug", msg, ...base, fields),
    info: (msg, fields = {}) => write("info", msg, ...base, fields),
    warn: (msg, fields = {}) => write("warn", msg, ...base, fields),
    error: (msg, fields = {}) => write("error", msg, ...base, fields),
    child: (fields) => loggerOf(write, [...base, fields]),
  };
}

function jsonLine({ timestamp: ts, level, message: msg, fields }: Entry): string {
  const line: Record<string, unknown> = { ts, level, msg };
  for (const [key, value] of fields) line[key in line ? `${key}_` : key] = value;
  return JSON.stringify(line);
}

function textLine({ timestamp, level, message, fields }: Entry): string {
  const pairs = [...fields].map(([key, value]) => ` ${quoted(key)}=${quoted(value)}`);
  return `${timestamp} ${level.toUpperCase().padEnd(5)} ${message}${pairs.join("")}`;
}

function quoted(value: unknown): string {
  if (typeof value === "string" && BARE.test(value)) return value;
  return JSON.stringify(value);
}

/** Converts the fields to JSON values, of which later ones win; an error becomes its text, and at debug also its stack. */
function plainFields(sources: readonly LogFields[], withStack: boolean): Map<string, unknown> {
  const plain = new Map<string, unknown>();
  for (const fields of sources) {
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      plain.set(key, value instanceof Error ? cut(errorText(value)) : plainValue(value));
      if (withStack && value instanceof Error) plain.set(`${key}Stack`, cut(value.stack ?? ""));
    }
  }
  return plain;
}

function plainValue(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  try {
    const json = JSON.stringify(value);
    return json.length > MAX_VALUE_LENGTH ? cut(json) : JSON.parse(json);
  } catch {
    return `(${typeof value})`; // a cycle, a function, a bigint, a toJSON that throws
  }
}

function cut(text: string): string {
  if (text.length <= MAX_VALUE_LENGTH) return text;
  const kept = text.slice(0, MAX_VALUE_LENGTH).toWellFormed();
  return `${kept}... (${text.length - MAX_VALUE_LENGTH} more characters)`;
}

const ignore = (): void => undefined;

/** Without a listener, EPIPE from a pipe whose reader is gone would end the process. */
export function survivePipeErrors(stream: NodeJS.WritableStream): void {
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}
