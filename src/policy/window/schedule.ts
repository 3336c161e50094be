/** Schedules: the five fields of cron, and the wall times of their starts. */

import { found } from "../../lib/found.ts";
import { weakMemo } from "../../lib/weak-memo.ts";

/** Wall times are milliseconds, as in zone.ts. */
export interface Schedule {
  /** The latest start at or before `wall`. */
  readonly latest: (wall: number) => number | undefined;
  /** The earliest start after `wall`. */
  readonly next: (wall: number) => number | undefined;
  /** The last start that is reachable from `start` within its day by steps of at most `step`. */
  readonly lastOfRun: (start: number, step: number) => number;
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

/** The syntax that every cron reads alike: no L, W, # or ?, no steps from a single number. */
const ITEM =
  /^(?:(?<any>\*)|(?<from>\d{1,2}|[a-z]{3})(?:-(?<to>\d{1,2}|[a-z]{3}))?)(?:\/(?<step>\d{1,2}))?$/i;

class ScheduleError extends Error {}

/** Finds a mistake in a schedule; `undefined` if it is valid. */
export function scheduleProblem(text: string): string | undefined {
  try {
    parseFields(text);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return `found ${found(text)}: ${error.message}`;
    throw error;
  }
}

/** Legal, but perhaps not intended. */
export function scheduleWarning(text: string): string | undefined {
  const { anyDay, anyWeekday } = parseFields(text);
  if (anyDay || anyWeekday) return undefined;
  return "starts on the days of the month and also on the days of the week, as cron does when both are given";
}

function longestPause(fields: Fields): number | undefined {
  if (!isWeekly(fields) || !fields.anyWeekday) return undefined;
  const { hours, minutes } = fields;
  const starts = hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * MINUTE));
  const first = starts[0] ?? 0;
  return Math.max(...starts.map((start, i) => (starts[i + 1] ?? first + DAY) - start));
}

function isWeekly({ anyDay, months }: Fields): boolean {
  return anyDay && months.length === 12;
}

/** Throws for an invalid schedule. */
export const compileSchedule = weakMemo((text) => newSchedule(parseFields(text)));

/** The longest search for a day with a start: 29 February, which does not exist in 2100. */
const MAX_MONTHS = 8 * 12 + 1;

function newSchedule(fields: Fields): Schedule {
  const times = timesOfDay(fields);
  const monthAt = monthFinder(fields);
  const pause = longestPause(fields);
  return {
    ...(pause !== undefined && { longestPause: pause }),
    isWeekly: isWeekly(fields),
    latest: (wall) => {
      let month = monthAt(wall);
      const today = Math.floor((wall - month.from) / DAY);
      const time = month.days.includes(today) ? times.latest(minuteOfDay(wall)) : undefined;
      if (time !== undefined) return month.from + today * DAY + time * MINUTE;
      let day = month.days.findLast((each) => each < today);
      for (let i = 0; day === undefined && i < MAX_MONTHS; i++) {
        month = monthAt(month.from - DAY);
        day = month.days.at(-1);
      }
      return day === undefined ? undefined : month.from + day * DAY + times.last * MINUTE;
    },
    next: (wall) => {
      let month = monthAt(wall);
      const today = Math.floor((wall - month.from) / DAY);
      const time = month.days.includes(today) ? times.next(minuteOfDay(wall) + 1) : undefined;
      if (time !== undefined) return month.from + today * DAY + time * MINUTE;
      let day = month.days.find((each) => each > today);
      for (let i = 0; day === undefined && i < MAX_MONTHS; i++) {
        month = monthAt(month.to);
        [day] = month.days;
      }
      return day === undefined ? undefined : month.from + day * DAY + times.first * MINUTE;
    },
    lastOfRun: (start, step) => {
      const midnight = start - modulo(start, DAY);
      return midnight + times.lastOfRun(minuteOfDay(start), step / MINUTE) * MINUTE;
    },
  };
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

function minuteOfDay(wall: number): number {
  return Math.floor(modulo(wall, DAY) / MINUTE);
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
    const isIn = (day: number): boolean => from + day * DAY < to && starts(day, (first + day) % 7);
    month = { from, to, days: months.includes(index + 1) ? ALL_DAYS.filter((day) => isIn(day)) : [] };
    return month;
  };
}

/** In minutes of the day. */
interface Times {
  readonly first: number;
  readonly last: number;
  /** At or before `minute`. */
  readonly latest: (minute: number) => number | undefined;
  /** At or after `minute`. */
  readonly next: (minute: number) => number | undefined;
  readonly lastOfRun: (start: number, step: number) => number;
}

/** Combines hours and minutes instead of listing times, of which a day can have 1,440. */
function timesOfDay({ minutes, hours }: Fields): Times {
  const [hour, minute] = [near(hours, 24), near(minutes, 60)];
  const [firstHour, lastHour] = [hour.notBefore(0), hour.notAfter(23)];
  const [firstMinute, lastMinute] = [minute.notBefore(0), minute.notAfter(59)];
  const widest = Math.max(0, ...minutes.slice(1).map((each, i) => each - (minutes[i] ?? 0)));
  /** The last start of the hour that is reachable from `start`. */
  const reached = (start: number, step: number): number =>
    widest <= step
      ? lastMinute
      : minutes.reduce((at, each) => (each > at && each - at <= step ? each : at), start);
  return {
    first: firstHour * 60 + firstMinute,
    last: lastHour * 60 + lastMinute,
    latest: (time) => {
      const at = Math.floor(time / 60);
      const within = hour.notAfter(at) === at ? minute.notAfter(time % 60) : NONE;
      if (within !== NONE) return at * 60 + within;
      const before = hour.notAfter(at - 1);
      return before === NONE ? undefined : before * 60 + lastMinute;
    },
    next: (time) => {
      const at = Math.floor(time / 60);
      const within = hour.notBefore(at) === at ? minute.notBefore(time % 60) : NONE;
      if (within !== NONE) return at * 60 + within;
      const after = hour.notBefore(at + 1);
      return after === NONE ? undefined : after * 60 + firstMinute;
    },
    lastOfRun: (start, step) => {
      let at = Math.floor(start / 60);
      for (let from = start % 60; ; from = firstMinute) {
        const last = reached(from, step);
        const after = hour.notBefore(at + 1);
        const goesOn = last === lastMinute && after !== NONE;
        if (!goesOn || (after - at) * 60 + firstMinute - last > step) return at * 60 + last;
        at = after;
      }
    },
  };
}

const NONE = -1;

/** The nearest of some values below `size`; NONE if there is none. */
interface Near {
  readonly notAfter: (value: number) => number;
  readonly notBefore: (value: number) => number;
}

function near(values: readonly number[], size: number): Near {
  const all = Array.from({ length: size }, (_, value) => value);
  const before = Int8Array.from(all, (value) => values.findLast((each) => each <= value) ?? NONE);
  const after = Int8Array.from(all, (value) => values.find((each) => each >= value) ?? NONE);
  return {
    notAfter: (value) => before[value] ?? NONE,
    notBefore: (value) => after[value] ?? NONE,
  };
}

function parseFields(text: string): Fields {
  const texts = text.trim().split(/[ \t]+/);
  if (texts.length !== 5) throw new ScheduleError(wrongCount(texts));
  const [, , day = "", , weekday = ""] = texts;
  const fields = {
    ...parseEach(texts),
    anyDay: day === "*",
    anyWeekday: weekday === "*",
  };
  if (!fields.anyDay && !fields.anyWeekday && `${day}${weekday}`.includes("*")) {
    // Vixie's cron takes the days that match both fields, other crons those that match either.
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

/** One error with the mistakes of all fields. */
function parseEach(texts: readonly string[]): Omit<Fields, "anyDay" | "anyWeekday"> {
  const mistakes: string[] = [];
  const parse = (field: Field, index: number): readonly number[] => {
    try {
      return parseField(field, texts[index] ?? "");
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      mistakes.push(error.message);
      return [];
    }
  };
  const parsed = {
    minutes: parse(MINUTES, 0),
    hours: parse(HOURS, 1),
    days: parse(DAYS, 2),
    months: parse(MONTHS, 3),
    weekdays: parse(WEEKDAYS, 4),
  };
  if (mistakes.length > 0) throw new ScheduleError(mistakes.join("; "));
  return parsed;
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
  return [...new Set(items.flatMap((item) => parseItem(field, item)))].toSorted((a, b) => a - b);
}

function parseItem(field: Field, item: string): number[] {
  const { any, from = "", to, step } = ITEM.exec(item)?.groups ?? {};
  if (any === undefined && from === "") {
    const { names = [] } = field;
    const words = names.length === 0 ? "" : ` or names such as ${names.slice(0, 2).join(" and ")}`;
    const expected = `numbers${words}, *, lists, ranges and steps such as 0, 1-5 or */15`;
    const isWord = /^[a-z]{2,}$/i.test(item);
    const name = names.find(
      (each) => isWord && (item.toUpperCase().startsWith(each) || each.startsWith(item.toUpperCase())),
    );
    const hint = name === undefined ? `expected ${expected}` : `write ${name}`;
    throw new ScheduleError(`${field.name} ${found(item)} cannot be read, ${hint}`);
  }
  if (any !== undefined) return every(field, [field.min, field.max], step);
  const first = valueOf(field, from);
  if (to !== undefined) return every(field, [first, lastOf(field, to, first)], step);
  if (step === undefined) return [first];
  throw new ScheduleError(
    `${field.name} ${item} has a step without a range; write ${from}-${field.max}/${step}`,
  );
}

/** As the end of a range, Sunday is the last day of the week. */
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
