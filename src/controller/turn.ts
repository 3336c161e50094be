/** How much of one turn of the event loop has been used: whatever is left to do must not keep calls waiting. */

/** With one decision, one forecast or one row of a status more, no call waits for longer than some 25 ms. */
export const TURN_MS = 3;

export class Turn {
  readonly #lengthMs: number;
  #endsAt: number | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Work begins; what was begun before in the same turn counts. Gives when its time is over, on performance.now()'s clock. */
  begin(): number {
    if (this.#endsAt === undefined) setImmediate(() => (this.#endsAt = undefined));
    this.#endsAt ??= performance.now() + this.#lengthMs;
    return this.#endsAt;
  }

  isOver(): boolean {
    return performance.now() >= this.begin();
  }
}
