/** A gate that is met when one of several is. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { AnyOfGateSpec } from "../../../../src/api/hook-policy.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import type { GateTrace } from "../../../../src/policy/policy.ts";
import { compileGate } from "../../../../src/policy/gates/gates.ts";
import type { World } from "../../../../src/policy/world.ts";
import { at, cluster, DELETE, gated, NOW, Operation, world, period } from "../../builders.ts";

const approval: AnyOfGateSpec = { name: "approved", annotation: { key: "approved", value: "yes" } };
const thawed: AnyOfGateSpec = { name: "thawed", label: { key: "thawed", from: "Namespace" } };
const labelled: AnyOfGateSpec = { name: "labelled", label: { key: "labelled" } };
const fails: AnyOfGateSpec = { name: "fails", expression: "cluster.metadata.labels['missing'] == 'x'" };
const later: AnyOfGateSpec = { name: "later", window: { allow: [period("+1h", "+2h")] } };
const clocked: AnyOfGateSpec = { name: "clocked", expression: "now > timestamp('2030-01-01T00:00:00Z')" };

const approved: Partial<World> = { cluster: cluster({ annotations: { approved: "yes" } }) };

function decided(anyOf: AnyOfGateSpec[], over: Partial<World> = {}): Decision {
  return new Operation([gated([{ name: "any", anyOf }])]).at(NOW, over);
}

function judged(anyOf: AnyOfGateSpec[], over: Partial<World> = {}): GateTrace {
  const gate = decided(anyOf, over).trace[0]?.rules[0]?.gates[0];
  assert.ok(gate, "the gate was asked");
  return gate;
}

describe("a gate that is met when one of several is", () => {
  const cases: Record<string, { anyOf: AnyOfGateSpec[]; over?: Partial<World>; want: [unknown, string] }> = {
    "is met when one of them is": { anyOf: [labelled, approval], over: approved, want: [true, "Holds"] },
    "is met when one of them is, beside one that cannot be evaluated": {
      anyOf: [fails, approval],
      over: approved,
      want: [true, "Holds"],
    },
    "waits when none is met": { anyOf: [labelled, approval], want: [false, "NoneHolds"] },
    "cannot be evaluated when none is met and one might be": {
      anyOf: [labelled, fails],
      want: [undefined, "ExpressionError"],
    },
    "cannot be evaluated for the reason of the first one that cannot": {
      anyOf: [thawed, fails],
      over: { namespace: undefined },
      want: [undefined, "NamespaceUnknown"],
    },
  };
  for (const [name, { anyOf, over = {}, want }] of Object.entries(cases)) {
    test(name, () => {
      const { met, reason } = judged(anyOf, over);
      assert.deepEqual([met, reason], want);
    });
  }
});

describe("its message", () => {
  test("says what each of them waits for, and how to release", () => {
    assert.match(
      decided([approval, later]).message,
      /gate any waits for one of: annotation approved=yes on Cluster team-a\/prod-1 \(kubectl annotate .* approved=yes\); or its window, which opens at 2026-11-21T13:00:00Z$/,
    );
  });

  test("shows nothing that was observed, also when one of them cannot be evaluated", () => {
    const secret = { cluster: cluster({ annotations: { approved: "s3cret" } }) };
    for (const anyOf of [
      [approval, labelled],
      [approval, fails],
    ]) {
      const decision = decided(anyOf, secret);
      assert.equal(decision.holds, true);
      assert.doesNotMatch(decision.message, /s3cret|present/);
    }
    assert.match(
      decided([approval, fails], secret).message,
      /gate any cannot be evaluated \(fails: .*missing/,
    );
  });
});

describe("by time alone", () => {
  test("it changes with the first of them that does", () => {
    assert.deepEqual(judged([later, approval]).changesAt, at("+1h"));
    assert.equal(judged([labelled, approval]).changesAt, undefined);
    assert.equal(judged([clocked, approval]).changesAt, "Unknown");
  });

  const opens = (anyOf: AnyOfGateSpec[], now: Date): unknown =>
    compileGate({ name: "any", anyOf }, { kind: "HookPolicy", name: "p" }).opensAt?.(now);

  test("it opens with the first of them that does", () => {
    assert.deepEqual(opens([approval, later], NOW), at("+1h"));
    assert.equal(opens([later, approval], at("+2h")), "Never");
    assert.equal(opens([clocked, approval], NOW), "Unknown");
    assert.deepEqual(opens([clocked, later], NOW), at("+1h"));
    assert.equal(opens([labelled, approval], NOW), undefined);
  });
});

test("what its members look at is what it looks at", () => {
  const object = { name: "object", object: { apiVersion: "v1", kind: "ConfigMap", name: "go" } };
  const gate = compileGate({ name: "any", anyOf: [later, object] }, { kind: "HookPolicy", name: "p" });
  assert.deepEqual(
    gate.windows?.map(({ gate: name }) => name),
    ["later"],
  );
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  assert.deepEqual(gate.demands, [{ kind, whole: false }]);
  assert.deepEqual(gate.queries?.({ world: world(), call: DELETE, now: NOW }), [
    { kind, whole: false, namespace: "team-a", name: "go" },
  ]);
  const plain = compileGate({ name: "any", anyOf: [approval, labelled] }, { kind: "HookPolicy", name: "p" });
  assert.deepEqual(Object.keys(plain), ["name", "evaluate", "requestFields"]);
});
