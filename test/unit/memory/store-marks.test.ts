/** The command in a tenant's message: not for a mark that the platform's gates read. */

import assert from "node:assert/strict";
import test from "node:test";
import type { HookRollout } from "../../../src/api/hook-policy.ts";
import { APPROVED, cluster, clusterHookPolicy, DELETE, hookPolicy, NOW } from "../builders.ts";
import { keyOf, statusOf, storeWith } from "./fixtures.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const COMMAND = /\(kubectl annotate /;
const NO_COMMAND = (kind: string): RegExp => new RegExp(`\\(no command: ${kind} \\S+ waits for it`);

test("the message follows the platform's policies and rollouts, in the status and in answers", () => {
  const tenant = hookPolicy();
  const platform = clusterHookPolicy({ clusterSelector: { matchLabels: { matches: "nothing" } } });
  const fixture = storeWith({ policies: [tenant], clusters: [deleting] });
  const { store } = fixture;
  const says = (expected: RegExp): void => {
    const [row] = statusOf(fixture, tenant).decisions ?? [];
    assert.match(row?.message ?? "", expected);
    assert.match(store.decider.ask({ call: DELETE, cluster: deleting }, NOW).message, expected);
  };
  says(COMMAND);
  store.policyChanged(keyOf(platform), platform);
  says(NO_COMMAND("ClusterHookPolicy"));
  store.policyChanged(keyOf(platform), undefined);
  says(COMMAND);

  const rollout: HookRollout = {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: { name: "upgrades", uid: "r", resourceVersion: "1" },
    spec: {
      operation: "Upgrade",
      namespaceSelector: {},
      progressDeadline: "6h",
      stages: [{ name: "s", until: [{ name: "g", annotation: { key: APPROVED } }] }],
    },
  };
  store.rolloutChanged("upgrades", rollout);
  says(NO_COMMAND("HookRollout"));
  store.rolloutChanged("upgrades", undefined);
  says(COMMAND);
});
