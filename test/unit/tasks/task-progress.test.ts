import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookTaskStatus } from "../../../src/api/hook-policy.ts";
import {
  attemptBegun,
  attemptEnded,
  attemptFound,
  attemptWaits,
  cancelled,
  isHindered,
  markedAltered,
  openAttempt,
  retried,
} from "../../../src/tasks/task-progress.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

const PLACE = { name: "clean-0123456789", namespace: "team-a" };

test("an attempt is in the status before its object exists", () => {
  const status = attemptBegun(hookTask(), PLACE, NOW);
  assert.deepEqual(status, {
    phase: "Pending",
    allowed: 1,
    begun: 1,
    startedAt: ago(0),
    attempts: [{ ...PLACE, startedAt: ago(0), askedAt: ago(0) }],
  });
});

test("an attempt runs, and its object is named, once that exists: the time-out counts from then", () => {
  const begun = attemptWaits(attemptBegun(hookTask(), PLACE, NOW), "no right");
  const later = new Date(NOW.getTime() + 60_000);
  const { phase, object, attempts, message } = attemptFound(
    { ...hookTask(), status: begun },
    { uid: "job-1" },
    later,
  );
  assert.deepEqual([phase, object, message], ["Running", "Job/clean-0123456789", undefined]);
  assert.deepEqual(attempts, [{ ...PLACE, startedAt: ago(0), askedAt: ago(-60), uid: "job-1" }]);
  const again = attemptBegun({ ...hookTask(), status: { object: "Job/earlier" } }, PLACE, NOW);
  assert.equal(again.object, undefined);
});

const OPEN = attempt();
const ENDED = attempt({ endedAt: ago(1), outcome: "TimedOut" });
const hindrances: Readonly<Record<string, readonly [status: HookTaskStatus, hindered: boolean]>> = {
  "nothing has begun": [{}, false],
  "nothing of it can begin": [{ phase: "Pending", attempts: [OPEN], message: "no" }, true],
  "an earlier object is in its way": [{ message: "no" }, true],
  "its object may not be read": [
    { phase: "Running", attempts: [attempt({ uid: "job-1" })], message: "it cannot be observed: no" },
    true,
  ],
  "another attempt follows": [{ phase: "Pending", attempts: [ENDED], message: "no" }, false],
  "another attempt follows one that ran": [{ phase: "Running", attempts: [ENDED] }, false],
  "it has ended": [{ phase: "Failed", attempts: [ENDED], message: "no" }, false],
  "it was cancelled": [{ phase: "Cancelled", attempts: [OPEN], message: "no" }, false],
};
for (const [what, [status, hindered]] of Object.entries(hindrances))
  test(`it is ${hindered ? "" : "not "}hindered when ${what}`, () => {
    assert.equal(isHindered(status), hindered);
  });

test("of what was changed, only an attempt that was not carried out ends", () => {
  const begun = attemptBegun(hookTask(), PLACE, NOW);
  const status = markedAltered(begun, NOW);
  assert.deepEqual([status.altered, status.phase], [ago(0), "Pending"]);
  assert.deepEqual([status.attempts?.[0]?.outcome, status.attempts?.[0]?.endedAt], ["Cancelled", ago(0)]);
  assert.match(status.message ?? "", /^spec\.action or the label \S+ is not what the operator stored/);
  const found = attemptFound({ ...hookTask(), status: begun }, { uid: "job-1" }, NOW);
  assert.deepEqual(openAttempt(markedAltered(found, NOW)), openAttempt(found));
});

test("the last attempt that fails ends the task, and no other", () => {
  const task = hookTask(undefined, { retries: 1 });
  const fail = (status: ReturnType<typeof attemptBegun>): ReturnType<typeof attemptBegun> =>
    attemptEnded({ ...task, status }, { outcome: "Failed", message: "no" }, NOW);
  const begun = attemptBegun(task, PLACE, NOW);
  const first = fail(begun);
  assert.deepEqual([first.phase, first.endedAt, first.message], ["Pending", undefined, "no"]);
  assert.equal(fail(attemptFound({ ...task, status: begun }, { uid: "job-1" }, NOW)).phase, "Running");
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
  const found = attemptFound({ ...hookTask(), status }, { uid: "job-1" }, NOW);
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

test("a long message is cut between characters, so that the stored status says the same", () => {
  const message = `${"x".repeat(1023)}\u{1F600}\u{1F600}\u{1F600}`;
  const status = attemptWaits(attemptBegun(hookTask(), PLACE, NOW), message);
  assert.ok(status.message?.isWellFormed() && Array.from(status.message).length <= 1024);
  assert.equal(attemptWaits(status, message), status);
});

test("a person allows one attempt more than there were", () => {
  const status = attemptBegun(hookTask(), PLACE, NOW);
  const ended = attemptEnded({ ...hookTask(), status }, { outcome: "Failed", message: "no" }, NOW);
  const again = retried({ ...hookTask(), status: ended }, "then");
  assert.deepEqual(
    [again.phase, again.allowed, again.begun, again.retriedFor, again.endedAt],
    ["Pending", 2, 1, "then", undefined],
  );
});

test("a person takes no attempt away that is left", () => {
  const task = hookTask({ phase: "Failed", begun: 1, allowed: 3, attempts: [ENDED] }, { retries: 2 });
  assert.equal(retried(task, "then").allowed, 3);
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
