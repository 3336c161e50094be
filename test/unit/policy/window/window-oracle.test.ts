/**
 * Windows in every time zone, against a second implementation that shares nothing with the first: it searches the
 * instants at which a wall clock reads what a schedule says, without cron and without a clock that stands still.
 */

import assert from "node:assert/strict";
import test from "node:test";
import type { WindowEntry } from "../../../../src/api/hook-policy.ts";
import { compileWindow, type Window } from "../../../../src/policy/window/window.ts";
import { FULL } from "../../../generated.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const BEGIN = Date.UTC(2026, 0);
/** For a commit until after the next leap day. */
const YEARS = FULL ? 11 : 3;
const END = Date.UTC(2026 + YEARS, 0);
/** No zone changes its clocks twice in this time. */
const LOOK = 4 * DAY;

/** The zone's offset from UTC is the same from `from` until before `to`. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

type Range = readonly [from: number, to: number];

/** What the schedule says, written a second time. */
interface Recurrence {
  readonly schedule: string;
  readonly duration: string;
  readonly hours: number;
  readonly times: readonly (readonly [hour: number, minute: number])[];
  readonly on?: (day: Date) => boolean;
}

function everyMinutes(step: number): (readonly [number, number])[] {
  return Array.from(
    { length: 1440 / step },
    (_, i) => [Math.floor((i * step) / 60), (i * step) % 60] as const,
  );
}

const weekday =
  (...days: readonly number[]) =>
  (day: Date): boolean =>
    days.includes(day.getUTCDay());

const SPARSE: readonly Recurrence[] = [
  {
    schedule: "30 2 * 3,4,9-11 SUN",
    duration: "45m",
    hours: 0.75,
    times: [[2, 30]],
    on: (day) => day.getUTCDay() === 0 && [3, 4, 9, 10, 11].includes(day.getUTCMonth() + 1),
  },
  { schedule: "0 0 1 * *", duration: "36h", hours: 36, times: [[0, 0]], on: (day) => day.getUTCDate() === 1 },
  {
    schedule: "59 23 31 * *",
    duration: "2m",
    hours: 1 / 30,
    times: [[23, 59]],
    on: (day) => day.getUTCDate() === 31,
  },
  {
    schedule: "15 1 29 2 *",
    duration: "24h",
    hours: 24,
    times: [[1, 15]],
    on: (day) => day.getUTCMonth() === 1 && day.getUTCDate() === 29,
  },
];

const DENSE: readonly Recurrence[] = [
  { schedule: "30 2 * * *", duration: "45m", hours: 0.75, times: [[2, 30]] },
  { schedule: "0 0 * * *", duration: "1h", hours: 1, times: [[0, 0]] },
  { schedule: "30 0 * * *", duration: "24h", hours: 24, times: [[0, 30]] },
  { schedule: "45 1 * * *", duration: "1h30m", hours: 1.5, times: [[1, 45]] },
  { schedule: "59 23 * * *", duration: "2m", hours: 1 / 30, times: [[23, 59]] },
  { schedule: "0 3 * * *", duration: "23h", hours: 23, times: [[3, 0]] },
  { schedule: "0 22 * * FRI,SAT", duration: "8h", hours: 8, times: [[22, 0]], on: weekday(5, 6) },
  { schedule: "1 0 * * 0-1", duration: "50h", hours: 50, times: [[0, 1]], on: weekday(0, 1) },
  {
    schedule: "0,20 1-3 * * *",
    duration: "20m",
    hours: 1 / 3,
    times: [1, 2, 3].flatMap((hour) => [[hour, 0] as const, [hour, 20] as const]),
  },
  {
    schedule: "0 1 13 * MON",
    duration: "3h",
    hours: 3,
    times: [[1, 0]],
    on: (day) => day.getUTCDate() === 13 || day.getUTCDay() === 1,
  },
  { schedule: "0 * * * *", duration: "1h", hours: 1, times: everyMinutes(60) },
  { schedule: "*/15 0-3 * * *", duration: "10m", hours: 1 / 6, times: everyMinutes(15).slice(0, 16) },
];

function stretchesOf(timeZone: string): Stretch[] {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const offsetAt = (instant: number): number => {
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(instant)) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * HOUR + Number(minutes ?? 0) * MINUTE);
  };
  const [first, last] = [BEGIN - 10 * DAY, END + 10 * DAY];
  const stretches: Stretch[] = [];
  let from = first;
  let offset = offsetAt(first);
  for (let day = first; day < last; day += LOOK) {
    const next = offsetAt(day + LOOK);
    if (next === offset) continue;
    const to = bisect(day, day + LOOK, offsetAt);
    stretches.push({ from, to, offset });
    from = to;
    offset = next;
  }
  return [...stretches, { from, to: last, offset }];
}

function bisect(low: number, high: number, offsetAt: (instant: number) => number): number {
  if (high - low === 1) return high;
  const middle = Math.floor((low + high) / 2);
  return offsetAt(middle) === offsetAt(low) ? bisect(middle, high, offsetAt) : bisect(low, middle, offsetAt);
}

/** The first instant that reads `wall`, or else the end of the gap that has swallowed it. */
function startAt(wall: number, stretches: readonly Stretch[]): number {
  const reads = stretches.find(({ from, to, offset }) => from <= wall - offset && wall - offset < to);
  if (reads !== undefined) return wall - reads.offset;
  const before = stretches.find(({ to, offset }, i) => {
    const after = stretches[i + 1];
    return after !== undefined && to + offset <= wall && wall < to + after.offset;
  });
  assert.ok(before !== undefined, "every time is read or lies in a gap");
  return before.to;
}

const computed = new WeakMap<readonly Stretch[], Map<string, Range[]>>();

function openTimes(recurrence: Recurrence, stretches: readonly Stretch[], range: Range): Range[] {
  const times = computed.get(stretches) ?? new Map<string, Range[]>();
  computed.set(stretches, times);
  const key = `${recurrence.schedule} ${range.join(" ")}`;
  const open = times.get(key) ?? computeOpenTimes(recurrence, stretches, range);
  times.set(key, open);
  return open;
}

/** All times at which the recurrence is in force and that overlap the range; joined where they touch. */
function computeOpenTimes(
  { hours, times, on }: Recurrence,
  stretches: readonly Stretch[],
  range: Range,
): Range[] {
  const duration = Math.round(hours * HOUR);
  const near = stretches.filter(({ from, to }) => from < range[1] + 5 * DAY && to > range[0] - 5 * DAY);
  const open: [number, number][] = [];
  const firstDay = Math.floor((range[0] - 3 * DAY) / DAY) * DAY;
  for (let day = firstDay; day < range[1] + 2 * DAY; day += DAY) {
    if (on?.(new Date(day)) === false) continue;
    for (const [hour, minute] of times) {
      const start = startAt(day + hour * HOUR + minute * MINUTE, near);
      const last = open.at(-1);
      if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], start + duration);
      else open.push([start, start + duration]);
    }
  }
  return open;
}

/** The edges inside of the range. */
function edges(open: readonly Range[], [from, to]: Range): number[] {
  return open.flat().filter((edge) => from < edge && edge < to);
}

/** The edges that the window names one after the other. */
function walk(window: Window, [from, to]: Range): number[] {
  const found: number[] = [];
  let now = from;
  let state = window.at(new Date(from));
  while (state.changesAt !== undefined && state.changesAt.getTime() < to) {
    assert.ok(state.changesAt.getTime() > now, `the edge after ${iso(now)} is later`);
    now = state.changesAt.getTime();
    const next = window.at(state.changesAt);
    if (next.open !== state.open) found.push(now);
    state = next;
  }
  return found;
}

function check(zone: Zone, recurrence: Recurrence, window: Window, range: Range): void {
  const open = openTimes(recurrence, zone.stretches, range);
  const name = `${recurrence.schedule} for ${recurrence.duration} in ${zone.timeZone}`;
  assert.deepEqual(walk(window, range).map(iso), edges(open, range).map(iso), name);
  const [from] = range;
  const inForce = open.some(([start, end]) => start <= from && from < end);
  assert.equal(window.at(new Date(from)).open, inForce, `${name} at ${iso(from)}`);
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}

function compile(timeZone: string, { schedule, duration }: Recurrence): Window {
  return compileWindow({ timeZone, allow: [{ schedule, duration }] });
}

interface Zone {
  readonly timeZone: string;
  readonly stretches: readonly Stretch[];
}

/** Many zones have the same offsets: these share one list, and what is computed from it. */
const known = new Map<string, readonly Stretch[]>();

function zoneOf(timeZone: string): Zone {
  const own = stretchesOf(timeZone);
  const key = JSON.stringify(own);
  const stretches = known.get(key) ?? own;
  known.set(key, stretches);
  return { timeZone, stretches };
}

/** Half an hour, two hours, a Ramadan without, a midnight that is skipped, and two ordinary ones. */
const ODD = [
  "Australia/Lord_Howe",
  "Antarctica/Troll",
  "Africa/Casablanca",
  "America/Havana",
  "Asia/Beirut",
  "Pacific/Chatham",
  "Europe/Berlin",
  "America/New_York",
];

/** ICU's names for all of them, some newer ones of IANA, and the fixed offsets. */
const EVERY_ZONE = new Set([
  ...Intl.supportedValuesOf("timeZone").filter((name) => name.includes("/")),
  "UTC",
  "Etc/UTC",
  "Europe/Kyiv",
  "Asia/Kolkata",
  "America/Nuuk",
  "US/Eastern",
  ...Array.from({ length: 12 }, (_, i) => `Etc/GMT+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `Etc/GMT-${i + 1}`),
]);
/** For a commit those in which something is odd, and some of the others. */
const ZONES = FULL
  ? EVERY_ZONE
  : new Set([...ODD, ...[...EVERY_ZONE].filter((_, index) => index % 40 === 0)]);
const AREAS = Map.groupBy(ZONES, (name) => name.split("/")[0] ?? "");

for (const [area, zones] of AREAS) {
  test(`sparse windows over ${YEARS} years in the ${zones.length} zones of ${area}`, () => {
    for (const zone of zones.map(zoneOf)) {
      for (const recurrence of SPARSE)
        check(zone, recurrence, compile(zone.timeZone, recurrence), [BEGIN, END]);
    }
  });
}

test("dense windows around every change of the clocks, in a zone of each kind", () => {
  const kinds = new Map([...ZONES].map(zoneOf).map((zone) => [zone.stretches, zone]));
  assert.ok(kinds.size > (FULL ? 60 : 10), `${kinds.size} kinds of zones`);
  for (const zone of kinds.values()) {
    for (const recurrence of DENSE) {
      const window = compile(zone.timeZone, recurrence);
      for (const range of rangesAround(zone)) check(zone, recurrence, window, range);
    }
  }
});

/** Some days, where the clocks never change. */
function rangesAround({ stretches }: Zone): Range[] {
  const changes = stretches.slice(1).map(({ from }) => from);
  return [BEGIN, ...changes].map((change) => [change - DAY, change + DAY]);
}

for (const timeZone of ODD) {
  test(`dense windows over ${YEARS} years in ${timeZone}`, () => {
    const zone = zoneOf(timeZone);
    for (const recurrence of DENSE.filter(({ times }) => times.length < 6)) {
      check(zone, recurrence, compile(timeZone, recurrence), [BEGIN, END]);
    }
  });

  test(`every minute around every change of the clocks in ${timeZone}`, () => {
    const zone = zoneOf(timeZone);
    const [allowed, denied] = [DENSE[8], DENSE[3]];
    assert.ok(allowed !== undefined && denied !== undefined);
    const window = compileWindow({ timeZone, allow: [entry(allowed)], deny: [entry(denied)] });
    for (const range of rangesAround(zone)) {
      const allow = openTimes(allowed, zone.stretches, range);
      const deny = openTimes(denied, zone.stretches, range);
      for (let minute = range[0]; minute < range[1]; minute += MINUTE) {
        const inside = (open: readonly Range[]): boolean =>
          open.some(([start, end]) => start <= minute && minute < end);
        assert.equal(window.at(new Date(minute)).open, inside(allow) && !inside(deny), iso(minute));
      }
    }
  });
}

function entry({ schedule, duration }: Recurrence): WindowEntry {
  return { schedule, duration };
}
