/** Windows: the instants inside an `allow` entry and outside every `deny` entry. */

import { DAY_MS, HOUR_MS, parseDuration } from "../../lib/duration.ts";
import { parseMoment } from "./moment.ts";
import type { WindowEntry, WindowGateSpec } from "../../api/hook-policy.ts";
import { windowProblems } from "./window-check.ts";
import { weakMemo } from "../../lib/weak-memo.ts";
import { compileSchedule } from "./schedule.ts";
import { wallClock } from "./zone.ts";

export interface WindowState {
  readonly open: boolean;
  /** The next instant at which `open` changes; absent: never. */
  readonly changesAt?: Date;
  /** The search ended at `changesAt` without a result: the window does not change before, and perhaps not then. */
  readonly isSearchEnd?: true;
}

/** Half-open: open at its start, closed at its end. Closed outside the years 1970 to 2899. */
export interface Window {
  at(now: Date): WindowState;
  isOpen(now: Date): boolean;
  /** The earliest instant at or after `from` at which the window is open; `undefined`: none was found. */
  nextOpen(from: Date): Date | undefined;
  /** How many times at() asks its entries for the hour of `now`: the same number on every replica and at any time. */
  asks(now: Date): number;
}

/** A set of instants, in milliseconds. */
interface Cover {
  /** An end after `instant` until which every instant is covered; `undefined` if `instant` is not covered. */
  readonly until: (instant: number) => number | undefined;
  /** The earliest start of an entry after `instant`. */
  readonly next: (instant: number) => number | undefined;
  /** The instants at which entries that do not recur begin and end. */
  readonly bounds: readonly number[];
  /** Entries that do not recur, or only by the time of day and the day of week. */
  readonly isWeekly: boolean;
}

/** A period in which nothing changes. */
interface Segment {
  readonly open: boolean;
  /** Infinity: forever. */
  readonly until: number;
  /** Whether it changes at `until`; otherwise the search ended there. */
  readonly changes: boolean;
}

const END = Date.UTC(2900, 0);
/** How often a search may ask an entry. */
export const MAX_ASKS = 2000;
/** More than a year, in which weekly schedules meet every change of clocks: changes are on a fixed day of the week. */
const WEEKLY_HORIZON = 400 * DAY_MS;
/** 29 February falls on each day of the week within 40 years. */
const HORIZON = 41 * 366 * DAY_MS;
/** The maximum number of consecutive searches. */
const SEARCHES = 8;

const windows = weakMemo(newWindow);

/**
 * The spec must be valid; the result never throws. Equal specs share one window, so that an hour is searched once. A
 * policy with many windows allows each of its searches fewer asks.
 */
export function compileWindow({ timeZone, allow, deny = [] }: WindowGateSpec, asks = MAX_ASKS): Window {
  return windows(JSON.stringify([asks, { timeZone, allow, deny }]));
}

function newWindow(key: string): Window {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by compileWindow
  const [asks, spec] = JSON.parse(key) as [number, WindowGateSpec];
  const [problem] = windowProblems(spec);
  if (problem !== undefined) throw new Error(`window${problem.path}: ${problem.message}`);
  const covers = coversOf(spec);
  const entries = (spec.allow?.length ?? 0) + (spec.deny?.length ?? 0);
  if (entries === 0) throw new Error("window: it has no entry");
  const look = (start: number): Hour => lookAtHour(covers, start, Math.ceil(asks / entries));
  let hour = NO_HOUR;
  const hourOf = (instant: number): Hour => {
    if (!isKnown(instant)) return NO_HOUR;
    const start = hourBefore(instant);
    if (hour.start !== start) hour = look(start);
    return hour;
  };
  let far: { readonly from: number; readonly opening: Date | undefined } | undefined;
  return {
    at: (now) => {
      const { open, until, changes } = segmentAt(hourOf(now.getTime()), now.getTime());
      if (until === Infinity) return { open };
      return { open, changesAt: new Date(until), ...(!changes && { isSearchEnd: true }) };
    },
    isOpen: (now) => isKnown(now.getTime()) && isIn(covers, now.getTime()),
    nextOpen: (from) => {
      const { open, until, changes } = segmentAt(hourOf(from.getTime()), from.getTime());
      if (open) return new Date(from);
      if (changes) return until < END ? new Date(until) : undefined;
      if (far?.from !== until) far = { from: until, opening: nextOpen(look, until) };
      return far.opening;
    },
    asks: (now) => hourOf(now.getTime()).asks,
  };
}

/** Continues after a first search that found nothing. */
function nextOpen(look: (start: number) => Hour, from: number): Date | undefined {
  let instant = from;
  for (let i = 1; i < SEARCHES && instant < END; i++) {
    const { open, until, changes } = segmentAt(look(hourBefore(instant)), instant);
    if (open || (changes && until < END)) return new Date(open ? instant : until);
    instant = until;
  }
  return undefined;
}

interface Hour {
  readonly start: number;
  readonly segments: readonly Segment[];
  readonly asks: number;
}

const NO_HOUR: Hour = { start: NaN, segments: [], asks: 0 };

function isKnown(instant: number): boolean {
  return instant >= 0 && instant < END;
}

/** Searches begin at full hours, so that the result depends only on the hour and not on earlier searches. */
function hourBefore(instant: number): number {
  return instant - (instant % HOUR_MS);
}

function segmentAt({ segments }: Hour, instant: number): Segment {
  return segments.find(({ until }) => instant < until) ?? { open: false, until: Infinity, changes: false };
}

function lookAtHour(covers: Covers, start: number, rounds: number): Hour {
  const before = covers.tally.asks;
  const segments: Segment[] = [];
  for (let from = start; from < start + HOUR_MS;) {
    const segment = search(covers, from, rounds);
    segments.push(segment);
    from = segment.until;
  }
  return { start, segments, asks: covers.tally.asks - before };
}

interface Covers {
  readonly allow: Cover;
  readonly deny: Cover;
  /** Whether only schedules matter from `until` on, and each of their edges would have been found before it. */
  readonly isSeen: (from: number, until: number) => boolean;
  /** When an entry that does not recur begins or ends next; Infinity: never. */
  readonly nextBound: (after: number) => number;
  readonly tally: { asks: number };
}

function coversOf({ allow, deny = [], timeZone }: WindowGateSpec): Covers {
  const tally = { asks: 0 };
  const covers = {
    allow: allow === undefined ? ALWAYS : union(allow, timeZone, tally),
    deny: union(deny, timeZone, tally),
  };
  const bounds = [...covers.allow.bounds, ...covers.deny.bounds].toSorted((a, b) => a - b);
  const horizon = covers.allow.isWeekly && covers.deny.isWeekly ? WEEKLY_HORIZON : HORIZON;
  return {
    ...covers,
    isSeen: (from, until) =>
      until >= Math.max(from, bounds.findLast((bound) => bound <= until) ?? -Infinity) + horizon,
    nextBound: (after) => bounds.find((bound) => bound > after) ?? Infinity,
    tally,
  };
}

function isIn({ allow, deny }: Covers, instant: number): boolean {
  return allow.until(instant) !== undefined && deny.until(instant) === undefined;
}

function search(covers: Covers, from: number, rounds: number): Segment {
  return isIn(covers, from) ? searchEnd(covers, from, rounds) : searchStart(covers, from, rounds);
}

function searchEnd({ allow, deny, isSeen }: Covers, from: number, rounds: number): Segment {
  const denied = deny.next(from) ?? Infinity;
  let until = from;
  for (let i = 0; i < rounds; i++) {
    const end = allow.until(until);
    if (end === undefined) return { open: true, until, changes: true };
    if (end >= denied || isSeen(from, end)) return { open: true, until: denied, changes: true };
    until = end;
  }
  return { open: true, until, changes: false };
}

function searchStart({ allow, deny, isSeen, nextBound }: Covers, from: number, rounds: number): Segment {
  let until = from;
  for (let i = 0; i < rounds && until < Infinity; i++) {
    const denied = deny.until(until);
    if (denied === undefined && allow.until(until) !== undefined)
      return { open: false, until, changes: true };
    until = isSeen(from, until) ? nextBound(until) : (denied ?? allow.next(until) ?? Infinity);
  }
  return { open: false, until, changes: false };
}

const ALWAYS: Cover = { until: () => Infinity, next: () => undefined, bounds: [], isWeekly: true };

function union(entries: readonly WindowEntry[], timeZone: string | undefined, tally: Covers["tally"]): Cover {
  const covers = entries.map((entry) => cover(entry, timeZone));
  return {
    until: (instant) => {
      tally.asks += covers.length;
      let end = -Infinity;
      for (const { until } of covers) end = Math.max(end, until(instant) ?? -Infinity);
      return end > instant ? end : undefined;
    },
    next: (instant) => {
      tally.asks += covers.length;
      let start = Infinity;
      for (const { next } of covers) start = Math.min(start, next(instant) ?? Infinity);
      return start < Infinity ? start : undefined;
    },
    bounds: covers.flatMap(({ bounds }) => bounds),
    isWeekly: covers.every(({ isWeekly }) => isWeekly),
  };
}

function cover(
  { schedule, duration = "", from = "", to = "" }: WindowEntry,
  timeZone: string | undefined,
): Cover {
  if (schedule !== undefined && timeZone !== undefined)
    return recurring(schedule, known(parseDuration(duration)), timeZone);
  return once(known(parseMoment(from, timeZone)), known(parseMoment(to, timeZone)));
}

/** The schema refuses other entries: one that denies nothing would release. */
function known(value: number | undefined): number {
  if (value === undefined) throw new Error("window: an entry has no beginning or no end");
  return value;
}

function once(from: number, to: number): Cover {
  return {
    until: (instant) => (from <= instant && instant < to ? to : undefined),
    next: (instant) => (instant < from ? from : undefined),
    bounds: [from, to],
    isWeekly: true,
  };
}

/** A start is read from the wall clock; the duration is elapsed time, even if clocks change meanwhile. */
function recurring(schedule: string, duration: number, timeZone: string): Cover {
  const { latest, next, lastOfRun, longestPause, isWeekly } = compileSchedule(schedule);
  const lastStart = lastOfRun(duration);
  const clock = wallClock(timeZone);
  const spare = duration - (longestPause ?? Infinity);
  let endless = spare < 0 ? false : undefined;
  return {
    until: (instant) => {
      const wall = latest(clock.reached(instant));
      if (wall === undefined) return undefined;
      const start = clock.firstRead(wall);
      if (start + duration <= instant) return undefined;
      endless ??= spare >= clock.largestSetBack(instant);
      if (endless) return Infinity;
      const last = lastStart(wall);
      const lastRead = clock.firstRead(last);
      // Clocks that are set back in between can leave a pause.
      return (lastRead - start <= last - wall ? lastRead : start) + duration;
    },
    next: (instant) => {
      const wall = next(clock.reached(instant));
      return wall === undefined ? undefined : clock.firstRead(wall);
    },
    bounds: [],
    isWeekly,
  };
}
