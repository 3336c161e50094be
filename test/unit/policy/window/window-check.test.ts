import assert from "node:assert/strict";
import test from "node:test";
import type { WindowGateSpec } from "../../../../src/api/hook-policy.ts";
import { compileWindow } from "../../../../src/policy/window/window.ts";
import { windowProblems, windowWarnings } from "../../../../src/policy/window/window-check.ts";
import { daily, once, WEEKEND } from "./fixtures.ts";

function problem(spec: WindowGateSpec): string {
  const [first] = windowProblems(spec);
  if (first !== undefined) assert.throws(() => compileWindow(spec), /^Error: window/);
  return first === undefined ? "none" : `${first.path}: ${first.message}`;
}

const SCHEDULES: Readonly<Record<string, string>> = {
  "60 * * * *": 'minute "60" cannot be read, expected numbers from 0 to 59',
  "* 24 * * *": 'hour "24" cannot be read, expected numbers from 0 to 23',
  "* * 0 * *": 'day of month "0" cannot be read, expected numbers from 1 to 31',
  "* * * 13 *": 'month "13" cannot be read, expected numbers from 1 to 12',
  "* * * * 8": 'day of week "8" cannot be read, expected numbers from 0 to 7',
  "100 * * * *": 'minute "100" cannot be read',
  "a * * * *": 'minute "a" cannot be read',
  "abc * * * *": 'minute "abc" cannot be read',
  "0 0 * * FRY": "names from SUN to SAT",
  "0 22 * * Freitag":
    'day of week "Freitag" cannot be read, expected numbers from 0 to 7, names from SUN to SAT, *, lists, rising ranges and steps, such as 1,5 or 1-5 or */2 or 1-5/2',
  "0 0 * JANUARY *": 'month "JANUARY" cannot be read',
  "60 0 0 * *": '/2; day of month "0" cannot be read',
  "0 0 L * *": 'day of month "L" cannot be read',
  "0 0 15W * *": 'day of month "15W" cannot be read',
  "0 0 * * FRI#2": 'day of week "FRI#2" cannot be read',
  "0 0 * * 5L": 'day of week "5L" cannot be read',
  "0 0 * * +MON": 'day of week "+MON" cannot be read',
  "0 0 ? * *": 'day of month "?" cannot be read',
  "0 0 * * ?": 'day of week "?" cannot be read',
  "H 0 * * *": 'minute "H" cannot be read',
  "5/15 * * * *": 'minute "5/15" cannot be read',
  "*/0 * * * *": 'minute "*/0" cannot be read',
  "* */24 * * *": 'hour "*/24" cannot be read',
  "30-10 * * * *": 'minute "30-10" cannot be read',
  "0 0 * * FRI-MON": 'day of week "FRI-MON" cannot be read',
  "0,* * * * *": 'minute "0,*" cannot be read',
  "1,,2 * * * *": 'minute "1,,2" cannot be read',
  "1- * * * *": 'minute "1-" cannot be read',
  "-1 * * * *": 'minute "-1" cannot be read',
  "1-5-9 * * * *": 'minute "1-5-9" cannot be read',
  "1.5 * * * *": 'minute "1.5" cannot be read',
  "@daily": "nicknames such as @daily are not supported",
  "@every 1h": "nicknames such as @every are not supported",
  "0 0 * *": "expected the five fields minute, hour, day of month, month, day of week, not 4",
  "0 0 0 * * *": "day of week, not 6: leave out the seconds",
  "0 0 * * * 2027": "day of week, not 6",
  "": "day of week, not 0",
  "TZ=UTC 0 0 * * *": "the time zone has a field of its own",
  "CRON_TZ=UTC 0 0 * * *": "the time zone has a field of its own",
  "0 0\n* * *": "day of week, not 4",
  "0 0 30 2 *": "it never starts",
  "0 0 31 2,4,6,9,11 *": "it never starts",
  "0 0 */2 * MON": "read in two ways",
  "0 0 1 * */2": "read in two ways",
};

for (const [schedule, message] of Object.entries(SCHEDULES)) {
  test(`the schedule ${JSON.stringify(schedule)} is refused: ${message}`, () => {
    const found = problem({ timeZone: "UTC", allow: [{ schedule, duration: "1h" }] });
    assert.ok(found.startsWith(".allow[0].schedule: found ") && found.includes(message), found);
  });
}

for (const schedule of [
  "  5 4 * * *  ",
  "0\t0 * * *",
  "0 0 29 2 *",
  "0 0 30 2 MON",
  "00 09 01 01 *",
  "0 0 * jan-Mar fri",
]) {
  test(`the schedule ${JSON.stringify(schedule)} is accepted`, () => {
    assert.equal(problem({ timeZone: "UTC", allow: [{ schedule, duration: "1h" }] }), "none");
  });
}

const ZONES: Readonly<Record<string, string>> = {
  "Europe/Berlin": "none",
  UTC: "none",
  "Etc/GMT+5": "none",
  "Asia/Kolkata": "none",
  "Asia/Calcutta": "none",
  "Europe/Kyiv": "none",
  "US/Eastern": "none",
  "America/Argentina/Buenos_Aires": "none",
  "Europe/Berln": 'did you mean "Europe/Berlin"?',
  "europe/berlin": 'did you mean "Europe/Berlin"?',
  "Europe/BERLIN": 'did you mean "Europe/Berlin"?',
  utc: 'did you mean "UTC"?',
  // What these mean depends on who is asked: to ICU, BST is Asia/Dhaka.
  BST: 'such as "Europe/Berlin" or "UTC"',
  CST: 'such as "Europe/Berlin" or "UTC"',
  IST: 'such as "Europe/Berlin" or "UTC"',
  EST: 'such as "Europe/Berlin" or "UTC"',
  "+01:00": 'such as "Europe/Berlin" or "UTC"',
  "UTC+1": 'such as "Europe/Berlin" or "UTC"',
  "SystemV/EST5": 'such as "Europe/Berlin" or "UTC"',
  "Etc/Unknown": 'such as "Europe/Berlin" or "UTC"',
  "Europe/Nowhere": 'such as "Europe/Berlin" or "UTC"',
  Local: 'such as "Europe/Berlin" or "UTC"',
  "": 'such as "Europe/Berlin" or "UTC"',
};

for (const [timeZone, message] of Object.entries(ZONES)) {
  test(`the time zone ${JSON.stringify(timeZone)}: ${message}`, () => {
    const found = problem({ timeZone, allow: [{ schedule: "0 0 * * *", duration: "1h" }] });
    assert.ok(
      message === "none"
        ? found === message
        : found.startsWith(".timeZone: found ") && found.includes(message),
      found,
    );
  });
}

const NEW_YEAR = "2026-01-01T00:00:00Z";

test("a window that ends before it begins is refused, however the two are written", () => {
  const days = once("2026-01-02", "2026-01-01T00:00:00Z");
  assert.match(problem({ timeZone: "UTC", deny: [days] }), /^\.deny\[0\]\.to: found .*a time after from/);
  assert.match(problem({ deny: [once(NEW_YEAR, "2026-01-01T01:00:00+01:00")] }), /^\.deny\[0\]\.to: found/);
});

const UNFIT: Readonly<Record<string, WindowGateSpec>> = {
  "an empty allow": { allow: [] },
  "neither list": { timeZone: "UTC" },
  "a schedule without a zone": { deny: [{ schedule: "0 0 * * *", duration: "1h" }] },
  "a duration in days": daily("0 0 * * *", "UTC", "7d"),
  "a time without an offset": { deny: [once(NEW_YEAR, "2026-01-02T00:00:00")] },
  "30 February": { deny: [once("2026-02-30T00:00:00Z", "2027-01-01T00:00:00Z")] },
  "half an entry": { deny: [{ from: NEW_YEAR }] },
  "an empty entry": { deny: [{}] },
};
for (const [name, spec] of Object.entries(UNFIT))
  test(`a window with ${name}, which the schema refuses, is not compiled either`, () => {
    assert.throws(() => compileWindow(spec), /^Error: window/);
  });

test("every problem of a window is found at once", () => {
  const spec = {
    timeZone: "Europe/Berln",
    allow: [{ schedule: "60 * * * *", duration: "1h" }],
    deny: [{ schedule: "x", duration: "1h" }],
  };
  assert.deepEqual(
    windowProblems(spec).map(({ path }) => path),
    [".timeZone", ".allow[0].schedule", ".deny[0].schedule"],
  );
});

const HOLIDAYS = once("2026-12-20T00:00:00Z", "2027-01-06T00:00:00Z");
const WARNINGS: Readonly<Record<string, readonly [spec: WindowGateSpec, path: string, message: RegExp]>> = {
  "both kinds of days": [daily("0 0 13 * FRI", "UTC"), ".allow[0].schedule", /when both are given/],
  "no pause": [
    { timeZone: "UTC", deny: [{ schedule: "0 */12 * * *", duration: "12h" }] },
    ".deny[0].duration",
    /not shorter than/,
  ],
  "the sign of POSIX": [daily("0 0 * * *", "Etc/GMT+5"), ".timeZone", /5 h behind UTC/],
  "the other sign of POSIX": [daily("0 0 * * *", "Etc/GMT-14"), ".timeZone", /14 h ahead of UTC/],
  "a time that is denied": [
    { allow: [once("2026-12-21T00:00:00Z", "2026-12-22T00:00:00Z")], deny: [HOLIDAYS] },
    ".allow[0]",
    /deny\[0\] covers all of it/,
  ],
  "a schedule that is denied": [
    { ...daily("0 0 * * *", "UTC"), deny: [HOLIDAYS, { schedule: "0 0 * * *", duration: "10m" }] },
    ".allow[0]",
    /deny\[1\] covers all of it/,
  ],
};

for (const [name, [spec, path, message]] of Object.entries(WARNINGS)) {
  test(`a window with ${name} is accepted with a warning`, () => {
    assert.deepEqual(windowProblems(spec), []);
    const [warning, ...others] = windowWarnings(spec);
    assert.deepEqual(others, []);
    assert.equal(warning?.path, path);
    assert.match(warning.message, message);
  });
}

for (const spec of [
  WEEKEND,
  daily("0 */12 * * *", "UTC", "11h59m"),
  daily("0 */12 * * MON", "UTC", "12h"),
  daily("0 */12 * 1 *", "UTC", "12h"),
  daily("0 */12 1 * *", "UTC", "12h"),
  daily("0 0 * * *", "Etc/GMT"),
  { allow: [once("2026-12-19T23:59:59Z", "2026-12-22T00:00:00Z")], deny: [HOLIDAYS] },
]) {
  test(`nothing is suspicious about ${JSON.stringify(spec)}`, () => {
    assert.deepEqual(windowWarnings(spec), []);
  });
}
