import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { DEFAULT_TUNING, Recovery } from "../../../src/kube/recovery.ts";
import { MemoryLogger } from "./fixtures.ts";

interface Lab {
  readonly recovery: Recovery;
  readonly advance: (ms: number) => void;
  readonly watchFor: (ms: number) => boolean;
  readonly log: MemoryLogger;
}

function lab(): Lab {
  let now = 1_000_000;
  const log = new MemoryLogger();
  const options = { tuning: DEFAULT_TUNING, log, now: () => now, random: () => 1 };
  const recovery = new Recovery(options);
  const watchFor = (ms: number): boolean => {
    recovery.watchOpened();
    now += ms;
    return recovery.watchEnded();
  };
  return { recovery, advance: (ms) => void (now += ms), watchFor, log };
}

const failed = (code: number, reason: string): KubeError => new KubeError("watch x", { code, reason });
const RESET = failed(0, "ConnectionReset");
const THROTTLED = failed(429, "TooManyRequests");

test("lists without a working watch between them are spaced further and further", () => {
  const { recovery, advance } = lab();
  const waits = Array.from({ length: 7 }, () => {
    recovery.listed(1_000_000);
    return recovery.untilListMs();
  });
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  advance(14_000);
  assert.equal(recovery.untilListMs(), 1_000);
  advance(2_000);
  assert.equal(recovery.untilListMs(), 0);
});

test("a watch that lived lets the next list start at once, and its spacing begin again", () => {
  const { recovery, watchFor } = lab();
  for (let i = 0; i < 5; i++) recovery.listed(1_000_000);
  assert.equal(watchFor(DEFAULT_TUNING.healthyWatchMs - 1), false);
  assert.ok(recovery.untilListMs() > 0);
  assert.equal(watchFor(DEFAULT_TUNING.healthyWatchMs), true);
  assert.equal(recovery.untilListMs(), 0);
  recovery.listed(1_002_000 + DEFAULT_TUNING.healthyWatchMs);
  assert.ok(recovery.untilListMs() <= 500 + DEFAULT_TUNING.healthyWatchMs);
});

test("a watch that never opened did not live", () => {
  const { recovery, advance } = lab();
  advance(60_000);
  assert.equal(recovery.watchEnded(), false);
});

test("a list, or a watch that lived, resets the back-off; an event does not", () => {
  const { recovery, watchFor } = lab();
  const next = (): number => recovery.after(RESET, true).pauseMs;
  assert.deepEqual([next(), next(), next()], [500, 1_000, 2_000]);
  recovery.heard();
  assert.equal(next(), 4_000);
  watchFor(DEFAULT_TUNING.healthyWatchMs);
  assert.equal(next(), 500);
  recovery.listed(1_000_000);
  assert.equal(next(), 500);
});

const cases: Record<string, { error: KubeError; relist: boolean }> = {
  "a broken connection: continues from the position": { error: RESET, relist: false },
  "503: continues from the position": { error: failed(503, "ServiceUnavailable"), relist: false },
  "429: continues from the position": { error: failed(429, "TooManyRequests"), relist: false },
  "410: lists": { error: failed(410, "Expired"), relist: true },
  "404: lists": { error: failed(404, "NotFound"), relist: true },
  "403: lists": { error: failed(403, "Forbidden"), relist: true },
  "an unreadable answer: lists": { error: failed(0, "InvalidResponse"), relist: true },
};
for (const [name, { error, relist }] of Object.entries(cases)) {
  test(`after ${name}`, () => {
    assert.equal(lab().recovery.after(error, true).relist, relist);
  });
}

test("lists after two failures without an event between them", () => {
  const { recovery } = lab();
  assert.equal(recovery.after(RESET, true).relist, false);
  recovery.heard();
  assert.equal(recovery.after(RESET, true).relist, false);
  assert.equal(recovery.after(RESET, true).relist, true);
});

test("a 410 of a watch needs no pause, a 410 of a list does", () => {
  const { recovery } = lab();
  assert.equal(recovery.after(failed(410, "Expired"), true).pauseMs, 0);
  assert.equal(recovery.after(failed(410, "Expired"), false).pauseMs, 500);
});

test("a kind that was not there, and asks to come later once it is installed, is warned of as missing alone", () => {
  const { recovery, log } = lab();
  recovery.after(failed(404, "NotFound"), false);
  recovery.listed(1_000_000);
  recovery.after(THROTTLED, true);
  assert.deepEqual(log.messages("warn"), ["Lost contact with the API server"]);
});

test("an API server that asks to come later is warned of when it asks again", () => {
  const { recovery, log } = lab();
  recovery.after(THROTTLED, true);
  assert.deepEqual(log.messages("warn"), []);
  for (let i = 0; i < 5; i++) {
    recovery.after(THROTTLED, true);
    recovery.listed(1_000_000);
  }
  assert.deepEqual(log.messages("warn"), ["Lost contact with the API server"]);
});

test("a loss of contact that lasts is warned of again, though its words change", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const { recovery, log } = lab();
  for (now of [0, 60_000, 3_600_000]) {
    recovery.after(RESET, true);
    recovery.after(new KubeError("list x", { code: 0, reason: "ConnectionReset" }), false);
  }
  assert.deepEqual(log.messages("warn"), Array(2).fill("Lost contact with the API server"));
});
