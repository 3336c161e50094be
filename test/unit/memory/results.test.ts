/** What policies keep of operations that have proceeded, and of requests that were refused at admission. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { LogFields } from "../../../src/lib/logger.ts";
import type { HookOverride } from "../../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { recentResult } from "../../../src/operations/rows.ts";
import { decide } from "../../../src/policy/decide.ts";
import {
  ALL_HOOKS,
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  hookOverride,
  hookPolicy,
  letGo,
  NOW,
  rule,
  UPGRADE,
} from "../builders.ts";
import { reading, stored, task, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";
import { type Fixture, keyOf, silent, statusOf, storeWith } from "./fixtures.ts";

const denies = rule({ admission: "Deny", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"] });
const policy = hookPolicy({ rules: [denies] });

/** As the webhook does for a review of the API server. */
function attempt({ store, clock }: Fixture, call: HookCall = DELETE, requested: Cluster = cluster()): void {
  const decision = store.decider.refusal({ call, cluster: requested, admission: true }, clock.now);
  assert.ok(decision?.holds);
  store.requestRefused({ call, cluster: requested }, decision);
}

const recent = (fixture: Fixture, of: PolicyObject = policy): unknown[] =>
  (statusOf(fixture, of).recent ?? []).map(({ verdict, hook, rule: by, gate, reason, targetVersion }) => [
    verdict,
    hook,
    by,
    gate,
    reason,
    targetVersion,
  ]);

describe("a refused request", () => {
  const row = [
    "Refused",
    "BeforeClusterDelete",
    "confirmed-delete",
    "approved",
    "WaitingForAnnotation",
    undefined,
  ];

  test("is in the status of the policy, and told of, once for the Cluster and the rule", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    fixture.dirty.length = 0;
    attempt(fixture);
    assert.deepEqual(recent(fixture), [row]);
    assert.deepEqual(fixture.dirty, ["HookPolicy/team-a/protect"]);
    fixture.clock.now = at("+1h");
    attempt(fixture);
    attempt(fixture);
    assert.deepEqual(recent(fixture), [row]);
    assert.deepEqual(
      fixture.events.map(({ reason }) => reason),
      ["Refused"],
    );
    assert.equal(fixture.dirty.length, 1);
  });

  test("is recorded again for another rule, another target and another Cluster", () => {
    const second = rule({ ...denies, name: "second", until: [{ name: "too", label: { key: "ok" } }] });
    const both = hookPolicy({ rules: [denies, second] });
    const other = cluster({ name: "prod-2", uid: "uid-prod-2" });
    const fixture = storeWith({ policies: [both], clusters: [cluster(), other] });
    attempt(fixture);
    const approved = cluster({ annotations: { [APPROVED]: "yes" } });
    attempt(fixture, DELETE, approved);
    attempt(fixture, { ...UPGRADE, toKubernetesVersion: "v1.36.0" });
    attempt(fixture, { ...UPGRADE, toKubernetesVersion: "v1.36.0" });
    attempt(fixture, DELETE, other);
    assert.equal(fixture.events.length, 4);
    assert.equal(recent(fixture, both).length, 4);
  });

  test("is no news to another replica, nor after a restart", () => {
    const first = storeWith({ policies: [policy], clusters: [cluster()] });
    attempt(first);
    const status = statusOf(first, policy);
    const later = storeWith({ policies: [{ ...policy, status }], clusters: [cluster()] });
    later.clock.now = at("+1h");
    attempt(later);
    assert.deepEqual(later.events, []);
    assert.deepEqual(statusOf(later, { ...policy, status }).recent, status.recent);
  });

  test("is told of by each policy that refuses it, and not by the others", () => {
    const fleet = clusterHookPolicy({ rules: [denies] });
    const only = hookPolicy({ rules: [rule()] }, { name: "only-hook", uid: "uid-only-hook" });
    const fixture = storeWith({ policies: [policy, fleet, only], clusters: [cluster()] });
    attempt(fixture);
    assert.equal(fixture.events.length, 2);
    assert.deepEqual(recent(fixture, only), []);
  });

  test("about a Cluster that is not in memory is not recorded: it is new, or invented", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    fixture.dirty.length = 0;
    attempt(fixture, DELETE, cluster({ name: "new", uid: "uid-new" }));
    attempt(fixture, DELETE, cluster({ uid: "another life" }));
    assert.deepEqual([fixture.dirty, fixture.events, recent(fixture)], [[], [], []]);
  });

  test("with ever other targets is recorded so many times, and does not keep out what proceeds", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    for (let patch = 0; patch < 100; patch += 1)
      attempt(fixture, { ...UPGRADE, toKubernetesVersion: `v1.36.${patch}` });
    assert.equal(fixture.events.length, 32);
    assert.equal(recent(fixture).length, 10);
  });
});

const approved = cluster({
  deletionTimestamp: "2026-11-21T11:00:00Z",
  annotations: { [APPROVED]: "true" },
  resourceVersion: "101",
});

describe("an operation that has proceeded", () => {
  test("is recorded by the policies that spoke", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
    fixture.setCluster(letGo(approved));
    assert.deepEqual(fixture.store.policies.get(keyOf(hookPolicy()))?.recent, [
      {
        namespace: "team-a",
        cluster: "prod-1",
        clusterUID: "uid-prod-1",
        hook: "BeforeClusterDelete",
        verdict: "Allowed",
        reason: "GatesHold",
        time: "2026-11-21T12:00:00Z",
      },
    ]);
  });

  test("is recorded if the write that shows it deletes the approval, as Cluster API's can", () => {
    const creation = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterCreate"] })] });
    const fixture = storeWith({ policies: [creation], clusters: [{ ...cluster(), created: false }] });
    fixture.setCluster({ ...cluster({ annotations: { [APPROVED]: "true" } }), created: false });
    fixture.setCluster(cluster());
    const row = ["Allowed", "BeforeClusterCreate", undefined, undefined, "GatesHold", undefined];
    assert.deepEqual(recent(fixture, creation), [row]);
    assert.deepEqual(
      fixture.holds.map(({ reason }) => reason),
      ["Held", "Released"],
    );
  });

  const asked = { hooks: ["BeforeClusterCreate" as const] };
  const kinds: Readonly<Record<string, [PolicyObject["spec"], HookOverride[]]>> = {
    "a policy in mode Audit": [{ mode: "Audit", rules: [rule(asked)] }, []],
    "a policy that an override lifts": [
      { rules: [rule(asked)] },
      [hookOverride({ hooks: ["BeforeClusterCreate"] })],
    ],
    "a policy that ignores what is not evaluable": [
      {
        failurePolicy: "Ignore",
        rules: [
          rule({
            ...asked,
            until: [{ name: "e", expression: `cluster.metadata.annotations['${APPROVED}'] == 'true'` }],
          }),
        ],
      },
      [],
    ],
  };
  for (const [name, [spec, overrides]] of Object.entries(kinds)) {
    test(`then also by ${name}`, () => {
      const creation = hookPolicy(spec);
      const clusters = [{ ...cluster({ annotations: { [APPROVED]: "true" } }), created: false }];
      const fixture = storeWith({ policies: [creation], clusters, overrides });
      fixture.setCluster(cluster());
      assert.deepEqual(
        [fixture.store.policies.get(keyOf(creation))?.recent.map(({ reason }) => reason), fixture.events],
        [["GatesHold"], []],
      );
    });
  }

  test("by a user's mark, while one policy holds, is recorded by the others; the log names that one", () => {
    const told: unknown[] = [];
    const log = { ...silent, warn: (message: string, fields?: LogFields) => told.push(message, fields) };
    const until = [{ name: "backup", annotation: { key: "example.com/backup" } }];
    const other = hookPolicy({ rules: [rule({ until })] }, { name: "backup", uid: "uid-backup" });
    const fixture = storeWith({ policies: [policy, other], clusters: [approved], log });
    fixture.setCluster(letGo(approved));
    assert.deepEqual([recent(fixture).length, recent(fixture, other).length], [1, 0]);
    assert.deepEqual(told, [
      "An operation has proceeded that policies hold",
      {
        hook: "BeforeClusterDelete",
        cluster: "team-a/prod-1",
        policies: ["HookPolicy team-a/backup"],
        reasons: ["WaitingForAnnotation"],
      },
    ]);
  });

  test("at a hook after the control plane is not seen when Cluster API creates the Cluster", () => {
    const observing = hookPolicy({ rules: [{ name: "see", hooks: ["AfterControlPlaneInitialized"] }] });
    const marked = { [PENDING_HOOKS_ANNOTATION]: "AfterControlPlaneInitialized" };
    const fixture = storeWith({ policies: [observing], clusters: [{ ...cluster(), created: false }] });
    // Cluster API 1.14 marks the Cluster, removes the mark with the references, and marks it again.
    fixture.setCluster({ ...cluster({ annotations: marked }), created: false });
    fixture.setCluster(cluster());
    fixture.setCluster(cluster({ annotations: marked }));
    assert.deepEqual(recent(fixture, observing), []);
    fixture.clock.now = at("+1h");
    fixture.setCluster(cluster());
    assert.deepEqual(recent(fixture, observing), [
      ["Observed", "AfterControlPlaneInitialized", undefined, undefined, "Observed", undefined],
    ]);
  });
});

describe("a version that changes while the upgrade's mark is there", () => {
  const KEY = "example.com/version";
  const until = [{ name: "version", annotation: { key: KEY, valueFrom: "TargetVersion" as const } }];
  const each = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"], until })] });
  const upgrading = (version: string, approval = "v1.35.0", marks = "AfterClusterUpgrade"): Cluster =>
    cluster(
      { annotations: { [KEY]: approval, ...(marks !== "" && { [PENDING_HOOKS_ANNOTATION]: marks }) } },
      { topology: { className: "lab", version } },
    );
  const allowed = (version: string): unknown[] => [
    "Allowed",
    "BeforeClusterUpgrade",
    undefined,
    undefined,
    "GatesHold",
    version,
  ];
  const unasked = (version: string): unknown[] => [
    "NotAsked",
    "BeforeClusterUpgrade",
    "confirmed-delete",
    "version",
    "WaitingForAnnotation",
    version,
  ];
  /** An upgrade to v1.35.0 that the policy released. */
  function released(...policies: PolicyObject[]): Fixture & { readonly told: unknown[] } {
    const told: unknown[] = [];
    const log = { ...silent, warn: (message: string, fields?: LogFields) => told.push(message, fields) };
    const clusters = [upgrading("v1.35.0", "v1.35.0", "")];
    const fixture = storeWith({ policies: [each, ...policies], clusters, log });
    fixture.setCluster(upgrading("v1.35.0"));
    assert.deepEqual([recent(fixture, each), told], [[allowed("v1.35.0")], []]);
    fixture.clock.now = at("+1m");
    return { ...fixture, told };
  }

  test("has passed the hook without a question: recorded, logged and told of", () => {
    const other = hookPolicy({ rules: [rule()] }, { name: "of-deletions", uid: "uid-of-deletions" });
    const fixture = released(other);
    fixture.setCluster(upgrading("v1.36.0"));
    assert.deepEqual(recent(fixture, each), [unasked("v1.36.0"), allowed("v1.35.0")]);
    assert.deepEqual(recent(fixture, other), []);
    assert.deepEqual(
      fixture.events.map(({ reason }) => reason),
      ["NotAsked"],
    );
    assert.deepEqual(fixture.told, [
      "The version has changed while an upgrade runs, and no BeforeClusterUpgrade is asked about it",
      {
        hook: "BeforeClusterUpgrade",
        version: "v1.36.0",
        cluster: "team-a/prod-1",
        policies: ["HookPolicy team-a/protect"],
        reasons: ["WaitingForAnnotation"],
      },
    ]);
    // No other change of the Cluster is news.
    fixture.setCluster(upgrading("v1.36.0", "v1.35.0", "AfterClusterUpgrade,AfterControlPlaneUpgrade"));
    assert.deepEqual([fixture.events.length, fixture.told.length], [1, 2]);
  });

  test("is recorded as allowed if the policies agree to it, and is logged", () => {
    const fixture = released();
    fixture.setCluster(upgrading("v1.36.0", "v1.36.0"));
    assert.deepEqual(recent(fixture, each), [allowed("v1.36.0"), allowed("v1.35.0")]);
    assert.deepEqual([fixture.events, fixture.told.length], [[], 2]);
  });

  test("is judged by the Cluster that has it, not by the one before", () => {
    const expression = `cluster.metadata.annotations['${KEY}'] == cluster.topology.version`;
    const own = hookPolicy(
      { rules: [rule({ hooks: ["BeforeClusterUpgrade"], until: [{ name: "e", expression }] })] },
      { name: "own", uid: "uid-own" },
    );
    const fixture = released(own);
    fixture.setCluster(upgrading("v1.36.0"));
    assert.equal(fixture.store.policies.get(keyOf(own))?.recent[0]?.verdict, "NotAsked");
  });

  test("counts together with the mark as the version that has passed", () => {
    const fixture = storeWith({ policies: [each], clusters: [upgrading("v1.35.0", "v1.35.0", "")] });
    fixture.setCluster(upgrading("v1.36.0"));
    assert.deepEqual(recent(fixture, each), []); // the policy holds v1.36.0, so nothing says that v1.35.0 was released
  });

  test("is asked about by Cluster API up to 1.11, which calls the hook before each version", () => {
    const served = { ...ALL_HOOKS, marksUpgrades: false };
    const clusters = [upgrading("v1.35.0")];
    const fixture = storeWith({ policies: [each], clusters, served });
    fixture.setCluster(upgrading("v1.36.0"));
    assert.deepEqual(fixture.events, []);
  });
});

test("what proceeded although a task had failed says which", () => {
  const [failing, world] = [compiled(withTasks([task({ onFailure: "Proceed" })])), taskWorld()];
  const [intent = assert.fail("none begins")] = decide([failing], world, DELETE, NOW).begins ?? [];
  const tasks = reading(stored(intent, { phase: "Failed" }));
  const [trace = assert.fail("no trace")] = decide([failing], { ...world, tasks }, DELETE, NOW).trace;
  const { verdict, message } = recentResult({ call: DELETE, cluster: cluster() }, trace, NOW) ?? {};
  assert.deepEqual([verdict, message], ["Allowed", "failed, and onFailure is Proceed: task backup"]);
});
