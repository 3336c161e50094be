/**
 * Writes lines to a target in the background: write() never waits or fails. Lines that do not fit into the buffer,
 * because the disk is full or the reader is gone, are dropped and counted, and logged once.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../lib/logger.ts";

export interface LineTarget {
  /** Resolves with the number of bytes written, which may be fewer; rejects when none could be written. */
  write(bytes: Buffer): Promise<number>;
  close(): Promise<void>;
}

export interface LineWriterOptions {
  readonly target: LineTarget;
  readonly log: Logger;
  readonly onLines: (result: "written" | "dropped", count: number) => void;
}

/** Some ten thousand lines, which is minutes of a fleet in which everything changes at once. */
const MAX_BYTES = 16 * 1024 * 1024;
const BATCH_BYTES = 256 * 1024;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 10_000;
/** The rest is dropped, because a graceful shutdown must not wait for a disk. */
const CLOSE_MS = 2000;

export class LineWriter {
  readonly #options: LineWriterOptions;
  readonly #closing = new AbortController();
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Lines dropped since the last line that was written. */
  #dropped = 0;
  #failing = false;
  #pumping: Promise<void> | undefined;

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** `line` ends with a newline. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#closing.signal.aborted || this.#waitingBytes + bytes.length > MAX_BYTES) return this.#drop(1);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#pumping ??= this.#pump().finally(() => (this.#pumping = undefined));
  }

  /** Resolves when everything is written or after CLOSE_MS. */
  async close(): Promise<void> {
    this.#closing.abort();
    const enough = pause(CLOSE_MS, undefined, { ref: false });
    await Promise.race([this.#pumping, enough]);
    if (this.#waiting.length > 0) this.#drop(this.#waiting.length);
    this.#waiting = [];
    await Promise.race([this.#options.target.close(), enough]);
  }

  /** Never rejects. */
  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#nextBatch();
      if (!(await this.#deliver(Buffer.concat(lines)))) return;
      this.#waiting.splice(0, lines.length);
      for (const line of lines) this.#waitingBytes -= line.length;
      this.#options.onLines("written", lines.length);
      this.#recovered();
    }
  }

  #nextBatch(): Buffer[] {
    let size = 0;
    const end = this.#waiting.findIndex((line) => (size += line.length) > BATCH_BYTES);
    return this.#waiting.slice(0, end === -1 ? undefined : Math.max(end, 1));
  }

  /** Whether the whole batch was written; false only when the writer is closing. */
  async #deliver(batch: Buffer): Promise<boolean> {
    let rest = batch;
    for (let retryMs = MIN_RETRY_MS; rest.length > 0; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
      try {
        rest = rest.subarray(await this.#options.target.write(rest));
      } catch (error) {
        this.#failed(error);
        const stopped = await pause(retryMs, false, { ref: false, signal: this.#closing.signal }).catch(
          () => true,
        );
        if (stopped) return false;
      }
    }
    return true;
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
