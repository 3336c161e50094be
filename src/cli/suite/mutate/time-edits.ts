/** Small changes of times: another hour, day, duration or time zone. */

import { durationText, HOUR_MS, parseDuration } from "../../../lib/duration.ts";
import { isLocal } from "../../../policy/window/moment.ts";

export function halved(duration: string): string | undefined {
  const ms = parseDuration(duration);
  return ms === undefined || ms < 2000 ? undefined : durationText(Math.floor(ms / 2000) * 1000);
}

/** Moves `from` or `to`, a local time on its own clock; `undefined`: the text is no instant. */
export function hourLater(moment: string): string | undefined {
  const offset = isLocal(moment) ? "" : "Z";
  const at = Date.parse(offset === "" && moment.includes("T") ? `${moment}Z` : moment);
  return Number.isNaN(at) ? undefined : new Date(at + HOUR_MS).toISOString().replace(".000Z", offset);
}

const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** The fields of a schedule that change: hour, day of month and day of week, with their values. */
const FIELDS = [
  { index: 1, first: 0, count: 24 },
  { index: 2, first: 1, count: 28 },
  { index: 4, first: 0, count: 7 },
];

/** Moves the hour, the day of the month or the day of the week by one, if the schedule names it. */
export function laterSchedules(schedule: string): string[] {
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== 5) return [];
  return FIELDS.flatMap(({ index, first, count }) => {
    const field = fields[index] ?? "";
    const later = laterField(field, first, count);
    return later === field ? [] : [fields.with(index, later).join(" ")];
  });
}

/** Replaces the first value of the field by the next one. A number after a slash is no value. */
function laterField(field: string, first: number, count: number): string {
  const next = (value: number): number => ((value - first + 1) % count) + first;
  return field.replace(/^(?:\d+|[A-Za-z]{3})/, (value) => {
    const day = DAYS.indexOf(value.toUpperCase());
    if (day >= 0) return DAYS[next(day)] ?? value;
    return /^\d+$/.test(value) ? String(next(Number(value))) : value;
  });
}

/** A time zone in which every schedule means another time. */
export function otherZone(timeZone: string): string {
  return /^(?:Asia|Australia|Pacific)\//.test(timeZone) ? "America/New_York" : "Asia/Tokyo";
}
