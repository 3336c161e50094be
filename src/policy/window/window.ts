/** Windows: the instants inside of an `allow` entry and outside of every `deny` entry. */

import { parseDuration } from "../duration.ts";
import { parseInstant, type WindowEntry, windowProblems, type WindowSpec } from "./check.ts";
import { compileSchedule } from "./schedule.ts";
import { wallClock } from "./zone.ts";

export { type WindowEntry, windowProblems, type WindowSpec, windowWarnings } from "./check.ts";

export interface WindowState {
  readonly open: boolean;
  /**
   * The next instant at which `open` changes; absent: never again. Where that is too far to be found, an instant
   * before which it does not change.
   */
  readonly changesAt?: Date;
}

/** Half-open: open at its start, closed at its end. Outside of the years 1970 to 2899 it is closed. */
export interface Window {
  at(now: Date): WindowState;
  /** The earliest instant, not before `from`, at which it is open; `undefined`: none, or too far to be found. */
  nextOpen(from: Date): Date | undefined;
}

/** Some of all instants, as milliseconds. */
interface Cover {
  /** An end, after `instant`, until which everything is covered; `undefined` where `instant` is not. */
  readonly until: (instant: number) => number | undefined;
  /** The earliest start of an entry after `instant`. */
  readonly next: (instant: number) => number | undefined;
}

/** A stretch of time in which nothing changes. */
interface Segment {
  readonly open: boolean;
  /** Infinity: for ever. */
  readonly until: number;
  /** Whether it changes at `until`; otherwise the search ended there. */
  readonly changes: boolean;
}

/**
 * Searches begin at full hours: what is answered depends on the hour that is asked about, and not on what was asked
 * before.
 */
const HOUR = 3_600_000;
const END = Date.UTC(2900, 0);
/** How often a search may ask an entry, at some microseconds each. */
const ASKS = 2000;
/** How many searches may follow one another. */
const SEARCHES = 8;

/** The spec must have no problem; what is returned never throws. */
export function compileWindow(spec: WindowSpec): Window {
  const [problem] = windowProblems(spec);
  if (problem !== undefined) throw new Error(`window${problem.path}: ${problem.message}`);
  const segmentAt = segmentFinder(spec);
  return {
    at: (now) => {
      const { open, until } = segmentAt(now.getTime());
      return until === Infinity ? { open } : { open, changesAt: new Date(until) };
    },
    nextOpen: (from) => nextOpen(segmentAt, from.getTime()),
  };
}

function nextOpen(segmentAt: (instant: number) => Segment, from: number): Date | undefined {
  let instant = from;
  for (let i = 0; i < SEARCHES && instant < END; i++) {
    const { open, until, changes } = segmentAt(instant);
    if (open || (changes && until < END)) return new Date(open ? instant : until);
    instant = until;
  }
  return undefined;
}

/** Keeps the segments of one hour, which is the present one almost always. */
function segmentFinder(spec: WindowSpec): (instant: number) => Segment {
  const allow = spec.allow === undefined ? ALWAYS : union(spec.allow, spec.timeZone);
  const deny = union(spec.deny ?? [], spec.timeZone);
  const steps = Math.ceil(ASKS / ((spec.allow?.length ?? 0) + (spec.deny?.length ?? 0)));
  let hour = NaN;
  let segments: readonly Segment[] = [];
  return (instant) => {
    if (!(instant >= 0 && instant < END)) return { open: false, until: Infinity, changes: false };
    const start = instant - (instant % HOUR);
    if (start !== hour) {
      segments = segmentsOf(start, (from) => search(allow, deny, from, steps));
      hour = start;
    }
    return segments.find(({ until }) => instant < until) ?? { open: false, until: Infinity, changes: false };
  };
}

function segmentsOf(start: number, segmentFrom: (instant: number) => Segment): Segment[] {
  const segments: Segment[] = [];
  for (let from = start; from < start + HOUR;) {
    const segment = segmentFrom(from);
    segments.push(segment);
    from = segment.until;
  }
  return segments;
}

function search(allow: Cover, deny: Cover, from: number, steps: number): Segment {
  const open = allow.until(from) !== undefined && deny.until(from) === undefined;
  return open ? searchEnd(allow, deny, from, steps) : searchStart(allow, deny, from, steps);
}

function searchEnd(allow: Cover, deny: Cover, from: number, steps: number): Segment {
  const denied = deny.next(from) ?? Infinity;
  let until = from;
  for (let i = 0; i < steps; i++) {
    const end = allow.until(until);
    if (end === undefined) return { open: true, until, changes: true };
    if (end >= denied) return { open: true, until: denied, changes: true };
    until = end;
  }
  return { open: true, until, changes: false };
}

function searchStart(allow: Cover, deny: Cover, from: number, steps: number): Segment {
  let until = from;
  for (let i = 0; i < steps; i++) {
    const denied = deny.until(until);
    if (denied === undefined && allow.until(until) !== undefined)
      return { open: false, until, changes: true };
    until = denied ?? allow.next(until) ?? Infinity;
    if (until === Infinity) break;
  }
  return { open: false, until, changes: false };
}

const ALWAYS: Cover = { until: () => Infinity, next: () => undefined };

function union(entries: readonly WindowEntry[], timeZone: string | undefined): Cover {
  const covers = entries.map((entry) => cover(entry, timeZone));
  return {
    until: (instant) => {
      const end = Math.max(...covers.map(({ until }) => until(instant) ?? -Infinity));
      return end > instant ? end : undefined;
    },
    next: (instant) => {
      const start = Math.min(...covers.map(({ next }) => next(instant) ?? Infinity));
      return start < Infinity ? start : undefined;
    },
  };
}

function cover({ schedule, duration, from, to }: WindowEntry, timeZone: string | undefined): Cover {
  if (schedule !== undefined && duration !== undefined && timeZone !== undefined) {
    return recurring(schedule, parseDuration(duration) ?? NaN, timeZone);
  }
  return once(parseInstant(from ?? "") ?? NaN, parseInstant(to ?? "") ?? NaN);
}

function once(from: number, to: number): Cover {
  return {
    until: (instant) => (from <= instant && instant < to ? to : undefined),
    next: (instant) => (instant < from ? from : undefined),
  };
}

/** A start is read from the wall clock; the duration is time that passes, whatever clocks do meanwhile. */
function recurring(schedule: string, duration: number, timeZone: string): Cover {
  const { latest, next, lastOfRun } = compileSchedule(schedule, duration);
  const clock = wallClock(timeZone);
  return {
    until: (instant) => {
      const wall = latest(clock.reached(instant));
      if (wall === undefined) return undefined;
      const start = clock.firstRead(wall);
      if (start + duration <= instant) return undefined;
      const last = lastOfRun(wall);
      const lastStart = clock.firstRead(last);
      // Clocks that go back in between can leave a pause.
      return (lastStart - start <= last - wall ? lastStart : start) + duration;
    },
    next: (instant) => {
      const wall = next(clock.reached(instant));
      return wall === undefined ? undefined : clock.firstRead(wall);
    },
  };
}
