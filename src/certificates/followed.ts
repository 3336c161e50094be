/**
 * Follows what another program writes, to disk or to a Secret. The content is polled: a mounted Secret changes by a swap of
 * symbolic links two levels up, which fs.watch on the file does not see.
 */

import { isDeepStrictEqual } from "node:util";
import { type Logger, SayOnce } from "../lib/logger.ts";
import { every } from "../lib/signals.ts";
import type { Lifetime } from "./lifetime.ts";

export interface FollowedOptions<T> {
  /** "serving certificate", for the log. */
  readonly what: string;
  /** Reads and checks the content; rejects with a one-line Error if it cannot be used. */
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** Called after each valid change, when `current` already has the new content; when it throws, the content counts as invalid. */
  readonly onChange: (content: T) => void;
  readonly log: Logger;
}

/** How often certificates are looked at. kubelet itself needs up to a minute to update a mounted Secret. */
export const LOOK_MS = 5_000;

export class Followed<T extends Lifetime> {
  readonly #options: FollowedOptions<T>;
  #current: T | undefined;
  readonly #trouble = new SayOnce();

  constructor(options: FollowedOptions<T>) {
    this.#options = options;
  }

  /** `undefined` before `load`. */
  get current(): T | undefined {
    return this.#current;
  }

  /**
   * `first`: reads what to start with. Rejects if there is no usable content, because a server that no client can trust must not
   * appear started.
   */
  async load(signal: AbortSignal, first = this.#options.read): Promise<T> {
    const content = await first(signal);
    this.#current = content;
    this.#tell(`Loaded the ${this.#options.what}`, content);
    return content;
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await every(LOOK_MS, signal, async () => await this.look(signal));
  }

  /** Reads once. Invalid content leaves the old one in use. */
  async look(signal: AbortSignal): Promise<void> {
    const { what, read, onChange, log } = this.#options;
    const before = this.#current;
    try {
      const content = await read(signal);
      if (!isDeepStrictEqual(content, before)) {
        this.#current = content;
        onChange(content);
        this.#tell(`Changed the ${what}`, content);
      }
      this.#trouble.reset();
    } catch (error) {
      this.#current = before;
      if (!signal.aborted) this.#trouble.warn(log, `Keeping the old ${what}`, { error });
    }
  }

  #tell(message: string, { notBefore, notAfter }: Lifetime): void {
    this.#options.log.info(message, { notBefore, notAfter });
  }
}
