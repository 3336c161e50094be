/**
 * Follows what another program writes to disk. The content is polled: a mounted Secret changes by a swap of symbolic links two
 * levels up, which fs.watch on the file does not see.
 */

import { isDeepStrictEqual } from "node:util";
import { type Logger, SayOnce } from "../lib/logger.ts";
import { every } from "../lib/signals.ts";
import type { Lifetime } from "./lifetime.ts";

export interface FollowedFileOptions<T> {
  /** "serving certificate", for the log. */
  readonly what: string;
  /** Reads and checks the content; rejects with a one-line Error if it cannot be used. */
  readonly read: () => Promise<T>;
  /** Called after each valid change, when `current` already has the new content; when it throws, the content counts as invalid. */
  readonly onChange: (content: T) => void;
  readonly log: Logger;
}

/** kubelet itself needs up to a minute to update a mounted Secret. */
const INTERVAL_MS = 5_000;

export class FollowedFile<T extends Lifetime> {
  readonly #options: FollowedFileOptions<T>;
  #current: T | undefined;
  readonly #trouble = new SayOnce();

  constructor(options: FollowedFileOptions<T>) {
    this.#options = options;
  }

  /** `undefined` before `load`. */
  get current(): T | undefined {
    return this.#current;
  }

  /** Rejects if there is no usable content, because a server that no client can trust must not appear started. */
  async load(): Promise<T> {
    const { what, read } = this.#options;
    const content = await read();
    this.#current = content;
    this.#tell(`Loaded the ${what}`, content);
    return content;
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await every(INTERVAL_MS, signal, async () => await this.look());
  }

  /** Reads once. Invalid content leaves the old one in use. */
  async look(): Promise<void> {
    const { what, read, onChange, log } = this.#options;
    const before = this.#current;
    try {
      const content = await read();
      if (!isDeepStrictEqual(content, before)) {
        this.#current = content;
        onChange(content);
        this.#tell(`Changed the ${what}`, content);
      }
      this.#trouble.reset();
    } catch (error) {
      this.#current = before;
      this.#trouble.warn(log, `Keeping the old ${what}`, { error });
    }
  }

  #tell(message: string, { notBefore, notAfter }: Lifetime): void {
    this.#options.log.info(message, { notBefore, notAfter });
  }
}
