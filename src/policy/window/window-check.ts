/** Checks of a window beyond the CRDs: schedules, time zones, the order of instants, and what is legal but suspicious. */

import type { WindowEntry, WindowGateSpec } from "../../api/hook-policy.ts";
import { parseDuration } from "../../lib/duration.ts";
import { found } from "../../lib/found.ts";
import type { FieldError } from "../validation/schema.ts";
import { parseMoment } from "./moment.ts";
import { compileSchedule, scheduleProblem, scheduleWarning } from "./schedule.ts";
import { zoneProblem } from "./zone.ts";

/** For a window that fits the schema. The paths are relative to it, such as ".allow[0].schedule". No problems: it can be compiled. */
export function windowProblems(spec: WindowGateSpec): readonly FieldError[] {
  const zone = spec.timeZone === undefined ? undefined : zoneProblem(spec.timeZone);
  const timeZone = zone === undefined ? spec.timeZone : undefined;
  const entries = entriesOf(spec).flatMap(({ path, entry: { schedule, from = "", to = "" } }) =>
    at(path, {
      schedule: schedule === undefined ? undefined : scheduleProblem(schedule),
      to: orderProblem(from, to, timeZone),
    }),
  );
  return [...at("", { timeZone: zone }), ...entries];
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

function at(path: string, fields: Readonly<Record<string, string | undefined>>): FieldError[] {
  return Object.entries(fields).flatMap(([name, message]) =>
    message === undefined ? [] : [{ path: `${path}.${name}`, message }],
  );
}

/** The schema compares only what has the same form. */
function orderProblem(from: string, to: string, timeZone: string | undefined): string | undefined {
  const [first, end] = [parseMoment(from, timeZone), parseMoment(to, timeZone)];
  if (first === undefined || end === undefined || first < end) return undefined;
  return `found ${found(to)}, expected a time after from, ${from}`;
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
