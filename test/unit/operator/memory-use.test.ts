/** What a policy counts in the budget of memory. */

import assert from "node:assert/strict";
import test from "node:test";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { memoryUseOfPolicy } from "../../../src/operator/informers.ts";
import { clusterHookPolicy, hookPolicy, range, rule } from "../builders.ts";
import { task } from "../policy/tasks/fixtures.ts";

const rulesWith = (count: number) => ({
  rules: range(count).map((i) =>
    rule({ name: `r${i}`, until: range(count).map((j) => ({ name: `g${j}`, label: { key: "a" } })) }),
  ),
});

test("many rules and gates count with each Cluster that they may hold", () => {
  const [small, large] = [1, 16].map((count) => memoryUseOfPolicy(hookPolicy(rulesWith(count))));
  assert.ok(small && large);
  assert.ok(large.bytesForEachCluster >= small.bytesForEachCluster + 9 * 1024);
});

test("a spec that is too large to be compiled counts without its expressions, however deeply it nests", () => {
  const nested = (levels: number): PolicyObject => {
    let value: unknown = "<< cluster.metadata.name >>";
    for (let i = 0; i < levels; i++) value = [value];
    const create = { apiVersion: "v1", kind: "ConfigMap", data: { value } };
    return hookPolicy({ rules: [rule({ tasks: [task({ create })] })] });
  };
  const bytesOf = (levels: number): number => memoryUseOfPolicy(nested(levels)).bytes;
  const [few, some, many] = [bytesOf(1), bytesOf(2), bytesOf(9_900)];
  assert.ok(many > few && many < few + (some - few) * 9_899);
});

test("a ClusterHookPolicy counts with no namespace's Clusters", () => {
  assert.equal(memoryUseOfPolicy(clusterHookPolicy(rulesWith(16))).bytesForEachCluster, 0);
});
