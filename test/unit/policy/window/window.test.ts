import assert from "node:assert/strict";
import test from "node:test";
import type { WindowGateSpec } from "../../../../src/api/hook-policy.ts";
import { compileWindow, type Window } from "../../../../src/policy/window/window.ts";
import { windowProblems } from "../../../../src/policy/window/window-check.ts";
import { setEnvironment } from "../../kube/fixtures.ts";
import { daily, once, WEEKEND } from "./fixtures.ts";

function shown(window: Window, now: string): string {
  const { open, changesAt } = window.at(new Date(now));
  return `${open ? "open" : "closed"} until ${changesAt?.toISOString().replace(".000Z", "Z") ?? "ever"}`;
}

const STATES: Readonly<Record<string, readonly [spec: WindowGateSpec, now: string, shown: string]>> = {
  "before it opens": [WEEKEND, "2026-11-25T00:00:00Z", "closed until 2026-11-27T21:00:00Z"],
  "a millisecond before its start": [
    WEEKEND,
    "2026-11-27T20:59:59.999Z",
    "closed until 2026-11-27T21:00:00Z",
  ],
  "at its start": [WEEKEND, "2026-11-27T21:00:00Z", "open until 2026-11-28T05:00:00Z"],
  "a millisecond before its end": [WEEKEND, "2026-11-28T04:59:59.999Z", "open until 2026-11-28T05:00:00Z"],
  "at its end": [WEEKEND, "2026-11-28T05:00:00Z", "closed until 2026-12-04T21:00:00Z"],
  "over the holidays": [WEEKEND, "2026-12-25T22:00:00Z", "closed until 2027-01-08T21:00:00Z"],
  "inside of both lists": [
    {
      allow: [once("2026-01-01T00:00:00Z", "2026-01-09T00:00:00Z")],
      deny: [once("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")],
    },
    "2026-01-03T00:00:00Z",
    "closed until 2026-01-04T00:00:00Z",
  ],
  "without allow, outside of deny": [
    { deny: [once("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")] },
    "2026-01-04T00:00:00Z",
    "open until ever",
  ],
  "after its only entry": [
    { allow: [once("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")] },
    "2026-01-04T00:00:00Z",
    "closed until ever",
  ],
  "to the millisecond": [
    { allow: [once("2026-01-03T00:00:00.001+02:00", "2026-01-03T00:00:00.002+02:00")] },
    "2026-01-02T22:00:00.001Z",
    "open until 2026-01-02T22:00:00.002Z",
  ],
  "where entries overlap": [
    {
      timeZone: "UTC",
      allow: [
        { schedule: "0 8 1 1 *", duration: "2h" },
        once("2026-01-01T09:00:00Z", "2026-01-01T11:00:00Z"),
      ],
    },
    "2026-01-01T08:30:00Z",
    "open until 2026-01-01T11:00:00Z",
  ],
  "where entries touch": [
    {
      timeZone: "UTC",
      allow: [
        { schedule: "0 8,9 1 1 *", duration: "1h" },
        once("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"),
      ],
    },
    "2026-01-01T08:00:00Z",
    "open until 2026-01-01T11:00:00Z",
  ],
  "where a start comes before the end of the one before": [
    { timeZone: "UTC", allow: [{ schedule: "0 8 1-3 1 *", duration: "30h" }] },
    "2026-01-01T08:00:00Z",
    "open until 2026-01-04T14:00:00Z",
  ],
  "denied for a century, with a start in every minute": [
    { ...daily("* * * * *", "UTC", "1m"), deny: [once("2026-01-01T00:00:00Z", "2126-01-01T00:00:00Z")] },
    "2026-06-01T00:00:00Z",
    "closed until 2126-01-01T00:00:00Z",
  ],
  "where every minute starts another": [
    daily("* * * * *", "Europe/Berlin", "1m"),
    "2026-06-01T00:00:00Z",
    // From two to three o'clock the second time, nothing starts.
    "open until 2026-10-25T01:00:00Z",
  ],
  "on the 29th of February": [
    daily("0 0 29 2 *", "UTC"),
    "2097-01-01T00:00:00Z",
    "closed until 2104-02-29T00:00:00Z",
  ],
  "on the 13th and on Fridays": [
    daily("0 0 13 * FRI", "UTC"),
    "2026-10-10T00:00:00Z",
    "closed until 2026-10-13T00:00:00Z",
  ],
  "from Saturday to Sunday": [
    daily("0 0 * * SAT-SUN", "UTC"),
    "2026-11-01T01:00:00Z",
    "closed until 2026-11-07T00:00:00Z",
  ],
  "in the first of two entries of a day": [
    daily("0 8,12 1 1 *", "UTC", "1h"),
    "2026-01-01T08:30:00Z",
    "open until 2026-01-01T09:00:00Z",
  ],
  "on all days of the month and on Mondays": [
    daily("0 0 1-31 * MON", "UTC"),
    "2026-11-03T01:00:00Z",
    "closed until 2026-11-04T00:00:00Z",
  ],
  "from Sunday to Sunday": [
    daily("0 0 * * SUN-SUN", "UTC"),
    "2026-11-02T00:00:00Z",
    "closed until 2026-11-08T00:00:00Z",
  ],
  "on Sunday as 7": [daily("0 0 * * 7", "UTC"), "2026-11-02T00:00:00Z", "closed until 2026-11-08T00:00:00Z"],
};

for (const [name, [spec, now, expected]] of Object.entries(STATES)) {
  test(`a window's state ${name}`, () => {
    assert.deepEqual(windowProblems(spec), []);
    assert.equal(shown(compileWindow(spec), now), expected);
  });
}

/** The first opening after a moment on the day before the clocks change. */
const CLOCK_CHANGES: readonly (readonly [zone: string, schedule: string, after: string, start: string])[] = [
  ["Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"],
  ["Europe/Berlin", "30 2 * * *", "2026-10-25T00:40:00Z", "2026-10-26T01:30:00Z"],
  ["Europe/Berlin", "30 2 * * *", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"],
  ["Europe/Berlin", "*/30 2 * * *", "2026-10-25T00:50:00Z", "2026-10-26T01:00:00Z"],
  ["Europe/Berlin", "0 3 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00Z"],
  // Half an hour.
  ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"],
  ["Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00Z", "2026-04-04T14:45:00Z"],
  // Two hours.
  ["Antarctica/Troll", "30 1 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"],
  ["Antarctica/Troll", "30 1 * * *", "2026-10-24T12:00:00Z", "2026-10-24T23:30:00Z"],
  // The clocks go back for Ramadan.
  ["Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00:00Z", "2026-02-15T01:30:00Z"],
  ["Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00:00Z", "2026-03-22T02:00:00Z"],
  ["Africa/El_Aaiun", "30 2 * * *", "2026-03-21T12:00:00Z", "2026-03-22T02:00:00Z"],
  // No midnight, or two of them.
  ["Asia/Beirut", "0 0 * * *", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z"],
  ["America/Havana", "0 0 * * *", "2026-03-07T12:00:00Z", "2026-03-08T05:00:00Z"],
  ["America/Havana", "30 0 * * *", "2026-10-31T12:00:00Z", "2026-11-01T04:30:00Z"],
  ["America/Santiago", "0 0 * * *", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"],
  ["America/Asuncion", "0 0 * * *", "2023-09-30T12:00:00Z", "2023-10-01T04:00:00Z"],
  ["Africa/Cairo", "0 0 * * *", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"],
  ["Asia/Gaza", "30 2 * * *", "2026-03-27T12:00:00Z", "2026-03-28T00:00:00Z"],
  // Where a year begins while UTC is still in the last one.
  ["Pacific/Kiritimati", "0 0 1 1 *", "2026-12-30T12:00:00Z", "2026-12-31T10:00:00Z"],
  ["America/New_York", "30 23 31 12 *", "2026-12-31T12:00:00Z", "2027-01-01T04:30:00Z"],
  // No 30 December at all.
  ["Pacific/Apia", "0 12 30 12 *", "2011-12-29T12:00:00Z", "2011-12-30T10:00:00Z"],
];

for (const [zone, schedule, after, start] of CLOCK_CHANGES) {
  test(`${schedule} in ${zone} after ${after} is ${start}`, () => {
    const opening = compileWindow(daily(schedule, zone)).nextOpen(new Date(after));
    assert.equal(opening?.toISOString(), start.replace("Z", ".000Z"));
  });
}

test("a duration is time that passes, also while clocks change", () => {
  const night = compileWindow(daily("0 23 * * *", "Europe/Berlin", "5h"));
  assert.equal(shown(night, "2026-03-28T22:00:00Z"), "open until 2026-03-29T03:00:00Z");
  assert.equal(shown(night, "2026-10-24T21:00:00Z"), "open until 2026-10-25T02:00:00Z");
  assert.equal(shown(night, "2026-10-25T01:10:00Z"), "open until 2026-10-25T02:00:00Z");
  const late = compileWindow(daily("30 2 * * *", "Europe/Berlin", "2h"));
  assert.equal(shown(late, "2026-10-25T01:10:00Z"), "open until 2026-10-25T02:30:00Z");
});

test("starts that touch leave a pause where the clocks go back", () => {
  const hours = compileWindow(daily("0 * * * *", "Europe/Berlin", "1h"));
  assert.equal(shown(hours, "2026-10-24T00:00:00Z"), "open until 2026-10-25T01:00:00Z");
  assert.equal(shown(hours, "2026-10-25T01:00:00Z"), "closed until 2026-10-25T02:00:00Z");
  assert.equal(shown(hours, "2026-10-25T02:00:00Z"), "open until 2027-10-31T01:00:00Z");
});

test("the time zone of the process does not matter", (t) => {
  setEnvironment(t, { TZ: "America/New_York" });
  assert.equal(new Date(0).getHours(), 19);
  assert.equal(shown(compileWindow(WEEKEND), "2026-11-25T00:00:00Z"), "closed until 2026-11-27T21:00:00Z");
});

test("a window that is open opens at once", () => {
  const now = new Date("2026-11-27T21:00:00.123Z");
  assert.deepEqual(compileWindow(WEEKEND).nextOpen(now), now);
});

test("a window after its last entry never opens", () => {
  const window = compileWindow({ allow: [once("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")] });
  assert.equal(window.nextOpen(new Date("2026-01-04T00:00:00Z")), undefined);
});

test("a search that finds nothing ends, and says only what it has seen", () => {
  const never = compileWindow({
    timeZone: "UTC",
    allow: [{ schedule: "30 * * * *", duration: "10m" }],
    deny: [{ schedule: "0 * * * *", duration: "59m" }],
  });
  const now = new Date("2026-06-01T00:10:00Z");
  const { open, changesAt } = never.at(now);
  assert.equal(open, false);
  assert.ok(changesAt !== undefined && changesAt > now);
  assert.deepEqual(never.at(new Date("2026-06-01T00:59:59Z")), { open, changesAt, isSearchEnd: true });
  assert.equal(never.nextOpen(now), undefined);
});

/** In words: what never changes has no edge, however often its entries begin and end. */
const NEVER: Readonly<Record<string, readonly [spec: WindowGateSpec, shown: string]>> = {
  "always open, because it lasts longer than the time between two starts": [
    daily("0 0 * * *", "Europe/Berlin", "25h"),
    "open until ever",
  ],
  "always open, because its zone never sets the clocks back": [
    daily("0 * * * *", "Asia/Tokyo", "1h"),
    "open until ever",
  ],
  "always open, from Monday to Monday": [daily("0 0 * * MON", "UTC", "168h"), "open until ever"],
  "always open, from one month to the next": [daily("0 0 1 * *", "UTC", "745h"), "open until ever"],
  "always open, by two entries together": [
    {
      timeZone: "UTC",
      allow: [
        { schedule: "0 0 * * *", duration: "12h" },
        { schedule: "0 12 * * *", duration: "12h" },
      ],
    },
    "open until ever",
  ],
  "never open, because another entry denies it": [
    {
      timeZone: "Europe/Berlin",
      allow: [{ schedule: "0 22 * * FRI", duration: "8h" }],
      deny: [{ schedule: "0 20 * * FRI", duration: "12h" }],
    },
    "closed until ever",
  ],
  "closed until the entry that does not recur, decades later": [
    {
      timeZone: "UTC",
      allow: [
        { schedule: "0 22 * * FRI", duration: "8h" },
        once("2090-01-01T00:00:00Z", "2090-01-02T00:00:00Z"),
      ],
      deny: [{ schedule: "0 20 * * FRI", duration: "12h" }],
    },
    "closed until 2090-01-01T00:00:00Z",
  ],
  "closed until a 29th of February that is a Saturday": [
    {
      timeZone: "UTC",
      allow: [{ schedule: "0 0 29 2 *", duration: "1h" }],
      deny: [{ schedule: "0 0 * * SUN-FRI", duration: "24h" }],
    },
    "closed until 2048-02-29T00:00:00Z",
  ],
};

for (const [name, [spec, expected]] of Object.entries(NEVER)) {
  test(`a window that is ${name}`, () => {
    assert.deepEqual(windowProblems(spec), []);
    assert.equal(shown(compileWindow(spec), "2026-11-25T00:00:00Z"), expected);
    assert.equal(compileWindow(spec).at(new Date("2026-11-25T00:00:00Z")).isSearchEnd, undefined);
  });
}

test("no date makes a window throw, and outside of its years it is closed", () => {
  for (const spec of [WEEKEND, { deny: [once("0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59")] }]) {
    const window = compileWindow(spec);
    for (const ms of [NaN, -8.64e15, -1, Date.UTC(2900, 0), Date.UTC(9999, 0), 8.64e15]) {
      assert.deepEqual(window.at(new Date(ms)), { open: false });
      assert.equal(window.nextOpen(new Date(ms)), undefined);
    }
    for (const ms of [0, 1, Date.UTC(2900, 0) - 1])
      assert.equal(typeof window.at(new Date(ms)).open, "boolean");
  }
});
