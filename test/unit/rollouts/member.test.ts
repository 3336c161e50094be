import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { HOOK_NAMES } from "../../../src/api/runtime-hooks.ts";
import {
  type Namespace,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
} from "../../../src/api/meta.ts";
import { memberOf, showsMark, targetOf } from "../../../src/rollouts/member.ts";
import { operationOf } from "../../../src/operations/beginnings.ts";
import { clusterMeta, rolloutOf, waitingCluster } from "./fixtures.ts";

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
    assert.ok(memberOf(rollout, { metadata: prod }, namespace({ team: "a" })));
    assert.equal(memberOf(rollout, { metadata: prod }, namespace({ team: "b" })), undefined);
    assert.equal(memberOf(rollout, { metadata: clusterMeta("c") }, namespace({ team: "a" })), undefined);
  });

  test("counts when its namespace is not known", () => {
    assert.ok(memberOf(rolloutOf(selective), { metadata: clusterMeta("c", { tier: "prod" }) }, undefined));
  });

  test("of an upgrade is not being deleted, and of a deletion may be", () => {
    const deleted = { ...clusterMeta("c"), ...DELETING };
    assert.equal(memberOf(rolloutOf(), { metadata: deleted }, undefined), undefined);
    assert.ok(memberOf(rolloutOf({ operation: "Delete" }), { metadata: deleted }, undefined));
  });

  test("belongs to the first stage that selects it, or to none", () => {
    const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
    const both = rolloutOf({ stages: [canary, { name: "rest" }] });
    assert.equal(
      memberOf(both, { metadata: clusterMeta("c", { wave: "canary" }) }, undefined)?.stage?.name,
      "canary",
    );
    assert.equal(memberOf(both, { metadata: clusterMeta("c") }, undefined)?.stage?.name, "rest");
    assert.equal(
      memberOf(rolloutOf({ stages: [canary] }), { metadata: clusterMeta("c") }, undefined)?.stage,
      undefined,
    );
  });

  test("belongs to a stage by its namespace", () => {
    const staging = { name: "staging", namespaceSelector: { matchLabels: { env: "staging" } } };
    const rollout = rolloutOf({ stages: [staging, { name: "rest" }] });
    assert.equal(
      memberOf(rollout, { metadata: clusterMeta("c") }, namespace({ env: "staging" }))?.stage?.name,
      "staging",
    );
    assert.equal(memberOf(rollout, { metadata: clusterMeta("c") }, namespace({}))?.stage?.name, "rest");
  });
});

test("slots are spread over the labels of the Cluster, or of its Namespace", () => {
  const spread = [
    { labelKey: "team", maxConcurrency: 1 },
    { labelKey: "team", from: "Namespace" as const, maxConcurrency: 1 },
    { labelKey: "kubernetes.io/metadata.name", from: "Namespace" as const, maxConcurrency: 1 },
  ];
  const rollout = { ...rolloutOf(), spread };
  const cluster = { metadata: clusterMeta("c", { team: "a" }) };
  const name = { "kubernetes.io/metadata.name": "fleet" };
  const values = (known: Namespace | undefined): unknown => memberOf(rollout, cluster, known)?.values;
  assert.deepEqual(values(namespace({ team: "b", ...name })), ["a", "b", "fleet"]);
  assert.deepEqual(values(undefined), ["a", undefined, "fleet"], "the API server sets the name itself");
});

describe("the mark", () => {
  const shown = (over: Partial<ObjectMeta>) => ({ metadata: { ...clusterMeta("c"), ...over } });
  const pending = (mark: string, over: Partial<ObjectMeta> = {}) =>
    shown({ ...over, annotations: { [PENDING_HOOKS_ANNOTATION]: mark } });
  const permission = { annotations: { [OK_TO_DELETE_ANNOTATION]: "" } };

  test("of an upgrade and of a creation is the hook that ends it", () => {
    assert.equal(showsMark("Upgrade", pending("AfterClusterUpgrade")), true);
    assert.equal(showsMark("Upgrade", pending("AfterControlPlaneInitialized")), false);
    assert.equal(showsMark("Create", pending("AfterControlPlaneInitialized")), true);
    assert.equal(showsMark("Create", pending("AfterControlPlaneInitialized", DELETING)), false);
  });

  test("of a creation counts once the Cluster has a reference, or where that is not known", () => {
    const cluster = pending("AfterControlPlaneInitialized");
    assert.equal(showsMark("Create", { ...cluster, created: false }), false);
    assert.equal(showsMark("Create", { ...cluster, created: true }), true);
    assert.equal(showsMark("Upgrade", { ...pending("AfterClusterUpgrade"), created: false }), true);
  });

  test("of a deletion is Cluster API's permission to delete", () => {
    assert.equal(showsMark("Delete", shown({ ...DELETING, ...permission })), true);
    assert.equal(showsMark("Delete", shown(DELETING)), false);
    assert.equal(showsMark("Delete", shown(permission)), false);
  });
});

test("only the first hook of an operation is a rollout's", () => {
  const held = HOOK_NAMES.flatMap((hook) => operationOf(hook) ?? []);
  assert.deepEqual(held.toSorted(), ["Create", "Delete", "Upgrade"]);
});

test("the target is a version of upgrades alone", () => {
  const cluster = waitingCluster("c", { topology: { className: "lab", version: "v1.35.1" } });
  const { topology: _, ...bare } = cluster;
  assert.equal(targetOf("Upgrade", cluster), "v1.35.1");
  assert.equal(targetOf("Upgrade", bare), "");
  assert.equal(targetOf("Delete", cluster), "");
});
