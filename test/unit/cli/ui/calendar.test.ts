import assert from "node:assert/strict";
import test from "node:test";
import { windowCalendar } from "../../../../src/cli/ui/calendar.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { rawPolicy } from "../raw.ts";

const BERLIN = "Europe/Berlin";

const policy = (window: object): Readonly<Record<string, unknown>> =>
  rawPolicy("nights", {
    rules: [{ name: "nightly", hooks: ["BeforeClusterUpgrade"], until: [{ name: "night", window }] }],
  });

const NIGHTS = { timeZone: BERLIN, allow: [{ schedule: "0 1 * * *", duration: "4h" }] };
const at = (text: string): Date => new Date(text);

test("four weeks begin on Monday, at midnight in the reader's zone", () => {
  for (const [zone, now, first] of [
    [BERLIN, "2026-11-26T12:00:00Z", "2026-11-22T23:00:00Z"],
    ["UTC", "2026-11-26T12:00:00Z", "2026-11-23T00:00:00Z"],
    ["Asia/Tokyo", "2026-11-29T16:00:00Z", "2026-11-29T15:00:00Z"],
  ] as const) {
    const { days, end } = windowCalendar([], { zone, at: at(now), weeks: 0 });
    assert.equal(days[0]?.at, first, zone);
    assert.equal(days.length, 28);
    assert.equal(Date.parse(end) - Date.parse(first), 28 * 86_400_000);
  }
});

test("weeks are turned in both directions", () => {
  const days = (weeks: number): string | undefined =>
    windowCalendar([], { zone: "UTC", at: at("2026-11-26T12:00:00Z"), weeks }).days[0]?.date;
  assert.deepEqual([days(-4), days(0), days(4)], ["2026-10-26", "2026-11-23", "2026-12-21"]);
});

test("a change of the clocks is marked at its day, and at the openings that it moves", () => {
  const { days, windows } = windowCalendar([policy(NIGHTS)], {
    zone: BERLIN,
    at: at("2026-10-20T12:00:00Z"),
    weeks: 0,
  });
  assert.deepEqual(
    days.filter(({ change }) => change !== undefined),
    [{ at: "2026-10-24T22:00:00Z", date: "2026-10-25", change: "clocks go back by 1h" }],
  );
  const noted = windows[0]?.open.filter(({ notes }) => notes.length > 0);
  assert.equal(noted?.length, 1);
  assert.match(noted?.[0]?.notes.join() ?? "", /clocks go back/);
});

test("openings and freezes are shown where they are, and a freeze takes its part of the opening", () => {
  const deny = [{ from: "2026-11-25T00:00:00Z", to: "2026-11-26T00:00:00Z" }];
  const { windows } = windowCalendar([policy({ ...NIGHTS, timeZone: "UTC", deny })], {
    zone: "UTC",
    at: at("2026-11-23T12:00:00Z"),
    weeks: 0,
  });
  const [window] = windows;
  assert.deepEqual(window?.freezes, [{ from: deny[0]?.from, to: deny[0]?.to, notes: [] }]);
  assert.equal(window?.open.length, 27);
  assert.ok(!window.open.some(({ from }) => from?.startsWith("2026-11-25")));
});

test("what is open when the calendar begins has no beginning in it", () => {
  const [from, to] = ["2026-11-20T00:00:00Z", "2026-11-24T00:00:00Z"];
  const { windows } = windowCalendar([policy({ allow: [{ from, to }], deny: [{ from, to }] })], {
    zone: "UTC",
    at: at("2026-11-23T12:00:00Z"),
    weeks: 0,
  });
  assert.deepEqual(windows[0]?.freezes, [{ to, notes: [] }]);
});

test("a window that is always open has one opening without a beginning and an end", () => {
  const always = { timeZone: "UTC", allow: [{ schedule: "0 0 * * *", duration: "24h" }] };
  const { windows } = windowCalendar([policy(always)], {
    zone: "UTC",
    at: at("2026-11-23T12:00:00Z"),
    weeks: 0,
  });
  assert.deepEqual(windows[0]?.open, [{ notes: [] }]);
});

test("policies that are not valid are named, and a zone that does not exist is refused", () => {
  const wrong = policy({ timeZone: "Mars/Olympus", allow: [] });
  const found = windowCalendar([wrong], { zone: "UTC", at: at("2026-11-23T12:00:00Z"), weeks: 0 });
  assert.deepEqual([found.windows, found.invalid], [[], ["HookPolicy team-a/nights"]]);
  assert.throws(
    () => windowCalendar([], { zone: "Europe/Berln", at: new Date(0), weeks: 0 }),
    /Europe\/Berlin/,
  );
});

test("without a zone, the calendar is in that of most windows", () => {
  const zones = ["UTC", "Asia/Tokyo", "Asia/Tokyo", "UTC", "Africa/Cairo"];
  const policies = zones.map((timeZone) => policy({ ...NIGHTS, timeZone }));
  const zoneOf = (objects: readonly RawObject[]): string =>
    windowCalendar(objects, { zone: undefined, at: new Date(0), weeks: 0 }).zone;
  assert.equal(zoneOf(policies.slice(1)), "Asia/Tokyo");
  assert.equal(zoneOf(policies), "Asia/Tokyo");
  assert.equal(zoneOf([]), "UTC");
});
