/**
 * The calendar and the windows of CEL. The library computes the calendar in the time zone of the process, where one
 * hour a year does not exist; windows are those of the window gate.
 */

import { celMethod, type CelFunc, CelScalar, objectType } from "@bufbuild/cel";
import { timestampDate, timestampMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { COMPILE_STEPS, meter } from "./meter.ts";
import type { WindowGateSpec } from "../../api/hook-policy.ts";
import { DAY_MS, MINUTE_MS, parseDuration } from "../../lib/duration.ts";
import { found } from "../../lib/quoted-value.ts";
import { compileWindow, type Window } from "../window/window.ts";
import { windowProblems } from "../window/window-check.ts";
import { offsetReader, zoneProblem } from "../window/zone.ts";

const { BOOL, INT, STRING } = CelScalar;
const TIMESTAMP = objectType(TimestampSchema);

/** The fields of a time whose UTC fields are those of the wall clock. */
const FIELDS: Readonly<Record<string, (wall: Date) => number>> = {
  getFullYear: (wall) => wall.getUTCFullYear(),
  getMonth: (wall) => wall.getUTCMonth(),
  getDate: (wall) => wall.getUTCDate(),
  getDayOfMonth: (wall) => wall.getUTCDate() - 1,
  getDayOfWeek: (wall) => wall.getUTCDay(),
  getDayOfYear: (wall) => Math.floor((wall.getTime() - startOfYear(wall)) / DAY_MS),
  getHours: (wall) => wall.getUTCHours(),
  getMinutes: (wall) => wall.getUTCMinutes(),
  getSeconds: (wall) => wall.getUTCSeconds(),
  getMilliseconds: (wall) => wall.getUTCMilliseconds(),
};

/** The functions whose last argument is a time zone. */
export const CALENDAR_FUNCTIONS: readonly string[] = Object.keys(FIELDS);

export const timeFunctions: readonly CelFunc[] = [
  ...Object.entries(FIELDS).flatMap(([name, field]) => [
    celMethod(name, TIMESTAMP, [], INT, function () {
      return BigInt(field(timestampDate(this.message)));
    }),
    celMethod(name, TIMESTAMP, [STRING], INT, function (zone) {
      meter.charge(COMPILE_STEPS);
      return BigInt(field(wallTime(timestampDate(this.message), zone)));
    }),
  ]),
  celMethod("inWindow", TIMESTAMP, [STRING, STRING, STRING], BOOL, function (...args) {
    meter.charge(10 * COMPILE_STEPS);
    return windowOf(args).isOpen(new Date(timestampMs(this.message)));
  }),
];

function startOfYear(wall: Date): number {
  return new Date(wall).setUTCMonth(0, 1) - (wall.getTime() % DAY_MS);
}

const OFFSET = /^(?<sign>[+-]?)(?<hours>\d\d):(?<minutes>\d\d)$/;

function wallTime(time: Date, zone: string): Date {
  const { sign, hours, minutes } = OFFSET.exec(zone)?.groups ?? {};
  if (hours === undefined) return new Date(time.getTime() + offsetReader(zone)(time.getTime()));
  const offset = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return new Date(time.getTime() + (sign === "-" ? -offset : offset));
}

/** Finds a mistake in the time zone of a calendar function; `undefined` if it has a clock. */
export function calendarZoneProblem(zone: string): string | undefined {
  return OFFSET.test(zone) ? undefined : zoneProblem(zone);
}

/** The arguments of inWindow(). */
function windowSpec([schedule = "", duration = "", timeZone = ""]: readonly string[]): WindowGateSpec {
  return { timeZone, allow: [{ schedule, duration }] };
}

/** Finds a mistake in the arguments of inWindow(); `undefined` if it can be computed. */
export function windowArgumentsProblem(args: readonly string[]): string | undefined {
  const [problem] = windowProblems(windowSpec(args));
  if (problem !== undefined) return `${problem.path.split(".").at(-1)}: ${problem.message}`;
  const [, duration = ""] = args;
  return parseDuration(duration) === undefined
    ? `duration: found ${found(duration)}, expected hours, minutes and seconds such as 8h or 1h30m, at most 8784h`
    : undefined;
}

export function windowOf(args: readonly string[]): Window {
  return compileWindow(windowSpec(args));
}

/** The object that a call with this time zone needs; created once, as its expression refers to it. */
export function calendarOf(zone: string): object | undefined {
  return OFFSET.test(zone) ? undefined : offsetReader(zone);
}
