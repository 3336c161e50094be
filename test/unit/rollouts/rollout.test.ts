import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { stubRollout } from "../../../src/memory/stored-views.ts";
import { healthOf, isAtTarget } from "../../../src/rollouts/health.ts";
import { unmetGate, promotionQueries } from "../../../src/rollouts/promotion.ts";
import { compileRollout } from "../../../src/rollouts/rollout.ts";
import { scopeOf } from "../../../src/rollouts/rollout.ts";
import { failingWhenValidated } from "../builders.ts";
import { hookRollout, NOW, rolloutOf, TARGET, waitingCluster } from "./fixtures.ts";

const CLUSTER = waitingCluster("c", { progress: { reconciled: true } }, { tier: "prod" });

describe("an invalid rollout", () => {
  const invalid: readonly (readonly [string, Partial<HookRolloutSpec>])[] = [
    ["a duration", { progressDeadline: "soon" }],
    ["an expression", { healthyWhen: [{ name: "x", expression: "cluster.(" }] }],
    ["stages of a creation", { operation: "Create", stages: [{ name: "a" }] }],
  ];
  for (const [title, spec] of invalid)
    test(`holds whatever it may select: ${title}`, () => {
      const rollout = rolloutOf({ ...spec, mode: "Audit" });
      assert.equal(rollout.mode, "Enforce");
      assert.ok(rollout.problem);
      assert.deepEqual(
        rollout.stages.map(({ name }) => name),
        ["all"],
      );
    });

  test("that is too large for memory holds unless it only audits", () => {
    const stub = (mode?: "Audit") => compileRollout(stubRollout(hookRollout({ ...(mode && { mode }) })));
    assert.deepEqual([stub().mode, stub().tooLarge], ["Enforce", true]);
    assert.deepEqual([stub("Audit").mode, stub("Audit").tooLarge], ["Audit", true]);
  });

  test("holds when a bug keeps it from being validated", () => {
    const rollout = hookRollout();
    assert.match(compileRollout(failingWhenValidated(rollout)).problem ?? "", /cannot be validated: a bug/);
  });

  test("selects every Cluster by a selector that is not valid", () => {
    const broken = hookRollout({ clusterSelector: { matchLabels: { tier: 7 } } as never });
    const rollout = compileRollout(broken);
    assert.equal(rollout.selectsCluster({ tier: "dev" }), true);
  });

  test("without a spec holds, too", () => {
    const rollout = compileRollout({ ...hookRollout(), spec: undefined as never });
    assert.ok(rollout.problem);
    assert.equal(rollout.operation, "Upgrade");
  });
});

describe("defaults", () => {
  test("one at a time, every 10 s, one stage for all", () => {
    const { maxConcurrency, retryAfterSeconds, stages, spread, mode, paused } = rolloutOf();
    assert.deepEqual(
      { maxConcurrency, retryAfterSeconds, spread, mode, paused },
      { maxConcurrency: 1, retryAfterSeconds: 10, spread: [], mode: "Enforce", paused: false },
    );
    assert.equal(stages[0]?.selectsCluster({}), true);
  });

  test("of a stage: all must succeed, none may fail, no soak", () => {
    const [stage] = rolloutOf({ stages: [{ name: "a" }] }).stages;
    assert.equal(stage?.minSucceeded, "100%");
    assert.equal(stage.maxFailures, 0);
    assert.equal(stage.minSuccessTimeMs, 0);
    assert.equal("maxConcurrency" in stage, false);
  });

  for (const [text, ms] of [
    ["0s", 0],
    ["0h0m", 0],
    ["90m", 5_400_000],
  ] as const)
    test(`a soak of ${text}`, () => {
      const [stage] = rolloutOf({ stages: [{ name: "a", minSuccessTime: text }] }).stages;
      assert.equal(stage?.minSuccessTimeMs, ms);
    });
});

describe("health", () => {
  test("is unknown when a check cannot be evaluated", () => {
    const healthyWhen = [{ name: "x", expression: "cluster.metadata.labels['none'] == 'a'" }];
    assert.equal(healthOf(rolloutOf({ healthyWhen }), CLUSTER, NOW), "Unknown");
  });

  test("is what all checks say, and one that fails decides", () => {
    const healthy = { name: "a", expression: "cluster.metadata.labels['tier'] == 'prod'" };
    const broken = { name: "b", expression: "cluster.metadata.labels['none'] == 'a'" };
    const ill = { name: "c", expression: "cluster.metadata.labels['tier'] == 'dev'" };
    assert.equal(healthOf(rolloutOf({ healthyWhen: [healthy] }), CLUSTER, NOW), "Healthy");
    assert.equal(healthOf(rolloutOf({ healthyWhen: [healthy, ill] }), CLUSTER, NOW), "Unhealthy");
    assert.equal(healthOf(rolloutOf({ healthyWhen: [broken, ill] }), CLUSTER, NOW), "Unhealthy");
  });

  test("a wish for a version is not being at it", () => {
    assert.equal(isAtTarget(CLUSTER, TARGET), true);
    assert.equal(isAtTarget({ ...CLUSTER, progress: { reconciled: false } }, TARGET), false);
    assert.equal(isAtTarget(CLUSTER, "v1.36.0"), false);
    assert.equal(isAtTarget(CLUSTER, "v1.34.0"), true);
    assert.equal(isAtTarget(CLUSTER, "newest"), false);
  });
});

describe("the gates of a stage", () => {
  const situation = {
    world: {
      cluster: CLUSTER,
      namespace: undefined,
      overrides: [],
      objects: { find: () => ({ ok: false, reason: "ObjectsForbidden", message: "you may not" }) as const },
    },
    call: { hook: "BeforeClusterUpgrade", toKubernetesVersion: TARGET } as const,
    now: NOW,
  };
  const stageWith = (until: NonNullable<HookRolloutSpec["stages"]>[number]["until"]) =>
    rolloutOf({ stages: [{ name: "a", ...(until !== undefined && { until }) }] }).stages[0]!;
  const holds = { name: "tier", label: { key: "tier" } };
  const waits = { name: "ok", annotation: { key: "example.com/ok" } };
  const object = {
    apiVersion: "example.com/v1",
    kind: "Approval",
    namespace: "platform",
    nameExpression: "'prod-' + request.toKubernetesVersion",
    expression: "object.spec.approved",
  };

  test("none: nothing to wait for", () => {
    assert.equal(unmetGate(stageWith(undefined), situation), undefined);
  });

  test("the first that does not hold is named", () => {
    assert.equal(unmetGate(stageWith([holds]), situation), undefined);
    const open = unmetGate(stageWith([holds, waits]), situation);
    assert.equal(open?.gate, "ok");
    assert.match(open.wanted, /annotation example\.com\/ok/);
  });

  test("one that cannot be evaluated does not hold", () => {
    const open = unmetGate(stageWith([{ name: "promoted", object }]), situation);
    assert.match(open?.wanted ?? "", /which cannot be evaluated: /);
  });

  test("the objects that they look at are known beforehand", () => {
    const queries = promotionQueries(stageWith([holds, { name: "promoted", object }]), situation);
    assert.deepEqual(
      queries.map(({ kind, namespace }) => [kind.kind, namespace]),
      [["Approval", "platform"]],
    );
  });
});

describe("the scope", () => {
  const spec = hookRollout({ stages: [{ name: "a" }] }).spec;
  const changes: readonly (readonly [string, Partial<HookRolloutSpec>, boolean])[] = [
    ["a limit", { maxConcurrency: 9, paused: true }, false],
    ["a soak", { stages: [{ name: "a", minSuccessTime: "1h" }] }, false],
    ["the mode", { mode: "Audit" }, true],
    ["the namespaces", { namespaceSelector: { matchLabels: { a: "b" } } }, true],
    ["the Clusters", { clusterSelector: { matchLabels: { a: "b" } } }, true],
    ["the name of a stage", { stages: [{ name: "b" }] }, true],
    ["the selector of a stage", { stages: [{ name: "a", clusterSelector: {} }] }, true],
  ];
  for (const [title, change, changed] of changes)
    test(`${changed ? "changes" : "stays the same"} with ${title}`, () => {
      assert.equal(scopeOf({ ...spec, ...change }) !== scopeOf(spec), changed);
    });
});
