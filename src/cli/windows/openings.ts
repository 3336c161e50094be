/** Computes when a window opens and closes, and the effect of clock changes. */

import type { WindowEntry, WindowGateSpec } from "../../api/hook-policy.ts";
import { compileWindow, MAX_ASKS, type Window } from "../../policy/window/window.ts";
import { DAY_MS, durationText, HOUR_MS, MINUTE_MS } from "../../lib/duration.ts";
import { isLocal } from "../../policy/window/moment.ts";
import { offsetReader } from "../../policy/window/zone.ts";
import { clockText, wallTime } from "../terminal/time-text.ts";

export interface Opening {
  /** If the window is already open, the requested instant. */
  readonly opensAt: Date;
  readonly isOpen: boolean;
  /** Absent: never. */
  readonly closesAt?: Date;
  /** The effects of a clock change on it. */
  readonly notes: readonly string[];
}

/** A command may search for longer than the operator. */
const ASKS = 100 * MAX_ASKS;
/** Clocks change by less, in every zone since 1970 except a few that moved across the date line. */
const NEAR = 4 * HOUR_MS;

/** Two years: how far mistakes of windows are looked for. */
export const AHEAD = 2 * 366 * DAY_MS;
/** Limits the steps of a search from one opening to the next. */
const MAX_STEPS = 3000;

/** The next `count` openings from `from` on, including a current one; `until`: those that begin before. */
export function openingsOf(
  spec: WindowGateSpec,
  from: Date,
  count: number,
  until?: Date,
): readonly Opening[] {
  const explain = clockChanges(spec);
  return stretches(compileWindow(spec, ASKS), from, until)
    .take(count)
    .map((stretch) => ({ ...stretch, notes: stretch.isOpen ? [] : explain(stretch) }))
    .toArray();
}

/** The instant at which the search for the next change gives up; `undefined`: nothing changes after the openings. */
export function searchEndOf(
  spec: WindowGateSpec,
  from: Date,
  openings: readonly Opening[],
): Date | undefined {
  const last = openings.at(-1);
  if (last?.closesAt !== undefined) return undefined;
  const { changesAt, isSearchEnd } = compileWindow(spec, ASKS).at(last?.opensAt ?? from);
  return isSearchEnd === true ? changesAt : undefined;
}

export const DENIES_NOTHING = "denies nothing any more: all times of deny have passed";

/** As of a freeze of last year. */
export function denyHasPassed({ timeZone, deny = [] }: WindowGateSpec, now: Date): boolean {
  if (deny.length === 0) return false;
  const denied = compileWindow({ ...(timeZone !== undefined && { timeZone }), allow: deny });
  return denied.nextOpen(now) === undefined;
}

/** Whether the windows are open at the same time in the next two years; `undefined`: the search ended without a result. */
export function meets(windows: readonly Window[], now: Date): boolean | undefined {
  let at = now;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const latest = Math.max(...windows.map((window) => window.nextOpen(at)?.getTime() ?? Infinity));
    if (latest > now.getTime() + AHEAD) return false;
    at = new Date(latest);
    if (windows.every((window) => window.isOpen(at))) return true;
  }
  return undefined;
}

type Stretch = Omit<Opening, "notes">;

function* stretches(window: Window, from: Date, until?: Date): IteratorObject<Stretch, undefined> {
  const isOpen = window.at(from).open;
  for (let at: Date | undefined = from; at !== undefined;) {
    const opensAt: Date | undefined = window.at(at).open ? at : edgeAfter(window, at);
    if (opensAt === undefined || (until !== undefined && opensAt >= until)) return;
    const closesAt = edgeAfter(window, opensAt);
    yield { opensAt, isOpen: isOpen && opensAt === from, ...(closesAt !== undefined && { closesAt }) };
    at = closesAt;
  }
}

function edgeAfter(window: Window, at: Date): Date | undefined {
  const { changesAt, isSearchEnd } = window.at(at);
  return isSearchEnd === true ? undefined : changesAt;
}

/** Compares the openings with those of the same window on a clock that never changes. */
function clockChanges(spec: WindowGateSpec): (opening: Stretch) => readonly string[] {
  const { timeZone, allow = [], deny = [] } = spec;
  const scheduled = [...allow, ...deny].some(({ schedule }) => schedule !== undefined);
  if (timeZone === undefined || !scheduled) return () => [];
  const steady = compileWindow({
    ...(spec.allow !== undefined && { allow: allow.map((entry) => onWallClock(entry, timeZone)) }),
    ...(spec.deny !== undefined && { deny: deny.map((entry) => onWallClock(entry, timeZone)) }),
    timeZone: "UTC",
  });
  return (opening) => differences(opening, steady, timeZone);
}

function onWallClock({ from, to, ...entry }: WindowEntry, timeZone: string): WindowEntry {
  const wall = (text: string): string =>
    isLocal(text) ? text : wallTime(new Date(text), timeZone).toISOString();
  return {
    ...entry,
    ...(from !== undefined && { from: wall(from) }),
    ...(to !== undefined && { to: wall(to) }),
  };
}

function differences(opening: Stretch, steady: Window, timeZone: string): readonly string[] {
  const { opensAt, closesAt } = opening;
  const cause = changeOfClocks(opensAt, closesAt ?? opensAt, timeZone);
  if (cause === undefined) return [];
  const opens = wallTime(opensAt, timeZone);
  const usual = nearest(steady, opens);
  if (usual === undefined) return [`opens once more: ${cause}`];
  const closes = closesAt && wallTime(closesAt, timeZone);
  const notes = [
    ...changed("opens at", clockText(opens), clockText(usual.opensAt)),
    ...(comesAgain(opensAt, timeZone) ? [`opens at the first ${clockText(opens)} of two`] : []),
    ...changed("closes at", closes && clockText(closes), usual.closesAt && clockText(usual.closesAt)),
    ...changed("lasts", lengthText(opening), lengthText(usual)),
  ];
  return notes.length === 0 ? [] : [...notes.slice(0, -1), `${notes.at(-1)}: ${cause}`];
}

function changed(what: string, now: string | undefined, usual: string | undefined): readonly string[] {
  const isSame = now === undefined || usual === undefined || now === usual;
  return isSame ? [] : [`${what} ${now} instead of ${usual}`];
}

function lengthText({ opensAt, closesAt }: Stretch): string | undefined {
  return closesAt && durationText(closesAt.getTime() - opensAt.getTime());
}

function nearest(steady: Window, wall: Date): Stretch | undefined {
  const distance = ({ opensAt }: Stretch): number => Math.abs(opensAt.getTime() - wall.getTime());
  const [best] = stretches(steady, new Date(wall.getTime() - NEAR))
    .filter(({ isOpen }) => !isOpen)
    .take(NEAR / MINUTE_MS)
    .toArray()
    .toSorted((a, b) => distance(a) - distance(b));
  return best !== undefined && distance(best) < NEAR ? best : undefined;
}

/** The direction of a clock change shortly before the opening, or between opening and closing. */
function changeOfClocks(opensAt: Date, closesAt: Date, timeZone: string): string | undefined {
  const instants = [opensAt.getTime() - NEAR, opensAt.getTime(), closesAt.getTime()];
  const offsets = instants.map(offsetReader(timeZone));
  for (const [index, before] of offsets.entries()) {
    const after = offsets[index + 1] ?? before;
    if (after !== before) return after > before ? "clocks go forward" : "clocks go back";
  }
  return undefined;
}

/** Whether the wall clock soon shows the same time again. */
function comesAgain(instant: Date, timeZone: string): boolean {
  const wall = wallTime(instant, timeZone).getTime();
  return [0.5, 1, 2, 3].some(
    (hours) => wallTime(new Date(instant.getTime() + hours * HOUR_MS), timeZone).getTime() === wall,
  );
}
