/** How much of one turn of the event loop has been used: whatever is left to do must not keep calls waiting. */

export class Turn {
  readonly #lengthMs: number;
  #endsAt: number | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** The first question of a turn starts its clock. */
  isOver(): boolean {
    const now = performance.now();
    if (this.#endsAt === undefined) {
      this.#endsAt = now + this.#lengthMs;
      setImmediate(() => (this.#endsAt = undefined));
    }
    return now >= this.#endsAt;
  }
}
