/** What the CRD cannot say of a rollout. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type {
  HookRolloutSpec,
  RolloutHealthCheck,
  RolloutSpreadSpec,
  StageGateSpec,
} from "../../../../src/api/hook-policy.ts";
import { checkRollout } from "../../../../src/policy/validation/rollout-semantics.ts";

const base: HookRolloutSpec = { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h" };
const labels = (matchLabels: Record<string, string>): { clusterSelector: object } => ({
  clusterSelector: { matchLabels },
});
const canary = { name: "canary", ...labels({ wave: "canary" }) };
const held = (gate: Omit<StageGateSpec, "name">): Partial<HookRolloutSpec> => ({
  stages: [canary, { name: "rest", until: [{ name: "g", ...gate }] }],
});
const health = (expression: string): RolloutHealthCheck => ({ name: "h", expression });
const nothing: RolloutSpreadSpec = { labelKey: "a", maxConcurrency: 0 };
const schedule = { schedule: "61 * * * *", duration: "1h" };

interface Case {
  readonly over: Partial<HookRolloutSpec>;
  readonly path: string;
  /** Of a warning. */
  readonly id?: string;
  readonly says: RegExp;
}

const ERRORS: Readonly<Record<string, Case>> = {
  "with a health check that is no CEL": {
    over: { healthyWhen: [health("cluster.(")] },
    path: "spec.healthyWhen[0].expression",
    says: /^column \d+: /,
  },
  "with a health check that gives no boolean": {
    over: { healthyWhen: [health("cluster.metadata.name")] },
    path: "spec.healthyWhen[0].expression",
    says: /expected bool/,
  },
  "with a health check that reads more than the Cluster": {
    over: { healthyWhen: [health("request.hook == 'a'")] },
    path: "spec.healthyWhen[0].expression",
    says: /request/,
  },
  "with a gate that is no CEL": {
    over: held({ expression: "cluster.metadata.nam == 'a'" }),
    path: "spec.stages[1].until[0].expression",
    says: /unknown field/,
  },
  "with a gate whose schedule is none": {
    over: held({ window: { timeZone: "UTC", allow: [schedule] } }),
    path: "spec.stages[1].until[0].window.allow[0].schedule",
    says: /minute/,
  },
  "with a gate whose range is none": {
    over: held({ anyOf: [{ name: "v", version: { range: "newest" } }] }),
    path: "spec.stages[1].until[0].anyOf[0].version.range",
    says: /newest/,
  },
  "with more expressions than can be compiled in time": {
    over: {
      healthyWhen: Array.from({ length: 17 }, (_, i) => ({
        name: `h${i}`,
        expression: "e".repeat(1000 + i),
      })),
    },
    path: "spec",
    says: /^the different expressions have more than 8192 letters together: shorten them/,
  },
};

describe("a rollout cannot be evaluated", () => {
  for (const [name, { over, path, says }] of Object.entries(ERRORS)) {
    test(name, () => {
      const { errors } = checkRollout({ ...base, ...over }, []);
      assert.deepEqual(
        errors.map((error) => error.path),
        [path],
      );
      assert.match(errors[0]?.message ?? "", says);
    });
  }
});

const WARNINGS: Readonly<Record<string, Case>> = {
  "a limit of 0": {
    over: { maxConcurrency: 0 },
    path: "spec.maxConcurrency",
    id: "nothing-begins",
    says: /no operation begins/,
  },
  "a limit of 0% in a stage": {
    over: { stages: [{ ...canary, maxConcurrency: "0%" }] },
    path: "spec.stages[0].maxConcurrency",
    id: "nothing-begins",
    says: /set spec\.paused instead/,
  },
  "a limit of 0 for a value of a label": {
    over: { spread: [nothing] },
    path: "spec.spread[0].maxConcurrency",
    id: "nothing-begins",
    says: /no operation begins/,
  },
  "a health check that can lack its field": {
    over: { healthyWhen: [health("cluster.status.phase == 'Provisioned'")] },
    path: "spec.healthyWhen[0].expression",
    id: "field-may-be-missing",
    says: /and then the expression cannot be evaluated/,
  },
  "a gate that can lack its field": {
    over: held({ expression: "cluster.status.phase == 'Provisioned'" }),
    path: "spec.stages[1].until[0].expression",
    id: "field-may-be-missing",
    says: /and then the expression cannot be evaluated/,
  },
  "a stage with the selector of an earlier one": {
    over: {
      stages: [
        canary,
        {
          name: "again",
          clusterSelector: { matchExpressions: [{ key: "wave", operator: "In", values: ["canary"] }] },
        },
        { name: "rest" },
      ],
    },
    path: "spec.stages[1]",
    id: "unreachable-stage",
    says: /^no Cluster comes to stage "again", as the earlier stage "canary" selects all of them/,
  },
  "a stage with a narrower selector than an earlier one": {
    over: { stages: [canary, { name: "small", ...labels({ wave: "canary", size: "small" }) }] },
    path: "spec.stages[1]",
    id: "unreachable-stage",
    says: /Put the narrower stage first/,
  },
  "the stages after one that selects what the rollout selects": {
    over: { ...labels({ wave: "canary" }), stages: [canary, { name: "rest" }] },
    path: "spec.stages[1]",
    id: "unreachable-stage",
    says: /"rest"/,
  },
  "an approval that outlives the upgrade": {
    over: held({ label: { key: "example.com/approved" } }),
    path: "spec.stages[1].until[0].label",
    id: "unbound-approval",
    says: /TargetVersion to one upgrade/,
  },
};

describe("a rollout may be meant otherwise", () => {
  for (const [name, { over, path, id, says }] of Object.entries(WARNINGS)) {
    test(`because of ${name}`, () => {
      const { errors, warnings } = checkRollout({ ...base, ...over }, []);
      assert.deepEqual(errors, []);
      assert.deepEqual(
        warnings.map((warning) => [warning.path, warning.id]),
        [[path, id]],
      );
      assert.match(warnings[0]?.message ?? "", says);
    });
  }

  test("but not because a gate reads the versions of the upgrade, which its call always has", () => {
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      nameExpression: "'to-' + request.toKubernetesVersion",
    };
    assert.deepEqual(checkRollout({ ...base, ...held({ object }) }, []), { errors: [], warnings: [] });
    const from = held({ expression: "request.fromKubernetesVersion != 'v1.34.0'" });
    assert.deepEqual(checkRollout({ ...base, ...from }, []), { errors: [], warnings: [] });
  });

  test("but not one whose stages select by different labels or namespaces", () => {
    const stages = [
      canary,
      { name: "staging", ...labels({ wave: "staging" }) },
      { name: "platform", namespaceSelector: { matchLabels: { team: "platform" } } },
      { name: "rest" },
    ];
    assert.deepEqual(checkRollout({ ...base, stages, maxConcurrency: "10%" }, []), {
      errors: [],
      warnings: [],
    });
  });
});

test("what does not fit the schema is left to the schema, and the rest is still checked", () => {
  const spec = {
    ...base,
    healthyWhen: [health("cluster.(")],
    stages: [{ name: "a", until: [{ name: "g", expression: 1 }] }],
  };
  const { errors } = checkRollout(spec, [{ path: "spec.stages[0].until[0].expression", message: "found 1" }]);
  assert.deepEqual(
    errors.map(({ path }) => path),
    ["spec.healthyWhen[0].expression"],
  );
  const window = { timeZone: "Europe/Belin", allow: [{ schedule: "0 22 * * *", duration: "8h" }] };
  const both = { ...base, stages: [null, { name: "b", until: [{ name: "g", window }] }] };
  const found = checkRollout(both, [{ path: "spec.stages[0]", message: "found null" }]);
  assert.deepEqual(
    found.errors.map(({ path }) => path),
    ["spec.stages[1].until[0].window.timeZone"],
  );
  for (const nonsense of [undefined, null, 1, [], { stages: 1, healthyWhen: {} }]) {
    assert.deepEqual(checkRollout(nonsense, [{ path: "spec", message: "" }]), { errors: [], warnings: [] });
  }
});
