/** What is written to a policy, what is not, and what comes back from it into memory. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { FINALIZER, type HookPolicyStatus, MAX_DECISIONS } from "../../../src/api/hook-policy.ts";
import type { Cluster, Namespace } from "../../../src/api/meta.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { PolicyReconcilerOptions } from "../../../src/status/policy-reconciler.ts";
import type { StatusInput } from "../../../src/status/policy-status.ts";
import type { EventText } from "../../../src/api/event-text.ts";
import { cluster, clusterHookPolicy, hookPolicy, namespace, NOW, rule } from "../builders.ts";
import { entryOf, type Fixture, keyOf, storeWith } from "../memory/fixtures.ts";
import { conflict, deleted, DELETED, reconcilerOf, withMeta } from "./reconciling.ts";

describe("the status", () => {
  test("is written when it differs, once a second at most, and not at rest", async () => {
    const fixture = storeWith({
      policies: [hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] })],
    });
    const written: HookPolicyStatus[] = [];
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async ({ object }, status) => {
        written.push(status);
        return { ...withMeta(object, { resourceVersion: "300" }), status };
      },
    });
    const key = keyOf(hookPolicy());
    assert.deepEqual(await reconciler.reconcile(key), {});
    assert.equal(written.length, 1);
    fixture.setCluster(cluster());
    const { requeueAfterMs = 0 } = await reconciler.reconcile(key);
    assert.ok(requeueAfterMs > 0 && requeueAfterMs <= 1000);
    assert.equal(written.length, 1);
  });

  test("is not written again for a field that older CRDs drop", async (t) => {
    const upgrades = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] });
    const fixture = storeWith({ policies: [upgrades] });
    let written = 0;
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async ({ object }, status) => {
        written += 1;
        const { mode: _, ...stored } = status;
        return { ...withMeta(object, { resourceVersion: "300" }), status: stored };
      },
    });
    const key = keyOf(hookPolicy());
    await reconciler.reconcile(key);
    const start = performance.now();
    t.mock.method(performance, "now", () => start + 10_000);
    await reconciler.reconcile(key);
    assert.equal(written, 1);
    fixture.setCluster(cluster());
    await reconciler.reconcile(key);
    assert.equal(written, 2, "it differs otherwise");
  });

  test("is computed again from what another replica has written", async () => {
    const fixture = storeWith({
      policies: [hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] })],
    });
    let attempts = 0;
    const results: string[] = [];
    const reconciler = reconcilerOf(
      fixture,
      {
        replacePolicyStatus: async ({ object }, status) => {
          attempts += 1;
          if (attempts === 1) throw conflict;
          return { ...object, status };
        },
        getPolicy: async ({ object }) => withMeta(object, { resourceVersion: "250" }),
      },
      { onStatusWrite: (_, result) => results.push(result) },
    );
    await reconciler.reconcile(keyOf(hookPolicy()));
    assert.deepEqual(results, ["conflict", "written"]);
  });

  for (const [title, error] of [
    ["after a write that failed", new Error("unavailable")],
    ["after a conflict", conflict],
  ] as const)
    test(`counts no Cluster that it has released, ${title}, though its rows do not show all`, async (t) => {
      const clusters = Array.from({ length: MAX_DECISIONS + 10 }, (_, index) =>
        cluster({ name: `c${index}`, uid: `uid-${index}`, deletionTimestamp: DELETED }),
      );
      const policy = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterDelete"] })] });

      const fixture = storeWith({
        policies: [withMeta(policy, { finalizers: [FINALIZER] })],
        clusters,
      });
      let version = 300;
      let fails = 0;
      let stored: PolicyObject | undefined;
      const reconciler = reconcilerOf(fixture, {
        replacePolicyStatus: async ({ object }, status) => {
          fails -= 1;
          if (fails >= 0) throw error;
          version += 1;
          stored = { ...withMeta(object, { resourceVersion: `${version}` }), status };
          return stored;
        },
        getPolicy: async () => stored,
      });
      const start = performance.now();
      let passedMs = 0;
      t.mock.method(performance, "now", () => start + passedMs);
      const reconcile = async (): Promise<number | undefined> => {
        passedMs += 10_000;
        await reconciler.reconcile(keyOf(policy)).catch(() => undefined);
        return stored?.status?.blocked;
      };
      assert.equal(await reconcile(), clusters.length);
      fixture.setCluster(undefined, "team-a/c0");
      fails = 1;
      await reconcile();
      assert.equal(await reconcile(), clusters.length - 1);
      assert.equal(stored?.status?.decisionsOmitted, clusters.length - 1 - MAX_DECISIONS);
    });

  test("is written although the finalizer cannot be set, which is tried again", async () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    let written = 0;
    const reconciler = reconcilerOf(fixture, {
      setFinalizers: async () => {
        throw new Error("forbidden");
      },
      replacePolicyStatus: async ({ object }, status) => {
        written += 1;
        return { ...object, status };
      },
    });
    await assert.rejects(reconciler.reconcile(keyOf(hookPolicy())), /forbidden/);
    // Too soon for another write.
    await assert.rejects(reconciler.reconcile(keyOf(hookPolicy())), /forbidden/);
    assert.equal(written, 1);
  });

  test("tells when nothing asks any more, and when it does again: by the replica that writes it", async () => {
    const fixture = storeWith({ policies: [hookPolicy()] });
    const told: EventText[] = [];
    let because: StatusInput["notCalled"] = { reason: "NotRegistered", message: "nobody asks" };
    const over: Partial<PolicyReconcilerOptions> = {
      notCalled: () => because,
      onEvent: (event) => told.push(event),
    };
    const key = keyOf(hookPolicy());
    await reconcilerOf(fixture, {}, over).reconcile(key);
    fixture.setCluster(cluster());
    await reconcilerOf(fixture, {}, over).reconcile(key);
    const reasons = (): string[] => told.map(({ reason, action }) => `${reason} ${action}`);
    assert.deepEqual(reasons(), ["NotCalled NotRegistered"]);
    because = undefined;
    const refused = async (): Promise<never> => await Promise.reject(new Error("forbidden"));
    await assert.rejects(reconcilerOf(fixture, { replacePolicyStatus: refused }, over).reconcile(key));
    assert.equal(told.length, 1);
    await reconcilerOf(fixture, {}, over).reconcile(key);
    assert.deepEqual(reasons().slice(1), ["Called Called"]);
  });

  test("waits until everything was read", async () => {
    const fixture = storeWith({ policies: [hookPolicy()], load: false });
    const never = async (): Promise<never> => assert.fail("nothing is written");
    const reconciler = reconcilerOf(fixture, { replacePolicyStatus: never, setFinalizers: never });
    assert.deepEqual(await reconciler.reconcile(keyOf(hookPolicy())), {});
  });
});

describe("an edit that memory has been told of and is still compiling", () => {
  const rules = [rule({ hooks: ["BeforeClusterUpgrade"] })];
  const policy = hookPolicy({ rules });
  const edit = (generation: number): PolicyObject => {
    const mode = generation % 2 === 0 ? "Audit" : "Enforce";
    return hookPolicy({ mode, rules }, { resourceVersion: `${generation}00`, generation });
  };

  function compiling(): Fixture {
    const fixture = storeWith({ policies: [policy], compileMs: -1 });
    compile(fixture);
    return fixture;
  }

  function compile(fixture: Fixture): void {
    for (let turns = 0; turns < 100; turns += 1) fixture.store.wake();
  }

  test("is not lost to the late answer to the status write before it", async () => {
    const fixture = compiling();
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async ({ object }, status) => {
        const written = { ...withMeta(object, { resourceVersion: "150" }), status };
        fixture.setPolicy(written); // the watch is faster than the answer
        fixture.setPolicy(edit(2));
        return written;
      },
    });
    await reconciler.reconcile(keyOf(policy));
    compile(fixture);
    assert.deepEqual(modeOf(fixture), ["Audit", 2]);
  });

  test("is not lost to the late answer to a read of an edit before it", async () => {
    const fixture = compiling();
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async () => await Promise.reject(conflict),
      getPolicy: async () => {
        fixture.setPolicy(edit(2));
        fixture.setPolicy(edit(3));
        return edit(2);
      },
    });
    await assert.rejects(reconciler.reconcile(keyOf(policy)));
    compile(fixture);
    assert.deepEqual(modeOf(fixture), ["Enforce", 3]);
  });

  const modeOf = (fixture: Fixture): unknown[] => {
    const { mode, generation } = entryOf(fixture, policy).compiled;
    return [mode, generation];
  };
});

describe("a policy that is gone does not come back into memory", () => {
  test("when its deletion overtakes the answer to our own write", async () => {
    const fixture = storeWith({ policies: [deleted], clusters: [cluster()] });
    const reconciler = reconcilerOf(fixture, {
      setFinalizers: async (object, finalizers) => {
        fixture.deletePolicy(deleted);
        return withMeta(object, { resourceVersion: "201", finalizers });
      },
    });
    await reconciler.reconcile(keyOf(deleted));
    assert.equal(fixture.store.policies.get(keyOf(deleted)), undefined);
    const request = { call: { hook: "BeforeClusterDelete" }, cluster: cluster() } as const;
    assert.equal(fixture.store.decider.ask(request, NOW).holds, false);
  });

  test("when an edit overtakes the answer to our own write: the edit stays", async () => {
    const fixture = storeWith({ policies: [hookPolicy()] });
    const edited = withMeta(hookPolicy({ mode: "Audit" }), { generation: 2, resourceVersion: "300" });
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async ({ object }, status) => {
        const answer = { ...withMeta(object, { resourceVersion: "200" }), status };
        fixture.setPolicy(edited);
        return answer;
      },
    });
    await reconciler.reconcile(keyOf(edited));
    assert.equal(fixture.store.policies.get(keyOf(edited))?.compiled.mode, "Audit");
  });

  test("when another one of its name was made meanwhile", async () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    const again = hookPolicy({}, { uid: "uid-again", resourceVersion: "300" });
    const reconciler = reconcilerOf(fixture, {
      setFinalizers: async (object, finalizers) => {
        fixture.deletePolicy(hookPolicy());
        fixture.setPolicy(again);
        return withMeta(object, { resourceVersion: "201", finalizers });
      },
    });
    await reconciler.reconcile(keyOf(again));
    assert.equal(fixture.store.policies.get(keyOf(again))?.compiled.uid, "uid-again");
  });
});

describe("the finalizer", () => {
  const upgradeOnly = hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] });
  const { until: _, ...observe } = rule();
  const terminating = namespace({ deletionTimestamp: DELETED });
  const selected = hookPolicy({ clusterSelector: { matchLabels: { tier: "production" } } });
  const production = cluster({ labels: { tier: "production" } });
  const selectedHeld = withMeta(selected, { finalizers: [FINALIZER] });
  const goes = withMeta(selected, { finalizers: ["somebody/else", FINALIZER], deletionTimestamp: DELETED });

  interface Case {
    readonly policy: PolicyObject;
    readonly matches?: boolean;
    readonly live?: Namespace | undefined;
    readonly left?: boolean;
    /** The API server has no Cluster. */
    readonly gone?: boolean;
    /** The API server has no such kind. */
    readonly kindGone?: boolean;
    readonly load?: boolean;
    /** `undefined`: left as it is. */
    readonly want?: readonly string[];
  }
  const cases: Record<string, Case> = {
    "is set on a policy that can hold a deletion": { policy: hookPolicy(), want: [FINALIZER] },
    "is not set where no Cluster matches": { policy: hookPolicy(), matches: false },
    "is not set by a rule on another hook": { policy: upgradeOnly },
    "is not set by a rule that only observes": { policy: hookPolicy({ rules: [observe] }) },
    "is not set by an Audit policy": { policy: hookPolicy({ mode: "Audit" }) },
    "is not set on a ClusterHookPolicy": { policy: clusterHookPolicy() },
    "is set by a rule that cannot be evaluated, because it holds": {
      policy: hookPolicy({ rules: [] }),
      want: [FINALIZER],
    },
    "goes when the last Cluster has gone": { policy: selectedHeld, matches: false, want: [] },
    "is not set for a Cluster that memory has and the API server has not any more": {
      policy: hookPolicy(),
      gone: true,
    },
    "stays while the API server has a Cluster that memory does not know": {
      policy: selectedHeld,
      matches: false,
      left: true,
    },
    "goes at once when the policy is deleted in a living namespace": { policy: deleted, want: [] },
    "goes in a living namespace although nothing was read yet": { policy: deleted, load: false, want: [] },
    "goes with the last Cluster when the namespace is gone": {
      policy: goes,
      live: undefined,
      matches: false,
      want: ["somebody/else"],
    },
    "stays while a Cluster matches although the namespace is gone": { policy: deleted, live: undefined },
    "stays while a Cluster matches although the namespace was made again since the deletion": {
      policy: deleted,
      live: namespace({ creationTimestamp: "2026-11-21T12:00:01Z" }),
    },
    "goes when the policy was deleted in the second in which the namespace was made": {
      policy: deleted,
      live: namespace({ creationTimestamp: DELETED }),
      want: [],
    },
    "stays in a terminating namespace while a Cluster matches": { policy: deleted, live: terminating },
    "stays in a terminating namespace while the API server still has one": {
      policy: goes,
      live: terminating,
      matches: false,
      left: true,
    },
    "goes in a terminating namespace with the last Cluster, and leaves other finalizers alone": {
      policy: goes,
      live: terminating,
      matches: false,
      want: ["somebody/else"],
    },
    "goes in a terminating namespace when there is no such kind any more, whatever memory has": {
      policy: goes,
      live: terminating,
      kindGone: true,
      want: ["somebody/else"],
    },
    "goes in a terminating namespace when there is no such kind, although nothing was read": {
      policy: goes,
      live: terminating,
      kindGone: true,
      load: false,
      want: ["somebody/else"],
    },
    "goes in a living namespace when there is no such kind any more": {
      policy: selectedHeld,
      matches: false,
      kindGone: true,
      want: [],
    },
    "is not set where there is no such kind any more": { policy: hookPolicy(), kindGone: true },
  };
  for (const [name, { policy, matches = true, left = false, load = true, want, ...rest }] of Object.entries(
    cases,
  )) {
    test(name, async () => {
      const live = "live" in rest ? rest.live : namespace();
      const fixture = storeWith({ policies: [policy], clusters: matches ? [cluster()] : [], load });
      let set: readonly string[] | undefined;
      const reconciler = reconcilerOf(fixture, {
        findNamespace: async () => live,
        hasCluster: async (_namespace, selector) => {
          const clusters = rest.gone === true ? [] : left ? [production] : [cluster()];
          const isSelected = ({ metadata: { labels = {} } }: Cluster): boolean =>
            selector === "" || selector === `tier=${labels["tier"]}`;
          return rest.kindGone === true ? undefined : clusters.some(isSelected);
        },
        setFinalizers: async (object, finalizers) => {
          set = finalizers;
          return withMeta(object, { resourceVersion: "201", finalizers });
        },
      });
      await reconciler.reconcile(keyOf(policy));
      assert.deepEqual(set, want);
    });
  }

  test("leaves that of another controller which adds one during the reads", async () => {
    const OTHER = "example.com/keep";
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    let live = hookPolicy();
    const reconciler = reconcilerOf(fixture, {
      hasCluster: async () => {
        live = withMeta(hookPolicy(), { resourceVersion: "150", finalizers: [OTHER] });
        fixture.setPolicy(live);
        return true;
      },
      getPolicy: async () => live,
      // As the API server does.
      setFinalizers: async ({ metadata }, finalizers) => {
        if (metadata.resourceVersion !== live.metadata.resourceVersion) throw conflict;
        live = withMeta(live, { resourceVersion: "201", finalizers });
        return live;
      },
    });
    await reconciler.reconcile(keyOf(hookPolicy()));
    assert.deepEqual(live.metadata.finalizers, [OTHER, FINALIZER]);
  });

  test("stays, and is tried again, while the Clusters that are left cannot be read", async () => {
    const fixture = storeWith({ policies: [goes] });
    const reconciler = reconcilerOf(fixture, {
      findNamespace: async () => terminating,
      hasCluster: async () => {
        throw new Error("not found: no such kind");
      },
      setFinalizers: async () => assert.fail("not set"),
    });
    await assert.rejects(reconciler.reconcile(keyOf(goes)), /no such kind/);
  });
});
