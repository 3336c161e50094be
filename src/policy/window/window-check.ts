/** Checks of a window beyond the CRDs: schedules, time zones, instants, and what is legal but suspicious. */

import type { WindowEntry, WindowGateSpec } from "../../api/hook-policy.ts";
import { parseDuration } from "../../lib/duration.ts";
import { found } from "../../lib/found.ts";
import type { FieldError } from "../validation/schema.ts";
import { isLocal, parseInstant, parseMoment } from "./moment.ts";
import { compileSchedule, scheduleProblem, scheduleWarning } from "./schedule.ts";
import { zoneProblem } from "./zone.ts";

/** The paths are relative to the window, such as ".allow[0].schedule". No problems: the window can be compiled. */
export function windowProblems(spec: WindowGateSpec): readonly FieldError[] {
  const zone = zoneProblems(spec);
  const timeZone = zone.length > 0 ? undefined : spec.timeZone;
  const entries = entriesOf(spec).flatMap((entry) => entryProblems(entry, timeZone));
  return [...emptyProblems(spec), ...zone, ...entries];
}

function emptyProblems({ allow, deny = [] }: WindowGateSpec): FieldError[] {
  const message = "must not be empty: leave it out to allow every time that is not denied";
  if (allow?.length === 0) return [{ path: ".allow", message }];
  if (allow === undefined && deny.length === 0) return [{ path: "", message: "expected allow or deny" }];
  return [];
}

function zoneProblems(spec: WindowGateSpec): FieldError[] {
  const { timeZone } = spec;
  if (timeZone !== undefined) return at("", { timeZone: zoneProblem(timeZone) });
  const needing = entriesOf(spec).map(({ entry }) => needsZone(entry));
  const what = needing.find((each) => each !== undefined);
  return at("", { timeZone: what && `required field is missing: ${what} need it` });
}

function needsZone({ schedule, from = "", to = "" }: WindowEntry): string | undefined {
  if (schedule !== undefined) return "schedules";
  return isLocal(from) || isLocal(to) ? "dates and times without an offset" : undefined;
}

interface PlacedEntry {
  readonly path: string;
  readonly entry: WindowEntry;
}

function entriesOf({ allow = [], deny = [] }: WindowGateSpec): PlacedEntry[] {
  return [
    ...allow.map((entry, i) => ({ path: `.allow[${i}]`, entry })),
    ...deny.map((entry, i) => ({ path: `.deny[${i}]`, entry })),
  ];
}

/** `timeZone`: absent if it is missing or invalid. */
function entryProblems({ path, entry }: PlacedEntry, timeZone: string | undefined): FieldError[] {
  const { schedule, duration, from, to } = entry;
  const recurs = schedule !== undefined && duration !== undefined && from === undefined && to === undefined;
  if (recurs) return at(path, { schedule: scheduleProblem(schedule), duration: durationProblem(duration) });
  const once = from !== undefined && to !== undefined && schedule === undefined && duration === undefined;
  if (once)
    return at(path, { from: momentProblem(from), to: momentProblem(to) ?? orderProblem(from, to, timeZone) });
  return [{ path, message: "expected either schedule and duration, or from and to" }];
}

function at(path: string, fields: Readonly<Record<string, string | undefined>>): FieldError[] {
  return Object.entries(fields).flatMap(([name, message]) =>
    message === undefined ? [] : [{ path: `${path}.${name}`, message }],
  );
}

function durationProblem(text: string): string | undefined {
  if (parseDuration(text) !== undefined) return undefined;
  const days = /^(\d{1,3})d$/.exec(text)?.[1];
  const hint = days === undefined ? "" : `; write ${Number(days) * 24}h`;
  return `found ${found(text)}, expected hours, minutes and seconds such as 8h or 1h30m, at most 8784h${hint}`;
}

function momentProblem(text: string): string | undefined {
  if (isLocal(text) || parseInstant(text) !== undefined) return undefined;
  return `found ${found(text)}, expected a time with its offset such as "2026-12-20T00:00:00Z", or a date or time of timeZone such as "2026-12-20" or "2026-12-20T18:00"`;
}

function orderProblem(from: string, to: string, timeZone: string | undefined): string | undefined {
  const [first, end] = [parseMoment(from, timeZone), parseMoment(to, timeZone)];
  if (first === undefined || end === undefined || first < end) return undefined;
  const hint =
    from === to && /^[^T]+$/.test(to) ? ": a date is its first instant, so write the next day" : "";
  return `found ${found(to)}, expected a time after from, ${from}${hint}`;
}

/** For a window without problems. */
export function windowWarnings(spec: WindowGateSpec): readonly FieldError[] {
  return [
    ...named("posix-time-zone", zoneWarnings(spec)),
    ...named("day-of-month-or-week", dayWarnings(spec)),
    ...named("no-pause", pauseWarnings(spec)),
    ...named("never-opens", deniedWarnings(spec)),
  ];
}

function named(id: string, warnings: readonly FieldError[]): FieldError[] {
  return warnings.map((warning) => ({ ...warning, id }));
}

function dayWarnings(spec: WindowGateSpec): FieldError[] {
  return entriesOf(spec).flatMap(({ path, entry: { schedule } }) =>
    schedule === undefined ? [] : at(path, { schedule: scheduleWarning(schedule) }),
  );
}

/** POSIX counts offsets westward. */
function zoneWarnings({ timeZone = "" }: WindowGateSpec): FieldError[] {
  const [, sign, hours] = /^Etc\/GMT([+-])([1-9]\d?)$/.exec(timeZone) ?? [];
  if (sign === undefined) return [];
  const side = sign === "+" ? "behind" : "ahead of";
  return [{ path: ".timeZone", message: `${timeZone} is ${hours} h ${side} UTC: its sign is that of POSIX` }];
}

/** Finds entries that restart before they end, every day. */
function pauseWarnings(spec: WindowGateSpec): FieldError[] {
  return entriesOf(spec).flatMap(({ path, entry: { schedule, duration } }) => {
    if (schedule === undefined || duration === undefined) return [];
    const { longestPause: pause } = compileSchedule(schedule);
    if (pause === undefined || (parseDuration(duration) ?? 0) < pause) return [];
    const message =
      "is not shorter than the time between two starts: the entry pauses only where clocks go back, if at all";
    return [{ path: `${path}.duration`, message }];
  });
}

function deniedWarnings({ allow = [], deny = [], timeZone }: WindowGateSpec): FieldError[] {
  return allow.flatMap((entry, i) => {
    const by = deny.findIndex((denied) => contains(denied, entry, timeZone));
    return by < 0
      ? []
      : [{ path: `.allow[${i}]`, message: `never opens, because deny[${by}] covers all of it` }];
  });
}

function contains(outer: WindowEntry, inner: WindowEntry, timeZone: string | undefined): boolean {
  if (inner.from === undefined || inner.to === undefined) {
    return outer.schedule === inner.schedule && outer.duration === inner.duration;
  }
  if (outer.from === undefined || outer.to === undefined) return false;
  const instant = (text: string): number => parseMoment(text, timeZone) ?? NaN;
  return instant(outer.from) <= instant(inner.from) && instant(inner.to) <= instant(outer.to);
}
