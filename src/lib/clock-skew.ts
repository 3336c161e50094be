/** Whether decisions may use the time of this machine, which the API server's clock has to confirm. */

/** The largest tolerated difference between this machine's clock and the API server's. */
export const MAX_SKEW_MS = 10_000;

/** Compares with the clock of the API server, as the responses to reads show it. */
export interface ServerTime {
  /**
   * By how much `now` is certainly ahead of the API server's clock; negative: behind. `undefined`: unknown, because no
   * response to a read that began after `since`, of the monotonic clock, had a date.
   */
  clockAheadMs(now: Date, since: number): number | undefined;
}

/** `now`: just read from the clock. The reason label if it may not decide what was read since `since`, of the monotonic clock. */
export function clockProblem(server: ServerTime, now: Date, since: number): string | undefined {
  const skew = server.clockAheadMs(now, since);
  if (skew === undefined) return "ClockUnknown";
  return Math.abs(skew) > MAX_SKEW_MS ? "ClockSkewed" : undefined;
}
