import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import { wallClock, zoneProblem } from "../../../../src/policy/window/zone.ts";
import { runs } from "../../../generated.ts";

const DAY = 86_400_000;

const iso = (ms: number): string => new Date(ms).toISOString();

test("the wall clock stands still until the second pass of an hour is over", () => {
  const berlin = wallClock("Europe/Berlin");
  const reached = (text: string): string => iso(berlin.reached(Date.parse(text)));
  assert.equal(reached("2026-10-25T00:59:00Z"), "2026-10-25T02:59:00.000Z");
  assert.equal(reached("2026-10-25T01:00:00Z"), "2026-10-25T02:59:59.999Z");
  assert.equal(reached("2026-10-25T01:59:59.999Z"), "2026-10-25T02:59:59.999Z");
  assert.equal(reached("2026-10-25T02:00:00Z"), "2026-10-25T03:00:00.000Z");
});

test("a time in a gap is read at its end", () => {
  const berlin = wallClock("Europe/Berlin");
  const firstRead = (text: string): string => iso(berlin.firstRead(Date.parse(text)));
  assert.equal(firstRead("2026-03-29T01:59:59.999Z"), "2026-03-29T00:59:59.999Z");
  assert.equal(firstRead("2026-03-29T02:00:00Z"), "2026-03-29T01:00:00.000Z");
  assert.equal(firstRead("2026-03-29T02:59:59.999Z"), "2026-03-29T01:00:00.000Z");
  assert.equal(firstRead("2026-03-29T03:00:00.001Z"), "2026-03-29T01:00:00.001Z");
});

test("by how much clocks are set back is told by the rules of the time that is asked about", () => {
  const amman = wallClock("Asia/Amman");
  const hours = (text: string): number => amman.largestSetBack(Date.parse(text)) / 3_600_000;
  assert.deepEqual([hours("2019-06-01T00:00:00Z"), hours("2026-06-01T00:00:00Z")], [1, 0]);
});

/** Berlin, Casablanca, Lord Howe and Apia at changes of their clocks, and the turn of a year where UTC is far away. */
const ZONES = [
  "Europe/Berlin",
  "Africa/Casablanca",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Kiritimati",
];
const NEAR = [
  ["2026-03-29", "2026-10-25", "2026-02-15", "2026-03-22"],
  ["2026-04-04", "2026-10-03", "2011-12-30", "2026-01-01", "1986-06-01"],
].flat();

test("a wall time has been reached exactly when it has been read", () => {
  const near = fc
    .tuple(fc.constantFrom(...NEAR), fc.integer({ min: -2 * DAY, max: 2 * DAY }))
    .map(([day, ms]) => Date.parse(day) + ms);
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), near, near, fc.integer({ min: -5000, max: 5000 }), (...drawn) => {
      const [zone, instant, wall, shift] = drawn;
      const clock = wallClock(zone);
      for (const time of [wall, clock.reached(instant) + shift, clock.reached(instant)]) {
        assert.equal(
          clock.firstRead(time) <= instant,
          time <= clock.reached(instant),
          `${iso(time)} at ${iso(instant)}`,
        );
      }
    }),
    runs(3000),
  );
});

test("every name of IANA with an area is accepted", () => {
  const LINKS =
    "US/Eastern US/Pacific Asia/Calcutta Asia/Saigon Asia/Katmandu America/Buenos_Aires America/Indianapolis Europe/Kiev Europe/Kyiv Antarctica/South_Pole Pacific/Ponape Canada/Yukon Brazil/East Chile/Continental Mexico/General Etc/UTC Etc/GMT+5 Etc/Zulu Arctic/Longyearbyen Atlantic/Faeroe Australia/ACT UTC".split(
      " ",
    );
  for (const zone of [...LINKS, ...Intl.supportedValuesOf("timeZone").filter((name) => name.includes("/"))])
    assert.equal(zoneProblem(zone), undefined);
});
