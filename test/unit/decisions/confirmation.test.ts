/** A go needs reads that began after the call and agree with memory. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster, Namespace, ObjectMeta } from "../../../src/api/meta.ts";
import type { Confirmer, RolloutComparison } from "../../../src/decisions/confirmation.ts";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import { APPROVED, cluster, hookPolicy, namespace, NOW, rule } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { policyList, storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "./confirmer.ts";

const begun = { deletionTimestamp: NOW.toISOString() };
const approved = cluster({ ...begun, annotations: { [APPROVED]: "true" } });
const request = { call: { hook: "BeforeClusterDelete" }, cluster: approved } as const;

interface Live {
  readonly own?: readonly ObjectMeta[];
  readonly clusterWide?: readonly ObjectMeta[];
  readonly cluster?: Cluster;
  readonly namespace?: Namespace;
}

function readerOfLive(live: Live, over: Partial<LiveReader> = {}): LiveReader {
  return readerOf([], {
    policies: async (kind) => policyList((kind === "HookPolicy" ? live.own : live.clusterWide) ?? []),
    cluster: async () => live.cluster ?? approved,
    namespace: async () => live.namespace ?? namespace(),
    ...over,
  });
}

function confirmerOf(
  live: Live,
  over: Partial<LiveReader>,
): { readonly confirmer: Confirmer; readonly stale: () => number } {
  const { store } = storeWith({ policies: [hookPolicy()], clusters: [approved] });
  let stale = 0;
  const confirmer = testConfirmer({
    store,
    reader: readerOfLive(live, over),
    now: () => NOW,
    onStale: () => (stale += 1),
    ownBudgetMs: 50,
  });
  return { confirmer, stale: () => stale };
}

function confirm(
  live: Live,
  over: Partial<LiveReader> = {},
  rollouts?: RolloutComparison,
): { result: ReturnType<Confirmer["confirm"]>; stale: () => number } {
  const { confirmer, stale } = confirmerOf(live, over);
  return { result: confirmer.confirm(request, { rollouts }), stale };
}

const protect = hookPolicy().metadata;

describe("a release is confirmed", () => {
  test("when the policies are those in memory and their gates are met for the live Cluster", async () => {
    const confirmation = await confirm({ own: [protect] }).result;
    assert.equal(confirmation.ok && confirmation.decision.verdict, "Allowed");
  });

  test("when the Cluster has changed only before the policies were read again", async () => {
    let version = 100;
    const policies: LiveReader["policies"] = async (kind) =>
      policyList(kind === "HookPolicy" ? [protect] : [], String(version));
    const changed = async (): Promise<Cluster> => {
      version = 102;
      return cluster({ ...approved.metadata, resourceVersion: "101" });
    };
    const confirmation = await confirm({}, { policies, cluster: changed }).result;
    assert.equal(confirmation.ok && confirmation.decision.verdict, "Allowed");
  });

  test("when memory has a policy that the API server lacks, because it can only hold", async () => {
    const confirmation = await confirm({ own: [] }).result;
    assert.equal(confirmation.ok && confirmation.decision.verdict, "Allowed");
  });
});

test("a status that is written while the lists are read does not stand in the way of a release", async () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
  const { store } = fixture;
  const reader = readerOfLive(
    {},
    {
      policies: async (kind) => {
        // Read before our own write, answered after it.
        const read = kind === "HookPolicy" ? [protect] : [];
        const { metadata: meta, ...rest } = hookPolicy();
        fixture.setPolicy({ ...rest, metadata: { ...meta, resourceVersion: "101" } });
        return policyList(read);
      },
    },
  );
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  const confirmation = await confirmer.confirm(request);
  assert.equal(confirmation.ok && confirmation.decision.verdict, "Allowed");
});

describe("a release is not confirmed", () => {
  const cases: Record<string, { live: Live; reason: string; stale?: number }> = {
    "by a policy that memory does not have": {
      live: { own: [protect, { ...protect, name: "new", uid: "new" }] },
      reason: "PolicyNotInMemory",
      stale: 1,
    },
    "by a policy in another generation": {
      live: { own: [{ ...protect, generation: 2 }] },
      reason: "PolicyNotInMemory",
      stale: 1,
    },
    "by a policy that was deleted and made anew": {
      live: { own: [{ ...protect, uid: "again" }] },
      reason: "PolicyNotInMemory",
      stale: 1,
    },
    "by a ClusterHookPolicy that memory does not have": {
      live: { clusterWide: [{ name: "fleet", uid: "f", resourceVersion: "1", generation: 1 }] },
      reason: "PolicyNotInMemory",
      stale: 1,
    },
    "when another Cluster has the name": {
      live: { own: [protect], cluster: cluster({ uid: "another" }) },
      reason: "ClusterReplaced",
    },
  };
  test("when memory does not have a rollout that the API server has", async () => {
    const attempt = confirm({ own: [protect] }, {}, { hasAll: () => false });
    assert.deepEqual(await attempt.result, { ok: false, reason: "RolloutNotInMemory" });
  });

  test("when the rollouts cannot be listed", async () => {
    const rollouts = async (): Promise<never> => await Promise.reject(new Error("down"));
    const attempt = confirm({ own: [protect] }, { rollouts }, { hasAll: () => true });
    assert.deepEqual(await attempt.result, { ok: false, reason: "Unavailable" });
  });

  test("when a definition is replaced, which may have taken its policies with it; the next one is", async () => {
    const uids = ["old", "old", "new"];
    const definition = async (): Promise<string> => uids.shift() ?? "new";
    const { confirmer } = confirmerOf({ own: [protect] }, { definition });
    assert.deepEqual(await confirmer.confirm(request), { ok: false, reason: "DefinitionChanging" });
    assert.equal((await confirmer.confirm(request)).ok, true);
  });

  for (const [name, { live, reason, stale = 0 }] of Object.entries(cases)) {
    test(name, async () => {
      const attempt = confirm(live);
      assert.deepEqual(await attempt.result, { ok: false, reason });
      assert.equal(attempt.stale(), stale);
    });
  }

  test("by a policy whose resourceVersion has gone back: etcd was restored, and the generation may be another's", async () => {
    const attempt = confirm({ own: [{ ...protect, resourceVersion: "7" }] });
    assert.deepEqual(await attempt.result, { ok: false, reason: "PolicyNotInMemory" });
    assert.equal(attempt.stale(), 1);
  });

  test("while a spec is compiled that another version of the CRD reads in the same generation", async () => {
    const { store } = storeWith({ policies: [hookPolicy()], clusters: [approved] });
    let isCompiling = true;
    store.compiles = () => isCompiling;
    const reader = readerOfLive({ own: [protect] });
    const confirmer = testConfirmer({ store, reader, now: () => NOW });
    assert.deepEqual(await confirmer.confirm(request), { ok: false, reason: "PolicyNotInMemory" });
    isCompiling = false;
    assert.equal((await confirmer.confirm(request)).ok, true);
  });

  test("by a policy that was there when the ClusterHookPolicies were listed, though it is gone by now", async () => {
    const policies: LiveReader["policies"] = async (kind, _, at = "1") =>
      policyList(
        kind === "HookPolicy" && at === "1" ? [{ ...protect, name: "moving", uid: "moving" }] : [],
        at,
      );
    assert.deepEqual(await confirm({}, { policies }).result, { ok: false, reason: "PolicyNotInMemory" });
  });

  test("when the Cluster changes each time that the policies are read", async () => {
    let [version, lists] = [101, 0];
    const policies: LiveReader["policies"] = async (kind) => {
      if (kind === "HookPolicy") lists += 1;
      return policyList(kind === "HookPolicy" ? [protect] : [], "100");
    };
    const changing = async (): Promise<Cluster> =>
      cluster({ ...approved.metadata, resourceVersion: String(version++) });
    const attempt = confirm({}, { policies, cluster: changing });
    assert.deepEqual(await attempt.result, { ok: false, reason: "ClusterChanging" });
    assert.equal(lists, 3);
  });

  test("when the Namespace changes each time that the policies are read", async () => {
    let version = 2;
    const changing = async (): Promise<Namespace> => {
      const { metadata } = namespace();
      return { metadata: { ...metadata, resourceVersion: String(version++) } };
    };
    const attempt = confirm({ own: [protect] }, { namespace: changing });
    assert.deepEqual(await attempt.result, { ok: false, reason: "NamespaceChanging" });
  });

  test("where resource versions do not compare", async () => {
    const attempt = confirm({
      own: [protect],
      cluster: cluster({ ...approved.metadata, resourceVersion: "a1" }),
    });
    assert.deepEqual(await attempt.result, { ok: false, reason: "ClusterChanging" });
  });

  test("when a read fails", async () => {
    const fail = async (): Promise<never> => {
      throw new Error("connection refused");
    };
    for (const part of ["policies", "cluster", "namespace", "definition"]) {
      assert.deepEqual(await confirm({}, { [part]: fail }).result, { ok: false, reason: "Unavailable" });
    }
  });

  test("when a read takes longer than the budget", async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    for (const part of ["policies", "cluster", "rollouts"]) {
      const attempt = confirm({}, { [part]: never }, { hasAll: () => true });
      assert.deepEqual(await attempt.result, { ok: false, reason: "Timeout" });
    }
  });
});

test("a conflict is told at debug; an API server that fails and a bug are told once a minute", async () => {
  const log = new MemoryLogger();
  const { store } = storeWith({ policies: [hookPolicy()], clusters: [approved] });
  const reasons = {
    "written meanwhile": "Conflict",
    "conversion webhook failed": "ApiServerUnavailable",
    "a bug": "InternalError",
  } as const;
  for (const [message, reason] of Object.entries(reasons)) {
    const namespaceOf = async (): Promise<never> => await Promise.reject(new Error(message));
    const reader = readerOfLive({}, { namespace: namespaceOf, reasonOf: () => reason });
    const confirmer = testConfirmer({ store, reader, now: () => NOW, log });
    for (const _ of [1, 2]) assert.deepEqual(await confirmer.confirm(request), { ok: false, reason });
  }
  assert.deepEqual(
    log.lines.map(({ level, message }) => `${level}: ${message}`),
    [
      "debug: Failed to read the present state",
      "debug: Failed to read the present state",
      "warn: Failed to read the present state",
      "error: Failed to confirm a decision",
    ],
  );
});

test("the live Cluster decides, not the request's copy", async () => {
  const confirmation = await confirm({ own: [protect], cluster: cluster({ resourceVersion: "101" }) }).result;
  assert.equal(confirmation.ok && confirmation.decision.verdict, "Blocked");
});

test("what memory received after the read cannot release what the read holds", async () => {
  const newer = cluster({ resourceVersion: "101", annotations: { [APPROVED]: "true" } });
  const { store } = storeWith({ policies: [hookPolicy()], clusters: [newer] });
  const reader = readerOfLive({ own: [protect], cluster: cluster() });
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  const confirmation = await confirmer.confirm(request);
  assert.equal(confirmation.ok && confirmation.decision.holds, true);
});

test("a policy that memory learns of during the reads decides, too", async () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
  const late = hookPolicy({
    rules: [rule({ until: [{ name: "signed", annotation: { key: "example.com/signed" } }] })],
  });
  const metadata = { ...late.metadata, name: "late", uid: "late" };
  const reader = readerOfLive(
    { own: [protect, metadata] },
    {
      cluster: async () => {
        fixture.setPolicy({ ...late, metadata });
        return approved;
      },
    },
  );
  const { store } = fixture;
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  const confirmation = await confirmer.confirm(request);
  assert.equal(confirmation.ok && confirmation.decision.verdict, "Blocked");
});

test("what memory received after the read counts, too", async () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
  const { store } = fixture;
  const reader = readerOfLive(
    { own: [protect] },
    {
      namespace: async () => {
        // The approval is taken back after the Cluster was read.
        fixture.setCluster(cluster({ resourceVersion: "101" }));
        return namespace();
      },
    },
  );
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  const confirmation = await confirmer.confirm(request);
  assert.equal(confirmation.ok && confirmation.decision.verdict, "Blocked");
});
