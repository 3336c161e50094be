/** Which reviews are decided again while memory is behind the API server, how often, and until when. */

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { caughtUp } from "../../../src/admission/cluster-handler.ts";
import type { AdmissionOutcome } from "../../../src/admission/review.ts";

const ALLOWED: AdmissionOutcome = { verdict: "Allowed", warnings: [] };
const because = (reason: string): AdmissionOutcome => ({ verdict: "NotConfirmed", reason, warnings: [] });

interface Attempts {
  readonly decide: () => Promise<AdmissionOutcome>;
  readonly count: () => number;
}

/** Not confirmed for these reasons, each after `ms`; then allowed. */
function attempts(reasons: readonly string[], ms = 0): Attempts {
  let count = 0;
  const decide = async (): Promise<AdmissionOutcome> => {
    const reason = reasons[count];
    count += 1;
    await sleep(ms);
    return reason === undefined ? ALLOWED : because(reason);
  };
  return { decide, count: () => count };
}

const always = (reason: string, ms?: number): Attempts =>
  attempts(
    Array.from({ length: 1000 }, () => reason),
    ms,
  );

test("it is decided again until memory has every policy and rollout, also one that has just changed", async () => {
  const { decide, count } = attempts(["PoliciesChanging", "PolicyNotInMemory", "RolloutNotInMemory"]);
  assert.equal(await caughtUp(performance.now(), decide), ALLOWED);
  assert.equal(count(), 4);
});

test("the last answer counts when memory does not catch up", async () => {
  const { decide, count } = always("PolicyNotInMemory");
  const outcome = await caughtUp(performance.now(), decide);
  assert.deepEqual(outcome, because("PolicyNotInMemory"));
  assert.ok(count() >= 1 && count() <= 4, String(count()));
});

test("no attempt begins for which the API server might not wait", async () => {
  const slow = always("PolicyNotInMemory", 500);
  await caughtUp(performance.now(), slow.decide);
  assert.ok(slow.count() >= 1 && slow.count() <= 3, String(slow.count()));
  const late = always("PolicyNotInMemory");
  await caughtUp(performance.now() - 1500, late.decide);
  assert.equal(late.count(), 1);
});

for (const reason of ["Timeout", "Forbidden", "ClockSkewed", "NamespaceChanging"]) {
  test(`where that is not why, it is decided once: ${reason}`, async () => {
    const { decide, count } = always(reason);
    assert.deepEqual(await caughtUp(performance.now(), decide), because(reason));
    assert.equal(count(), 1);
  });
}
