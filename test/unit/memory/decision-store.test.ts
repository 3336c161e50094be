/** What is in memory after policies, Clusters, Namespaces and calls have changed, in any order. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { PolicyRow } from "../../../src/operations/rows.ts";
import {
  APPROVED,
  cluster,
  clusterHookPolicy,
  hookPolicy,
  namespace,
  NOW,
  rule,
  letGo,
  heldAt,
} from "../builders.ts";
import { type Fixture, keyOf, storeWith } from "./fixtures.ts";

const DELETE: HookCall = { hook: "BeforeClusterDelete" };
const upgradeTo = (version: string): HookCall => ({
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: "v1.34.0",
  toKubernetesVersion: version,
});
const DELETED_AT = "2026-11-21T11:00:00Z";
const deleting = cluster({ deletionTimestamp: DELETED_AT });
const approved = cluster({
  deletionTimestamp: DELETED_AT,
  annotations: { [APPROVED]: "true" },
  resourceVersion: "101",
});

function rows({ store }: Fixture, policy: PolicyObject = hookPolicy()): PolicyRow[] {
  return [...(store.policies.get(keyOf(policy))?.held.values() ?? [])];
}

function matched({ store }: Fixture, policy: PolicyObject = hookPolicy()): number | undefined {
  return store.policies.get(keyOf(policy))?.matched.size;
}

describe("a held operation", () => {
  test("is reported when the Cluster shows it, and a call changes nothing about it", () => {
    const creating = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterCreate"] })] });
    const begun = cluster({}, { created: false });
    const fixture = storeWith({ policies: [creating] });
    fixture.setCluster(begun);
    assert.ok(fixture.dirty.includes("HookPolicy/team-a/protect"));
    fixture.dirty.length = 0;
    const request = { call: { hook: "BeforeClusterCreate" as const }, cluster: begun };
    assert.equal(fixture.store.decider.ask(request, NOW).verdict, "Blocked");
    assert.deepEqual(
      rows(fixture, creating).map(({ verdict, rule: r, gate, firstAsked }) => [verdict, r, gate, firstAsked]),
      [["Blocked", "confirmed-delete", "approved", "2026-11-21T12:00:00Z"]],
    );
    assert.deepEqual(fixture.dirty, []);
  });

  test("asked for again and again is no news", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    fixture.store.decider.ask({ call: DELETE, cluster: deleting }, NOW);
    fixture.dirty.length = 0;
    for (let second = 1; second < 3600; second += 10) {
      fixture.store.decider.ask({ call: DELETE, cluster: deleting }, new Date(NOW.getTime() + second * 1000));
    }
    assert.deepEqual(fixture.dirty, []);
  });

  test("of a deletion is seen from the Cluster itself, and is as old as the deletion", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    fixture.setCluster({ ...deleting, metadata: { ...deleting.metadata, resourceVersion: "101" } });
    assert.equal(rows(fixture)[0]?.firstAsked, DELETED_AT);
  });

  const { topology: _, ...withoutTopology } = deleting;
  const unasked = {
    "without a topology": withoutTopology,
    "that is paused": cluster({ deletionTimestamp: DELETED_AT }, { paused: true }),
    "that may already be deleted": cluster({
      deletionTimestamp: DELETED_AT,
      annotations: { [OK_TO_DELETE_ANNOTATION]: "" },
    }),
  };
  for (const [name, on] of Object.entries(unasked)) {
    test(`is not reported for a Cluster ${name}: no hook is called for it`, () => {
      assert.deepEqual(rows(storeWith({ policies: [hookPolicy()], clusters: [on] })), []);
    });
  }

  test("is reported to a policy that comes later", () => {
    const fixture = storeWith({ clusters: [deleting] });
    fixture.setPolicy(hookPolicy());
    assert.equal(rows(fixture).length, 1);
  });

  test("is not reported for a Cluster that nobody knows, until it is known", () => {
    const fixture = storeWith({ policies: [hookPolicy()] });
    assert.equal(fixture.store.decider.ask({ call: DELETE, cluster: deleting }, NOW).verdict, "Blocked");
    assert.equal(rows(fixture).length, 0);
    fixture.setCluster(deleting);
    assert.equal(rows(fixture).length, 1);
  });
});

describe("a release", () => {
  test("shows as soon as the annotation does, without a call", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    fixture.setCluster(approved);
    assert.deepEqual(rows(fixture), []);
  });

  test("that is taken back before Cluster API asks again shows as held since then", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    fixture.setCluster(approved);
    fixture.clock.now = new Date("2026-11-21T12:05:00Z");
    fixture.setCluster({ ...deleting, metadata: { ...deleting.metadata, resourceVersion: "102" } });
    assert.deepEqual(
      rows(fixture).map(({ firstAsked, since }) => [firstAsked, since]),
      [[DELETED_AT, "2026-11-21T12:05:00Z"]],
    );
  });
});

describe("an operation ends", () => {
  const upgrade = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] });
  const wanting = heldAt(
    "BeforeClusterUpgrade",
    cluster({}, { topology: { className: "lab", version: "v1.35.0" } }),
  );
  const asked = (): Fixture => {
    const fixture = storeWith({ policies: [upgrade], clusters: [wanting] });
    fixture.store.decider.ask({ call: upgradeTo("v1.35.0"), cluster: wanting }, NOW);
    assert.equal(rows(fixture, upgrade).length, 1);
    return fixture;
  };
  const later = { resourceVersion: "101" };

  const cases = {
    "when the Cluster is gone": undefined,
    "when another Cluster has its name": cluster({ uid: "another", ...later }),
    "when the target is no longer wanted": cluster(later, {
      topology: { className: "lab", version: "v1.34.0" },
    }),
    "when Cluster API's mark shows that the upgrade has begun": cluster(
      { annotations: { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" }, ...later },
      { topology: { className: "lab", version: "v1.35.0" } },
    ),
  };
  for (const [name, now] of Object.entries(cases)) {
    test(name, () => {
      const fixture = asked();
      fixture.setCluster(now, "team-a/prod-1");
      assert.deepEqual(rows(fixture, upgrade), []);
    });
  }

  test("and what others keep of the Cluster is to be forgotten when it is gone, or replaced", () => {
    const fixture = asked();
    fixture.setCluster(cluster({ uid: "another", ...later }));
    fixture.setCluster(undefined, "team-a/prod-1");
    assert.deepEqual(fixture.gone, ["uid-prod-1", "another"]);
  });

  test("not by a change that says nothing about it", () => {
    const fixture = asked();
    fixture.setCluster(
      cluster({ labels: { a: "b" }, ...later }, { topology: { className: "lab", version: "v1.35.0" } }),
    );
    assert.equal(rows(fixture, upgrade).length, 1);
  });

  test("that the informer does not show yet begins when it does", () => {
    const fixture = storeWith({ policies: [upgrade], clusters: [cluster({ resourceVersion: "90" })] });
    fixture.store.decider.ask({ call: upgradeTo("v1.35.0"), cluster: wanting }, NOW);
    fixture.setCluster(cluster({ resourceVersion: "95", labels: { a: "b" } }));
    assert.equal(rows(fixture, upgrade).length, 0);
    fixture.clock.now = new Date("2026-11-21T13:00:00Z");
    fixture.setCluster(wanting);
    assert.deepEqual(
      rows(fixture, upgrade).map(({ firstAsked }) => firstAsked),
      ["2026-11-21T13:00:00Z"],
    );
  });

  test("and another target begins another one", () => {
    const fixture = asked();
    const next = cluster(later, { topology: { className: "lab", version: "v1.36.0" } });
    fixture.setCluster(next);
    assert.deepEqual(rows(fixture, upgrade), []);
    fixture.clock.now = new Date("2026-11-21T13:00:00Z");
    fixture.setCluster(heldAt("BeforeClusterUpgrade", next));
    assert.deepEqual(
      rows(fixture, upgrade).map(({ targetVersion, firstAsked }) => [targetVersion, firstAsked]),
      [["v1.36.0", "2026-11-21T13:00:00Z"]],
    );
  });

  test("when the mark of an After hook goes", () => {
    const after = hookPolicy({ rules: [rule({ hooks: ["AfterControlPlaneUpgrade"] })] });
    const marks = { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade,AfterControlPlaneUpgrade" };
    const marked = heldAt("AfterControlPlaneUpgrade", cluster({ annotations: marks }));
    const fixture = storeWith({ policies: [after], clusters: [marked] });
    fixture.store.decider.ask(
      { call: { hook: "AfterControlPlaneUpgrade", kubernetesVersion: "v1.35.0" }, cluster: marked },
      NOW,
    );
    assert.equal(rows(fixture, after).length, 1);
    fixture.setCluster(
      cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" }, ...later }),
    );
    assert.deepEqual(rows(fixture, after), []);
  });
});

describe("an operation that has ended", () => {
  const after = hookPolicy({ rules: [rule({ hooks: ["AfterClusterUpgrade"] })] });
  const call: HookCall = { hook: "AfterClusterUpgrade", kubernetesVersion: "v1.35.0" };

  test("does not begin again because Cluster API asks once more from a cache that lags", () => {
    const annotations = { [APPROVED]: "", [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" };
    const pending = cluster({ annotations, resourceVersion: "110" });
    const fixture = storeWith({ policies: [after], clusters: [pending] });
    fixture.store.decider.ask({ call, cluster: pending }, NOW);
    fixture.setCluster(cluster({ annotations: { [APPROVED]: "" }, resourceVersion: "120" }));
    fixture.store.decider.ask({ call, cluster: pending }, NOW);
    fixture.setCluster(cluster({ resourceVersion: "130" }));
    assert.deepEqual(rows(fixture, after), []);
  });

  test("is over for a step of the control plane when the whole upgrade is", () => {
    const step = hookPolicy({ rules: [rule({ hooks: ["BeforeControlPlaneUpgrade"] })] });
    const marks = { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" };
    const upgrading = heldAt("BeforeControlPlaneUpgrade", cluster({ annotations: marks }), ["v1.35.0"]);
    const fixture = storeWith({ policies: [step], clusters: [upgrading] });
    fixture.store.decider.ask(
      { call: { ...upgradeTo("v1.35.0"), hook: "BeforeControlPlaneUpgrade" }, cluster: upgrading },
      NOW,
    );
    assert.equal(rows(fixture, step).length, 1);
    fixture.setCluster(cluster({ resourceVersion: "120" }));
    assert.deepEqual(rows(fixture, step), []);
  });
});

test("a go that shows again and again is one result", () => {
  const fixture = storeWith({ policies: [hookPolicy()] });
  const annotations = { [APPROVED]: "" };
  for (let n = 0; n < 110; n += 1) {
    const on = cluster({ ...deleting.metadata, name: `c${n % 11}`, uid: `u${n % 11}`, annotations });
    fixture.setCluster(on);
    fixture.setCluster(letGo(on));
  }
  assert.equal(fixture.store.policies.get(keyOf(hookPolicy()))?.recent.length, 10);
});

describe("rows of the stored status", () => {
  const row = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "uid-prod-1",
    hook: "BeforeClusterUpgrade",
    targetVersion: "v1.34.0",
    rule: "confirmed-delete",
    gate: "approved",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "…",
    firstAsked: "2026-11-20T08:00:00Z",
    since: "2026-11-20T09:00:00Z",
  } as const;
  const stored = (over: object = {}): PolicyObject => ({
    ...hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade", "BeforeClusterDelete"] })] }),
    status: { observedGeneration: 1, decisions: [{ ...row, ...over }] },
  });

  test("are kept over a restart with their times", () => {
    const fixture = storeWith({ policies: [stored()], clusters: [cluster()] });
    assert.deepEqual(
      rows(fixture).map(({ firstAsked, since, holds }) => [firstAsked, since, holds]),
      [["2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z", true]],
    );
  });

  test("of another uid are dropped", () => {
    assert.deepEqual(
      rows(storeWith({ policies: [stored({ clusterUID: "gone" })], clusters: [cluster()] })),
      [],
    );
  });

  test("with a time that is none are dropped, and stop nothing", () => {
    const policy = stored({ firstAsked: "2026-11-21T11:00:00+99:99" });
    assert.deepEqual(rows(storeWith({ policies: [policy], clusters: [cluster()] })), []);
  });

  test("about another step than the Cluster shows are dropped, on every replica alike", () => {
    const marks = { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" };
    const upgrading = heldAt("BeforeControlPlaneUpgrade", cluster({ annotations: marks }), ["v1.34.0"]);
    for (const targetVersion of ["v1.33.0", "v1.35.0"]) {
      const step = { hook: "BeforeControlPlaneUpgrade", targetVersion };
      const rules = [rule({ hooks: ["BeforeControlPlaneUpgrade"] })];
      const policy = { ...stored(step), spec: hookPolicy({ rules }).spec } as PolicyObject;
      const fixture = storeWith({ policies: [policy], clusters: [upgrading] });
      assert.deepEqual(
        rows(fixture, policy).map((shown) => [shown.targetVersion, shown.firstAsked]),
        [["v1.34.0", "2026-11-21T12:00:00Z"]],
      );
    }
  });

  test("are dropped when their gate is met by now", () => {
    const on = cluster({ annotations: { [APPROVED]: "" } });
    assert.deepEqual(rows(storeWith({ policies: [stored()], clusters: [on] })), []);
  });

  test("written by another replica bring the earlier times with them", () => {
    const policy = stored();
    const { status: _, ...bare } = policy;
    const fixture = storeWith({ policies: [bare], clusters: [cluster()] });
    fixture.store.decider.ask({ call: upgradeTo("v1.34.0"), cluster: cluster() }, NOW);
    fixture.setPolicy({ ...policy, metadata: { ...policy.metadata, resourceVersion: "200" } });
    assert.deepEqual(
      rows(fixture).map(({ firstAsked, since }) => [firstAsked, since]),
      [["2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"]],
    );
  });
});

describe("matched Clusters", () => {
  const tier = { clusterSelector: { matchLabels: { tier: "production" } } };

  test("follow the Cluster's labels", () => {
    const fixture = storeWith({ policies: [hookPolicy(tier)], clusters: [cluster()] });
    assert.equal(matched(fixture), 0);
    fixture.setCluster(cluster({ labels: { tier: "production" }, resourceVersion: "101" }));
    assert.equal(matched(fixture), 1);
    fixture.setCluster(undefined, "team-a/prod-1");
    assert.equal(matched(fixture), 0);
  });

  test("follow the Namespace's labels", () => {
    const policy = clusterHookPolicy({ namespaceSelector: { matchLabels: { frozen: "true" } } });
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    assert.equal(matched(fixture, policy), 0);
    fixture.setNamespace(namespace({ labels: { frozen: "true" } }));
    assert.equal(matched(fixture, policy), 1);
    assert.equal(rows(fixture, policy).length, 1);
  });

  test("follow the policy's selector", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    assert.equal(matched(fixture), 1);
    fixture.setPolicy(hookPolicy(tier, { generation: 2, resourceVersion: "101" }));
    assert.equal(matched(fixture), 0);
  });
});

test("a change of a Cluster that no policy can see costs nothing", () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
  fixture.dirty.length = 0;
  fixture.setCluster({ ...deleting, metadata: { ...deleting.metadata, resourceVersion: "999" } });
  assert.deepEqual(fixture.dirty, []);
});

test("nothing is decided from memory before everything was read", () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting], load: false });
  assert.equal(fixture.store.loaded, false);
  assert.deepEqual(rows(fixture), []);
});

test("a step whose mark comes and goes twice is one result, whatever plan the status shows meanwhile", () => {
  const policy = hookPolicy({ rules: [{ name: "seen", hooks: ["AfterControlPlaneUpgrade"] }] });
  const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
  const marks = "AfterClusterUpgrade,AfterControlPlaneUpgrade";
  for (const plan of [["v1.34.0"], []]) {
    const annotations = { [PENDING_HOOKS_ANNOTATION]: marks };
    fixture.setCluster(cluster({ annotations }, { progress: { plan } }));
    fixture.setCluster(cluster({}, { progress: { plan } }));
  }
  assert.deepEqual(
    fixture.store.policies.get(keyOf(policy))?.recent.map((result) => [result.hook, result.targetVersion]),
    [["AfterControlPlaneUpgrade", "v1.34.0"]],
  );
});

test("calls about invented Clusters leave nothing behind", () => {
  const CREATE = { hook: "BeforeClusterCreate" as const };
  const creating = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterCreate"] })] });
  const invented = cluster({ uid: "invented" }, { created: false });
  const fixture = storeWith({ policies: [creating] });
  assert.ok(fixture.store.decider.ask({ call: CREATE, cluster: invented }, NOW).holds);
  fixture.setCluster(cluster({ uid: "invented" }));
  assert.deepEqual(rows(fixture, creating), []);
  fixture.clock.now = new Date("2026-11-21T13:00:00Z");
  fixture.setCluster(invented);
  assert.equal(rows(fixture, creating)[0]?.firstAsked, "2026-11-21T13:00:00Z");
});
