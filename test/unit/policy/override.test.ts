/** HookOverrides: which policies they keep from holding which operation, and for how long. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookOverride, HookOverrideSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { compileOverride } from "../../../src/policy/compile-override.ts";
import type { Override, World } from "../../../src/policy/world.ts";
import {
  APPROVED,
  at,
  clusterHookPolicy,
  failingWhenValidated,
  gated,
  hookOverride,
  hookPolicy,
  MAX_OVERRIDE_MS,
  NOW,
  Operation,
  override,
  rule,
} from "../builders.ts";

const fleet = clusterHookPolicy();
const own = hookPolicy();

function decided(
  overrides: readonly Override[],
  {
    policies = [own, fleet],
    now = NOW,
    ...over
  }: Partial<World> & { policies?: PolicyObject[]; now?: Date } = {},
): Decision {
  return new Operation(policies).at(now, { ...over, overrides });
}

describe("a HookOverride", () => {
  const ref = { namespace: "team-a", name: "prod-1" };
  const cases: Record<string, { spec: Partial<HookOverrideSpec>; now?: Date; holds: boolean }> = {
    "releases what every policy holds": { spec: {}, holds: false },
    "counts until it expires": { spec: {}, now: new Date(at("+1h").getTime() - 1), holds: false },
    "has no effect from the instant on at which it expires": { spec: {}, now: at("+1h"), holds: true },
    "is for the hooks that it names": { spec: { hooks: ["BeforeClusterUpgrade"] }, holds: true },
    "is for one of several hooks": {
      spec: { hooks: ["BeforeClusterUpgrade", "BeforeClusterDelete"] },
      holds: false,
    },
    "is for the Cluster that it names": { spec: { clusterRef: { ...ref, name: "prod-2" } }, holds: true },
    "is for the Cluster of the namespace that it names": {
      spec: { clusterRef: { ...ref, namespace: "team-b" } },
      holds: true,
    },
    "takes the Cluster of its uid": { spec: { clusterRef: { ...ref, uid: "uid-prod-1" } }, holds: false },
    "takes any Cluster of the name where its uid is null, which is to say absent": {
      spec: { clusterRef: { ...ref, uid: null as never } },
      holds: false,
    },
    "does not take a Cluster of another uid": {
      spec: { clusterRef: { ...ref, uid: "uid-before" } },
      holds: true,
    },
    "of one policy does not release what another one holds": {
      spec: { policyRefs: [{ kind: "HookPolicy", namespace: "team-a", name: "protect" }] },
      holds: true,
    },
    "of all policies by name releases": {
      spec: {
        policyRefs: [
          { kind: "HookPolicy", namespace: "team-a", name: "protect" },
          { kind: "ClusterHookPolicy", name: "fleet" },
        ],
      },
      holds: false,
    },
    "does not take a policy of another kind for the one that it names": {
      spec: {
        policyRefs: [
          { kind: "HookPolicy", namespace: "team-a", name: "fleet" },
          { kind: "ClusterHookPolicy", name: "protect" },
        ],
      },
      holds: true,
    },
  };
  for (const [name, { spec, now = NOW, holds }] of Object.entries(cases)) {
    test(name, () => assert.equal(decided([override(spec)], { now }).holds, holds));
  }

  test("leaves what other policies say as it is, and shows in the trace of those that it covers", () => {
    const policyRefs = [{ kind: "ClusterHookPolicy", name: "fleet" } as const];
    const { message, trace, verdict } = decided([override({ policyRefs })]);
    assert.equal(verdict, "Blocked");
    assert.match(message, /^HookPolicy team-a\/protect, /);
    assert.doesNotMatch(message, /fleet/);
    assert.deepEqual(
      trace.map(({ policy, overriddenBy, holds, rules, changesAt }) => [
        policy.name,
        overriddenBy,
        holds,
        rules[0]?.verdict,
        changesAt,
      ]),
      [
        ["protect", undefined, true, "Blocked", undefined],
        ["fleet", "let-go", false, "Blocked", at("+1h")],
      ],
    );
  });

  test("counts for a rule that cannot be evaluated", () => {
    const broken = gated([{ name: "n", label: { key: "a", from: "Namespace" } }]);
    const decision = decided([override()], { policies: [broken], namespace: undefined });
    assert.deepEqual([decision.verdict, decision.holds], ["Allowed", false]);
    assert.equal(decision.trace[0]?.overriddenBy, "let-go");
  });

  test("is not used by a policy that holds nothing", () => {
    const policies = [
      gated([
        { name: "w", window: { deny: [{ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" }] } },
      ]),
    ];
    assert.equal(decided([override()], { policies }).trace[0]?.overriddenBy, undefined);
  });

  test("does not stop the clocks of what it covers", () => {
    const policies = [
      gated([{ name: "a", annotation: { key: APPROVED } }], {
        deadline: { after: "30m", onExpiry: "KeepBlocking" },
      }),
    ];
    const operation = new Operation(policies);
    operation.at(NOW, { overrides: [override()] });
    assert.deepEqual(operation.at(at("+1h")).trace[0]?.rules[0]?.deadlineAt, at("+30m"));
  });

  test("changes nothing of an Audit policy's answer", () => {
    const audit = hookPolicy({ mode: "Audit" });
    const without = decided([], { policies: [audit] });
    const covered = decided([override()], { policies: [audit] });
    assert.deepEqual([without.verdict, without.holds, covered.holds], ["WouldBlock", false, false]);
    assert.equal(covered.trace[0]?.overriddenBy, "let-go");
  });
});

test("a HookOverride that a bug keeps from being validated has no effect", () => {
  const broken = compileOverride(failingWhenValidated(hookOverride()), MAX_OVERRIDE_MS);
  assert.equal(broken.problem?.reason, "InvalidSpec");
  assert.equal(decided([broken]).holds, true);
});

describe("a HookOverride that is being deleted", () => {
  const deleted = { deletionTimestamp: at("-1m").toISOString() };
  const ends = (...args: Parameters<typeof override>): Date => override(...args).expiresAt;

  test("has no effect any more", () => {
    assert.equal(decided([override({}, deleted)]).holds, true);
  });

  test("expired at its deletion, if not before", () => {
    assert.deepEqual(ends({}, deleted), at("-1m"));
    assert.deepEqual(ends({ expiresAt: at("-2m").toISOString() }, deleted), at("-2m"));
  });

  test("is too long as before, so that a clock which is behind does not revive it", () => {
    const tooLong = override({ expiresAt: at("+400h").toISOString() }, deleted);
    assert.equal(tooLong.problem?.reason, "TooLong");
  });
});

describe("of several overrides", () => {
  test("the one that lasts longest counts, and by name where they end together", () => {
    const short = override({}, { name: "a", uid: "a" });
    const long = override({ expiresAt: at("+2h").toISOString() }, { name: "c", uid: "c" });
    const same = override({ expiresAt: at("+2h").toISOString() }, { name: "b", uid: "b" });
    for (const overrides of [
      [short, long, same],
      [same, long, short],
    ]) {
      assert.equal(decided(overrides).trace[0]?.overriddenBy, "b");
    }
    assert.equal(decided([short, long, same], { now: at("+90m") }).trace[0]?.overriddenBy, "b");
  });
});

describe("an override has no effect", () => {
  const cases: Record<string, { object: HookOverride; reason: string }> = {
    "when it lasts longer than the maximum from its creation": {
      object: hookOverride({ expiresAt: at("+7d").toISOString() }),
      reason: "TooLong",
    },
    "when its creation time is unknown": {
      object: hookOverride({}, { creationTimestamp: "" }),
      reason: "TooLong",
    },
    "when it does not say what it is for": {
      object: { ...hookOverride(), spec: {} as HookOverrideSpec },
      reason: "InvalidSpec",
    },
    "when it has a field that this version does not know": {
      object: hookOverride({ exceptOn: "Friday" } as object),
      reason: "InvalidSpec",
    },
    "when its end is no instant": { object: hookOverride({ expiresAt: "tomorrow" }), reason: "InvalidSpec" },
  };
  for (const [name, { object, reason }] of Object.entries(cases)) {
    test(name, () => {
      const compiled = compileOverride(object, MAX_OVERRIDE_MS);
      assert.equal(compiled.problem?.reason, reason);
      assert.equal(decided([compiled]).holds, true);
    });
  }

  test("and one that is as long as the maximum has", () => {
    const expiresAt = new Date(at("-1h").getTime() + MAX_OVERRIDE_MS).toISOString();
    assert.equal(override({ expiresAt }).problem, undefined);
  });
});

test("an operation that is no longer overridden is held again", () => {
  const operation = new Operation([hookPolicy({ rules: [rule()] })]);
  const world = { overrides: [override()] };
  assert.equal(operation.at(NOW, world).holds, false);
  const after = operation.at(at("+1h"), world);
  assert.deepEqual([after.holds, after.retryAfterSeconds], [true, 10]);
});
