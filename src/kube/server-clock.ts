/** The API server's clock, as the Date headers of its responses show it, in whole seconds. */

import { MAX_SKEW_MS } from "../lib/clock-skew.ts";

interface Reading {
  readonly date: number;
  /** By a monotonic clock (performance.now), as is `received`. */
  readonly sent: number;
  readonly received: number;
}

export class ServerClock {
  #last: Reading | undefined;

  /** Reads the Date header of a response to a request that was sent at `sent`; ignores values that are not dates. */
  read(header: unknown, sent: number): void {
    const date = typeof header === "string" ? Date.parse(header) : NaN;
    if (Number.isNaN(date) || (this.#last !== undefined && sent < this.#last.sent)) return;
    this.#last = { date, sent, received: performance.now() };
  }

  /**
   * How far `now` is certainly ahead of the API server's clock; negative: behind; 0: it may be equal. `undefined`: no
   * response to a request sent since `since` (performance.now) carried a date.
   */
  aheadMs(now: Date, since = -Infinity): number | undefined {
    const last = this.#last;
    if (last === undefined || last.sent < since) return undefined;
    const elapsed = performance.now();
    const earliest = last.date + elapsed - last.received;
    const latest = last.date + 1000 + elapsed - last.sent;
    return Math.max(now.getTime() - latest, 0) + Math.min(now.getTime() - earliest, 0);
  }

  /** The API server's time, as close to this machine's as its responses allow; without any, this machine's. */
  serverTime(): Date {
    const now = new Date();
    return new Date(now.getTime() - (this.aheadMs(now) ?? 0));
  }

  /** This machine's time, or the API server's where this machine is certainly behind it. */
  readonly now = (): Date => {
    const now = new Date();
    const ahead = this.aheadMs(now) ?? 0;
    return ahead < -MAX_SKEW_MS ? new Date(now.getTime() - ahead) : now;
  };
}
