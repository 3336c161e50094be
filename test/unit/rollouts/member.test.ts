import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hookpolicy.ts";
import { HOOK_NAMES } from "../../../src/api/runtimehooks.ts";
import { type Namespace, OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import { memberOf, operationOf, showsMark, targetOf } from "../../../src/rollouts/member.ts";
import { clusterMeta, rolloutOf } from "./fixtures.ts";

const namespace = (labels: Readonly<Record<string, string>>): Namespace => ({
  metadata: { name: "fleet", uid: "fleet", resourceVersion: "1", labels },
});
const DELETING = { deletionTimestamp: "2026-11-23T11:00:00Z" };

describe("a member", () => {
  const selective: Partial<HookRolloutSpec> = {
    namespaceSelector: { matchLabels: { team: "a" } },
    clusterSelector: { matchLabels: { tier: "prod" } },
  };

  test("is a Cluster that both selectors select", () => {
    const rollout = rolloutOf(selective);
    const prod = clusterMeta("c", { tier: "prod" });
    assert.ok(memberOf(rollout, prod, namespace({ team: "a" })));
    assert.equal(memberOf(rollout, prod, namespace({ team: "b" })), undefined);
    assert.equal(memberOf(rollout, clusterMeta("c"), namespace({ team: "a" })), undefined);
  });

  test("counts when its namespace is not known", () => {
    assert.ok(memberOf(rolloutOf(selective), clusterMeta("c", { tier: "prod" }), undefined));
  });

  test("of an upgrade is not being deleted, and of a deletion may be", () => {
    const deleted = { ...clusterMeta("c"), ...DELETING };
    assert.equal(memberOf(rolloutOf(), deleted, undefined), undefined);
    assert.ok(memberOf(rolloutOf({ operation: "Delete" }), deleted, undefined));
  });

  test("belongs to the first stage that selects it, or to none", () => {
    const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
    const both = rolloutOf({ stages: [canary, { name: "rest" }] });
    assert.equal(memberOf(both, clusterMeta("c", { wave: "canary" }), undefined)?.stage?.name, "canary");
    assert.equal(memberOf(both, clusterMeta("c"), undefined)?.stage?.name, "rest");
    assert.equal(memberOf(rolloutOf({ stages: [canary] }), clusterMeta("c"), undefined)?.stage, undefined);
  });

  test("belongs to a stage by its namespace", () => {
    const staging = { name: "staging", namespaceSelector: { matchLabels: { env: "staging" } } };
    const rollout = rolloutOf({ stages: [staging, { name: "rest" }] });
    assert.equal(memberOf(rollout, clusterMeta("c"), namespace({ env: "staging" }))?.stage?.name, "staging");
    assert.equal(memberOf(rollout, clusterMeta("c"), namespace({}))?.stage?.name, "rest");
  });
});

describe("the mark", () => {
  const pending = (mark: string) => ({
    ...clusterMeta("c"),
    annotations: { [PENDING_HOOKS_ANNOTATION]: mark },
  });
  const okToDelete = { ...clusterMeta("c"), ...DELETING, annotations: { [OK_TO_DELETE_ANNOTATION]: "" } };

  test("of an upgrade and of a creation is the hook that ends it", () => {
    assert.equal(showsMark("Upgrade", pending("AfterClusterUpgrade")), true);
    assert.equal(showsMark("Upgrade", pending("AfterControlPlaneInitialized")), false);
    assert.equal(showsMark("Create", pending("AfterControlPlaneInitialized")), true);
    assert.equal(showsMark("Create", { ...pending("AfterControlPlaneInitialized"), ...DELETING }), false);
  });

  test("of a deletion is Cluster API's permission to delete", () => {
    assert.equal(showsMark("Delete", okToDelete), true);
    assert.equal(showsMark("Delete", { ...clusterMeta("c"), ...DELETING }), false);
    const { deletionTimestamp: _, ...forged } = okToDelete;
    assert.equal(showsMark("Delete", forged), false);
  });
});

test("only the first hook of an operation is a rollout's", () => {
  const held = HOOK_NAMES.flatMap((hook) => operationOf(hook) ?? []);
  assert.deepEqual(held.toSorted(), ["Create", "Delete", "Upgrade"]);
});

test("the target is a version of upgrades alone", () => {
  const cluster = {
    metadata: clusterMeta("c"),
    paused: false,
    created: true,
    topology: { className: "lab", version: "v1.35.1" },
  };
  const { topology: _, ...bare } = cluster;
  assert.equal(targetOf("Upgrade", cluster), "v1.35.1");
  assert.equal(targetOf("Upgrade", bare), "");
  assert.equal(targetOf("Delete", cluster), "");
});
