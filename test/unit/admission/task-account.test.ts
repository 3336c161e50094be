/** Who may write a policy with tasks: who may impersonate the ServiceAccount as which they act. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { Access } from "../../../src/admission/review-world.ts";
import { hookPolicy, rule } from "../builders.ts";
import { fleetWithTasks, task, taskRule, withTasks } from "../policy/tasks/fixtures.ts";
import { webhook } from "./reviews.ts";

const nobody = { allowed: () => false };
const OWN = {
  verb: "impersonate",
  group: "",
  resource: "serviceaccounts",
  namespace: "team-a",
  name: "worker",
};
const policy = withTasks([task()]);
const plain = hookPolicy();

describe("the author of a policy with tasks", () => {
  test("is refused without the right to impersonate its ServiceAccount", async () => {
    const hook = webhook(nobody);
    const { allowed, status } = await hook.create(policy);
    assert.deepEqual([allowed, status?.code], [false, 403]);
    assert.equal(
      status?.message,
      'HookPolicy.hookpolicy.dev "protect" is forbidden: spec.serviceAccountName: user "jane" cannot impersonate ServiceAccount "worker" in the namespace "team-a": a policy\'s tasks may act only as whom its author may',
    );
    assert.deepEqual(hook.asked, [{ user: "jane", access: OWN }]);
    assert.equal((await webhook().create(policy)).allowed, true);
  });

  test("of all namespaces is asked about the namespace that the policy names", async () => {
    const hook = webhook(nobody);
    const { status } = await hook.create(fleetWithTasks([task()]));
    assert.match(status?.message ?? "", /spec\.serviceAccount: .* "worker" in the namespace "tools"/);
    assert.deepEqual(hook.asked[0]?.access, { ...OWN, namespace: "tools" });
  });

  const changes: Readonly<Record<string, readonly [old: PolicyObject, object: PolicyObject]>> = {
    "adds a task": [plain, policy],
    "changes a task": [policy, withTasks([task({ timeout: "2h" })])],
    "changes the ServiceAccount": [withTasks([task()], {}, { serviceAccountName: "other" }), policy],
    "removes a gate": [withTasks([task()], { until: rule().until ?? [] }), policy],
    "selects more Clusters": [
      withTasks([task()], {}, { clusterSelector: { matchLabels: { a: "b" } } }),
      policy,
    ],
    "removes the last task": [policy, plain],
    "changes another rule": [
      withTasks([], {}, { rules: [taskRule([task()]), rule()] }),
      withTasks([], {}, { rules: [taskRule([task()]), rule({ message: "ask" })] }),
    ],
  };
  for (const [name, [old, object]] of Object.entries(changes)) {
    test(`is asked when it ${name}`, async () => {
      const asked: Access[] = [];
      const allowed = (access: Access): boolean => asked.push(access) < 0;
      assert.equal((await webhook({ allowed }).update(old, object)).allowed, false);
      assert.deepEqual(asked, [OWN]);
    });
  }

  test("is not asked when nothing of the spec changes", async () => {
    const labelled = { ...policy, metadata: { ...policy.metadata, labels: { a: "b" } } };
    assert.equal((await webhook(nobody).update(policy, labelled)).allowed, true);
  });

  test("is told to try again while the API server does not answer", async () => {
    const { allowed, status } = await webhook({
      allowed: async () => await Promise.reject(new Error("gone")),
    }).create(policy);
    assert.deepEqual([allowed, status?.code], [false, 503]);
    assert.match(
      status?.message ?? "",
      /does not say whether user "jane" may impersonate ServiceAccount "worker"/,
    );
  });
});

test("without tasks, nobody is asked, whatever ServiceAccount the policy names", async () => {
  const hook = webhook(nobody);
  assert.equal((await hook.create(hookPolicy({ serviceAccountName: "worker" }))).allowed, true);
  assert.deepEqual(hook.asked, []);
});
