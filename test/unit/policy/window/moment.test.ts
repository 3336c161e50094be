/** Entries of windows in local dates and times: which instants they mean where clocks change, and what is refused. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { compileWindow } from "../../../../src/policy/window/window.ts";
import { windowProblems, windowWarnings } from "../../../../src/policy/window/window-check.ts";
import { isLocal, parseInstant, parseMoment } from "../../../../src/policy/window/moment.ts";
import { offsetReader } from "../../../../src/policy/window/zone.ts";
import { runs } from "../../../generated.ts";

const BERLIN = "Europe/Berlin";
const MEANT: Readonly<Record<string, readonly [text: string, timeZone: string, instant: string]>> = {
  "a date is its first instant": ["2026-11-26", BERLIN, "2026-11-25T23:00:00Z"],
  "a time without seconds": ["2026-11-26T18:00", BERLIN, "2026-11-26T17:00:00Z"],
  "a time with seconds": ["2026-07-01T18:00:30", BERLIN, "2026-07-01T16:00:30Z"],
  "a skipped time is the first instant after the gap": ["2026-03-29T02:30", BERLIN, "2026-03-29T01:00:00Z"],
  "a time that occurs twice is the first one": ["2026-10-25T02:30", BERLIN, "2026-10-25T00:30:00Z"],
  "the end of the repeated hour is after both": ["2026-10-25T03:00", BERLIN, "2026-10-25T02:00:00Z"],
  "a date whose midnight is skipped": ["2026-03-08", "America/Havana", "2026-03-08T05:00:00Z"],
  "a date that a zone has skipped is the next one": ["2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00Z"],
  "half an hour": ["2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-04T14:45:00Z"],
  "an instant has its own offset": ["2026-11-26T18:00:00+05:30", BERLIN, "2026-11-26T12:30:00Z"],
};

describe("in a zone", () => {
  for (const [name, [text, timeZone, instant]] of Object.entries(MEANT))
    test(name, () => {
      const found = parseMoment(text, timeZone);
      assert.equal(
        found === undefined ? "none" : new Date(found).toISOString(),
        new Date(instant).toISOString(),
      );
    });

  test("every date and time that clocks show is read as they show it, and the first time that they do", () => {
    const zones = fc.constantFrom(BERLIN, "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC");
    const minutes = fc.integer({ min: Date.UTC(2026, 0) / 60_000, max: Date.UTC(2028, 0) / 60_000 });
    fc.assert(
      fc.property(zones, minutes, (zone, minute) => {
        const instant = minute * 60_000;
        const offset = offsetReader(zone);
        const shown = new Date(instant + offset(instant)).toISOString().slice(0, 16);
        const read = parseMoment(shown, zone);
        assert.ok(read !== undefined && read <= instant);
        assert.equal(read + offset(read), instant + offset(instant));
      }),
      runs(300),
    );
  });
});

test("only an instant has no need of a zone", () => {
  for (const text of ["2026-11-26", "2026-11-26T18:00", "2026-11-26T18:00:30"]) {
    assert.equal(isLocal(text), true);
    assert.equal(parseInstant(text), undefined);
    assert.equal(parseMoment(text, undefined), undefined);
  }
  assert.equal(isLocal("2026-11-26T18:00:00Z"), false);
});

for (const text of [
  "2026-02-29",
  "2026-02-30T00:00",
  "2026-11-26T24:00",
  "2026-11-26T18",
  "2026-11-26T18:00Z",
  "2026-11-26T18:00:00.5",
  "2026-11-26 18:00",
  "26.11.2026",
  "2026-11-26Z",
  "",
])
  test(`${JSON.stringify(text)} is no moment`, () => {
    assert.equal(parseMoment(text, BERLIN), undefined);
    assert.throws(() => compileWindow({ timeZone: BERLIN, deny: [{ from: text, to: "2999-01-01" }] }));
  });

describe("a window in local dates", () => {
  const freeze = { timeZone: BERLIN, deny: [{ from: "2026-12-18", to: "2027-01-04T07:00" }] };

  test("is closed from the first instant of a date to the time on the zone's clock", () => {
    const window = compileWindow(freeze);
    const shown = (now: string): unknown => {
      const { open, changesAt } = window.at(new Date(now));
      return [open, changesAt?.toISOString()];
    };
    assert.deepEqual(shown("2026-12-17T22:59:59Z"), [true, "2026-12-17T23:00:00.000Z"]);
    assert.deepEqual(shown("2026-12-17T23:00:00Z"), [false, "2027-01-04T06:00:00.000Z"]);
    assert.deepEqual(shown("2027-01-04T06:00:00Z"), [true, undefined]);
  });

  const problemsOf = (timeZone: string, from: string, to: string): string[] =>
    windowProblems({ timeZone, deny: [{ from, to }] }).map(({ path, message }) => `${path}: ${message}`);

  test("needs a zone, even for one of the two", () => {
    const deny = [{ from: "2026-12-18T00:00:00Z", to: "2027-01-04T07:00" }];
    assert.throws(() => compileWindow({ deny }));
    assert.doesNotThrow(() => compileWindow({ timeZone: "UTC", deny }));
  });

  test("with an unknown zone is refused for that alone", () => {
    assert.deepEqual(
      problemsOf("Europe/Berln", "2026-12-18", "2027-01-04").map((each) => each.slice(0, 10)),
      [".timeZone:"],
    );
  });

  test("is refused if it ends before it starts", () => {
    assert.deepEqual(problemsOf(BERLIN, "2026-12-18", "2026-12-18"), [
      '.deny[0].to: found "2026-12-18", expected a time after from, 2026-12-18',
    ]);
    assert.match(
      problemsOf(BERLIN, "2026-12-18T01:00", "2026-12-18T00:00:00Z")[0] ?? "",
      /\.to: .*after from/,
    );
    assert.deepEqual(problemsOf(BERLIN, "2026-12-18T00:59", "2026-12-18T00:00:00Z"), []);
  });

  test("is refused if the clocks skip all of it", () => {
    assert.match(problemsOf(BERLIN, "2026-03-29T02:00", "2026-03-29T03:00")[0] ?? "", /\.to: .*after from/);
  });

  test("is warned about if an allowed time is denied, however both are written", () => {
    const allow = [{ from: "2026-12-24", to: "2026-12-25T00:00:00+01:00" }];
    assert.deepEqual(
      windowWarnings({ ...freeze, allow }).map(({ path }) => path),
      [".allow[0]"],
    );
  });
});
