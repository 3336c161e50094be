/** Schedules: the five fields of cron, and the wall times of their starts. */

import { DAY_MS, MINUTE_MS } from "../../lib/duration.ts";
import { found } from "../../lib/quoted-value.ts";
import { weakMemo } from "../../lib/weak-memo.ts";

/** Wall times are milliseconds, as in zone.ts. */
export interface Schedule {
  /** The latest start at or before `wall`. */
  readonly latest: (wall: number) => number | undefined;
  /** The earliest start after `wall`. */
  readonly next: (wall: number) => number | undefined;
  /** For starts at most `step` apart: the last one of a day that follows from `start` without a longer pause. */
  readonly lastOfRun: (step: number) => (start: number) => number;
  /** The longest time between two starts on the wall clock; absent: a day can have none. */
  readonly longestPause?: number;
  /** The starts of all weeks are the same. */
  readonly isWeekly: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  readonly weekdays: readonly number[];
  /** Cron combines the day of month and the day of week with "or" when both are given. */
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
}

const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Sunday is 0 and 7. */
const WEEKDAYS: Field = {
  name: "day of week",
  min: 0,
  max: 7,
  names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  {
    name: "month",
    min: 1,
    max: 12,
    names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  },
  WEEKDAYS,
];

/** The syntax that every cron reads alike: no L, W, # or ?, no steps from a single number. */
const ITEM =
  /^(?:(?<any>\*)|(?<from>\d{1,2}|[a-z]{3})(?:-(?<to>\d{1,2}|[a-z]{3}))?)(?:\/(?<step>\d{1,2}))?$/i;

/** Finds a mistake in a schedule; `undefined` if it is valid. */
export function scheduleProblem(text: string): string | undefined {
  const fields = parseFields(text);
  return typeof fields === "string" ? `found ${found(text)}: ${fields}` : undefined;
}

/** Legal, but perhaps not intended. */
export function scheduleWarning(text: string): string | undefined {
  const fields = parseFields(text);
  if (typeof fields === "string" || fields.anyDay || fields.anyWeekday) return undefined;
  return "starts on the days of the month and also on the days of the week, as cron does when both are given";
}

/** Throws for an invalid schedule. */
export const compileSchedule = weakMemo((text) => {
  const fields = parseFields(text);
  if (typeof fields === "string") throw new Error(fields);
  return newSchedule(fields);
});

/** The longest search for a day with a start: 29 February, which does not exist in 2100. */
const MAX_MONTHS = 8 * 12 + 1;

function newSchedule(fields: Fields): Schedule {
  const { hours, minutes, months, anyDay, anyWeekday } = fields;
  const times = Uint16Array.from(hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute)));
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const monthAt = monthFinder(fields);
  const isWeekly = anyDay && months.length === 12;
  const pauses = times.map((time, i) => (times[i + 1] ?? first + 1440) - time);
  return {
    ...(isWeekly && anyWeekday && { longestPause: Math.max(...pauses) * MINUTE_MS }),
    isWeekly,
    latest: (wall) => {
      let month = monthAt(wall);
      const today = Math.floor((wall - month.from) / DAY_MS);
      const until = month.days.includes(today) ? countUntil(times, minuteOfDay(wall)) : 0;
      const time = times[until - 1];
      if (time !== undefined) return month.from + today * DAY_MS + time * MINUTE_MS;
      let day = month.days.findLast((each) => each < today);
      for (let i = 0; day === undefined && i < MAX_MONTHS; i++) {
        month = monthAt(month.from - DAY_MS);
        day = month.days.at(-1);
      }
      return day === undefined ? undefined : month.from + day * DAY_MS + last * MINUTE_MS;
    },
    next: (wall) => {
      let month = monthAt(wall);
      const today = Math.floor((wall - month.from) / DAY_MS);
      const time = month.days.includes(today) ? times[countUntil(times, minuteOfDay(wall))] : undefined;
      if (time !== undefined) return month.from + today * DAY_MS + time * MINUTE_MS;
      let day = month.days.find((each) => each > today);
      for (let i = 0; day === undefined && i < MAX_MONTHS; i++) {
        month = monthAt(month.to);
        [day] = month.days;
      }
      return day === undefined ? undefined : month.from + day * DAY_MS + first * MINUTE_MS;
    },
    lastOfRun: (step) => {
      const ends = times.filter((time, i) => ((times[i + 1] ?? Infinity) - time) * MINUTE_MS > step);
      return (start) => {
        const end = ends[countUntil(ends, minuteOfDay(start) - 1)] ?? last;
        return start - modulo(start, DAY_MS) + end * MINUTE_MS;
      };
    },
  };
}

/** How many of the times, which are sorted minutes of the day, are not after `minute`. */
function countUntil(times: Uint16Array, minute: number): number {
  return times.findLastIndex((time) => time <= minute) + 1;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

function minuteOfDay(wall: number): number {
  return Math.floor(modulo(wall, DAY_MS) / MINUTE_MS);
}

interface Month {
  readonly from: number;
  /** Start of the next month. */
  readonly to: number;
  /** The days with a start; the first day is 0. */
  readonly days: readonly number[];
}

const ALL_DAYS = Array.from({ length: 31 }, (_, day) => day);

/** Caches the last month. */
function monthFinder({ days, months, weekdays, anyDay, anyWeekday }: Fields): (wall: number) => Month {
  const starts = (day: number, weekday: number): boolean => {
    const [ofMonth, ofWeek] = [days.includes(day + 1), weekdays.some((at) => at % 7 === weekday)];
    return anyDay || anyWeekday ? ofMonth && ofWeek : ofMonth || ofWeek;
  };
  let month: Month = { from: NaN, to: NaN, days: [] };
  return (wall) => {
    if (wall >= month.from && wall < month.to) return month;
    const date = new Date(wall);
    const [year, index] = [date.getUTCFullYear(), date.getUTCMonth()];
    const [from, to] = [Date.UTC(year, index), Date.UTC(year, index + 1)];
    const first = new Date(from).getUTCDay();
    const isIn = (day: number): boolean => from + day * DAY_MS < to && starts(day, (first + day) % 7);
    month = { from, to, days: months.includes(index + 1) ? ALL_DAYS.filter((day) => isIn(day)) : [] };
    return month;
  };
}

/** A text says what is wrong with the schedule. */
function parseFields(text: string): Fields | string {
  const texts = text.trim().split(/[ \t]+/);
  if (texts.length !== 5) return wrongCount(texts);
  const parsed = FIELDS.map((field, index) => parseField(field, texts[index] ?? ""));
  const mistakes = FIELDS.flatMap((field, index) =>
    parsed[index]?.length === 0
      ? [`${field.name} ${found(texts[index])} cannot be read, ${expectedIn(field)}`]
      : [],
  );
  if (mistakes.length > 0) return mistakes.join("; ");
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = parsed;
  const [, , day = "", , weekday = ""] = texts;
  const any = { anyDay: day === "*", anyWeekday: weekday === "*" };
  const fields = { minutes, hours, days, months, weekdays, ...any };
  return daysProblem(fields, `${day}${weekday}`) ?? fields;
}

function daysProblem({ days, months, anyDay, anyWeekday }: Fields, text: string): string | undefined {
  // Vixie's cron takes the days that match both fields, other crons those that match either.
  if (!anyDay && !anyWeekday && text.includes("*"))
    return "a step from * beside another restriction of the days is read in two ways; list the days";
  const isNever = anyWeekday && months.every((at) => Math.min(...days) > (DAYS_OF_MONTH[at - 1] ?? 0));
  return isNever ? "it never starts, because no such month has such a day" : undefined;
}

function wrongCount([first = "", ...others]: readonly string[]): string {
  const expected = "expected the five fields minute, hour, day of month, month, day of week";
  if (first.startsWith("@")) return `${expected}; nicknames such as ${first} are not supported`;
  if (/^(CRON_)?TZ=/.test(first)) return `${expected}; the time zone has a field of its own, timeZone`;
  const count = first === "" ? 0 : others.length + 1;
  return `${expected}, not ${count}${count === 6 ? ": leave out the seconds" : ""}`;
}

function expectedIn({ min, max, names = [] }: Field): string {
  const words = names.length === 0 ? "" : `, names from ${names[0]} to ${names.at(-1)}`;
  return `expected numbers from ${min} to ${max}${words}, *, lists, rising ranges and steps, such as 1,5 or 1-5 or */2 or 1-5/2`;
}

/** Empty: it cannot be read. */
function parseField(field: Field, text: string): readonly number[] {
  const items = text.split(",");
  const values = items.map((item) => parseItem(field, item));
  const isRead = values.every(({ length }) => length > 0) && (items.length === 1 || !items.includes("*"));
  return isRead ? [...new Set(values.flat())].toSorted((a, b) => a - b) : [];
}

function parseItem(field: Field, item: string): readonly number[] {
  const { any, from = "", to, step: text } = ITEM.exec(item)?.groups ?? {};
  const [first, last] =
    any === undefined ? rangeOf(field, from, to ?? (text === undefined ? from : "")) : [field.min, field.max];
  const step = Number(text ?? 1);
  const isValid = first >= field.min && last <= field.max && step >= 1 && step <= field.max;
  const count = isValid ? Math.floor((last - first) / step) + 1 : 0;
  return Array.from({ length: Math.max(0, count) }, (_, i) => first + i * step);
}

/** As the end of a range, Sunday is the last day of the week. */
function rangeOf(field: Field, from: string, to: string): readonly [first: number, last: number] {
  const [first, last] = [valueOf(field, from), valueOf(field, to)];
  const isSunday = field === WEEKDAYS && last === 0 && /^[a-z]/i.test(to) && first > 0;
  return [first, isSunday ? 7 : last];
}

/** Below the least value for what is neither a number nor a name. */
function valueOf({ min, names = [] }: Field, text: string): number {
  return /^\d/.test(text) ? Number(text) : names.indexOf(text.toUpperCase()) + min;
}
