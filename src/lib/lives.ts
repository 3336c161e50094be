import { once } from "node:events";

/** What runs until the end, or until it is stopped before. */
export class Lives {
  readonly #begun = Promise.withResolvers<AbortSignal>();
  readonly #lives = new Set<Promise<void>>();

  /** `run` ends when its signal aborts, and never rejects. It begins with that of all. Returns what stops it. */
  begin(run: (signal: AbortSignal) => Promise<void>): () => void {
    const stop = new AbortController();
    const life: Promise<void> = this.#begun.promise
      .then(async (signal) => await run(AbortSignal.any([signal, stop.signal])))
      .finally(() => this.#lives.delete(life));
    this.#lives.add(life);
    return () => stop.abort();
  }

  /** Runs until `signal` aborts and everything has ended; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#begun.resolve(signal);
    if (!signal.aborted) await once(signal, "abort");
    await Promise.all(this.#lives);
  }
}
