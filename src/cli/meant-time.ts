/** What is meant by a duration or a time that is written in another way: in files, and behind flags. */

import { parseDuration } from "../lib/duration.ts";
import { isLocal, parseInstant } from "../policy/window/moment.ts";

/** Units that Go's durations do not have, and their length in hours. */
const HOURS: Readonly<Record<string, number>> = { d: 24, day: 24, days: 24, w: 168, week: 168, weeks: 168 };
/** Units that Go writes with their first letter. */
const SPELT_OUT = /^(?:hours?|hrs?|minutes?|mins?|seconds?|secs?)$/;

/** "write 24h" for 1d; `undefined`: nothing is certain enough. */
export function meantDuration(value: unknown): string | undefined {
  const text = String(value).trim();
  if (/^\d+$/.test(text)) return `write its unit: ${text}s, ${text}m or ${text}h`;
  const [, count = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text) ?? [];
  const hours = HOURS[unit.toLowerCase()] ?? (unit.toLowerCase() === "h" ? 1 : undefined);
  if (hours !== undefined) return writeMinutes(Number(count) * hours * 60, text);
  const compact = text
    .toLowerCase()
    .replaceAll(/\s+/g, "")
    .replaceAll(/[a-z]+/g, (word) => (SPELT_OUT.test(word) ? word.charAt(0) : word));
  return compact !== text && parseDuration(compact) !== undefined ? `write ${compact}` : undefined;
}

/** `undefined`: the user wrote the same, so something else is wrong. */
function writeMinutes(minutes: number, said: string): string | undefined {
  const rounded = Math.round(minutes);
  const [whole, rest] = [Math.floor(rounded / 60), rounded % 60];
  const text = `${whole > 0 ? `${whole}h` : ""}${rest > 0 ? `${rest}m` : ""}`;
  return text === said || parseDuration(text) === undefined ? undefined : `write ${text}`;
}

/** Corrects a date with another order or other separators, and reports a day that does not exist. */
export function meantMoment(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = inOrder(value)
    .trim()
    .replace(/^(\S{10})\s+(?=\d)/, "$1T");
  if (isLocal(text)) return text === value ? undefined : `write ${text}`;
  const whole = text.replace(/(T\d\d:\d\d)(?=Z$|[+-]\d\d:\d\d$)/, "$1:00");
  if (whole !== value && parseInstant(whole) !== undefined) return `write ${whole}`;
  return impossible(text);
}

/** The year first, and hyphens. */
function inOrder(text: string): string {
  const [, day = "", month = "", year, rest] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)$/.exec(text) ?? [];
  return year === undefined
    ? text.replace(/^(\d{4})\/(\d\d)\/(\d\d)/, "$1-$2-$3")
    : `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}${rest}`;
}

function impossible(text: string): string | undefined {
  if (isLocal(text.slice(0, 10)) && /T(?:2[4-9]|[3-9]\d|\d\d:[6-9]\d)/.test(text))
    return "hours end with 23, and minutes with 59";
  return /^\d{4}-\d\d-\d\d/.test(text) && isLocal(`${text.slice(0, 8)}01`) && !isLocal(text.slice(0, 10))
    ? "there is no such day"
    : undefined;
}
