/** Shows the progress of a long command on standard error, so that it does not seem to hang. */

import { stderr } from "./output.ts";

const TERMINAL_MS = 200;
/** The log of a pipeline needs few lines. */
const LOG_MS = 10_000;

export class Progress {
  readonly #interval = process.stderr.isTTY ? TERMINAL_MS : LOG_MS;
  #last = performance.now();
  #shown = false;

  /** Calls `text` only when a line is due. */
  tell(text: () => string): void {
    const now = performance.now();
    if (now - this.#last < this.#interval) return;
    this.#last = now;
    this.#shown = true;
    if (process.stderr.isTTY) stderr.status(text());
    else stderr.line(text());
  }

  end(): void {
    if (this.#shown && process.stderr.isTTY) stderr.status("");
  }
}
