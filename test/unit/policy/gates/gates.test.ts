/** Gates on versions, windows and expressions: what is met, what is waited for, and what cannot be told. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../../../src/api/hook-policy.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import { compileGate } from "../../../../src/policy/gates/gates.ts";
import { CAUSE, type GateTrace } from "../../../../src/policy/policy.ts";
import type { World } from "../../../../src/policy/world.ts";
import { at, cluster, DELETE, gated, namespace, NOW, Operation, UPGRADE, world } from "../../builders.ts";

const POLICY = { kind: "HookPolicy", namespace: "team-a", name: "protect" } as const;

function decided(gate: object, over: Partial<World> = {}, call: HookCall = UPGRADE, now = NOW): Decision {
  const policy = gated([{ name: "g", ...gate }], { hooks: [call.hook] });
  return new Operation([policy], call).at(now, over);
}

function judged(...args: Parameters<typeof decided>): GateTrace {
  const gate = decided(...args).trace[0]?.rules[0]?.gates[0];
  assert.ok(gate, "the gate was asked");
  return gate;
}

describe("a version gate", () => {
  const gate = { version: { range: ">=1.34.0 <1.36.0" } };
  const upgradeTo = (version: string): HookCall => ({ ...UPGRADE, toKubernetesVersion: version });
  const cases: Record<string, { call: HookCall; want: [boolean | undefined, string] }> = {
    "is met for a version in the range": { call: upgradeTo("v1.35.2"), want: [true, "Holds"] },
    "is met for a build of a version in the range": {
      call: upgradeTo("v1.35.2+k3s1"),
      want: [true, "Holds"],
    },
    "does not hold for another one": { call: upgradeTo("v1.36.0"), want: [false, "VersionNotInRange"] },
    "does not hold for a pre-release": {
      call: upgradeTo("v1.35.0-rc.1"),
      want: [false, "VersionNotInRange"],
    },
    "looks at the version that a call after the upgrade names": {
      call: { hook: "AfterClusterUpgrade", kubernetesVersion: "v1.35.0" },
      want: [true, "Holds"],
    },
    "cannot tell of what is no version": {
      call: upgradeTo("latest"),
      want: [undefined, "TargetVersionUnknown"],
    },
    "cannot tell of a call without a version": {
      call: { hook: "BeforeClusterUpgrade" },
      want: [undefined, "TargetVersionUnknown"],
    },
  };
  for (const [name, { call, want }] of Object.entries(cases)) {
    test(name, () => {
      const { met, reason, changesAt } = judged(gate, {}, call);
      assert.deepEqual([met, reason], want);
      assert.equal(changesAt, undefined);
    });
  }

  test("says which version it does not take", () => {
    assert.match(
      decided(gate, {}, upgradeTo("v1.36.0")).message,
      /gate g waits for a Kubernetes version in the range ">=1\.34\.0 <1\.36\.0", not v1\.36\.0$/,
    );
  });
});

describe("a window gate", () => {
  const allow = [{ from: at("+1h").toISOString(), to: at("+2h").toISOString() }];
  const gate = { window: { allow } };

  test("waits for its window, and says when it opens", () => {
    const { met, reason, wanted, observed, changesAt } = judged(gate);
    assert.deepEqual(
      [met, reason, wanted, observed],
      [false, "WindowClosed", "its window, which opens at 2026-11-21T13:00:00Z", "closed"],
    );
    assert.deepEqual(changesAt, at("+1h"));
  });

  test("is met inside of its window, from its first instant on", () => {
    const { met, observed, changesAt } = judged(gate, {}, UPGRADE, at("+1h"));
    assert.deepEqual([met, observed], [true, "open until 2026-11-21T14:00:00Z"]);
    assert.deepEqual(changesAt, at("+2h"));
  });

  test("is met no more at the end of its window, and says when that was the last", () => {
    const { met, wanted, changesAt } = judged(gate, {}, UPGRADE, at("+2h"));
    assert.deepEqual([met, wanted, changesAt], [false, "its window, which does not open again", undefined]);
  });

  test("that is open for good says so", () => {
    const { met, observed } = judged({ window: { deny: allow } }, {}, UPGRADE, at("+2h"));
    assert.deepEqual([met, observed], [true, "open"]);
  });

  test("opens by time until its last window has passed", () => {
    const compiled = compileGate({ name: "g", ...gate }, POLICY);
    assert.deepEqual(compiled.opensAt?.(NOW), at("+1h"));
    assert.deepEqual(compiled.opensAt?.(at("+90m")), at("+90m"));
    assert.equal(compiled.opensAt?.(at("+2h")), "Never");
    assert.deepEqual(
      compiled.windows?.map(({ gate: name }) => name),
      ["g"],
    );
  });
});

describe("an expression gate", () => {
  const gate = { expression: "cluster.metadata.labels['tier'] == 'dev'" };
  const tier = (value: string): Partial<World> => ({ cluster: cluster({ labels: { tier: value } }) });

  test("is met when it is true", () => {
    const { met, reason, changesAt } = judged(gate, tier("dev"));
    assert.deepEqual([met, reason, changesAt], [true, "Holds", undefined]);
  });

  test("waits while it is false, and the message has neither CEL nor what was observed", () => {
    const expression = "cluster.metadata.labels['tier']\n   == 'dev'";
    const { message, trace } = decided({ expression }, tier("s3cret"));
    assert.match(message, /gate g waits for its expression to be true$/);
    const [result] = trace[0]?.rules[0]?.gates ?? [];
    assert.equal(result?.wantedInFull, "expression cluster.metadata.labels['tier'] == 'dev'");
  });

  test("has a message of its own, which replaces the operator's words", () => {
    const message = "the tier dev, which #platform sets";
    const quoted = /gate g waits for "the tier dev, which #platform sets"$/;
    assert.match(decided({ ...gate, message }, tier("other")).message, quoted);
    const anyOf = [
      { name: "a", ...gate, message },
      { name: "b", version: { range: ">=1.99" } },
    ];
    assert.match(
      decided({ anyOf }, tier("other")).message,
      /waits for one of: "the tier dev, .*sets"; or a Kube/,
    );
    const waiting = { wait: { duration: "1h" }, message: "a good night's sleep" };
    assert.match(decided(waiting).message, /gate g waits for "a good night's sleep"$/);
  });

  test("cannot be evaluated when a field is missing, and the message says which without what is there", () => {
    const { verdict, message } = decided(gate, { cluster: cluster({ labels: { other: "s3cret" } }) });
    assert.equal(verdict, "NotEvaluable");
    assert.match(message, /gate g cannot be evaluated \(.*tier/);
    assert.doesNotMatch(message, /s3cret/);
  });

  test("with the clock can change at any time", () => {
    const late = { expression: "now >= timestamp('2026-11-21T13:00:00Z')" };
    assert.deepEqual([judged(late).met, judged(late).changesAt], [false, "Unknown"]);
    assert.equal(judged(late, {}, UPGRADE, at("+1h")).met, true);
    assert.equal(compileGate({ name: "g", ...late }, POLICY).opensAt?.(NOW), "Unknown");
    assert.equal("opensAt" in compileGate({ name: "g", ...gate }, POLICY), false);
  });

  test("that does not compile is not evaluable, however it was stored", () => {
    const broken = compileGate({ name: "g", expression: "cluster.(" }, POLICY);
    assert.deepEqual(broken.evaluate({ world: world(), call: UPGRADE, now: NOW }).met, undefined);
    for (const field of ["expression", "nameExpression"]) {
      const object = { apiVersion: "v1", kind: "ConfigMap", selector: {}, absent: true, [field]: "object.(" };
      const gateOf = compileGate({ name: "g", object } as GateSpec, POLICY);
      assert.equal(gateOf.evaluate({ world: world(), call: UPGRADE, now: NOW }).met, undefined);
    }
  });
});

describe("any gate", () => {
  test("of a kind that this version does not know cannot be evaluated", () => {
    const gate = compileGate({ name: "g", sundial: {} } as GateSpec, POLICY);
    const { met, reason } = gate.evaluate({ world: world(), call: DELETE, now: NOW });
    assert.deepEqual([met, reason], [undefined, "UnknownGate"]);
  });

  test("that throws makes its rule not evaluable, and no other one", () => {
    const throwing = { find: (): never => assert.fail("a bug") };
    const object = { apiVersion: "v1", kind: "ConfigMap", name: "a" };
    const { verdict, holds, message, trace } = decided({ object }, { objects: throwing });
    assert.deepEqual([verdict, holds], ["NotEvaluable", true]);
    assert.doesNotMatch(message, /a bug/);
    const gate = trace[0]?.rules[0]?.gates[0];
    assert.equal(gate?.reason, "InternalError");
    assert.match(String(gate[CAUSE]), /a bug/);
    assert.doesNotMatch(JSON.stringify(trace), /a bug|cause/);
  });

  const kinds: Record<string, object> = {
    annotation: { annotation: { key: "a", value: "x" } },
    label: { label: { key: "a", from: "Namespace" } },
    version: { version: { range: "1.34.x" } },
    window: { window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] } },
    expression: { expression: "cluster.metadata.name == 'x'" },
    object: { object: { apiVersion: "v1", kind: "ConfigMap", selector: {} } },
    anyOf: {
      anyOf: [
        { name: "a", annotation: { key: "a" } },
        { name: "b", label: { key: "a" } },
      ],
    },
  };
  for (const [kind, gate] of Object.entries(kinds)) {
    test(`says the same each time (${kind}), and says what it waits for`, () => {
      const over = {
        cluster: cluster({ annotations: { a: "s3cret" }, labels: { b: "s3cret" } }),
        namespace: namespace(),
      };
      const decision = decided(gate, kind === "anyOf" ? {} : over);
      assert.deepEqual(decided(gate, kind === "anyOf" ? {} : over), decision);
      assert.equal(decision.verdict, "Blocked");
      assert.match(decision.message, /gate g waits for ./);
      assert.doesNotMatch(decision.message, /s3cret|undefined|\[object/);
    });
  }
});
