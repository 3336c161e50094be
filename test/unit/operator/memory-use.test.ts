/** What a policy counts in the budget of memory. */

import assert from "node:assert/strict";
import test from "node:test";
import { memoryUseOfPolicy } from "../../../src/operator/informers.ts";
import { clusterHookPolicy, hookPolicy, range, rule } from "../builders.ts";

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

test("a ClusterHookPolicy counts with no namespace's Clusters", () => {
  assert.equal(memoryUseOfPolicy(clusterHookPolicy(rulesWith(16))).bytesForEachCluster, 0);
});
