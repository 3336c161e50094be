/** Installations without tasks: HookTasks that cannot be read concern nobody. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { mayHaveTasks, withoutWaiting } from "../../../src/operator/informers.ts";
import { clusterHookPolicy, hookPolicy } from "../builders.ts";
import { fleetWithTasks, task, withTasks } from "../policy/tasks/fixtures.ts";

const informing = (list: readonly PolicyObject[], synced = true) => ({
  synced: () => synced,
  list: () => [...list],
});
const policies = (own: readonly PolicyObject[], fleet: readonly PolicyObject[] = [], synced = true) => ({
  HookPolicy: informing(own),
  ClusterHookPolicy: informing(fleet, synced),
});

test("a policy with tasks names a ServiceAccount", () => {
  assert.equal(mayHaveTasks(policies([hookPolicy()], [clusterHookPolicy()])), false);
  assert.equal(mayHaveTasks(policies([withTasks([task()])])), true);
  assert.equal(mayHaveTasks(policies([], [fleetWithTasks([task()])])), true);
});

test("before all policies are read, one of them may have tasks", () => {
  assert.equal(mayHaveTasks(policies([], [], false)), true);
});

test("the watch of HookTasks is reported only where a policy may have tasks", () => {
  const informer = {} as never;
  const reported = (own: readonly PolicyObject[]): string[] =>
    withoutWaiting(policies(own), informer, informer).map(([name]) => name);
  assert.deepEqual(reported([hookPolicy()]), ["extensionconfigs.runtime.cluster.x-k8s.io"]);
  assert.deepEqual(reported([withTasks([task()])]), [
    "extensionconfigs.runtime.cluster.x-k8s.io",
    "hooktasks.hookpolicy.dev",
  ]);
});
