/**
 * Writes the audit log to a target in the background: write() never waits or fails. Lines that do not fit into the buffer,
 * because the disk is full or the reader is gone, are dropped and counted, and logged once.
 */

import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { callbackify } from "node:util";
import type { Logger } from "../lib/logger.ts";

export interface LineTarget {
  /** Resolves with the number of bytes written, which may be fewer; rejects when none could be written. */
  write(bytes: Buffer): Promise<number>;
  close(): Promise<void>;
}

export interface AuditWriterOptions {
  readonly target: LineTarget;
  readonly log: Logger;
  readonly onLines: (result: "written" | "dropped", count: number) => void;
}

/** Some ten thousand lines, which is minutes of a fleet in which everything changes at once. */
const MAX_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 500;
/** The rest is dropped, because a graceful shutdown must not wait for a disk. */
const CLOSE_MS = 2000;

export class AuditWriter {
  readonly #options: AuditWriterOptions;
  readonly #closing = new AbortController();
  readonly #stream: Writable;
  /** Lines in the stream. */
  #waiting = 0;
  /** Lines dropped since the last line that was written. */
  #dropped = 0;
  #failing = false;

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.#stream = new Writable({
      highWaterMark: MAX_BYTES,
      writev: (lines: readonly { readonly chunk: Buffer }[], done) => {
        callbackify(async () => await this.#deliver(lines.map(({ chunk }) => chunk)))(done);
      },
    }).on("error", () => undefined);
  }

  /** `line` ends with a newline. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    const isFull = this.#stream.writableLength + bytes.length > MAX_BYTES;
    if (this.#closing.signal.aborted || isFull) return this.#drop(1);
    this.#waiting += 1;
    this.#stream.write(bytes);
  }

  /** Resolves when everything is written or after CLOSE_MS. */
  async close(): Promise<void> {
    this.#closing.abort();
    const enough = pause(CLOSE_MS, undefined, { ref: false });
    await Promise.race([finished(this.#stream.end()).catch(() => undefined), enough]);
    if (this.#waiting > 0) this.#drop(this.#waiting);
    await Promise.race([this.#options.target.close(), enough]);
  }

  /** Rejects only when the writer is closing. */
  async #deliver(lines: readonly Buffer[]): Promise<void> {
    let rest = Buffer.concat(lines);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(await this.#options.target.write(rest));
      } catch (error) {
        this.#failed(error);
        await pause(RETRY_MS, undefined, { ref: false, signal: this.#closing.signal });
      }
    }
    this.#waiting -= lines.length;
    this.#options.onLines("written", lines.length);
    this.#recovered();
  }

  #failed(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn("Cannot write the audit log; its lines wait", { error });
  }

  #recovered(): void {
    if (!this.#failing && this.#dropped === 0) return;
    this.#options.log.info("The audit log is being written again", { dropped: this.#dropped });
    this.#failing = false;
    this.#dropped = 0;
  }

  #drop(count: number): void {
    if (this.#dropped === 0) this.#options.log.error("Dropping lines of the audit log");
    this.#dropped += count;
    this.#options.onLines("dropped", count);
  }
}
