/** Finds windows that will open at an unexpected time in the next two years, later, or never. */

import { DAY_MS } from "../../lib/duration.ts";
import type { RuleSpec, WindowGateSpec } from "../../api/hook-policy.ts";
import { entryOf } from "../../lib/entry-of.ts";
import { Kept } from "../../lib/kept.ts";
import { DENY_HAS_PASSED, WINDOW_NEVER_OPENS } from "../../policy/validation/accepted.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { gatesOf } from "../../policy/validation/sound-parts.ts";
import { compileWindow } from "../../policy/window/window.ts";
import { wallClock } from "../../policy/window/zone.ts";
import { instantText } from "../terminal/time-text.ts";
import {
  AHEAD,
  DENIES_NOTHING,
  denyHasPassed,
  meets,
  type Opening,
  openingsOf,
} from "../windows/openings.ts";

/** For rules without errors. */
export function timeWarnings(rules: readonly RuleSpec[], now: Date): readonly FieldError[] {
  return rules.flatMap((rule, index) => ruleWarnings(rule, `spec.rules[${index}]`, now));
}

export interface PlacedWindow {
  readonly name: string;
  readonly path: string;
  readonly spec: WindowGateSpec;
}

/** Those of members of anyOf, too: others may be met instead. */
export function placedWindows(rule: Pick<RuleSpec, "until">, path: string): readonly PlacedWindow[] {
  return gatesOf(rule, path).flatMap(({ gate: { name, window: spec }, path: at }) =>
    spec === undefined ? [] : [{ name, path: `${at}.window`, spec }],
  );
}

export function isAlone({ path }: PlacedWindow): boolean {
  return !path.includes(".anyOf[");
}

function ruleWarnings(rule: RuleSpec, path: string, now: Date): readonly FieldError[] {
  const windows = placedWindows(rule, path);
  const each = windows.flatMap(({ path: at, spec }) =>
    windowWarnings(spec, now).map((warning) => ({ path: at, ...warning })),
  );
  return [...each, ...neverTogether(windows.filter(isAlone), now)];
}

type Warning = Required<Pick<FieldError, "id" | "message">>;

/** Remembered, because generated files have thousands of policies with the same few windows. */
const known = new Kept<readonly Warning[]>();

function windowWarnings(spec: WindowGateSpec, now: Date): readonly Warning[] {
  return entryOf(known, JSON.stringify([now.getTime(), spec]), () => {
    const never = neverOpens(spec, now) ?? opensLate(spec, now);
    if (never !== undefined) return [never];
    const passed = { id: DENY_HAS_PASSED, message: DENIES_NOTHING };
    return [...(denyHasPassed(spec, now) ? [passed] : []), ...clockWarnings(spec, now)];
  });
}

function neverOpens({ deny = [], ...spec }: WindowGateSpec, now: Date): Warning | undefined {
  if (compileWindow({ ...spec, deny }).nextOpen(now) !== undefined) return undefined;
  const isDenied =
    deny.length > 0 && (spec.allow === undefined || compileWindow(spec).nextOpen(now) !== undefined);
  const all = spec.allow === undefined ? "every time" : "all of allow";
  return isDenied
    ? { id: "deny-covers-allow", message: `never opens again, because deny covers ${all}` }
    : { id: WINDOW_NEVER_OPENS, message: "never opens again: all of its times have passed" };
}

/** It closes what it should open: a deny until 2100, say. */
function opensLate(spec: WindowGateSpec, now: Date): Warning | undefined {
  const opening = compileWindow(spec).nextOpen(now);
  if (opening === undefined || opening.getTime() <= now.getTime() + AHEAD) return undefined;
  const message = `does not open before ${instantText(opening, spec.timeZone ?? "UTC")}, which is more than two years ahead`;
  return { id: "window-opens-late", message };
}

/** The notes of `hookpolicy windows` that become warnings. */
const CHANGES: readonly (readonly [id: string, note: RegExp])[] = [
  ["clock-change-repeats", /^opens once more/],
  ["clock-change-moves", /^opens at \S+ instead of/],
  ["clock-change-length", /^lasts /],
];

function clockWarnings(spec: WindowGateSpec, now: Date): readonly Warning[] {
  const { timeZone } = spec;
  if (timeZone === undefined) return [];
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const found = wallClock(timeZone)
    .changes(today, today + AHEAD)
    .flatMap((change) =>
      openingsAround(spec, change, now).flatMap(({ opensAt, notes }) =>
        notes.flatMap((note) => warningsOf(note, instantText(opensAt, timeZone))),
      ),
    );
  const byId = Map.groupBy(found, ({ id }) => id);
  return [...byId].map(([id, all]) => {
    const others = all.length > 1 ? `, and ${all.length - 1} more within two years` : "";
    return { id, message: `${all[0]?.message}${others}: see \`hookpolicy windows\`` };
  });
}

/** More openings around one change add nothing. */
const MAX_OPENINGS = 128;

function openingsAround(spec: WindowGateSpec, change: number, now: Date): readonly Opening[] {
  const from = new Date(Math.max(now.getTime(), change - DAY_MS));
  return openingsOf(spec, from, MAX_OPENINGS, new Date(change + DAY_MS));
}

function warningsOf(note: string, date: string): Warning[] {
  const message = `on ${date}, where clocks change, it ${note.replace(/: clocks .*$/, "")}`;
  return CHANGES.filter(([, pattern]) => pattern.test(note)).map(([id]) => ({ id, message }));
}

/** All gates of a rule must be met at the same time. */
function neverTogether(windows: readonly PlacedWindow[], now: Date): readonly FieldError[] {
  const [first, ...others] = windows;
  const compiled = windows.map(({ spec }) => compileWindow(spec));
  // neverOpens() reports a window that never opens.
  if (first === undefined || others.length === 0) return [];
  if (compiled.some((window) => window.nextOpen(now) === undefined) || meets(compiled, now) !== false)
    return [];
  const names = windows.map(({ name }) => name).join(", ");
  const message = `the windows ${names} of the rule are never open at the same time in the next two years, so the rule holds until then: make them overlap, or put them into anyOf`;
  return [{ path: first.path, id: "windows-never-meet", message }];
}
