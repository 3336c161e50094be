import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { withDeadline } from "../../../src/kube/deadline.ts";
import { backoffMs, childOf, pause } from "../../../src/lib/signals.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";

const limits = (signal?: AbortSignal): { timeoutMs: number; signal?: AbortSignal } => ({
  timeoutMs: 5_000,
  ...(signal && { signal }),
});

test("a back-off doubles up to its maximum, and jitters down to a half", () => {
  const high = { minMs: 500, maxMs: 15_000, random: () => 1 };
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 5_000].map((failures) => backoffMs(failures, high)),
    [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000],
  );
  assert.equal(backoffMs(0, { ...high, random: () => 0 }), 250);
});

test("work that ignores its signal is left behind at the deadline", async () => {
  const stuck = withDeadline("get x", { timeoutMs: 5 }, () => new Promise<never>(() => undefined));
  await assert.rejects(
    stuck,
    new KubeError("get x: timeout: no answer within 0.005 s", { code: 0, reason: "Timeout" }),
  );
});

test("nothing stays attached to a signal that lives as long as the process", async () => {
  const { signal } = new AbortController();
  await withDeadline("get x", limits(signal), async () => 1);
  await assert.rejects(withDeadline("get x", limits(signal), () => Promise.reject(new Error("boom"))));
  childOf(signal).release();
  await pause(1, signal);
  assert.deepEqual(getEventListeners(signal, "abort"), []);
});

test("a pause ends with the signal, without an error", async () => {
  const stop = new AbortController();
  const pausing = pause(60_000, stop.signal);
  stop.abort();
  await pausing;
  await pause(60_000, stop.signal);
});
