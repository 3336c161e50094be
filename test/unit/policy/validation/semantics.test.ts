/** What the CRDs cannot say of a rule: what makes it not evaluable, and what is legal but suspicious. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, RuleSpec } from "../../../../src/api/hook-policy.ts";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import { compilePolicy } from "../../../../src/policy/compile.ts";
import { checkRules } from "../../../../src/policy/validation/semantics.ts";
import { hookPolicy, rule } from "../../builders.ts";

const quiet: GateSpec = { name: "approved", annotation: { key: "a", value: "yes" } };
const window = (over: object): GateSpec => ({
  name: "w",
  window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }], ...over },
});
const object = (over: object): GateSpec => ({
  name: "o",
  object: { apiVersion: "v1", kind: "ConfigMap", selector: {}, ...over },
});

interface ExpectedFinding {
  readonly path: string;
  readonly says: RegExp;
}

function check(kind: "errors" | "warnings", over: Partial<RuleSpec>, found: ExpectedFinding): void {
  const findings = checkRules(
    [rule({ until: [quiet] }), rule({ name: "second", until: [quiet], ...over })],
    [],
  );
  const other = kind === "errors" ? "warnings" : "errors";
  assert.deepEqual(findings[other], []);
  assert.deepEqual(
    findings[kind].map(({ path }) => path),
    [`spec.rules[1].${found.path}`],
  );
  assert.match(findings[kind][0]?.message ?? "", found.says);
}

describe("a rule cannot be evaluated", () => {
  const cases: Record<string, { over: Partial<RuleSpec>; found: ExpectedFinding }> = {
    "with a match condition that is no CEL": {
      over: { matchConditions: [{ name: "c", expression: "cluster.(" }] },
      found: { path: "matchConditions[0].expression", says: /^column \d+: / },
    },
    "with a match condition that gives no boolean": {
      over: { matchConditions: [{ name: "c", expression: "cluster.metadata.name" }] },
      found: { path: "matchConditions[0].expression", says: /expected bool/ },
    },
    "with an expression of an unknown field": {
      over: { until: [{ name: "e", expression: "true ||\n  cluster.metadta.name == 'a'" }] },
      found: { path: "until[0].expression", says: /^line 2, column \d+: .*metadta/ },
    },
    "with a schedule that is none": {
      over: { until: [window({ deny: [{ schedule: "61 * * * *", duration: "1h" }] })] },
      found: { path: "until[0].window.deny[0].schedule", says: /minute/ },
    },
    "with an unknown time zone": {
      over: { until: [window({ timeZone: "Europe/Berlim" })] },
      found: { path: "until[0].window.timeZone", says: /Europe\/Berlim/ },
    },
    "with a range that is none": {
      over: { until: [{ name: "v", version: { range: ">=1.30.0 <banana" } }] },
      found: { path: "until[0].version.range", says: /banana/ },
    },
    "with a name that is computed to be no string": {
      over: { until: [object({ selector: undefined, nameExpression: "1 + 1" })] },
      found: { path: "until[0].object.nameExpression", says: /expected string/ },
    },
    "with a condition on objects that looks at what it may not": {
      over: { until: [object({ expression: "'a' in namespaceObject.metadata.labels" })] },
      found: { path: "until[0].object.expression", says: /namespaceObject/ },
    },
    "with any of it inside of anyOf": {
      over: { until: [{ name: "any", anyOf: [quiet, { name: "v", version: { range: "banana" } }] }] },
      found: { path: "until[0].anyOf[1].version.range", says: /banana/ },
    },
  };
  for (const [name, { over, found }] of Object.entries(cases)) test(name, () => check("errors", over, found));

  test("and other rules can", () => {
    const { errors } = checkRules([rule({ matchConditions: [{ name: "c", expression: "(" }] }), rule()], []);
    assert.ok(errors.every(({ path }) => path.startsWith("spec.rules[0]")));
  });

  test("and is not looked at further when it does not fit the schema", () => {
    const rules = [rule({ until: [window({ timeZone: "Nowhere" })] })];
    for (const path of ["spec.rules[0]", "spec.rules[0].until[0].window.colour", "spec.rules", "spec"]) {
      assert.deepEqual(checkRules(rules, [{ path, message: "" }]).errors, []);
    }
    for (const path of ["spec.rules[1]", "spec.mode"]) {
      assert.equal(checkRules(rules, [{ path, message: "" }]).errors.length, 1);
    }
  });
});

describe("a rule is suspicious", () => {
  const approval: GateSpec = { name: "a", annotation: { key: "approved" } };
  const cases: Record<string, { over: Partial<RuleSpec>; found: ExpectedFinding }> = {
    "with an approval of deletions that only has to be there": {
      over: { until: [approval] },
      found: {
        path: "until[0].annotation",
        says: /^approved only has to be present.*ClusterUID to one deletion/,
      },
    },
    "with an approval of upgrades that only has to be there": {
      over: { hooks: ["BeforeClusterUpgrade"], until: [{ name: "l", label: { key: "approved" } }] },
      found: { path: "until[0].label", says: /TargetVersion to one upgrade/ },
    },
    "with something that a Namespace must have before each creation": {
      over: {
        hooks: ["BeforeClusterCreate"],
        until: [{ name: "a", annotation: { key: "a", from: "Namespace" } }],
      },
      found: { path: "until[0].annotation", says: /ClusterName to one creation/ },
    },
    "with such an approval inside of anyOf": {
      over: { until: [{ name: "any", anyOf: [quiet, approval] }] },
      found: { path: "until[0].anyOf[1].annotation", says: /only has to be present/ },
    },
    "that holds an upgrade which is under way": {
      over: { hooks: ["BeforeClusterUpgrade", "AfterControlPlaneUpgrade"] },
      found: { path: "hooks[1]", says: /^AfterControlPlaneUpgrade is asked once the upgrade is under way/ },
    },
    "with a schedule that means both kinds of days": {
      over: { until: [window({ allow: [{ schedule: "0 22 1 * FRI", duration: "8h" }] })] },
      found: { path: "until[0].window.allow[0].schedule", says: /days of the month/ },
    },
    "with an expression that reads nothing": {
      over: { until: [{ name: "e", expression: "1 > 2" }] },
      found: { path: "until[0].expression", says: /always the same/ },
    },
  };
  for (const [name, { over, found }] of Object.entries(cases))
    test(name, () => {
      check("warnings", over, found);
      const { warnings } = checkRules([rule(over)], []);
      for (const { id } of warnings) assert.match(id ?? "none", /^[a-z]+(-[a-z]+)+$/);
    });

  const fine: Record<string, Partial<RuleSpec>> = {
    "not with an approval that is bound to a value": { until: [quiet] },
    "not with an approval that is bound to the Cluster": {
      until: [{ name: "a", annotation: { key: "a", valueFrom: "ClusterUID" } }],
    },
    "not with what a Cluster must have when it is created, because it is created once": {
      hooks: ["BeforeClusterCreate"],
      until: [{ name: "l", label: { key: "cost-center" } }, approval],
    },
    "not with an approval after the operation": {
      hooks: ["AfterClusterUpgrade"],
      until: [approval],
    },
    "not for only observing an upgrade which is under way": { hooks: ["AfterWorkersUpgrade"] },
  };
  for (const [name, over] of Object.entries(fine)) {
    test(name, () => {
      const { until: _, ...observe } = rule(over);
      const spec = over.until === undefined ? observe : rule(over);
      assert.deepEqual(checkRules([spec], [], { mode: "Audit" }), { errors: [], warnings: [] });
    });
  }
});

describe("a field of the call that can be missing", () => {
  const warned = (
    hooks: RuleSpec["hooks"],
    expression = "request.fromKubernetesVersion == 'v1.34.0'",
  ): string[] =>
    checkRules([rule({ hooks, until: [{ name: "e", expression }] })], [])
      .warnings.map(({ id, message }) => `${id}: ${message}`)
      .filter((text) => text.includes("request."));

  test("is no matter on hooks that always send it", () => {
    assert.deepEqual(warned(["BeforeClusterUpgrade", "BeforeWorkersUpgrade"]), []);
    assert.deepEqual(warned(["AfterClusterUpgrade"], "request.targetVersion == 'v1.34.0'"), []);
  });

  test("is asked for first where one of the hooks lacks it", () => {
    assert.deepEqual(warned(["BeforeClusterUpgrade", "AfterClusterUpgrade"]), [
      "field-may-be-missing: column 8: request.fromKubernetesVersion is missing for AfterClusterUpgrade, and then the rule cannot be evaluated: ask first, as in has(request.fromKubernetesVersion) && …",
    ]);
  });

  test("is left out where none of them has it", () => {
    assert.deepEqual(warned(["BeforeClusterDelete"]), [
      "field-always-missing: column 8: BeforeClusterDelete has no request.fromKubernetesVersion, so the rule cannot be evaluated: leave it out",
    ]);
  });
});

describe("a clock of a rule that reads the version that an upgrade comes from", () => {
  const from = "request.fromKubernetesVersion.startsWith('v1.32')";
  const soak: GateSpec = { name: "soak", wait: { duration: "30m" } };
  const conditions = { matchConditions: [{ name: "c", expression: from }] };
  const warned = (over: Partial<RuleSpec>): string[] =>
    checkRules([rule({ hooks: ["BeforeClusterUpgrade"], ...over })], [])
      .warnings.filter(({ id }) => id === "from-version-not-shown")
      .map(({ message }) => message);

  test("is warned of where a Cluster may not show it", () => {
    const deadline = { after: "1h", onExpiry: "Allow" } as const;
    assert.match(
      warned({ ...conditions, until: [soak] })[0] ?? "",
      /^a Cluster may not show .* of BeforeClusterUp/,
    );
    assert.equal(warned({ ...conditions, deadline }).length, 1);
    const gate = { name: "e", anyOf: [{ name: "a", expression: `has(request.fromKubernetesVersion)` }] };
    assert.equal(warned({ hooks: ["BeforeWorkersUpgrade"], until: [gate, soak] }).length, 1);
    const named = object({ nameExpression: "request.fromKubernetesVersion", selector: undefined });
    assert.equal(warned({ until: [named, soak] }).length, 1);
  });

  test("is not where every Cluster shows it, nor a rule without a clock or without the version", () => {
    assert.deepEqual(warned({ ...conditions, hooks: ["BeforeControlPlaneUpgrade"], until: [soak] }), []);
    assert.deepEqual(warned(conditions), []);
    assert.deepEqual(warned({ until: [soak] }), []);
  });
});

describe("the expressions of a policy together", () => {
  // An error of its own, and different in each rule.
  const letters = (count: number, index = 15): string =>
    `true || ${String.fromCharCode(97 + index).repeat(count - 8)}`;
  const policy = (last: number): RuleSpec[] =>
    Array.from({ length: 16 }, (_, index) =>
      rule({
        name: `r${index}`,
        matchConditions: [{ name: "c", expression: letters(170, index) }],
        until: [
          { name: "e", expression: letters(171, index) },
          {
            name: "o",
            anyOf: [
              object({
                expression: letters(84, index),
                nameExpression: letters(87, index),
                selector: undefined,
              }),
            ],
          },
        ],
      }),
    ).with(15, rule({ name: "last", until: [{ name: "e", expression: letters(last) }] }));

  test("have at most so many letters", () => {
    const rest = 8192 - 15 * 512;
    const { errors } = checkRules(policy(rest), []);
    assert.equal(new Set(errors.map(({ path }) => path)).size, 15 * 4 + 1, "each of them is looked at");
  });

  test("are not even looked at when they have more, and the whole policy is not evaluable", () => {
    const rules = policy(8192 - 15 * 512 + 1);
    const { errors } = checkRules(rules, []);
    assert.deepEqual(
      errors.map(({ path }) => path),
      ["spec.rules"],
    );
    const compiled = compilePolicy("HookPolicy", hookPolicy({ rules }), servedHooks(14));
    assert.ok(compiled.rules.length === 16 && compiled.rules.every(({ problem }) => problem !== undefined));
  });
});
