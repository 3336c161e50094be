import assert from "node:assert/strict";
import { test } from "node:test";
import {
  attemptBegun,
  attemptEnded,
  attemptFound,
  attemptWaits,
  cancelled,
  markedAltered,
  openAttempt,
  retried,
} from "../../../src/tasks/task-progress.ts";
import { ago, hookTask, NOW } from "./hook-tasks.ts";

const PLACE = { name: "clean-0123456789", namespace: "team-a" };

test("an attempt is in the status before its object exists", () => {
  const status = attemptBegun(hookTask(), PLACE, NOW);
  assert.deepEqual(status, {
    phase: "Running",
    allowed: 1,
    begun: 1,
    startedAt: ago(0),
    object: "Job/clean-0123456789",
    attempts: [{ ...PLACE, startedAt: ago(0), askedAt: ago(0) }],
  });
});

test("of what was changed, only an attempt that was not carried out ends", () => {
  const begun = attemptBegun(hookTask(), PLACE, NOW);
  const status = markedAltered(begun, NOW);
  assert.deepEqual([status.altered, status.phase], [ago(0), "Running"]);
  assert.deepEqual([status.attempts?.[0]?.outcome, status.attempts?.[0]?.endedAt], ["Cancelled", ago(0)]);
  assert.match(status.message ?? "", /^spec\.action is not what the operator stored/);
  const found = attemptFound(begun, { uid: "job-1" });
  assert.deepEqual(openAttempt(markedAltered(found, NOW)), openAttempt(found));
});

test("the last attempt that fails ends the task, and no other", () => {
  const task = hookTask(undefined, { retries: 1 });
  const fail = (status: ReturnType<typeof attemptBegun>): ReturnType<typeof attemptBegun> =>
    attemptEnded({ ...task, status }, { outcome: "Failed", message: "no" }, NOW);
  const first = fail(attemptBegun(task, PLACE, NOW));
  assert.deepEqual([first.phase, first.endedAt, first.message], ["Running", undefined, "no"]);
  assert.equal(openAttempt(first), undefined);
  const second = fail(attemptBegun({ ...task, status: first }, PLACE, NOW));
  assert.deepEqual([second.phase, second.begun, second.endedAt], ["Failed", 2, ago(0)]);
});

test("what can never succeed has no further attempt", () => {
  const task = hookTask(undefined, { retries: 3 });
  const status = attemptBegun(task, PLACE, NOW);
  const ended = attemptEnded({ ...task, status }, { outcome: "Refused", message: "no", final: true }, NOW);
  assert.equal(ended.phase, "Failed");
});

test("a success has no message", () => {
  const status = attemptWaits(attemptBegun(hookTask(), PLACE, NOW), "not yet");
  const found = attemptFound(status, { uid: "job-1" });
  const ended = attemptEnded({ ...hookTask(), status: found }, { outcome: "Succeeded", message: "" }, NOW);
  assert.deepEqual(
    [ended.phase, ended.message, ended.attempts?.[0]?.message],
    ["Succeeded", undefined, undefined],
  );
  assert.equal(ended.attempts?.[0]?.uid, "job-1");
});

test("a task that waits for the same is not written again", () => {
  const status = attemptWaits(attemptBegun(hookTask(), PLACE, NOW), "not yet");
  assert.equal(attemptWaits(status, "not yet"), status);
  assert.notEqual(attemptWaits(status, "still not"), status);
});

test("a person allows one attempt more than there were", () => {
  const status = attemptBegun(hookTask(), PLACE, NOW);
  const ended = attemptEnded({ ...hookTask(), status }, { outcome: "Failed", message: "no" }, NOW);
  const again = retried({ ...hookTask(), status: ended }, "then");
  assert.deepEqual(
    [again.phase, again.allowed, again.begun, again.retriedFor, again.endedAt],
    ["Running", 2, 1, "then", undefined],
  );
});

test("what is cancelled no longer counts", () => {
  const status = cancelled({}, "the policy is gone", NOW);
  assert.deepEqual([status.phase, status.over, status.message], ["Cancelled", ago(0), "the policy is gone"]);
});

test("the status keeps the newest attempts", () => {
  let task = hookTask();
  for (let count = 0; count < 20; count += 1) {
    const status = attemptBegun(task, { name: `clean-${count}` }, NOW);
    task = { ...task, status: attemptEnded({ ...task, status }, { outcome: "Failed", message: "" }, NOW) };
  }
  assert.equal(task.status?.attempts?.length, 16);
  assert.equal(task.status?.attempts?.at(-1)?.name, "clean-19");
  assert.equal(task.status?.begun, 20);
});
