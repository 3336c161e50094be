/** Schedules against croner, which shares nothing with them but the text. */

import assert from "node:assert/strict";
import test from "node:test";
import { Cron } from "croner";
import * as fc from "fast-check";
import { compileSchedule } from "../../../../src/policy/window/schedule.ts";
import { runs } from "../../../generated.ts";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

const list = (min: number, max: number): fc.Arbitrary<string> =>
  fc
    .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 })
    .map((values) => values.toSorted((a, b) => a - b).join(","));
const field = (min: number, max: number): fc.Arbitrary<string> => fc.oneof(fc.constant("*"), list(min, max));

const schedules = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(" "));
const walls = fc.integer({ min: Date.UTC(1972, 0), max: Date.UTC(2100, 0) });

test("the next and the latest start are croner's", () => {
  fc.assert(
    fc.property(schedules, walls, (text, wall) => {
      const { next, latest } = compileSchedule(text);
      const cron = new Cron(text, { mode: "5-part", utcOffset: 0 });
      assert.equal(next(wall), cron.nextRun(new Date(wall))?.getTime());
      assert.equal(latest(wall), cron.previousRuns(1, new Date(wall + 1))[0]?.getTime());
    }),
    runs(200),
  );
});

const RARE: readonly (readonly [schedule: string, wall: string, latest: string, next: string])[] = [
  ["0 0 29 2 *", "2097-01-01T00:00:00Z", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"],
  ["59 23 31 12 *", "2026-12-31T23:59:00Z", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"],
  ["0 0 31 * *", "2026-02-10T00:00:00Z", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"],
  ["30 12 1 * MON", "2026-11-03T00:00:00Z", "2026-11-02T12:30:00Z", "2026-11-09T12:30:00Z"],
  ["0 0 1 1 *", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1971-01-01T00:00:00Z"],
];
for (const [text, wall, latest, next] of RARE) {
  test(`${text} about ${wall}`, () => {
    const schedule = compileSchedule(text);
    assert.equal(schedule.latest(Date.parse(wall)), Date.parse(latest));
    assert.equal(schedule.next(Date.parse(wall)), Date.parse(next));
  });
}

test("a run ends where the next start of the day is too far", () => {
  fc.assert(
    fc.property(schedules, walls, fc.integer({ min: 1, max: 1500 }), (text, wall, minutes) => {
      const { next, lastOfRun } = compileSchedule(text);
      const start = next(wall);
      assert.ok(start !== undefined);
      let last = start;
      const midnight = start - (start % DAY) + DAY;
      for (;;) {
        const after = next(last) ?? Infinity;
        if (after >= midnight || after - last > minutes * MINUTE) break;
        last = after;
      }
      assert.equal(lastOfRun(minutes * MINUTE)(start), last);
    }),
    runs(200),
  );
});
