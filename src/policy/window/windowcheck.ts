/** Checks of a window beyond the CRDs: schedules, time zones, instants, and what is legal but suspicious. */

import { parseDuration } from "../duration.ts";
import { found } from "../validation/fieldmessage.ts";
import { compileSchedule, scheduleProblem, scheduleWarning } from "./schedule.ts";
import { zoneProblem } from "./zone.ts";

/** Either a schedule with a duration, or two instants. */
export interface WindowEntry {
  readonly schedule?: string;
  readonly duration?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface WindowSpec {
  /** Required for schedules. */
  readonly timeZone?: string;
  /** Absent: always open. */
  readonly allow?: readonly WindowEntry[];
  readonly deny?: readonly WindowEntry[];
}

export interface WindowProblem {
  /** Relative to the window, such as ".allow[0].schedule". */
  readonly path: string;
  readonly message: string;
}

const INSTANT =
  /^(?<day>\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?<offset>Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;

/** Parses RFC 3339 to milliseconds. */
export function parseInstant(text: string): number | undefined {
  const { day = "", offset } = INSTANT.exec(text)?.groups ?? {};
  if (offset === undefined) return undefined;
  // JavaScript parses 30 February as 2 March.
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined;
  return Date.parse(text);
}

/** Returns no problems if the window can be compiled. */
export function windowProblems(spec: WindowSpec): readonly WindowProblem[] {
  return [...emptyProblems(spec), ...zoneProblems(spec), ...entriesOf(spec).flatMap(entryProblems)];
}

function emptyProblems({ allow, deny = [] }: WindowSpec): WindowProblem[] {
  if (allow?.length === 0) {
    return [
      { path: ".allow", message: "must not be empty: leave it out to allow every time that is not denied" },
    ];
  }
  if (allow === undefined && deny.length === 0) return [{ path: "", message: "expected allow or deny" }];
  return [];
}

function zoneProblems(spec: WindowSpec): WindowProblem[] {
  const { timeZone } = spec;
  const needed = entriesOf(spec).some(({ entry }) => entry.schedule !== undefined);
  if (timeZone === undefined) {
    return needed ? [{ path: ".timeZone", message: "required field is missing: schedules need it" }] : [];
  }
  const message = zoneProblem(timeZone);
  return message === undefined ? [] : [{ path: ".timeZone", message }];
}

interface PlacedEntry {
  readonly path: string;
  readonly entry: WindowEntry;
}

function entriesOf({ allow = [], deny = [] }: WindowSpec): PlacedEntry[] {
  return [
    ...allow.map((entry, i) => ({ path: `.allow[${i}]`, entry })),
    ...deny.map((entry, i) => ({ path: `.deny[${i}]`, entry })),
  ];
}

function entryProblems({ path, entry }: PlacedEntry): WindowProblem[] {
  const { schedule, duration, from, to } = entry;
  const recurs = schedule !== undefined && duration !== undefined && from === undefined && to === undefined;
  if (recurs) return at(path, { schedule: scheduleProblem(schedule), duration: durationProblem(duration) });
  const once = from !== undefined && to !== undefined && schedule === undefined && duration === undefined;
  if (once) return at(path, { from: instantProblem(from), to: instantProblem(to) ?? orderProblem(from, to) });
  return [{ path, message: "expected either schedule and duration, or from and to" }];
}

function at(path: string, fields: Readonly<Record<string, string | undefined>>): WindowProblem[] {
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

function instantProblem(text: string): string | undefined {
  if (parseInstant(text) !== undefined) return undefined;
  return `found ${found(text)}, expected a time with its offset such as "2026-12-20T00:00:00Z"`;
}

function orderProblem(from: string, to: string): string | undefined {
  const [first, end] = [parseInstant(from), parseInstant(to)];
  if (first === undefined || end === undefined || first < end) return undefined;
  return `found ${found(to)}, expected a time after from, ${from}`;
}

/** For a window without problems. */
export function windowWarnings(spec: WindowSpec): readonly WindowProblem[] {
  const warnings = entriesOf(spec).flatMap(({ path, entry }) => at(path, { schedule: daysWarning(entry) }));
  return [...zoneWarnings(spec), ...warnings, ...pauseWarnings(spec), ...deniedWarnings(spec)];
}

function daysWarning({ schedule }: WindowEntry): string | undefined {
  return schedule === undefined ? undefined : scheduleWarning(schedule);
}

/** POSIX counts offsets westward. */
function zoneWarnings({ timeZone = "" }: WindowSpec): WindowProblem[] {
  const [, sign, hours] = /^Etc\/GMT([+-])([1-9]\d?)$/.exec(timeZone) ?? [];
  if (sign === undefined) return [];
  const side = sign === "+" ? "behind" : "ahead of";
  return [{ path: ".timeZone", message: `${timeZone} is ${hours} h ${side} UTC: its sign is that of POSIX` }];
}

/** Finds entries that restart before they end, every day. */
function pauseWarnings(spec: WindowSpec): WindowProblem[] {
  return entriesOf(spec).flatMap(({ path, entry: { schedule, duration } }) => {
    if (schedule === undefined || duration === undefined) return [];
    const { longestPause: pause } = compileSchedule(schedule);
    if (pause === undefined || (parseDuration(duration) ?? 0) < pause) return [];
    const message =
      "is not shorter than the time between two starts: the entry pauses only where clocks go back, if at all";
    return [{ path: `${path}.duration`, message }];
  });
}

function deniedWarnings({ allow = [], deny = [] }: WindowSpec): WindowProblem[] {
  return allow.flatMap((entry, i) => {
    const by = deny.findIndex((denied) => contains(denied, entry));
    return by < 0
      ? []
      : [{ path: `.allow[${i}]`, message: `never opens, because deny[${by}] covers all of it` }];
  });
}

function contains(outer: WindowEntry, inner: WindowEntry): boolean {
  if (inner.from === undefined || inner.to === undefined) {
    return outer.schedule === inner.schedule && outer.duration === inner.duration;
  }
  if (outer.from === undefined || outer.to === undefined) return false;
  return instant(outer.from) <= instant(inner.from) && instant(inner.to) <= instant(outer.to);
}

function instant(text: string): number {
  return parseInstant(text) ?? NaN;
}
