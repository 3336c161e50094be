/** Measures how much of one turn of the event loop is used, so that work leaves time for calls. */

/** Short enough that no call waits longer than some 25 ms, even if one more decision, forecast or row follows. */
export const TURN_MS = 3;

export class Turn {
  readonly #lengthMs: number;
  #endsAt: number | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Begins work; work that began before in the same turn counts. Returns when its time is over (performance.now()). */
  begin(): number {
    if (this.#endsAt === undefined) setImmediate(() => (this.#endsAt = undefined));
    this.#endsAt ??= performance.now() + this.#lengthMs;
    return this.#endsAt;
  }

  isOver(): boolean {
    return performance.now() >= this.begin();
  }
}
