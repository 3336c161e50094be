/** A go needs reads that agree with memory: objects, overrides and timers. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, HookOverride } from "../../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { Confirmation } from "../../../src/policy/decision.ts";
import type { ObjectQuery } from "../../../src/policy/policy.ts";
import type { WatchedObject } from "../../../src/policy/watched-objects.ts";
import {
  APPROVED,
  at,
  cluster,
  DELETE,
  gated,
  hookOverride,
  hookPolicy,
  NO_OBJECTS,
  NOW,
  objectsOf,
  rule,
  UPGRADE,
  world,
  heldAt,
} from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "./confirmer.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const GO = { apiVersion: "v1", kind: "ConfigMap" };
const named: GateSpec = { name: "go", object: { ...GO, name: "go" } };
const gone: GateSpec = { name: "gone", object: { ...GO, selector: {}, absent: true } };
const configMap: WatchedObject = {
  metadata: { name: "go", namespace: "team-a", uid: "uid-go", resourceVersion: "1" },
};
const withConfigMap = objectsOf({ "v1 ConfigMap": [configMap] });

interface Scene {
  readonly policies: readonly PolicyObject[];
  readonly inMemory?: typeof NO_OBJECTS;
  readonly live?: typeof NO_OBJECTS;
  readonly overrides?: readonly HookOverride[];
  readonly liveOverrides?: readonly ObjectMeta[];
  readonly objects?: LiveReader["objects"];
  /** As it is at each read; the last one stays. */
  readonly clusters?: readonly Cluster[];
}

interface Attempt {
  readonly confirmation: Confirmation;
  readonly read: readonly ObjectQuery[];
}

async function confirm(scene: Scene): Promise<Attempt> {
  const { policies, inMemory = NO_OBJECTS, live = NO_OBJECTS, overrides = [] } = scene;
  const { store } = storeWith({
    policies: [...policies],
    clusters: [deleting],
    objects: inMemory,
    overrides: [...overrides],
  });
  const read: ObjectQuery[] = [];
  const clusters = [...(scene.clusters ?? [deleting])];
  const reader = readerOf(policies, {
    cluster: async () => (clusters.length > 1 ? clusters.shift() : clusters[0]) ?? deleting,
    overrides: async () => scene.liveOverrides ?? overrides.map(({ metadata }) => metadata),
    objects: async (query) => {
      read.push(query);
      return scene.objects === undefined ? live.find(query.kind, query.namespace) : scene.objects(query);
    },
  });
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  return { confirmation: await confirmer.confirm({ call: DELETE, cluster: deleting }), read };
}

const goes = ({ confirmation }: Attempt): boolean => confirmation.ok && !confirmation.decision.holds;
const unreadable: LiveReader["objects"] = async () => {
  throw new Error("the conversion webhook is down");
};
const policyWith = (gate: GateSpec, over: object = {}): PolicyObject =>
  hookPolicy({ rules: [rule({ until: [gate] })], ...over });

describe("a release for which the Cluster and something else count together", () => {
  const marked = cluster({
    deletionTimestamp: "2026-11-21T11:00:00Z",
    annotations: { [APPROVED]: "true" },
    resourceVersion: "101",
  });
  const meanwhile = { ...deleting, metadata: { ...deleting.metadata, resourceVersion: "102" } };
  const both = { inMemory: withConfigMap, live: withConfigMap };
  const reasonOf = ({ confirmation }: Attempt): unknown => confirmation.ok || confirmation.reason;

  test("is not confirmed when the Cluster changes while an object is read: never were both good at a time", async () => {
    const policies = [policyWith(named)];
    assert.equal(
      reasonOf(await confirm({ policies, ...both, clusters: [marked, meanwhile] })),
      "ClusterChanging",
    );
  });

  test("is not confirmed when the Cluster changes while an override is read", async () => {
    const clusters = [marked, meanwhile];
    const scene = { policies: [hookPolicy()], overrides: [hookOverride()], clusters };
    assert.equal(reasonOf(await confirm(scene)), "ClusterChanging");
  });

  test("is confirmed when nothing of the Cluster changes but its resourceVersion", async () => {
    const same = { ...marked, metadata: { ...marked.metadata, resourceVersion: "102" } };
    assert.equal(
      reasonOf(await confirm({ policies: [policyWith(named)], ...both, clusters: [marked, marked, same] })),
      true,
    );
  });
});

describe("a release that depends on objects", () => {
  const both = { inMemory: withConfigMap, live: withConfigMap };
  const cases: Record<string, { scene: Scene; go: boolean }> = {
    "is confirmed when memory and the API server have the object": {
      scene: { policies: [policyWith(named)], ...both },
      go: true,
    },
    "is not confirmed when the API server does not have the object": {
      scene: { policies: [policyWith(named)], inMemory: withConfigMap },
      go: false,
    },
    "is not confirmed when memory does not have the object": {
      scene: { policies: [policyWith(named)], live: withConfigMap },
      go: false,
    },
    "is not confirmed when the API server still has an object that must be gone": {
      scene: { policies: [policyWith(gone)], live: withConfigMap },
      go: false,
    },
    "is not confirmed when memory still has an object that must be gone": {
      scene: { policies: [policyWith(gone)], inMemory: withConfigMap },
      go: false,
    },
    "is not confirmed when the objects cannot be read": {
      scene: { policies: [policyWith(named)], ...both, objects: unreadable },
      go: false,
    },
    "is not confirmed when the objects may not be read": {
      scene: {
        policies: [policyWith(named)],
        ...both,
        objects: async () => ({ ok: false, reason: "ObjectsForbidden", message: "not granted" }),
      },
      go: false,
    },
    "does not depend on objects that only an Audit policy looks at": {
      scene: { policies: [policyWith(named, { mode: "Audit" })], objects: unreadable },
      go: true,
    },
    "does not depend on objects that cannot be read where the policy ignores that": {
      scene: { policies: [policyWith(named, { failurePolicy: "Ignore" })], ...both, objects: unreadable },
      go: true,
    },
    "does not depend on objects that cannot be read where an override is in force": {
      scene: { policies: [policyWith(named)], overrides: [hookOverride()], objects: unreadable },
      go: true,
    },
  };
  for (const [name, { scene, go }] of Object.entries(cases)) {
    test(name, async () => assert.equal(goes(await confirm(scene)), go));
  }

  test("reads each of them once, and none that only an Audit policy looks at", async () => {
    const audit = hookPolicy(
      { mode: "Audit", rules: [rule({ until: [gone] })] },
      { name: "audit", uid: "audit" },
    );
    const twice = hookPolicy({ rules: [rule({ until: [named] })] }, { name: "twice", uid: "twice" });
    const other = hookPolicy(
      { rules: [rule({ hooks: ["BeforeClusterCreate"], until: [gone] })] },
      { name: "o", uid: "o" },
    );
    const { read } = await confirm({
      policies: [policyWith(named), twice, audit, other],
      inMemory: withConfigMap,
      live: withConfigMap,
    });
    assert.deepEqual(read, [{ kind: GO, whole: false, namespace: "team-a", name: "go" }]);
  });
});

describe("a release that depends on an override", () => {
  const overrides = [hookOverride()];
  const { metadata } = hookOverride();
  const live: Record<string, { liveOverrides: readonly ObjectMeta[]; go: boolean }> = {
    "is confirmed when the API server has the same one": { liveOverrides: [metadata], go: true },
    "is not confirmed when it was deleted": { liveOverrides: [], go: false },
    "is not confirmed when it was changed": { liveOverrides: [{ ...metadata, generation: 2 }], go: false },
    "is not confirmed when another one has its name": {
      liveOverrides: [{ ...metadata, uid: "again" }],
      go: false,
    },
  };
  for (const [name, { liveOverrides, go }] of Object.entries(live)) {
    test(name, async () =>
      assert.equal(goes(await confirm({ policies: [hookPolicy()], overrides, liveOverrides })), go),
    );
  }
});

test("the clocks of another operation do not count for a release", () => {
  const until: GateSpec[] = [{ name: "approved", annotation: { key: APPROVED } }];
  const hooks = ["BeforeClusterUpgrade" as const];
  const policy = gated(until, { hooks, deadline: { after: "1h", onExpiry: "Allow" } });
  const wanting = heldAt(
    "BeforeClusterUpgrade",
    cluster({}, { topology: { className: "lab", version: "v1.35.0" } }),
  );
  const { store } = storeWith({ policies: [policy], clusters: [wanting] });
  store.decider.ask({ call: UPGRADE, cluster: wanting }, NOW);
  const live = world({ cluster: wanting });
  assert.equal(store.decider.decideLive({ call: UPGRADE, cluster: wanting }, live, at("+2h")).holds, false);
  const other = { ...UPGRADE, toKubernetesVersion: "v1.36.0" };
  assert.equal(store.decider.decideLive({ call: other, cluster: wanting }, live, at("+2h")).holds, true);
  const next = { ...wanting, topology: { className: "lab", version: "v1.36.0" } };
  const nextLive = world({ cluster: next });
  assert.equal(store.decider.decideLive({ call: UPGRADE, cluster: next }, nextLive, at("+2h")).holds, true);
});
