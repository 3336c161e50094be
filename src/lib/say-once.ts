import { errorText } from "./error-text.ts";
import type { LogFields, Logger } from "./logger.ts";

/** Warns of the trouble of repeated attempts only once, until it is over or a different trouble occurs. */
export class SayOnce {
  #said: string | undefined;

  warn(log: Logger, message: string, fields: LogFields): void {
    const texts = Object.values(fields).map((value) =>
      value instanceof Error ? errorText(value) : JSON.stringify(value),
    );
    const trouble = [message, ...texts].join(" ");
    if (trouble === this.#said) return;
    this.#said = trouble;
    log.warn(message, fields);
  }

  /** The next trouble is reported, even if it is the same. */
  reset(): void {
    this.#said = undefined;
  }
}
