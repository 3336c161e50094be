/** Formats an age as kubectl does (apimachinery: pkg/util/duration, HumanDuration). */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

interface Step {
  /** Used for ages below this, in seconds. */
  readonly below: number;
  readonly unit: readonly [seconds: number, name: string];
  /** A smaller unit, printed if it is not zero. */
  readonly rest?: readonly [seconds: number, name: string];
}

const STEPS: readonly Step[] = [
  { below: 2 * MINUTE, unit: [1, "s"] },
  { below: 10 * MINUTE, unit: [MINUTE, "m"], rest: [1, "s"] },
  { below: 3 * HOUR, unit: [MINUTE, "m"] },
  { below: 8 * HOUR, unit: [HOUR, "h"], rest: [MINUTE, "m"] },
  { below: 2 * DAY, unit: [HOUR, "h"] },
  { below: 8 * DAY, unit: [DAY, "d"], rest: [HOUR, "h"] },
  { below: 2 * YEAR, unit: [DAY, "d"] },
  { below: Infinity, unit: [YEAR, "y"], rest: [DAY, "d"] },
];

export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const step = STEPS.find(({ below }) => seconds < below);
  if (step === undefined) return "?";
  const [size, name] = step.unit;
  const [restSize, restName] = step.rest ?? [size, ""];
  const rest = Math.floor((seconds % size) / restSize);
  return `${Math.floor(seconds / size)}${name}${rest > 0 ? `${rest}${restName}` : ""}`;
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
