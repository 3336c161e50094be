/** Instants on the wall clock of a time zone, and durations, for people. */

const MINUTE = 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  formats.set(timeZone, format);
  return format;
}

/** The wall clock at an instant, as the instant at which UTC shows the same time. */
export function wallTime(instant: Date, timeZone: string): Date {
  const part = partsOf(instant, timeZone);
  const date = Date.UTC(Number(part("year")), Number(part("month")) - 1, Number(part("day")));
  const time =
    Number(part("hour")) * 60 * MINUTE + Number(part("minute")) * MINUTE + Number(part("second")) * 1000;
  return new Date(date + time);
}

function partsOf(instant: Date, timeZone: string): (type: Intl.DateTimeFormatPartTypes) => string {
  const parts = formatOf(timeZone).formatToParts(instant);
  return (wanted) => parts.find(({ type }) => type === wanted)?.value ?? "";
}

/** "Fri 2026-11-27 22:00 +01:00"; with seconds if they are not zero. */
export function dateText(instant: Date, timeZone: string): string {
  const part = partsOf(instant, timeZone);
  const offset = Math.round((wallTime(instant, timeZone).getTime() - instant.getTime()) / MINUTE);
  const date = [part("year"), part("month"), part("day")].join("-");
  return [part("weekday"), date, clockText(wallTime(instant, timeZone)), offsetText(offset)].join(" ");
}

/** "22:00", of a wall time. */
export function clockText(wall: Date): string {
  const text = wall.toISOString().slice(11, 19);
  return text.endsWith(":00") ? text.slice(0, 5) : text;
}

function offsetText(minutes: number): string {
  const clock = new Date(Math.abs(minutes) * MINUTE).toISOString().slice(11, 16);
  return `${minutes < 0 ? "-" : "+"}${clock}`;
}
