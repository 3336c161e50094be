/** Formats an age as kubectl does (apimachinery: pkg/util/duration, HumanDuration). */

type Unit = readonly [seconds: number, name: string];

const SECOND: Unit = [1, "s"];
const MINUTE: Unit = [60, "m"];
const HOUR: Unit = [3600, "h"];
const DAY: Unit = [86_400, "d"];
const YEAR: Unit = [365 * 86_400, "y"];

/** For ages below this, in seconds: a unit, and a smaller one that is printed if it is not zero. */
const STEPS: readonly (readonly [below: number, unit: Unit, rest?: Unit])[] = [
  [120, SECOND],
  [600, MINUTE, SECOND],
  [3 * 3600, MINUTE],
  [8 * 3600, HOUR, MINUTE],
  [2 * 86_400, HOUR],
  [8 * 86_400, DAY, HOUR],
  [2 * 365 * 86_400, DAY],
  [Infinity, YEAR, DAY],
];

export function ageText(ms: number): string {
  const age = Math.max(0, Math.floor(ms / 1000));
  const [, unit, rest] = STEPS.find(([below]) => age < below) ?? [];
  if (unit === undefined) return "?";
  const [seconds, name] = unit;
  const more = rest === undefined ? 0 : Math.floor((age % seconds) / rest[0]);
  return `${Math.floor(age / seconds)}${name}${more > 0 ? `${more}${rest?.[1]}` : ""}`;
}

/** "3d4h": the age of a timestamp; "?" if it is not valid. */
export function since(text: string, now: Date): string {
  return ageText(now.getTime() - Date.parse(text));
}

/** "in 2h", "now" for a past time, "-" if there is none. */
export function until(text: string | undefined, now: Date): string {
  if (text === undefined) return "-";
  const ms = Date.parse(text) - now.getTime();
  return ms > 0 ? `in ${ageText(ms)}` : "now";
}
