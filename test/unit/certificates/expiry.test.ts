import assert from "node:assert/strict";
import { test } from "node:test";

import { ExpiryAlarm } from "../../../src/certificates/lifetime.ts";

const DAY_MS = 86_400_000;
const START = new Date("2026-01-01T00:00:00Z");
const day = (count: number): Date => new Date(START.getTime() + count * DAY_MS);
const serving = { name: "serving", notBefore: day(0), notAfter: day(90) };

test("does not warn of a certificate that is renewed in time", () => {
  const alarm = new ExpiryAlarm();
  assert.deepEqual(alarm.look([serving], day(74)), []);
});

test("warns once of one that should have been renewed, and once more when it has expired", () => {
  const alarm = new ExpiryAlarm();
  const told = Array.from({ length: 100 }, (_, count) => alarm.look([serving], day(count)));
  const days = told.flatMap((warnings, count) => warnings.map(({ ended }) => ({ count, ended })));
  assert.deepEqual(days, [
    { count: 75, ended: false },
    { count: 90, ended: true },
  ]);
});

test("each certificate has its own warning", () => {
  const alarm = new ExpiryAlarm();
  const next = { ...serving, notAfter: day(91) };
  const authority = { ...serving, name: "authority" };
  assert.equal(alarm.look([serving], day(80)).length, 1);
  assert.deepEqual(
    alarm.look([serving, next, authority], day(80)).map(({ name, notAfter }) => [name, notAfter]),
    [
      ["serving", day(91)],
      ["authority", day(90)],
    ],
  );
});
