/** Reports the trouble of repeated attempts only once, until it is over or a different trouble occurs. */
export class SayOnce {
  #said: string | undefined;

  /** Calls `report` unless the last trouble was the same. */
  say(trouble: string, report: () => void): void {
    if (trouble === this.#said) return;
    this.#said = trouble;
    report();
  }

  /** The next trouble is reported, even if it is the same. */
  reset(): void {
    this.#said = undefined;
  }
}
