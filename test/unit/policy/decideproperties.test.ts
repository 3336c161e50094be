/** Laws of decide(): whatever the policies, the Cluster and the call. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec, RuleSpec } from "../../../src/api/hookpolicy.ts";
import { HOOK_NAMES } from "../../../src/api/runtimehooks.ts";
import type { PolicyObject } from "../../../src/controller/policyset.ts";
import { decide } from "../../../src/policy/decide.ts";
import { cluster, clusterHookPolicy, compiled, hookPolicy, namespace, NOW, world } from "../builders.ts";

const key = fc.constantFrom("a", "b", "example.com/c");
const value = fc.constantFrom("", "x", "uid-prod-1", "v1.35.0");
const gate: fc.Arbitrary<GateSpec> = fc
  .record({
    key,
    from: fc.constantFrom("Cluster", "Namespace"),
    source: fc.oneof(
      fc.constant({}),
      value.map((wanted) => ({ value: wanted })),
      fc.constantFrom("ClusterName", "ClusterUID", "TargetVersion").map((valueFrom) => ({ valueFrom })),
    ),
    kind: fc.constantFrom("annotation", "label"),
  })
  .map(({ kind, source, ...rest }) => ({ name: "g", [kind]: { ...rest, ...source } }));
const gates = fc
  .array(gate, { maxLength: 3 })
  .map((list) => list.map((each, n) => ({ ...each, name: `g${n}` })));
const rule: fc.Arbitrary<RuleSpec> = fc
  .record({
    hooks: fc.subarray([...HOOK_NAMES], { minLength: 1 }),
    until: gates,
    retryAfterSeconds: fc.integer({ min: 5, max: 300 }),
  })
  .map(({ until, ...rest }) => ({ name: "r", ...rest, ...(until.length > 0 && { until }) }));
const policy: fc.Arbitrary<PolicyObject> = fc
  .record({
    mode: fc.constantFrom("Enforce", "Audit"),
    failurePolicy: fc.constantFrom("Fail", "Ignore"),
    rules: fc
      .array(rule, { minLength: 1, maxLength: 3 })
      .map((list) => list.map((each, n) => ({ ...each, name: `r${n}` }))),
    wide: fc.boolean(),
    name: fc.constantFrom("p", "q", "s"),
  })
  .map(({ wide, name, ...spec }) =>
    (wide ? clusterHookPolicy : hookPolicy)(spec as object, { name, uid: name }),
  );
const strings = fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true });
const worlds = fc
  .record({ labels: strings, annotations: strings, known: fc.boolean() })
  .map(({ known, ...meta }) =>
    world({ cluster: cluster(meta), namespace: known ? namespace(meta) : undefined }),
  );
const call = fc.record({ hook: fc.constantFrom(...HOOK_NAMES), toKubernetesVersion: fc.constant("v1.35.0") });

test("a decision is the same each time, and holds exactly when it has a retry and a message", () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 4 }), worlds, call, (policies, at, asked) => {
      const decision = decide(policies.map(compiled), at, asked, NOW);
      assert.deepEqual(decide(policies.map(compiled), at, asked, NOW), decision);
      assert.equal(decision.retryAfterSeconds > 0, decision.holds);
      assert.equal(decision.message !== "", decision.holds);
      assert.ok(Number.isInteger(decision.retryAfterSeconds) && decision.retryAfterSeconds <= 300);
      assert.ok(Buffer.byteLength(decision.message) <= 1024);
    }),
  );
});

test("another policy never releases", () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 3 }), policy, worlds, call, (policies, more, at, asked) => {
      const before = decide(policies.map(compiled), at, asked, NOW);
      const after = decide([...policies, more].map(compiled), at, asked, NOW);
      assert.ok(after.holds || !before.holds);
      assert.ok(!before.holds || after.retryAfterSeconds <= before.retryAfterSeconds);
    }),
  );
});

test("another gate never releases", () => {
  fc.assert(
    fc.property(rule, gate, worlds, call, (spec, more, at, asked) => {
      const decided = (until: readonly GateSpec[]): boolean =>
        decide([compiled(hookPolicy({ rules: [{ ...spec, until: [...until] }] }))], at, asked, NOW).holds;
      const until = spec.until ?? [];
      fc.pre(until.length > 0);
      assert.ok(decided([...until, { ...more, name: "more" }]) || !decided(until));
    }),
  );
});

test("losing the Namespace from memory never releases what a policy that fails closed holds", () => {
  fc.assert(
    fc.property(policy, worlds, call, (object, at, asked) => {
      const strict = compiled({ ...object, spec: { ...object.spec, failurePolicy: "Fail" } } as PolicyObject);
      const before = decide([strict], at, asked, NOW);
      const after = decide([strict], { ...at, namespace: undefined }, asked, NOW);
      assert.ok(after.holds || !before.holds);
    }),
  );
});

test("whatever is stored under a policy's name, nothing throws and nothing of it lets go what it may hold", () => {
  fc.assert(
    fc.property(fc.anything(), worlds, call, (spec, at, asked) => {
      const object = { ...hookPolicy(), spec } as PolicyObject;
      const policyOf = compiled(object);
      const decision = decide([policyOf], at, asked, NOW);
      if (policyOf.errors.length > 0 && !Array.isArray((spec as { rules?: unknown } | null)?.rules)) {
        assert.equal(decision.holds, asked.hook !== "AfterControlPlaneInitialized");
      }
    }),
    { numRuns: 500 },
  );
});
