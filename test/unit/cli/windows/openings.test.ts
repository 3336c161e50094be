import assert from "node:assert/strict";
import test from "node:test";
import { openingsOf } from "../../../../src/cli/windows/openings.ts";
import { instantText, wallTime } from "../../../../src/cli/terminal/time-text.ts";

const BERLIN = "Europe/Berlin";
const daily = (schedule: string, duration: string) => ({ timeZone: BERLIN, allow: [{ schedule, duration }] });

/** The first opening, its end and its notes. */
function first(spec: Parameters<typeof openingsOf>[0], from: string): unknown[] {
  const [opening] = openingsOf(spec, new Date(from), 1);
  const text = (at: Date | undefined): string | undefined =>
    at && instantText(at, spec.timeZone ?? "UTC").slice(15, 20);
  return [text(opening?.opensAt), text(opening?.closesAt), ...(opening?.notes ?? [])];
}

const MARCH = "2026-03-28T12:00:00Z";
const OCTOBER = "2026-10-24T10:00:00Z";

test("a start in the hour that is skipped is moved", () => {
  assert.deepEqual(first(daily("30 2 * * *", "30m"), MARCH), [
    "03:00",
    "03:30",
    "opens at 03:00 instead of 02:30",
    "closes at 03:30 instead of 03:00: clocks go forward",
  ]);
});

test("a start in the hour that comes twice is the first of two", () => {
  assert.deepEqual(first(daily("30 2 * * *", "30m"), OCTOBER), [
    "02:30",
    "02:00",
    "opens at the first 02:30 of two",
    "closes at 02:00 instead of 03:00: clocks go back",
  ]);
});

test("a night over a change closes at another hour", () => {
  assert.deepEqual(first(daily("0 22 * * *", "8h"), MARCH).slice(2), [
    "closes at 07:00 instead of 06:00: clocks go forward",
  ]);
  assert.deepEqual(first(daily("0 22 * * *", "8h"), OCTOBER).slice(2), [
    "closes at 05:00 instead of 06:00: clocks go back",
  ]);
});

test("openings that a change lengthens, and one that it adds, are told", () => {
  assert.deepEqual(first(daily("30 * * * *", "30m"), "2026-03-29T00:10:00Z").slice(2), [
    "closes at 04:00 instead of 02:00",
    "lasts 1h30m instead of 30m: clocks go forward",
  ]);
  const [, again] = openingsOf(daily("0 * * * *", "1h"), new Date(OCTOBER), 2);
  assert.deepEqual(again?.notes, ["opens once more: clocks go back"]);
});

test("a deny entry's end moves the opening behind it", () => {
  const spec = { timeZone: BERLIN, deny: [{ schedule: "0 2 * * *", duration: "4h" }] };
  const [, next] = openingsOf(spec, new Date(OCTOBER), 2);
  assert.deepEqual(next?.notes, [
    "opens at 05:00 instead of 06:00",
    "lasts 21h instead of 20h: clocks go back",
  ]);
});

test("local dates and times are on the clock of their zone already", () => {
  const night = {
    timeZone: BERLIN,
    allow: [{ schedule: "0 0 * * *", duration: "8h" }],
    deny: [{ from: "2026-10-24", to: "2026-10-25T04:00" }],
  };
  assert.deepEqual(first(night, OCTOBER), [
    "04:00",
    "07:00",
    "closes at 07:00 instead of 08:00",
    "lasts 3h instead of 4h: clocks go back",
  ]);
});

test("other days, fixed instants, and zones without changes have no notes", () => {
  assert.deepEqual(first(daily("0 22 * * *", "8h"), "2026-03-27T12:00:00Z").slice(2), []);
  const fixed = { timeZone: BERLIN, allow: [{ from: "2026-10-24T22:00:00Z", to: "2026-10-25T23:00:00Z" }] };
  assert.deepEqual(first(fixed, OCTOBER), ["00:00", "00:00"]);
  assert.deepEqual(first({ ...daily("30 2 * * *", "30m"), timeZone: "Asia/Tokyo" }, MARCH).slice(2), []);
});

test("a window that never opens has no openings, and one that is always open one without an end", () => {
  const past = { allow: [{ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" }] };
  assert.deepEqual(openingsOf(past, new Date(MARCH), 3), []);
  const after = { deny: past.allow };
  assert.deepEqual(openingsOf(after, new Date(MARCH), 3), [
    { opensAt: new Date(MARCH), isOpen: true, notes: [] },
  ]);
});

test("instants are on the wall clock of their zone, with offsets of minutes and seconds of time", () => {
  assert.equal(
    instantText(new Date("2026-01-01T00:00:00Z"), "Asia/Kathmandu"),
    "Thu 2026-01-01 05:45 +05:45",
  );
  assert.equal(
    instantText(new Date("2026-01-01T00:00:07Z"), "America/St_Johns"),
    "Wed 2025-12-31 20:30:07 -03:30",
  );
  assert.equal(wallTime(new Date("2026-07-01T00:00:00Z"), BERLIN).toISOString(), "2026-07-01T02:00:00.000Z");
});
