/** Two replicas that learn of each other only by the status: they agree, stay silent, and let nothing go earlier. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { DecisionRow, GateSpec, HookPolicyStatus, RuleSpec } from "../../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { ObjectReader } from "../../../src/policy/watched-objects.ts";
import { APPROVED, at, cluster, DELETE, gated, hookPolicy, NOW, rule, UPGRADE, heldAt } from "../builders.ts";
import { entryOf, type Fixture, keyOf, passTo, rowsOf, statusOf, storeWith } from "./fixtures.ts";
import { runs } from "../../generated.ts";

const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };
const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const approved = cluster({ annotations: { [APPROVED]: "" } });

/** What the API server keeps of each policy, and who has written. */
class Replicas {
  readonly replicas: readonly Fixture[];
  readonly stored = new Map<string, PolicyObject>();
  writes = 0;

  constructor(policies: readonly PolicyObject[], clusters: Cluster[] = [cluster()], count = 2) {
    this.replicas = Array.from({ length: count }, () => storeWith({ policies: [...policies], clusters }));
    for (const policy of policies) this.stored.set(keyOf(policy), policy);
  }

  /** Both write what they want to until neither has anything to write. */
  settle(): void {
    for (let round = 0; round < 12; round += 1) if (!this.#round()) return;
    assert.fail("the replicas answer each other's writes for ever");
  }

  #round(): boolean {
    let wrote = false;
    for (const replica of this.replicas) {
      for (const [key, object] of this.stored) {
        const status = statusOf(replica, object);
        if (isSame(status, object.status)) continue;
        wrote = true;
        this.#write(key, { ...object, status });
      }
    }
    return wrote;
  }

  #write(key: string, object: PolicyObject): void {
    this.writes += 1;
    const resourceVersion = String(1000 + this.writes);
    const written = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.stored.set(key, written);
    for (const replica of this.replicas) replica.setPolicy(written);
  }

  passTo(now: Date): void {
    for (const replica of this.replicas) passTo(replica, now);
  }

  /** One replica is asked. */
  ask(index: number, call: HookCall, on: Cluster, now: Date): boolean {
    const replica = this.replicas[index];
    assert.ok(replica);
    for (const { clock } of this.replicas) clock.now = now;
    return replica.store.decider.ask({ call, cluster: on }, now).holds;
  }

  rows(policy: PolicyObject): readonly DecisionRow[] {
    return this.stored.get(keyOf(policy))?.status?.decisions ?? [];
  }
}

function isSame(a: HookPolicyStatus, b: HookPolicyStatus | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

test("a status that says what is known is not decided again", () => {
  let looks = 0;
  const objects: ObjectReader = {
    find: () => {
      looks += 1;
      return { ok: true, namespaced: true, objects: [] };
    },
  };
  const policy = gated([{ name: "go", object: { apiVersion: "v1", kind: "ConfigMap", name: "go" } }]);
  const fixture = storeWith({ policies: [policy], clusters: [deleting], objects });
  const status = statusOf(fixture, policy);
  assert.equal(status.decisions?.length, 1);
  const before = looks;
  fixture.setPolicy({ ...policy, status });
  assert.equal(looks, before);
  const [row] = status.decisions ?? [];
  const asked = at("-1h").toISOString();
  fixture.setPolicy({ ...policy, status: { ...status, decisions: [{ ...row!, firstAsked: asked }] } });
  assert.ok(looks > before, "another replica was asked earlier");
});

test("what is not evaluable counts as blocked from the first status after a restart", () => {
  const until = [{ name: "x", expression: "cluster.metadata.labels['none'] == ''" }];
  const counts = (failurePolicy: "Fail" | "Ignore", rules = [rule({ until })]): unknown[] => {
    const policy = hookPolicy({ failurePolicy, rules });
    const status = statusOf(storeWith({ policies: [policy], clusters: [deleting] }), policy);
    // No turn has time left for what is adopted.
    const again = storeWith({ policies: [{ ...policy, status }], clusters: [deleting], turnMs: -1 });
    return [status, statusOf(again, policy)].map(({ blocked, decisions }) => [
      blocked,
      decisions?.map(({ verdict }) => verdict),
    ]);
  };
  assert.deepEqual(counts("Fail"), [
    [1, ["NotEvaluable"]],
    [1, ["NotEvaluable"]],
  ]);
  assert.deepEqual(counts("Ignore"), [
    [0, ["NotEvaluable"]],
    [0, ["NotEvaluable"]],
  ]);
});

describe("two replicas", () => {
  test("of which each saw the operation at another time agree on the later start of a wait", () => {
    const policy = gated([soak], { hooks: ["BeforeClusterUpgrade"] });
    const upgrading = cluster({}, { topology: { className: "lab", version: "v1.35.0" } });
    const replicas = new Replicas([policy], [upgrading]);
    const [first, second] = replicas.replicas;
    first!.setCluster(heldAt("BeforeClusterUpgrade", upgrading));
    replicas.passTo(at("+5m"));
    second!.setCluster(heldAt("BeforeClusterUpgrade", upgrading));
    replicas.settle();
    assert.deepEqual(
      replicas
        .rows(policy)
        .map(({ firstAsked, timers, earliestRelease }) => [firstAsked, timers, earliestRelease]),
      [
        [
          "2026-11-21T12:00:00Z",
          [{ rule: "confirmed-delete", gatesMetSince: "2026-11-21T12:05:00Z" }],
          "2026-11-21T12:15:00Z",
        ],
      ],
    );
    assert.equal(replicas.ask(0, UPGRADE, upgrading, at("+14m")), true);
    assert.equal(replicas.ask(0, UPGRADE, upgrading, at("+15m")), false);
  });

  for (const [what, spec] of Object.entries({
    "an Audit policy": { mode: "Audit" as const },
    "a policy that cannot be evaluated and ignores that": {
      failurePolicy: "Ignore" as const,
      rules: [rule({ until: [{ name: "e", expression: "cluster.metadata.labels['a'] == 'b'" }] })],
    },
    "a policy with a wait": { rules: [rule({ until: [approval, soak] })] },
  })) {
    test(`that look at ${what} at different times write the same`, () => {
      const policy = hookPolicy(spec);
      const replicas = new Replicas([policy], []);
      for (const [index, replica] of replicas.replicas.entries()) {
        passTo(replica, at(`+${index * 7}m`));
        replica.setCluster(deleting);
      }
      replicas.settle();
      const { writes } = replicas;
      assert.equal(rowsOf(replicas.replicas[0]!, policy).length, 1);
      replicas.passTo(at("+1h"));
      replicas.settle();
      assert.ok(replicas.writes <= writes + 1);
    });
  }

  test("at rest write nothing, whatever they are asked", () => {
    const policy = gated([approval], { deadline: { after: "300h", onExpiry: "Allow" } });
    const replicas = new Replicas([policy], [deleting]);
    replicas.settle();
    const { writes } = replicas;
    for (let n = 1; n < 200; n += 1) {
      replicas.ask(n % 2, DELETE, deleting, at(`+${n * 5}s`));
      replicas.settle();
    }
    assert.equal(replicas.writes, writes);
  });
});

describe("what a row of another operation says", () => {
  const hooks: RuleSpec["hooks"] = ["BeforeControlPlaneUpgrade"];
  const deadline = { after: "1h", onExpiry: "Allow" } as const;
  const one = gated([approval], { hooks, deadline });
  const two = hookPolicy(
    { rules: [rule({ hooks, deadline, until: [approval] })] },
    { name: "two", uid: "two" },
  );
  const row = (version: string, offset: string): DecisionRow => ({
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "uid-prod-1",
    hook: "BeforeControlPlaneUpgrade",
    targetVersion: version,
    rule: "confirmed-delete",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "…",
    firstAsked: at(offset).toISOString(),
    since: at(offset).toISOString(),
    timers: [{ rule: "confirmed-delete", blockedSince: at(offset).toISOString() }],
  });
  const withRow = (policy: PolicyObject, decision: DecisionRow): PolicyObject => ({
    ...policy,
    status: { observedGeneration: 1, decisions: [decision] },
  });
  const before = row("v1.34.0", "-50m");
  const now = row("v1.35.0", "-5m");

  for (const [name, policies] of Object.entries({
    "before that of this one": [withRow(one, before), withRow(two, now)],
    "after that of this one": [withRow(two, now), withRow(one, before)],
  })) {
    test(`starts no clock of this one: read ${name}`, () => {
      const marks = { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" };
      const on = cluster({ annotations: marks });
      const upgrading = heldAt("BeforeControlPlaneUpgrade", on, ["v1.35.0"]);
      const fixture = storeWith({ policies, clusters: [upgrading] });
      const call: HookCall = { ...UPGRADE, hook: "BeforeControlPlaneUpgrade" };
      fixture.clock.now = at("+20m");
      const { trace, holds } = fixture.store.decider.ask({ call, cluster: upgrading }, at("+20m"));
      assert.equal(holds, true);
      assert.deepEqual(
        trace.map(({ policy, rules }) => [policy.name, rules[0]?.deadlineAt]),
        [
          ["protect", at("+1h")],
          ["two", at("+55m")],
        ],
      );
      assert.deepEqual(
        [one, two].map((policy) => rowsOf(fixture, policy)[0]?.since),
        ["2026-11-21T12:00:00Z", at("-5m").toISOString()],
      );
    });
  }
});

const anyPolicy = fc
  .record({
    until: fc.subarray(
      [approval, soak, { name: "any", anyOf: [approval, { name: "l", label: { key: "l" } }] }],
      {
        minLength: 1,
      },
    ),
    mode: fc.constantFrom("Enforce" as const, "Audit" as const),
    deadline: fc.option(
      fc.record({
        after: fc.constantFrom("7m", "20m"),
        onExpiry: fc.constantFrom("Allow" as const, "KeepBlocking" as const),
      }),
      { nil: undefined },
    ),
  })
  .map(({ until, mode, deadline }) =>
    hookPolicy({
      mode,
      rules: [rule({ hooks: ["BeforeClusterDelete"], until, ...(deadline && { deadline }) })],
    }),
  );
const step = fc.record({
  minutes: fc.integer({ min: 0, max: 9 }),
  replica: fc.integer({ min: 0, max: 1 }),
  what: fc.constantFrom("ask", "approve", "revoke", "settle"),
});

test("whatever they are asked and see, two replicas fall silent, and let nothing go before one alone would", () => {
  fc.assert(
    fc.property(anyPolicy, fc.array(step, { maxLength: 12 }), (policy, steps) => {
      const pair = new Replicas([policy], []);
      const alone = new Replicas([policy], [], 1);
      let minutes = 0;
      let version = 100;
      const set = (on: Cluster): void => {
        version += 1;
        const now = { ...on, metadata: { ...on.metadata, resourceVersion: String(version) } };
        for (const replica of [...pair.replicas, ...alone.replicas]) replica.setCluster(now);
      };
      const begun = { deletionTimestamp: NOW.toISOString() };
      set(cluster(begun));
      for (const { minutes: more, replica, what } of steps) {
        minutes += more;
        const now = at(`+${minutes}m`);
        pair.passTo(now);
        alone.passTo(now);
        if (what === "approve") set(cluster({ ...begun, annotations: { ...approved.metadata.annotations } }));
        else if (what === "revoke") set(cluster(begun));
        else if (what === "settle") pair.settle();
        const on = pair.replicas[0]!.cluster("team-a/prod-1")!;
        if (!pair.ask(replica, DELETE, on, now)) assert.equal(alone.ask(0, DELETE, on, now), false);
      }
      pair.settle();
      assert.deepEqual(
        pair.replicas
          .map((replica) => rowsOf(replica, policy))
          .map((rows) => rows.map(({ timers }) => timers)),
        [pair.rows(policy), pair.rows(policy)].map((rows) => rows.map(({ timers }) => timers)),
      );
      assert.equal(entryOf(pair.replicas[0]!, policy).matched.size, 1);
    }),
    runs(150),
  );
});
