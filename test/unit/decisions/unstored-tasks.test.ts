/** Tasks whose HookTasks can never be stored, because their namespace is being deleted, have failed. */

import assert from "node:assert/strict";
import test from "node:test";
import type { TaskSpec } from "../../../src/api/hook-policy.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { calling, cluster, DELETE } from "../builders.ts";
import { task, withTasks } from "../policy/tasks/fixtures.ts";
import { taskDecisions } from "./task-decisions.ts";

const deleted = calling(DELETE, cluster());

/** What is decided about a deletion, and which tasks were tried. */
async function confirm(...tasks: readonly TaskSpec[]): Promise<{ decision: Decision; tried: string[] }> {
  const { decisions, tried } = taskDecisions({
    policies: [withTasks(tasks)],
    cluster: deleted,
    create: async () =>
      await Promise.reject(new KubeError("forbidden", { code: 403, reason: "NamespaceTerminating" })),
  });
  const confirmation = await decisions.confirm({ call: DELETE, cluster: deleted });
  assert.ok(confirmation.ok);
  return { decision: confirmation.decision, tried };
}

const names = ["one", "two", "three", "four"];

test("a Cluster is released past all of those that proceed", async () => {
  const { decision, tried } = await confirm(...names.map((name) => task({ name, onFailure: "Proceed" })));
  assert.deepEqual([decision.holds, tried], [false, names]);
});

test("a Cluster is held by the first of them that does not", async () => {
  const holds = task({ name: "two", onFailure: "Hold" });
  const { decision, tried } = await confirm(task({ name: "one", onFailure: "Proceed" }), holds);
  assert.deepEqual([decision.holds, tried], [true, ["one", "two"]]);
  assert.match(decision.message, /task two has failed \(its HookTask cannot be stored/);
});
