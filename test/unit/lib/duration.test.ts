import assert from "node:assert/strict";
import test from "node:test";
import { durationText, parseDuration } from "../../../src/lib/duration.ts";

const DURATIONS: Readonly<Record<string, number>> = {
  "1s": 1000,
  "90s": 90_000,
  "30m": 1_800_000,
  "1h30m": 5_400_000,
  "8h": 28_800_000,
  "1h0m5s": 3_605_000,
  "008h": 28_800_000,
  "8784h": 31_622_400_000,
};

const NO_DURATIONS = [
  ["", "0s", "0h0m", "8784h1s", "9".repeat(400) + "h"],
  ["8", "h", "1.5h", "-1h", "+1h", "1 h", " 1h", "1h\n", "1H", "7d", "500ms", "1m1h", "1h1h", "１h"],
].flat();

for (const [text, ms] of Object.entries(DURATIONS)) {
  test(`${text} is ${ms} ms`, () => {
    assert.equal(parseDuration(text), ms);
  });
}

for (const text of NO_DURATIONS) {
  test(`${JSON.stringify(text.slice(0, 20))} is no duration`, () => {
    assert.equal(parseDuration(text), undefined);
  });
}

test("durations are written as in policies", () => {
  const texts = [0, 61_000, 3_600_000, 56 * 3_600_000, 5_405_000].map(durationText);
  assert.deepEqual(texts, ["0s", "1m1s", "1h", "56h", "1h30m5s"]);
});
