/** Instants on the wall clock of a time zone, and durations, for people. */

import { MINUTE_MS } from "../../lib/duration.ts";
import { offsetReader } from "../../policy/window/zone.ts";

/** The wall clock at an instant, as the instant at which UTC shows the same time. */
export function wallTime(instant: Date, timeZone: string): Date {
  const second = Math.floor(instant.getTime() / 1000) * 1000;
  return new Date(second + offsetReader(timeZone)(second));
}

/** "Fri 2026-11-27 22:00 +01:00"; with seconds if they are not zero. */
export function instantText(instant: Date, timeZone: string): string {
  const wall = wallTime(instant, timeZone);
  const offset = Math.round((wall.getTime() - instant.getTime()) / MINUTE_MS);
  const [weekday, date] = [wall.toUTCString().slice(0, 3), wall.toISOString().slice(0, 10)];
  return [weekday, date, clockText(wall), offsetText(offset)].join(" ");
}

/** "22:00"; with seconds if they are not zero. */
export function clockText(wall: Date): string {
  const text = wall.toISOString().slice(11, 19);
  return text.endsWith(":00") ? text.slice(0, 5) : text;
}

function offsetText(minutes: number): string {
  const clock = new Date(Math.abs(minutes) * MINUTE_MS).toISOString().slice(11, 16);
  return `${minutes < 0 ? "-" : "+"}${clock}`;
}
