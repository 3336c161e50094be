/** How far this machine's clock is from the API server's, whose responses show whole seconds. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { ServerClock } from "../../../src/kube/server-clock.ts";

const DATE = "Sat, 21 Nov 2026 12:00:00 GMT";
const read = Date.parse(DATE);

/** A response to a request that took so long. */
function clockThatRead(header: unknown = DATE, tookMs = 0): ServerClock {
  const clock = new ServerClock();
  clock.read(header, performance.now() - tookMs);
  return clock;
}

/** To a tenth of a second: the test takes some time itself. */
function aheadOf(clock: ServerClock, ms: number): number {
  return Math.round((clock.aheadMs(new Date(read + ms)) ?? NaN) / 100) * 100;
}

describe("a clock", () => {
  test("is neither ahead nor behind within the second that a response shows", () => {
    assert.deepEqual(
      [100, 500, 1000].map((ms) => Math.abs(aheadOf(clockThatRead(), ms))),
      [0, 0, 0],
    );
  });

  test("is ahead, or behind, by what it certainly is", () => {
    assert.deepEqual(
      [61_000, -60_000].map((ms) => aheadOf(clockThatRead(), ms)),
      [60_000, -60_000],
    );
  });

  test("may be ahead by as long as the request took, which could have been answered at its beginning", () => {
    const clock = clockThatRead(DATE, 5000);
    assert.deepEqual(
      [6000, 16_000].map((ms) => Math.abs(aheadOf(clock, ms))),
      [0, 10_000],
    );
  });

  test("is compared with nothing where a response has no date, or none that can be read", () => {
    for (const header of [null, "", "soon", ["a", "b"], 7])
      assert.equal(clockThatRead(header).aheadMs(new Date()), undefined);
  });

  test("is compared with no response to a request from before", () => {
    const clock = clockThatRead();
    const since = performance.now() + 1;
    assert.equal(clock.aheadMs(new Date(), since), undefined);
    clock.read(DATE, since);
    clock.read("Sat, 21 Nov 2026 13:00:00 GMT", since - 10);
    assert.notEqual(clock.aheadMs(new Date(), since), undefined);
    assert.ok(Math.abs(aheadOf(clock, 500)) === 0, "a later response to an earlier request counts");
  });
});

describe("memory's clock", () => {
  const inMs = (ms: number): string => new Date(Date.now() + ms).toUTCString();
  const difference = (clock: ServerClock): number =>
    Math.round((clock.now().getTime() - Date.now()) / 60_000);

  test("is this machine's, also where that is ahead", () => {
    for (const clock of [new ServerClock(), clockThatRead(inMs(-3_600_000)), clockThatRead(inMs(8000))])
      assert.ok(Math.abs(clock.now().getTime() - Date.now()) < 1000);
  });

  test("is the API server's where this machine's is behind", () => {
    assert.equal(difference(clockThatRead(inMs(3_600_000))), 60);
  });

  test("tells the API server's time where this machine is certainly ahead or behind, and otherwise its own", () => {
    const near = (date: Date, ms: number): boolean => Math.abs(date.getTime() - ms) < 2000;
    assert.ok(near(new ServerClock().serverTime(), Date.now()));
    for (const ms of [-3_600_000, 0, 3_600_000]) {
      const shown = new Date(Date.now() + ms).toUTCString();
      assert.ok(near(clockThatRead(shown).serverTime(), Date.now() + ms), shown);
    }
  });
});
