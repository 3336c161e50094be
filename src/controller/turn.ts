/** How much of one turn of the event loop has been used: whatever is left to do must not keep calls waiting. */

export class Turn {
  readonly #lengthMs: number;
  #endsAt: number | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Work begins; what was begun before in the same turn counts. */
  begin(): void {
    if (this.#endsAt !== undefined) return;
    this.#endsAt = performance.now() + this.#lengthMs;
    setImmediate(() => (this.#endsAt = undefined));
  }

  isOver(): boolean {
    this.begin();
    return performance.now() >= (this.#endsAt ?? 0);
  }
}
