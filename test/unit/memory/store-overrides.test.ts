/** HookOverrides in memory: they count at once, end by themselves, and are recorded when they let something go on. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookOverride, HookOverrideStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { overrideKey, OverrideSet } from "../../../src/memory/override-set.ts";
import type { PolicyApi } from "../../../src/status/policy-api.ts";
import { computeOverrideStatus } from "../../../src/status/override-reconciler.ts";
import {
  at,
  cluster,
  DELETE,
  gated,
  hookOverride,
  hookPolicy,
  MAX_OVERRIDE_MS,
  NOW,
  UPGRADE,
  letGo,
} from "../builders.ts";
import { reconcilerOf } from "../status/reconciling.ts";
import { type Fixture, passTo, rowsOf, storeWith } from "./fixtures.ts";

const KEY = overrideKey("let-go");
const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const policy = hookPolicy();

function releases(fixture: Fixture, on: Cluster = deleting): void {
  const request = { call: DELETE, cluster: on };
  const { now } = fixture.clock;
  const decision = fixture.store.decider.ask(request, now);
  assert.equal(decision.holds, false);
  fixture.setCluster(letGo(on));
}

describe("an override", () => {
  test("that comes ends the hold without a call, and one that expires begins it again by itself", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    assert.equal(rowsOf(fixture, policy).length, 1);
    fixture.setOverride(hookOverride());
    passTo(fixture, at("+1s"));
    assert.deepEqual(rowsOf(fixture, policy), []);
    passTo(fixture, at("+1h"));
    assert.equal(rowsOf(fixture, policy).length, 1);
  });

  const changes: Record<string, (fixture: Fixture) => void> = {
    "is deleted": ({ store }) => store.overrideChanged("let-go", undefined),
    "is shortened": (fixture) =>
      fixture.setOverride(hookOverride({ expiresAt: at("-1s").toISOString() }, { generation: 2 })),
    "is being deleted, which a finalizer keeps from its end": (fixture) =>
      fixture.setOverride(
        hookOverride({}, { generation: 2, deletionTimestamp: at("+0s").toISOString(), finalizers: ["x/y"] }),
      ),
    "is replaced by another one of its name": (fixture) =>
      fixture.setOverride(
        hookOverride({ clusterRef: { namespace: "team-a", name: "prod-2" } }, { uid: "again" }),
      ),
    "reads otherwise under another version of its CRD": (fixture) =>
      fixture.setOverride(hookOverride({ hooks: ["BeforeClusterUpgrade"] })),
  };
  for (const [name, change] of Object.entries(changes)) {
    test(`that ${name} holds no longer`, () => {
      const fixture = storeWith({ policies: [policy], clusters: [deleting], overrides: [hookOverride()] });
      passTo(fixture, at("+0s"));
      assert.deepEqual(rowsOf(fixture, policy), []);
      change(fixture);
      passTo(fixture, at("+1s"));
      assert.equal(rowsOf(fixture, policy).length, 1);
    });
  }

  test("that only its status changes costs nothing", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting], overrides: [hookOverride()] });
    passTo(fixture, at("+1s"));
    fixture.dirty.length = 0;
    fixture.setOverride({ ...hookOverride(), status: { usedCount: 1 } });
    passTo(fixture, at("+2s"));
    assert.deepEqual(fixture.dirty, [KEY]);
  });

  test("is reconciled again when it expires, also before everything was read", async () => {
    const fixture = storeWith({ overrides: [hookOverride()], load: false });
    const written: HookOverrideStatus[] = [];
    const replaceOverrideStatus: PolicyApi["replaceOverrideStatus"] = async ({ object }, status) => {
      written.push(status);
      return { ...object, status };
    };
    const reconciler = reconcilerOf(fixture, { replaceOverrideStatus }, { now: () => fixture.clock.now });
    assert.deepEqual(await reconciler.reconcile(KEY), { requeueAfterMs: 3_600_000 });
    passTo(fixture, at("+1h"));
    assert.deepEqual(await reconciler.reconcile(KEY), {});
    assert.deepEqual(
      written.map(({ conditions }) => conditions?.[0]?.reason),
      ["Active", "Expired"],
    );
  });
});

describe("what an override has let go on", () => {
  const overridden = (): Fixture =>
    storeWith({ policies: [policy], clusters: [deleting], overrides: [hookOverride()] });
  const used = (fixture: Fixture): unknown => fixture.store.overrides.get(KEY)?.used;

  test("is recorded once, with the policies that would have held it, and told of once", () => {
    const fixture = overridden();
    releases(fixture);
    passTo(fixture, at("+30s"));
    releases(fixture);
    const use = {
      hook: "BeforeClusterDelete",
      clusterUID: "uid-prod-1",
      time: "2026-11-21T12:00:00Z",
      policies: ["HookPolicy team-a/protect"],
    };
    assert.deepEqual(used(fixture), [use]);
    assert.deepEqual(
      fixture.events.map(({ reason, related, note }) => [reason, related?.name, note]),
      [
        [
          "OverrideUsed",
          "let-go",
          "BeforeClusterDelete proceeds because of HookOverride let-go, without HookPolicy team-a/protect",
        ],
      ],
    );
    assert.deepEqual(rowsOf(fixture, policy), []);
  });

  test("is recorded with the rollouts that it has lifted, with and without policies", () => {
    for (const policies of [[policy], []]) {
      const fixture = storeWith({
        policies,
        clusters: [deleting],
        overrides: [hookOverride()],
        liftedRollouts: ({ overrides }, hook) =>
          overrides.map(({ name }) => ({ holder: `HookRollout ${hook}`, override: name })),
      });
      releases(fixture);
      passTo(fixture, at("+30s"));
      const holders = [...policies.map(() => "HookPolicy team-a/protect"), "HookRollout BeforeClusterDelete"];
      const [use] = fixture.store.overrides.get(KEY)?.used ?? [];
      assert.deepEqual(use?.policies, holders);
      const { note } = fixture.events.find(({ reason }) => reason === "OverrideUsed") ?? {};
      assert.match(note ?? "", new RegExp(`HookOverride let-go, without ${holders.join(", ")}$`));
    }
  });

  test("is no news after a restart", () => {
    const fixture = overridden();
    releases(fixture);
    const entry = fixture.store.overrides.get(KEY)!;
    const object = { ...hookOverride(), status: computeOverrideStatus(entry, NOW) };
    const again = storeWith({ policies: [policy], clusters: [deleting], overrides: [object] });
    releases(again);
    assert.deepEqual([used(again), again.events], [[], []]);
  });

  test("is nothing where nothing was held, and nothing of Audit policies", () => {
    for (const other of [gated([{ name: "s", label: { key: "there" } }]), hookPolicy({ mode: "Audit" })]) {
      const on = cluster({ ...deleting.metadata, labels: { there: "" } });
      const fixture = storeWith({ policies: [other], clusters: [on], overrides: [hookOverride()] });
      releases(fixture, on);
      assert.deepEqual([used(fixture), fixture.events], [[], []]);
    }
  });

  test("is recorded by the policy, too: Overridden, and by which override", () => {
    const fixture = overridden();
    releases(fixture);
    const [result] = fixture.store.policies.get("HookPolicy/team-a/protect")?.recent ?? [];
    assert.deepEqual(
      [result?.verdict, result?.reason, result?.override],
      ["Allowed", "Overridden", "let-go"],
    );
  });

  test("does not outlive the override", () => {
    const fixture = overridden();
    releases(fixture);
    fixture.setOverride(hookOverride({}, { uid: "again" }));
    assert.deepEqual(used(fixture), []);
  });
});

describe("the status of an override", () => {
  const entryWith = (object: HookOverride): ReturnType<OverrideSet["get"]> & object => {
    const set = new OverrideSet(MAX_OVERRIDE_MS);
    set.set("let-go", object);
    const entry = set.get(KEY);
    assert.ok(entry);
    return entry;
  };
  const conditions = (object: HookOverride, now = NOW): unknown[] =>
    (computeOverrideStatus(entryWith(object), now).conditions ?? []).map(({ type, status, reason }) => [
      type,
      status,
      reason,
    ]);

  test("says what it lifts, and where", () => {
    const message = (object: HookOverride): string | undefined =>
      computeOverrideStatus(entryWith(object), NOW).conditions?.[0]?.message;
    assert.equal(
      message(hookOverride()),
      "Until 2026-11-21T13:00:00Z no policy and no rollout holds the Cluster at BeforeClusterDelete",
    );
    const policyRefs = [{ kind: "HookPolicy", namespace: "team-a", name: "protect" }] as const;
    assert.equal(
      message(hookOverride({ policyRefs: [...policyRefs] })),
      "Until 2026-11-21T13:00:00Z HookPolicy team-a/protect does not hold the Cluster at BeforeClusterDelete",
    );
  });

  test("says whether it is in force", () => {
    assert.deepEqual(conditions(hookOverride()), [["Active", "True", "Active"]]);
    assert.deepEqual(conditions(hookOverride(), at("+1h")), [["Active", "False", "Expired"]]);
    const long = hookOverride({ expiresAt: at("+30d").toISOString() });
    assert.deepEqual(conditions(long), [
      ["Active", "False", "TooLong"],
      ["Stalled", "True", "TooLong"],
    ]);
    assert.deepEqual(conditions(hookOverride({ hooks: [] })), [
      ["Active", "False", "InvalidSpec"],
      ["Stalled", "True", "InvalidSpec"],
    ]);
  });

  test("moves its transition time only when it changes", () => {
    const status = computeOverrideStatus(entryWith(hookOverride()), NOW);
    assert.deepEqual(computeOverrideStatus(entryWith({ ...hookOverride(), status }), at("+1m")), status);
    const expired = computeOverrideStatus(entryWith({ ...hookOverride(), status }), at("+2h"));
    assert.equal(expired.conditions?.[0]?.lastTransitionTime, "2026-11-21T14:00:00Z");
  });

  const use = (n: number, time = at(`+${n}s`)): Parameters<OverrideSet["use"]>[1] => ({
    ...UPGRADE,
    hook: "BeforeClusterUpgrade",
    clusterUID: `uid-${n}`,
    time: `${time.toISOString().slice(0, 19)}Z`,
    policies: [],
  });

  test("keeps the last twenty uses of two replicas, counts all, and then stands still", () => {
    const sets = [new OverrideSet(MAX_OVERRIDE_MS), new OverrideSet(MAX_OVERRIDE_MS)];
    let object = hookOverride();
    for (const set of sets) set.set("let-go", object);
    for (let n = 0; n < 15; n += 1) sets[0]?.use("let-go", use(n));
    for (let n = 15; n < 30; n += 1) sets[1]?.use("let-go", use(n));
    const writes = (): number => {
      let count = 0;
      for (const set of sets) {
        const entry = set.get(KEY);
        assert.ok(entry);
        const status = computeOverrideStatus(entry, NOW);
        if (JSON.stringify(status) === JSON.stringify(object.status)) continue;
        count += 1;
        object = { ...object, status };
        for (const other of sets) other.set("let-go", object);
      }
      return count;
    };
    assert.equal(writes(), 2);
    assert.equal(writes(), 0);
    assert.deepEqual([object.status?.used?.length, object.status?.usedCount], [20, 30]);
    assert.equal(object.status?.used?.[0]?.clusterUID, "uid-29");
  });

  test("stands still although more uses than it keeps were in the same second", () => {
    const set = new OverrideSet(MAX_OVERRIDE_MS);
    set.set("let-go", hookOverride());
    const compute = (): ReturnType<typeof computeOverrideStatus> => {
      const entry = set.get(KEY);
      assert.ok(entry);
      return computeOverrideStatus(entry, NOW);
    };
    for (let n = 0; n < 40; n += 1) {
      set.use("let-go", use(n, NOW));
      const status = compute();
      set.set("let-go", { ...hookOverride(), status });
      assert.deepEqual(compute(), status);
    }
  });
});
