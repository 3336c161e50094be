/** Checks of a window beyond the CRDs: schedules, time zones, the order of instants, and what is legal but suspicious. */

import type { WindowEntry, WindowGateSpec } from "../../api/hook-policy.ts";
import { parseDuration } from "../../lib/duration.ts";
import { found } from "../../lib/quoted-value.ts";
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
  return [...zoneWarnings(spec), ...entriesOf(spec).flatMap(entryWarnings), ...deniedWarnings(spec)];
}

/** POSIX counts offsets westward. */
function zoneWarnings({ timeZone = "" }: WindowGateSpec): FieldError[] {
  const [, sign, hours] = /^Etc\/GMT([+-])([1-9]\d?)$/.exec(timeZone) ?? [];
  if (sign === undefined) return [];
  const side = sign === "+" ? "behind" : "ahead of";
  const message = `${timeZone} is ${hours} h ${side} UTC: its sign is that of POSIX`;
  return [{ path: ".timeZone", id: "posix-time-zone", message }];
}

function entryWarnings({ path, entry: { schedule, duration = "" } }: PlacedEntry): FieldError[] {
  if (schedule === undefined) return [];
  const warnings: FieldError[] = [];
  const message = scheduleWarning(schedule);
  if (message !== undefined) warnings.push({ path: `${path}.schedule`, id: "day-of-month-or-week", message });
  if ((parseDuration(duration) ?? 0) >= (compileSchedule(schedule).longestPause ?? Infinity))
    warnings.push({
      path: `${path}.duration`,
      id: "no-pause",
      message:
        "is not shorter than the time between two starts: the entry pauses only where clocks go back, if at all",
    });
  return warnings;
}

function deniedWarnings({ allow = [], deny = [], timeZone }: WindowGateSpec): FieldError[] {
  return allow.flatMap((entry, i) => {
    const by = deny.findIndex((denied) => contains(denied, entry, timeZone));
    return by < 0
      ? []
      : [
          {
            path: `.allow[${i}]`,
            id: "never-opens",
            message: `never opens, because deny[${by}] covers all of it`,
          },
        ];
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
