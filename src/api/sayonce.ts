/** For what is tried again and again: the same trouble is reported once, until it is over or another one comes. */
export class SayOnce {
  #said: string | undefined;

  /** Calls `report` unless `trouble` is what was said last. */
  say(trouble: string, report: () => void): void {
    if (trouble === this.#said) return;
    this.#said = trouble;
    report();
  }

  /** The trouble is over: when it comes back, it is reported again. */
  over(): void {
    this.#said = undefined;
  }
}
