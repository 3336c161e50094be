/** The API server's clock, as the Date headers of its responses show it, in whole seconds. */

interface Reading {
  readonly date: number;
  /** By a clock that is never set (performance.now), as is `received`. */
  readonly sent: number;
  readonly received: number;
}

/** Clocks that differ by less count as the same. */
const TOLERANCE_MS = 10_000;

export class ServerClock {
  #last: Reading | undefined;

  /** Of a response to a request that was sent then; anything that is no date is ignored. */
  read(header: unknown, sent: number): void {
    const date = typeof header === "string" ? Date.parse(header) : NaN;
    if (Number.isNaN(date) || (this.#last !== undefined && sent < this.#last.sent)) return;
    this.#last = { date, sent, received: performance.now() };
  }

  /**
   * By how much `now` is certainly ahead of it; negative: behind; 0 where it could be the same. `undefined`: no
   * response to a request sent since `since` (performance.now) has told the time.
   */
  aheadMs(now: Date, since = -Infinity): number | undefined {
    const last = this.#last;
    if (last === undefined || last.sent < since) return undefined;
    const elapsed = performance.now();
    const earliest = last.date + elapsed - last.received;
    const latest = last.date + 1000 + elapsed - last.sent;
    return Math.max(now.getTime() - latest, 0) + Math.min(now.getTime() - earliest, 0);
  }

  /** This machine's clock; the API server's where this one is certainly behind it. */
  readonly now = (): Date => {
    const now = new Date();
    const ahead = this.aheadMs(now) ?? 0;
    return ahead < -TOLERANCE_MS ? new Date(now.getTime() - ahead) : now;
  };
}
