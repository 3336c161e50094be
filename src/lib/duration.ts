/** Durations in the CRD's format: Go's hours, minutes and seconds, such as 1h30m. */

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A leap year: longer than any wait in a policy. */
const MAX_MS = 8784 * HOUR_MS;
const DURATION = /^(?:(?<hours>\d+)h)?(?:(?<minutes>\d+)m)?(?:(?<seconds>\d+)s)?$/;

/** In milliseconds; `undefined` for invalid text, for zero, and above 8784h. */
export function parseDuration(text: string): number | undefined {
  const parts = DURATION.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const { hours = 0, minutes = 0, seconds = 0 } = parts;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return ms > 0 && ms <= MAX_MS ? ms : undefined;
}

/** A schema admits only valid durations; an invalid one must not end early. */
const NEVER_MS = 100 * 366 * DAY_MS;

export function durationOrNever(text: string): number {
  return parseDuration(text) ?? NEVER_MS;
}

/** "1h30m", as parseDuration() reads it. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`);
  return shown.length === 0 ? "0s" : shown.join("");
}
