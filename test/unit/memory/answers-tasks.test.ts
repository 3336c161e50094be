/** What a confirmation lets begin: only what every moment since the call agrees about. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GateSpec, TaskSpec } from "../../../src/api/hook-policy.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { NO_TASKS } from "../../../src/policy/tasks/task-record.ts";
import { calling, cluster, DELETE, namespace, NO_OBJECTS, NOW } from "../builders.ts";
import { task, withTasks } from "../policy/tasks/fixtures.ts";
import { storeWith } from "./fixtures.ts";

const deleted = calling(DELETE, cluster());

/** Met from NOW on. */
const OPENS: GateSpec = {
  name: "opens",
  window: { timeZone: "Etc/UTC", allow: [{ from: "2026-11-21T12:00:00", to: "2026-11-21T13:00:00" }] },
};

function confirmed(tasks: readonly TaskSpec[], until: readonly GateSpec[], since: Date): Decision {
  const policy = withTasks(tasks, until.length > 0 ? { until: [...until] } : {});
  const { store } = storeWith({ policies: [policy], clusters: [deleted], namespaces: [namespace()] });
  const live = {
    cluster: deleted,
    namespace: namespace(),
    objects: NO_OBJECTS,
    overrides: [],
    tasks: NO_TASKS,
  };
  return store.answers.decideLive({ call: DELETE, cluster: deleted }, live, NOW, since);
}

const begins = ({ begins: all = [] }: Decision): string[] => all.map(({ task: { name } }) => name);
const EARLIER = new Date(NOW.getTime() - 1000);

test("a task begins if nothing else holds the Cluster", () => {
  const decision = confirmed([task()], [], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks], [["backup"], true]);
});

test("a task that begins last does not begin if a gate held the Cluster when the reads began", () => {
  const decision = confirmed([task()], [OPENS], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks, decision.holds], [[], undefined, true]);
  assert.deepEqual(begins(confirmed([task()], [OPENS], NOW)), ["backup"]);
});

test("a task that begins first begins all the same", () => {
  const decision = confirmed([task({ begins: "First" })], [OPENS], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks], [["backup"], undefined]);
});
