/** Tells on standard error how far a long command has come, so that neither a person nor a pipeline takes it for dead. */

import { stderr } from "./output.ts";

const TERMINAL_MS = 200;
/** A log of a pipeline needs few lines. */
const LOG_MS = 10_000;

export class Progress {
  readonly #interval = process.stderr.isTTY ? TERMINAL_MS : LOG_MS;
  #last = performance.now();
  #shown = false;

  /** `text` is made only when it is shown. */
  tell(text: () => string): void {
    const now = performance.now();
    if (now - this.#last < this.#interval) return;
    this.#last = now;
    this.#shown = true;
    if (process.stderr.isTTY) stderr.status(text());
    else stderr.line(text());
  }

  /** Clears the line of a terminal. */
  end(): void {
    if (this.#shown && process.stderr.isTTY) stderr.status("");
  }
}
