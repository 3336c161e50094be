/** Tasks whose HookTasks cannot be stored wait, and say so; those whose namespace is being deleted have failed. */

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
  return await refused("NamespaceTerminating", tasks);
}

async function refused(
  reason: string,
  tasks: readonly TaskSpec[],
): Promise<{ decision: Decision; tried: string[] }> {
  const { decisions, tried } = taskDecisions({
    policies: [withTasks(tasks)],
    cluster: deleted,
    create: async () => await Promise.reject(new KubeError("exceeded quota: x", { code: 403, reason })),
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

test("a Cluster is held by one that a quota refuses, also if it may proceed, and each call tries again", async () => {
  const { decision, tried } = await refused("Forbidden", [
    task({ onFailure: "Proceed" }),
    task({ name: "next" }),
  ]);
  assert.deepEqual([decision.holds, decision.waitsForTasks, tried], [true, true, ["backup"]]);
  assert.match(
    decision.message,
    /task backup cannot begin: its HookTask cannot be stored \(the Event TaskNotBegun says why\)$/,
  );
  const [trace] = decision.trace[0]?.rules[0]?.tasks ?? [];
  assert.deepEqual(
    [trace?.state, trace?.hindered, trace?.observed, trace?.hookTask],
    ["Pending", true, "its HookTask cannot be stored: exceeded quota: x", undefined],
  );
});
