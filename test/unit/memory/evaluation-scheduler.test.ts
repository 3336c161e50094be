import assert from "node:assert/strict";
import test from "node:test";
import { EvaluationScheduler } from "../../../src/memory/evaluation-scheduler.ts";
import { NOW } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

test("a bug that throws for one Cluster ends neither the process nor the work on others", () => {
  const evaluated: string[] = [];
  const log = new MemoryLogger();
  const scheduler = new EvaluationScheduler({
    now: () => NOW,
    turnMs: Infinity,
    log,
    onSetBack: () => undefined,
    *stepsOf(subject) {
      if (subject === "a/bug") throw new Error("a bug");
      evaluated.push(subject);
      yield;
    },
  });
  for (const subject of ["a/bug", "a/c", "b/d"]) scheduler.soon(subject);
  for (let turn = 0; turn < 3; turn += 1) scheduler.alarm.ring();
  scheduler.alarm.stop();
  assert.deepEqual(evaluated.toSorted(), ["a/c", "b/d"]);
  assert.deepEqual(log.messages("error"), ["Failed to evaluate what is due"]);
});
