/** The wall clock of a time zone, as a clock that only moves forward. */

import { DAY_MS, SECOND_MS } from "../../lib/duration.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { found } from "../../lib/quoted-value.ts";
import { weakMemo } from "../../lib/weak-memo.ts";

/** From this instant until the next change, the wall clock is `offset` ahead of UTC. */
interface Offset {
  readonly from: number;
  readonly offset: number;
}

/**
 * The wall clock as it advances: when clocks are set back, it stops until the repeated hour is over. A time that occurs
 * twice therefore means its first occurrence, and a skipped time means the first instant after the gap. Wall times are
 * stored as the instant at which UTC shows the same time.
 */
export interface WallClock {
  /** The latest wall time shown up to `instant`. */
  readonly reached: (instant: number) => number;
  /** The earliest instant at which `wall` or a later wall time is shown. */
  readonly firstRead: (wall: number) => number;
  /** By how much clocks are set back at most, by the zone's rules at the instant. */
  readonly largestSetBack: (instant: number) => number;
  /** The instants of this time at which clocks change. */
  readonly changes: (from: number, to: number) => readonly number[];
}

/** Interval between two checks of a zone's offset, within which no zone has changed twice since 1970. */
const LOOK = 7 * DAY_MS;
/** More than the largest offset and the largest change. */
const NEAR = 2 * DAY_MS;

/** IANA areas. Names without an area are obsolete, and ICU misreads some: it takes BST for Asia/Dhaka. */
const AREAS =
  /^(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific|US)\//;

/** Testing a name is slow, so the few hundred valid ones are kept. */
const goodZones = new Set(["UTC"]);

/** Finds a mistake in the name of a time zone; `undefined` if it has a clock. */
export function zoneProblem(zone: string): string | undefined {
  if (goodZones.has(zone)) return undefined;
  const resolved = AREAS.test(zone) ? resolve(zone) : undefined;
  const isMisspelt = resolved !== zone && resolved?.toLowerCase() === zone.toLowerCase();
  if (resolved === undefined || isMisspelt) {
    const names = resolved === undefined ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : [resolved];
    return `found ${found(zone)}, expected the IANA name of a time zone such as "Europe/Berlin" or "UTC"${didYouMean(zone, names)}`;
  }
  goodZones.add(zone);
  return undefined;
}

/** Returns ICU's preferred name in its spelling. */
function resolve(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** One clock per zone, since it caches the changes of the years that were used. */
export const wallClock = weakMemo(newWallClock);

/** Years whose changes a clock caches: windows look some ten years ahead. */
const MAX_YEARS = 128;

/** Zones that set their clocks back do so every year; the rules of a zone rarely change. */
const RULED_YEARS = 5;

/** A period with one offset, far from every change. */
interface Steady extends Offset {
  readonly to: number;
}

function newWallClock(zone: string): WallClock {
  const offsetAt = offsetReader(zone);
  const years = new Map<number, readonly Offset[]>();
  let steady: Steady = { from: NaN, to: NaN, offset: 0 };
  const near = (instant: number): readonly Offset[] => {
    const first = yearOf(instant - NEAR);
    const last = yearOf(instant + NEAR);
    return first === last ? year(first) : [...year(first), ...year(last)];
  };
  const year = (number: number): readonly Offset[] => {
    const known = years.get(number);
    if (known !== undefined) return known;
    const offsets = offsetsOf(number, offsetAt);
    if (years.size >= MAX_YEARS) years.clear();
    years.set(number, offsets);
    return offsets;
  };
  const isSteady = (instant: number): boolean => steady.from <= instant && instant < steady.to;
  return {
    reached: (instant) => {
      if (isSteady(instant)) return instant + steady.offset;
      const offsets = near(instant);
      steady = steadyAt(offsets, instant) ?? steady;
      return reached(offsets, instant);
    },
    firstRead: (wall) =>
      isSteady(wall - steady.offset) ? wall - steady.offset : firstRead(near(wall), wall),
    largestSetBack: (instant) => {
      const first = yearOf(instant);
      const offsets = Array.from({ length: RULED_YEARS }, (_, i) => year(first + i)).flat();
      return Math.max(0, ...offsets.slice(1).map(({ offset }, i) => (offsets[i]?.offset ?? offset) - offset));
    },
    changes: (from, to) => {
      const all: number[] = [];
      for (let each = yearOf(from); each <= yearOf(to); each += 1)
        for (const { from: at } of year(each).slice(1)) if (at >= from && at < to) all.push(at);
      return all;
    },
  };
}

function steadyAt(offsets: readonly Offset[], instant: number): Steady | undefined {
  const index = offsets.findLastIndex(({ from }) => from <= instant);
  const [present, next] = [offsets[index], offsets[index + 1]];
  if (present === undefined) return undefined;
  const end = next?.from ?? Date.UTC(yearOf(instant) + 1, 0);
  return { from: present.from + NEAR, to: end - NEAR, offset: present.offset };
}

function reached(offsets: readonly Offset[], instant: number): number {
  let latest = -Infinity;
  for (const [i, { from, offset }] of offsets.entries()) {
    if (from > instant) break;
    const next = offsets[i + 1]?.from ?? Infinity;
    // The change itself has the next offset.
    latest = Math.max(latest, next <= instant ? next - 1 + offset : instant + offset);
  }
  return latest;
}

function firstRead(offsets: readonly Offset[], wall: number): number {
  for (const [i, { from, offset }] of offsets.entries()) {
    const instant = Math.max(from, wall - offset);
    if (instant < (offsets[i + 1]?.from ?? Infinity)) return instant;
  }
  return wall;
}

function offsetsOf(year: number, offsetAt: OffsetReader): Offset[] {
  const end = Date.UTC(year + 1, 0);
  let from = Date.UTC(year, 0);
  let offset = offsetAt(from);
  const offsets = [{ from, offset }];
  while (from < end) {
    const next = Math.min(from + LOOK, end);
    const changed = offsetAt(next);
    const at = changed === offset ? end : change([from, next], offset, offsetAt);
    if (at < end) offsets.push({ from: at, offset: changed });
    from = next;
    offset = changed;
  }
  return offsets;
}

/** The first instant whose offset differs from `offset`: always a whole second. */
function change([low, high]: [number, number], offset: number, offsetAt: OffsetReader): number {
  while (high - low > SECOND_MS) {
    const middle = low + Math.floor((high - low) / (2 * SECOND_MS)) * SECOND_MS;
    if (offsetAt(middle) === offset) low = middle;
    else high = middle;
  }
  return high;
}

type OffsetReader = (instant: number) => number;

/** How far the zone's wall clock is ahead of UTC. The underlying formats are large, so there is one per zone. */
export const offsetReader = weakMemo<OffsetReader>(newOffsetReader);

function newOffsetReader(timeZone: string): OffsetReader {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (instant) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      format.format(instant).match(/\d+/g) ?? []
    ).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / SECOND_MS) * SECOND_MS;
  };
}

function yearOf(instant: number): number {
  return new Date(instant).getUTCFullYear();
}
