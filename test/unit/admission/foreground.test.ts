/**
 * Reviews of deletions in the foreground, and of those that orphan what the Cluster owns: refused whenever the hook would hold,
 * because its hold would be worthless.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuleSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { APPROVED, hookPolicy, rule } from "../builders.ts";
import { deny, lab, raw, review } from "./cluster-lab.ts";

const APPROVES = { annotations: { [APPROVED]: "yes" } };
const FOREGROUND = { propagationPolicy: "Foreground" };
const ORPHAN = { propagationPolicy: "Orphan" };
const hold = (over: Partial<RuleSpec> = {}): PolicyObject => hookPolicy({ rules: [rule(over)] });
const deletes = (options: object | null, metadata: object = {}, spec: object = {}): object => {
  const stored = Object(raw());
  return review("DELETE", {
    options,
    oldObject: {
      ...stored,
      metadata: { ...stored.metadata, ...metadata },
      spec: { ...stored.spec, ...spec },
    },
  });
};
const STORED = { finalizers: ["cluster.cluster.x-k8s.io", "foregroundDeletion"] };
const ORPHANED = { finalizers: ["cluster.cluster.x-k8s.io", "orphan"] };
const HELD = { deletionTimestamp: "2026-11-21T12:00:00Z" };
const MOVED = { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } };

test("is refused while the hook would hold, whatever the rule says of admission", async () => {
  for (const policy of [
    hold(),
    deny(),
    deny({ admission: "Warn" }),
    hold({ until: [{ name: "w", wait: { duration: "1h" } }] }),
  ]) {
    for (const [options, how] of [
      [FOREGROUND, /in the foreground yet: .*use --cascade=background \(/],
      [ORPHAN, /so that it orphans what it owns yet: .*use --cascade=background, which deletes all of it \(/],
    ] as const) {
      const { allowed, status: { message = "" } = {} } = await lab({ policies: [policy] }).ask(
        deletes(options),
      );
      assert.equal(allowed, false);
      assert.match(message, /^Cluster team-a\/prod-1 cannot be deleted .* yet: HookPolicy team-a\/protect/);
      assert.match(message, how);
      assert.match(message, /\(Argo CD: sync option PrunePropagationPolicy=background\)$/);
    }
  }
});

test("passes while the hook would release", async () => {
  const audit = hookPolicy({ mode: "Audit", rules: [rule()] });
  for (const policies of [[], [audit]])
    assert.equal((await lab({ policies }).ask(deletes(FOREGROUND))).allowed, true);
  assert.equal((await lab({ policies: [hold()] }).ask(deletes(FOREGROUND, APPROVES))).allowed, true);
});

/** As deletionFinalizersForGarbageCollection of the API server (registry/generic/registry/store.go). */
test("is one by its options, or by the finalizer if they say nothing", async () => {
  const cases: readonly (readonly [options: object | null, metadata: object, passes: boolean])[] = [
    [FOREGROUND, HELD, false],
    [FOREGROUND, MOVED, false],
    [null, STORED, false],
    [{}, STORED, false],
    [{ propagationPolicy: null }, STORED, false],
    [{}, { ...STORED, ...HELD }, false],
    [{ propagationPolicy: "Background" }, STORED, true],
    [{ propagationPolicy: "Background" }, ORPHANED, true],
    [ORPHAN, HELD, false],
    [ORPHAN, MOVED, false],
    [{}, { ...ORPHANED, ...HELD }, false],
    [{ orphanDependents: false }, STORED, true],
    [{ orphanDependents: true }, HELD, false],
    [{}, {}, true],
    [null, HELD, true],
    [FOREGROUND, { annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } }, true],
    [ORPHAN, { annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } }, true],
  ];
  for (const [options, metadata, passes] of cases) {
    const { allowed } = await lab({ policies: [hold()] }).ask(deletes(options, metadata, { paused: true }));
    assert.equal(allowed, passes, JSON.stringify([options, metadata]));
  }
});

test("is refused while the operator cannot confirm that nothing holds", async () => {
  const decisions = [
    { loaded: () => false },
    { inTurn: (_request: unknown, _decide: unknown, refuse: () => never) => refuse() },
  ];
  for (const each of decisions)
    assert.equal((await lab({ policies: [], decisions: each }).ask(deletes(FOREGROUND))).allowed, false);
  const reader = { namespace: async (): Promise<never> => await Promise.reject(new Error("gone")) };
  assert.equal((await lab({ policies: [], reader }).ask(deletes(FOREGROUND))).status?.code, 503);
});
