/** What decide() says of a HookTask whose action is not known to be the one that was stored. */

import assert from "node:assert/strict";
import test from "node:test";
import type { Decision } from "../../../../src/policy/decision.ts";
import { decide } from "../../../../src/policy/decide.ts";
import type { TaskReader, TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import { compiled, DELETE, NOW } from "../../builders.ts";
import { reading, stored, task, taskWorld, withTasks } from "./fixtures.ts";

const policy = withTasks([task({ onFailure: "Proceed" })]);
const judge = (tasks?: TaskReader): Decision =>
  decide([compiled(policy)], taskWorld(tasks && { tasks }), DELETE, NOW);

function judgeWith(over: Partial<TaskRecord>): Decision {
  return judge(reading(...(judge().begins ?? []).map((intent) => stored(intent, over))));
}

test("it holds, whatever it says of itself, and whatever onFailure says", () => {
  for (const phase of ["Pending", "Running", "Succeeded", "Failed"] as const) {
    const decision = judgeWith({ phase, altered: true });
    const [{ reason } = { reason: "" }] = decision.trace[0]?.rules ?? [];
    assert.deepEqual([decision.holds, reason], [true, "TaskAltered"], phase);
    assert.deepEqual([decision.waitsForTasks, decision.begins], [undefined, undefined]);
    assert.match(decision.message, /cannot be trusted: .*kubectl delete hooktask -n team-a prod-1-backup-/);
  }
});

test("its remedy begins with what may still run of its attempts", () => {
  assert.match(
    judgeWith({ altered: true, attempts: 1 }).message,
    /was changed \(see that what it created is gone, then kubectl delete hooktask /,
  );
  assert.match(judgeWith({ altered: true }).message, /was changed \(kubectl delete hooktask /);
});

test("it does not count for an operation that is over: another run begins", () => {
  assert.equal(judgeWith({ altered: true, over: true }).begins?.length, 1);
});
