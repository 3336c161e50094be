/** Schedules: the five fields of cron, and the wall times at which they start something. */

import { Cron } from "croner";
import { found } from "../fieldmessage.ts";

/** Wall times are milliseconds, as in windowzone.ts. */
export interface Schedule {
  /** The latest start that is not after `wall`. */
  readonly latest: (wall: number) => number | undefined;
  /** The earliest start after `wall`. */
  readonly next: (wall: number) => number | undefined;
  /** The last start that is reached from `start` within its day by steps of at most `step`. */
  readonly lastOfRun: (start: number) => number;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

/** The values of the five fields. */
interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  readonly weekdays: readonly number[];
  /** Cron takes either one where both the day of month and the day of week are given. */
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
}

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const MINUTES: Field = { name: "minute", min: 0, max: 59 };
const HOURS: Field = { name: "hour", min: 0, max: 23 };
const DAYS: Field = { name: "day of month", min: 1, max: 31 };
const MONTHS: Field = {
  name: "month",
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
/** Sunday is 0 and 7. */
const WEEKDAYS: Field = {
  name: "day of week",
  min: 0,
  max: 7,
  names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

/** What every cron reads alike: no L, W, # or ?, no steps from a single number. */
const ITEM =
  /^(?:(?<any>\*)|(?<from>\d{1,2}|[a-z]{3})(?:-(?<to>\d{1,2}|[a-z]{3}))?)(?:\/(?<step>\d{1,2}))?$/i;

class ScheduleError extends Error {}

/** What is wrong with a schedule; `undefined` when it can be compiled. */
export function scheduleProblem(text: string): string | undefined {
  try {
    parseFields(text);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return `found ${found(text)}: ${error.message}`;
    throw error;
  }
}

/** Legal, but perhaps not what was meant. */
export function scheduleWarning(text: string): string | undefined {
  const { anyDay, anyWeekday } = parseFields(text);
  if (anyDay || anyWeekday) return undefined;
  return "starts on the days of the month and also on the days of the week, as cron does when both are given";
}

/** The longest time between two starts on the wall clock; `undefined` where a day can be without any. */
export function longestPause(text: string): number | undefined {
  const fields = parseFields(text);
  if (!fields.anyDay || !fields.anyWeekday || fields.months.length < 12) return undefined;
  const starts = startsOfDay(fields);
  const first = starts[0] ?? 0;
  return Math.max(...starts.map((start, i) => (starts[i + 1] ?? first + DAY) - start));
}

/** Throws for a schedule with a problem. */
export function compileSchedule(text: string, step: number): Schedule {
  const fields = parseFields(text);
  const cron = new Cron(pattern(fields), { mode: "5-part", utcOffset: 0 });
  const runs = lastOfRuns(startsOfDay(fields), step);
  return {
    // What is asked for is before that instant.
    latest: (wall) => cron.previousRuns(1, new Date(wall + 1))[0]?.getTime(),
    next: (wall) => cron.nextRun(new Date(wall))?.getTime(),
    lastOfRun: (start) => {
      const midnight = Math.floor(start / DAY) * DAY;
      return midnight + (runs.get(start - midnight) ?? start - midnight);
    },
  };
}

/** In numbers, so that no other reading of a cron expression than the one of this file can matter. */
function pattern({ minutes, hours, days, months, weekdays, anyDay, anyWeekday }: Fields): string {
  const day = anyDay ? "*" : days.join(",");
  const weekday = anyWeekday ? "*" : weekdays.join(",");
  return `${minutes.join(",")} ${hours.join(",")} ${day} ${months.join(",")} ${weekday}`;
}

function startsOfDay({ minutes, hours }: Fields): number[] {
  return hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * MINUTE));
}

function lastOfRuns(starts: readonly number[], step: number): ReadonlyMap<number, number> {
  const runs = new Map<number, number>();
  let last = 0;
  for (const [i, start] of [...starts.entries()].toReversed()) {
    const next = starts[i + 1];
    if (next === undefined || next - start > step) last = start;
    runs.set(start, last);
  }
  return runs;
}

function parseFields(text: string): Fields {
  const texts = text.trim().split(/[ \t]+/);
  if (texts.length !== 5) throw new ScheduleError(wrongCount(texts));
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = texts;
  const fields = {
    minutes: parseField(MINUTES, minute),
    hours: parseField(HOURS, hour),
    days: parseField(DAYS, day),
    months: parseField(MONTHS, month),
    weekdays: parseField(WEEKDAYS, weekday),
    anyDay: day === "*",
    anyWeekday: weekday === "*",
  };
  if (!fields.anyDay && !fields.anyWeekday && `${day}${weekday}`.includes("*")) {
    // Vixie's cron takes the days that fit both, others those that fit either.
    throw new ScheduleError(
      "a step from * beside another restriction of the days is read in two ways; list the days",
    );
  }
  if (
    fields.anyWeekday &&
    fields.months.every((at) => Math.min(...fields.days) > (DAYS_OF_MONTH[at - 1] ?? 0))
  ) {
    throw new ScheduleError("it never starts, because no such month has such a day");
  }
  return fields;
}

function wrongCount([first = "", ...others]: readonly string[]): string {
  const expected = "expected the five fields minute, hour, day of month, month, day of week";
  if (first.startsWith("@")) return `${expected}; nicknames such as ${first} are not supported`;
  if (/^(CRON_)?TZ=/.test(first)) return `${expected}; the time zone has a field of its own, timeZone`;
  return `${expected}, not ${first === "" ? 0 : others.length + 1}`;
}

function parseField(field: Field, text: string): number[] {
  const items = text.split(",");
  if (items.length > 1 && items.includes("*"))
    throw new ScheduleError(`${field.name} ${text} has * in a list`);
  return distinct(items.flatMap((item) => parseItem(field, item)));
}

function parseItem(field: Field, item: string): number[] {
  const { any, from = "", to, step } = ITEM.exec(item)?.groups ?? {};
  if (any === undefined && from === "") {
    const expected = "numbers, *, lists, ranges and steps such as 0, 1-5 or */15";
    throw new ScheduleError(`${field.name} ${found(item)} cannot be read, expected ${expected}`);
  }
  if (any !== undefined) return every(field, [field.min, field.max], step);
  const first = valueOf(field, from);
  if (to !== undefined) return every(field, [first, lastOf(field, to, first)], step);
  if (step === undefined) return [first];
  throw new ScheduleError(
    `${field.name} ${item} has a step without a range; write ${from}-${field.max}/${step}`,
  );
}

/** Sunday ends a range as the last day of the week. */
function lastOf(field: Field, text: string, first: number): number {
  const last = valueOf(field, text);
  const sunday = field === WEEKDAYS && last === 0 && /^[a-z]/i.test(text) && first > 0;
  return sunday ? 7 : last;
}

function every({ name, max }: Field, [first, last]: readonly [number, number], text = "1"): number[] {
  if (first > last) throw new ScheduleError(`${name} has a range that runs backwards; split it in two`);
  const step = Number(text);
  if (step < 1 || step > max) throw new ScheduleError(`${name} has the step ${text}, expected 1 to ${max}`);
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);
}

function valueOf({ name, min, max, names = [] }: Field, text: string): number {
  if (/^\d/.test(text)) {
    const value = Number(text);
    if (value >= min && value <= max) return value;
    throw new ScheduleError(`${name} ${text} is not between ${min} and ${max}`);
  }
  const index = names.indexOf(text.toUpperCase());
  if (index >= 0) return index + min;
  const expected = names.length === 0 ? "a number" : `a number or one of ${names.join(", ")}`;
  throw new ScheduleError(`${name} ${found(text)} cannot be read, expected ${expected}`);
}

function distinct(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}
