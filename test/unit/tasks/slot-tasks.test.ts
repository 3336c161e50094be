import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookRollout, HookRolloutStatus, HookTaskStatus } from "../../../src/api/hook-policy.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { CLUSTER_UID } from "../../../src/policy/tasks/template-metadata.ts";
import { changedSlots, slotTasks } from "../../../src/tasks/slot-tasks.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { SlotTaskState } from "../../../src/rollouts/rollout-reconciler.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { hookRollout } from "../rollouts/fixtures.ts";
import { calling, cluster, compiled, DELETE, NOW } from "../builders.ts";
import { task, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";

const [namespace, uid, since] = ["team-a", "uid-of-slot", "2026-03-01T00:00:00Z"];
const deleted = calling(DELETE, cluster());

const FAILED: HookTaskStatus = { phase: "Failed", endedAt: NOW.toISOString() };

/** What the rollout is told of a task of `of` that has failed, or has this status, while the policy is `now`. */
async function afterFailure(
  of: CompiledPolicy,
  now?: CompiledPolicy,
  status = FAILED,
): Promise<readonly SlotTaskState[]> {
  const [intent] = decide([of], taskWorld({ cluster: deleted }), DELETE, NOW).begins ?? [];
  assert.ok(intent !== undefined);
  const labels = { [CLUSTER_UID]: intent.spec.clusterRef.uid };
  const metadata = { name: intent.name, namespace: intent.namespace, uid, resourceVersion: "1", labels };
  const stored = storedTask({ apiVersion: "v1", kind: "HookTask", metadata, spec: intent.spec, status });
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  memory.learn(stored);
  const store = { ofCluster: async () => await Promise.resolve([stored.record]) };
  const slots = slotTasks({ memory, store, policies: { compiledOf: () => now } });
  const { uid: clusterUID } = deleted.metadata;
  const claimed = { claimedAt: since, renewedAt: since, attempts: 1, claimed: true };
  const claim = { namespace, name: "prod-1", uid: clusterUID, ...claimed };
  return [slots.known(claim, DELETE.hook), await slots.read(claim, DELETE.hook)];
}

const policy = compiled(withTasks([task()]));

test("a failed task gives its slot back", async () => {
  assert.deepEqual(await afterFailure(policy, policy), ["Failed", "Failed"]);
});

test("a failure that holds nothing does not", async () => {
  const proceeding = compiled(withTasks([task({ onFailure: "Proceed" })]));
  assert.deepEqual(await afterFailure(proceeding, proceeding), [NOW, NOW]);
});

test("nor does the failure of a task that its policy no longer has, or has otherwise", async () => {
  for (const now of [
    undefined,
    { ...policy, uid: "another" },
    { ...policy, mode: "Audit" as const },
    compiled(withTasks([task({ name: "another" })])),
    compiled(withTasks([task()], {}, { serviceAccountName: "another" })),
  ])
    assert.deepEqual(await afterFailure(policy, now), [NOW, NOW]);
});

const attempt = { name: "clean", startedAt: since };
const ended = { ...attempt, endedAt: since, outcome: "Failed" } as const;

test("a task whose policy cannot be evaluated gives its slot back unless an attempt is under way", async () => {
  const hidden = [stubPolicy(withTasks([task()])), withTasks([task({ when: "cluster.(" })])].map((each) =>
    compiled(each),
  );
  const betweenAttempts: readonly HookTaskStatus[] = [
    {},
    { phase: "Pending", begun: 1, allowed: 2, attempts: [ended] },
    { phase: "Running", begun: 1, allowed: 2, attempts: [ended] },
  ];
  const underWay: readonly HookTaskStatus[] = [
    { phase: "Pending", begun: 1, attempts: [attempt] },
    { phase: "Running", begun: 1, attempts: [{ ...attempt, uid: "job-1" }] },
  ];
  for (const now of hidden) {
    for (const status of betweenAttempts)
      assert.deepEqual(await afterFailure(policy, now, status), ["Failed", "Failed"]);
    for (const status of underWay)
      assert.deepEqual(await afterFailure(policy, now, status), ["Unfinished", "Unfinished"]);
  }
  for (const status of [...betweenAttempts, ...underWay])
    for (const now of [policy, undefined])
      assert.deepEqual(await afterFailure(policy, now, status), ["Unfinished", "Unfinished"]);
});

test("of a rollout, tasks look at slots and failures, and not at what changes with each call", () => {
  const claim = {
    namespace,
    name: "a",
    uid: "uid-a",
    target: "v1.35.1",
    claimed: true,
    claimedAt: since,
    renewedAt: since,
    attempts: 1,
  };
  const failure = { namespace, name: "a", uid: "uid-a", time: since, reason: "Unhealthy", message: "" };
  const before = hookRollout({}, { running: [claim] });
  const changed = (now: HookRollout | undefined): unknown => {
    const uids = changedSlots(before, now);
    return uids && [...uids];
  };
  const after = (status: HookRolloutStatus): unknown => changed(hookRollout({}, status));
  assert.deepEqual(after({ running: [{ ...claim, attempts: 2, renewedAt: "2026-03-01T00:01:00Z" }] }), []);
  assert.deepEqual(after({ running: [claim, { ...claim, uid: "uid-b" }] }), ["uid-b"]);
  assert.deepEqual(after({ running: [{ ...claim, target: "v1.36.0" }] }), ["uid-a"]);
  assert.deepEqual(after({ running: [{ ...claim, tasks: true }] }), ["uid-a"]);
  assert.deepEqual(after({ running: [claim], failed: [failure] }), ["uid-a"]);
  assert.deepEqual(after({}), ["uid-a"]);
  assert.equal(changed(hookRollout({ paused: true }, before.status)), undefined, "all of them");
  assert.equal(changed(undefined), undefined);
});
