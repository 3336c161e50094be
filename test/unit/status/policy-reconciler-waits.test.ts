/** When a status is not written yet: it would tell of what was before, or of what nobody knows. */

import assert from "node:assert/strict";
import test, { describe, type TestContext } from "node:test";
import { FINALIZER, type HookPolicyStatus } from "../../../src/api/hook-policy.ts";
import type { PolicyApi } from "../../../src/status/policy-api.ts";
import { type FoundObjects, OBJECTS_NOT_LOADED } from "../../../src/policy/watched-objects.ts";
import { cluster, hookPolicy, READY, rule } from "../builders.ts";
import { keyOf, storeWith } from "../memory/fixtures.ts";
import { conflict, DELETED, held, reconcilerOf, withMeta } from "./reconciling.ts";

describe("the status", () => {
  test("waits until an edited policy was asked about all its Clusters", async () => {
    const names = ["a", "b", "c"].map((name) => ({ name, uid: `uid-${name}`, deletionTimestamp: DELETED }));
    const clusters = names.map((meta) => cluster(meta));
    const fixture = storeWith({ policies: [held], clusters, turnMs: -1 });
    while ((fixture.store.policies.get(keyOf(held))?.held.size ?? 0) < clusters.length) fixture.store.wake();
    const written: HookPolicyStatus[] = [];
    const reconciler = reconcilerOf(fixture, {
      replacePolicyStatus: async ({ object }, status) => {
        written.push(status);
        return { ...withMeta(object, { resourceVersion: "300" }), status };
      },
    });
    const meta = { generation: 2, resourceVersion: "250", finalizers: [FINALIZER] };
    fixture.setPolicy(hookPolicy({ rules: [rule({ message: "ask elsewhere" })] }, meta));
    const result = await reconciler.reconcile(keyOf(held));
    assert.ok((result.requeueAfterMs ?? 0) > 0);
    assert.equal(written.length, 0);
    for (let turn = 0; turn < 20; turn += 1) fixture.store.wake();
    await reconciler.reconcile(keyOf(held));
    assert.deepEqual(
      written.map((status) => status.decisions?.map(({ message }) => /elsewhere/.test(message))),
      [[true, true, true]],
    );
  });

  test("is looked at again then, although the edit changed no row", () => {
    const clusters = ["a", "b"].map((name) =>
      cluster({ name, uid: `uid-${name}`, deletionTimestamp: DELETED }),
    );
    const fixture = storeWith({ policies: [held], clusters, turnMs: -1 });
    for (let n = 0; n < 10; n += 1) fixture.store.wake();
    fixture.setPolicy(hookPolicy({ rules: [rule({ retryAfterSeconds: 20 })] }, { generation: 2 }));
    fixture.dirty.length = 0;
    while ((fixture.store.policies.get(keyOf(held))?.toEvaluate.length ?? 0) > 0) fixture.store.wake();
    assert.deepEqual(fixture.dirty, [keyOf(held)]);
  });

  describe("of a policy whose gates look at objects", () => {
    const gate = { name: "backup", object: { apiVersion: "v1", kind: "ConfigMap", name: "backup" } };
    const policy = hookPolicy({ rules: [rule({ until: [gate] })] });
    const key = keyOf(policy);
    const UNREAD: FoundObjects = { ok: false, reason: OBJECTS_NOT_LOADED, message: "wait" };
    const NONE: FoundObjects = { ok: true, namespaced: true, objects: [] };
    const ready = (status: HookPolicyStatus | undefined): string | undefined =>
      status?.conditions?.find(({ type }) => type === "Ready")?.reason;
    const scene = (api: Partial<PolicyApi> = {}) => {
      const found: { now: FoundObjects } = { now: UNREAD };
      const objects = { find: () => found.now };
      const fixture = storeWith({ objects });
      const written: (string | undefined)[] = [];
      const replacePolicyStatus: PolicyApi["replacePolicyStatus"] = async ({ object }, status) => {
        written.push(ready(status));
        return { ...withMeta(object, { resourceVersion: "300" }), status };
      };
      const reconciler = reconcilerOf(fixture, { replacePolicyStatus, ...api }, { objects });
      return { found, fixture, written, reconciler };
    };
    const later = (t: TestContext): void => {
      const now = performance.now.bind(performance);
      t.mock.method(performance, "now", () => now() + 10_000);
    };

    const ANSWERS: Record<string, FoundObjects> = {
      Loaded: NONE,
      ObjectsForbidden: { ok: false, reason: "ObjectsForbidden", message: "" },
    };
    for (const [reason, answer] of Object.entries(ANSWERS)) {
      test(`waits until it is known whether they can be read: ${reason}`, async () => {
        const { found, fixture, written, reconciler } = scene();
        fixture.setPolicy(policy);
        assert.ok(((await reconciler.reconcile(key)).requeueAfterMs ?? 0) > 1000);
        assert.deepEqual(written, []);
        found.now = answer;
        await reconciler.reconcile(key);
        assert.deepEqual(written, [reason]);
      });
    }

    test("does not wait for ever", async (t) => {
      const { fixture, written, reconciler } = scene();
      fixture.setPolicy(policy);
      later(t);
      await reconciler.reconcile(key);
      assert.deepEqual(written, [OBJECTS_NOT_LOADED]);
    });

    test("says what was said of this generation where only this replica has not read them", async (t) => {
      const { fixture, reconciler } = scene();
      const said = (observedGeneration: number): HookPolicyStatus => ({
        conditions: [{ ...READY, observedGeneration }],
      });
      later(t);
      for (const [generation, reason] of [
        [1, "Loaded"],
        [0, OBJECTS_NOT_LOADED],
      ] as const) {
        fixture.setPolicy({
          ...withMeta(policy, { resourceVersion: `20${generation}` }),
          status: said(generation),
        });
        later(t);
        await reconciler.reconcile(key);
        assert.equal(ready(fixture.store.policies.get(key)?.object.status), reason);
      }
    });

    test("waits, too, where a conflict brings the gate", async () => {
      const edited = withMeta(policy, { generation: 2, resourceVersion: "250" });
      let writes = 0;
      const { fixture, reconciler } = scene({
        getPolicy: async () => edited,
        replacePolicyStatus: async () => {
          writes += 1;
          throw conflict;
        },
      });
      fixture.setPolicy(hookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] }));
      await reconciler.reconcile(key);
      assert.equal(writes, 1);
      assert.ok(fixture.dirty.includes(key));
    });

    test("does not keep to itself meanwhile that the finalizer cannot be set", async () => {
      const failure = new Error("forbidden");
      const { fixture, reconciler } = scene({
        setFinalizers: async () => {
          throw failure;
        },
      });
      fixture.setCluster(cluster());
      fixture.setPolicy(policy);
      await assert.rejects(reconciler.reconcile(key), failure);
    });
  });
});
