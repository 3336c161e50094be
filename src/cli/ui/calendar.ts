/** Four weeks of windows in a zone of the reader's choice. */

import type { WindowGateSpec } from "../../api/hook-policy.ts";
import { compareText } from "../../lib/compare-text.ts";
import { timestamp } from "../../lib/instant.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { wallClock, zoneProblem } from "../../policy/window/zone.ts";
import type { Calendar, CalendarWindow, Stretch } from "../../page/wire.ts";
import { CommandError, USAGE } from "../command.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { DAY_MS, durationText } from "../../lib/duration.ts";
import { wallTime } from "../terminal/time-text.ts";
import { openingsOf } from "../windows/openings.ts";
import { type PolicyWindow, windowsIn } from "../windows/window-list.ts";

const DAYS = 28;
const MAX_OPENINGS = 1_000;

/** Begins on the Monday of the week of `at`, `weeks` later. */
export function windowCalendar(
  objects: readonly RawObject[],
  {
    zone: wanted,
    at,
    weeks,
  }: { readonly zone: string | undefined; readonly at: Date; readonly weeks: number },
): Calendar {
  const problem = wanted === undefined ? undefined : zoneProblem(wanted);
  if (problem !== undefined) throw new CommandError(USAGE, `time zone: ${problem}`);
  const holders = windowsIn(objects);
  const windows = holders.flatMap((each) => each.windows ?? []);
  const zone = wanted ?? zoneOfMost(windows);
  const midnights = midnightsOf(zone, at, weeks);
  const [from = at, end = at] = [midnights[0], midnights.at(-1)].map((each) => each?.at);
  return {
    zone,
    days: midnights.slice(0, DAYS).map((each, day) => ({
      at: timestamp(each.at),
      date: each.date,
      change: clockChange(zone, each.at, midnights[day + 1]?.at ?? each.at),
    })),
    end: timestamp(end),
    windows: windows.map((window) => calendarWindow(window, from, end)),
    invalid: holders.filter((each) => each.windows === undefined).map(({ policy }) => policyName(policy)),
  };
}

/** The first in the order of their names, if several zones have as many windows. */
function zoneOfMost(windows: readonly PolicyWindow[]): string {
  const byZone = Map.groupBy(windows, ({ spec }) => spec.timeZone ?? "UTC");
  const [most] = [...byZone].toSorted(
    ([a, { length }], [b, { length: other }]) => other - length || compareText(a, b),
  );
  return most?.[0] ?? "UTC";
}

interface Midnight {
  readonly at: Date;
  /** "2026-11-23" */
  readonly date: string;
}

/** The midnights at which the days begin, and the one at which the last day ends. */
function midnightsOf(zone: string, at: Date, weeks: number): readonly Midnight[] {
  const today = Math.floor(wallTime(at, zone).getTime() / DAY_MS) * DAY_MS;
  const sinceMonday = (new Date(today).getUTCDay() + 6) % 7;
  const monday = today + (weeks * 7 - sinceMonday) * DAY_MS;
  const clock = wallClock(zone);
  return Array.from({ length: DAYS + 1 }, (_, day) => {
    const wall = monday + day * DAY_MS;
    return { at: new Date(clock.firstRead(wall)), date: new Date(wall).toISOString().slice(0, 10) };
  });
}

/** The clocks change on a day whose midnights have different offsets. */
function clockChange(zone: string, start: Date, end: Date): string | undefined {
  const offset = (at: Date): number => wallTime(at, zone).getTime() - at.getTime();
  const ms = offset(end) - offset(start);
  return ms === 0 ? undefined : `clocks go ${ms > 0 ? "forward" : "back"} by ${durationText(Math.abs(ms))}`;
}

function calendarWindow({ policy, rule, gate, spec }: PolicyWindow, from: Date, end: Date): CalendarWindow {
  const { deny = [], timeZone } = spec;
  const freezes: WindowGateSpec = { allow: deny, ...(timeZone !== undefined && { timeZone }) };
  return {
    policy: policyName(policy),
    rule,
    gate,
    zone: timeZone ?? "UTC",
    open: stretchesOf(spec, from, end),
    freezes: deny.length === 0 ? [] : stretchesOf(freezes, from, end),
  };
}

function stretchesOf(spec: WindowGateSpec, from: Date, end: Date): readonly Stretch[] {
  return openingsOf(spec, from, MAX_OPENINGS, end).map(({ opensAt, isOpen, closesAt, notes }) => ({
    ...(!isOpen && { from: timestamp(opensAt) }),
    ...(closesAt !== undefined && { to: timestamp(closesAt) }),
    notes,
  }));
}
