/** The starts and ends of single entries: instants, and dates and times on the clock of a time zone. */

import { wallClock } from "./zone.ts";

const MOMENT =
  /^(?<day>\d{4}-\d\d-\d\d)(?:T(?<time>(?:[01]\d|2[0-3]):[0-5]\d)(?<seconds>:[0-5]\d(?:\.\d+)?)?(?<offset>Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;

/** Parses RFC 3339 to milliseconds. */
export function parseInstant(text: string): number | undefined {
  const { day = "", seconds, offset } = MOMENT.exec(text)?.groups ?? {};
  if (seconds === undefined || offset === undefined || !exists(day)) return undefined;
  return Date.parse(text);
}

/** Parses to a wall time (zone.ts); a date means its first instant. `undefined` for a time with an offset. */
function parseLocal(text: string): number | undefined {
  const { day = "", time = "00:00", seconds = ":00", offset } = MOMENT.exec(text)?.groups ?? {};
  if (offset !== undefined || seconds.includes(".") || !exists(day)) return undefined;
  return Date.parse(`${day}T${time}${seconds}Z`);
}

export function isLocal(text: string): boolean {
  return parseLocal(text) !== undefined;
}

/**
 * `timeZone` must be valid. A time that the clocks skip is the first instant after the gap; one that they show twice is
 * the first of the two, as for schedules.
 */
export function parseMoment(text: string, timeZone: string | undefined): number | undefined {
  const wall = parseLocal(text);
  if (wall === undefined) return parseInstant(text);
  return timeZone === undefined ? undefined : wallClock(timeZone).firstRead(wall);
}

/** JavaScript parses 30 February as 2 March. */
function exists(day: string): boolean {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}
