import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { Ajv } from "ajv";
import { CRD_SCHEMAS } from "../../../../src/api/crd-schemas.ts";
import * as fc from "fast-check";
import { changeErrors, validatePolicy } from "../../../../src/policy/validation/schema.ts";
import { invalidCorpus, kindOf, validCorpus } from "../../../corpus/corpus.ts";
import { runs } from "../../../generated.ts";

const KINDS = ["HookPolicy", "ClusterHookPolicy", "HookOverride", "HookRollout"] as const;

describe("a valid policy has no errors", () => {
  for (const { name, object } of validCorpus()) {
    test(name, () => assert.deepEqual(validatePolicy(kindOf(object), object), []));
  }
});

describe("an invalid policy has one error, at its place", () => {
  test("and a name of its own", () => {
    const names = invalidCorpus().map(({ name }) => name);
    assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted());
  });
  for (const { name, object, path, says } of invalidCorpus()) {
    test(name, () => {
      const errors = validatePolicy(kindOf(object), object);
      assert.deepEqual(
        errors.map((error) => error.path),
        [path],
      );
      assert.ok(errors[0]?.message.includes(says), errors[0]?.message);
    });
  }
});

describe("errors", () => {
  const rule = { name: "a", hooks: ["BeforeClusterDelete"] };
  const object = { metadata: { name: "x" }, spec: { rules: [rule] } };

  test("are complete and in the order of their paths", () => {
    const rules = Array.from({ length: 11 }, (_, i) => ({
      ...rule,
      name: `r${i}`,
      until: [{ name: `G${i}` }],
    }));
    const errors = validatePolicy("HookPolicy", { metadata: { name: "X" }, spec: { mode: "off", rules } });
    assert.deepEqual(
      errors.map(({ path }) => path),
      [
        "metadata.name",
        "spec.mode",
        ...rules.flatMap((_, i) => [`spec.rules[${i}].until[0]`, `spec.rules[${i}].until[0].name`]),
      ],
    );
  });

  test("are the same every time", () => {
    const broken = {
      metadata: { name: "X" },
      spec: { mode: 1, rules: [{ ...rule, hooks: ["x", "x"] }, rule, rule] },
    };
    assert.deepEqual(validatePolicy("HookPolicy", broken), validatePolicy("HookPolicy", broken));
  });

  test("leave the object as it is", () => {
    const frozen = structuredClone(object);
    validatePolicy("HookPolicy", frozen);
    assert.deepEqual(frozen, object);
  });

  test("tell when the object is of another kind or version", () => {
    const other = { ...object, apiVersion: "hookpolicy.dev/v1", kind: "ClusterHookPolicy" };
    assert.deepEqual(
      validatePolicy("HookPolicy", other).map(({ path }) => path),
      ["apiVersion", "kind"],
    );
  });

  test("do not judge the status, and leave metadata to the API server", () => {
    const stored = { ...object, metadata: { name: "x", futureField: 1 }, status: { rules: 1 } };
    assert.deepEqual(validatePolicy("HookPolicy", stored), []);
  });

  test("take generateName for a name that the API server will make", () => {
    assert.deepEqual(validatePolicy("HookPolicy", { ...object, metadata: { generateName: "x-" } }), []);
  });

  test("are about own fields only", () => {
    const tricky = JSON.parse(
      '{"metadata": {"name": "x"}, "spec": {"rules": [{"name": "a", "hooks": ["BeforeClusterDelete"]}], "__proto__": 1, "toString": 2}}',
    );
    assert.deepEqual(
      validatePolicy("HookPolicy", tricky).map(({ path }) => path),
      ["spec.__proto__", "spec.toString"],
    );
  });
});

describe("whatever comes in, there is a verdict", () => {
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });

  test("for any value", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        anything,
        (kind, value) => validatePolicy(kind, value).length > 0,
      ),
      runs(100),
    );
  });

  test("for any value anywhere in a policy", () => {
    const entry = fc.record({ schedule: anything, duration: anything, from: anything, to: anything });
    const kinds = {
      annotation: anything,
      label: anything,
      expression: anything,
      version: fc.oneof(anything, fc.record({ range: anything })),
      window: fc.oneof(anything, fc.record({ timeZone: anything, deny: fc.array(entry) })),
      object: fc.oneof(
        anything,
        fc.record({ kind: anything, name: anything, minCount: anything, absent: anything }),
      ),
    };
    const alternative = fc.record({ name: anything, ...kinds }, { requiredKeys: [] });
    const gate = fc.record(
      { name: anything, ...kinds, wait: anything, anyOf: fc.array(alternative) },
      { requiredKeys: [] },
    );
    const rule = fc.record({
      name: anything,
      hooks: anything,
      matchConditions: anything,
      until: fc.oneof(anything, fc.array(gate)),
      deadline: fc.oneof(anything, fc.record({ after: anything, onExpiry: anything })),
    });
    const spec = fc.record({
      mode: anything,
      clusterSelector: anything,
      rules: fc.oneof(anything, fc.array(rule)),
    });
    fc.assert(
      fc.property(spec, (value) =>
        Array.isArray(validatePolicy("HookPolicy", { metadata: { name: "x" }, spec: value })),
      ),
      runs(100),
    );
  });

  test("for a property that throws", () => {
    const object = {
      get spec() {
        throw new Error("gone");
      },
    };
    assert.deepEqual(validatePolicy("HookPolicy", object), [
      { path: "spec", message: "cannot be validated: gone" },
    ]);
  });

  test("soon, for a list of any length", () => {
    const started = process.cpuUsage();
    const rules = Array.from({ length: 200_000 }, () => ({ name: "a", hooks: ["BeforeClusterDelete"] }));
    assert.ok(validatePolicy("HookPolicy", { metadata: { name: "x" }, spec: { rules } }).length > 0);
    assert.ok(process.cpuUsage(started).user < 1_000_000);
  });

  test("soon, for as many errors as fit into a policy", () => {
    const deny = Array.from({ length: 32 }, () => ({ schedule: 1, duration: 1, from: 1, to: 1 }));
    const until = Array.from({ length: 16 }, (_, i) => ({ name: `g${i}`, window: { deny } }));
    const rules = Array.from({ length: 16 }, (_, i) => ({
      name: `r${i}`,
      hooks: ["BeforeClusterDelete"],
      until,
    }));
    const errors = validatePolicy("HookPolicy", { metadata: { name: "x" }, spec: { rules } });
    assert.equal(errors.length, 16 * 16 * 32 * 4);
  });
});

test("the schemas, which nothing checks when they are compiled, are valid themselves", () => {
  const ajv = new Ajv({ strict: false });
  for (const [kind, schema] of Object.entries(CRD_SCHEMAS))
    assert.ok(ajv.validateSchema(schema), `${kind}: ${ajv.errorsText()}`);
});

test("what cannot be changed is told", () => {
  const spec = {
    clusterRef: { namespace: "a", name: "b" },
    hooks: ["BeforeClusterDelete"],
    reason: "r",
    expiresAt: "2026-11-21T13:00:00Z",
  };
  const FINAL = "cannot be changed. Create another HookOverride";
  const policyRefs = [{ kind: "ClusterHookPolicy", name: "p" }];
  for (const [edit, expected] of [
    [{}, {}],
    [{ expiresAt: "2026-11-21T12:00:00+00:00" }, {}],
    [{ clusterRef: { name: "c", namespace: "a" } }, { "spec.clusterRef": FINAL }],
    [{ hooks: ["BeforeClusterUpgrade"] }, { "spec.hooks": FINAL }],
    [
      { policyRefs, reason: null },
      { "spec.policyRefs": FINAL, "spec.reason": FINAL },
    ],
    [
      { expiresAt: "2026-11-21T13:00:01Z" },
      { "spec.expiresAt": `can only become earlier than ${spec.expiresAt}. Create another HookOverride` },
    ],
  ] as const) {
    const found = changeErrors("HookOverride", { spec }, { spec: { ...spec, ...edit } });
    assert.deepEqual(Object.fromEntries(found.map(({ path, message }) => [path, message])), expected);
  }
  const [create, upgrade] = ["Create", "Upgrade"].map((operation) => ({ spec: { operation } }));
  assert.deepEqual(changeErrors("HookRollout", create!, upgrade!), [
    { path: "spec.operation", message: "cannot be changed. Create another HookRollout" },
  ]);
  assert.deepEqual(changeErrors("HookRollout", {}, upgrade!), []);
});
