/** A go that depends on objects in selected namespaces needs the present labels of all Namespaces. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, HookOverride } from "../../../src/api/hook-policy.ts";
import type { Namespace } from "../../../src/api/meta.ts";
import type { ObjectQuery } from "../../../src/policy/policy.ts";
import type { WatchedObject } from "../../../src/policy/watched-objects.ts";
import {
  cluster,
  clusterHookPolicy,
  DELETE,
  hookOverride,
  namespace,
  NOW,
  objectsOf,
  rule,
} from "../builders.ts";
import { rowsOf, storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "./confirmer.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const GO = { apiVersion: "v1", kind: "ConfigMap", selector: {} };
const namespaceSelector = { matchLabels: { env: "staging" } };
const present: GateSpec = { name: "go", object: { ...GO, namespaceSelector } };
const gone: GateSpec = { name: "gone", object: { ...GO, namespaceSelector, absent: true } };

function ns(name: string, env: string, over: object = {}): Namespace {
  return namespace({ name, uid: `uid-${name}`, labels: { env }, ...over });
}

const own = namespace();
const staging = ns("s", "staging");
const other = ns("o", "test");
const inside = (place: string): WatchedObject => ({
  metadata: { name: "go", namespace: place, uid: `uid-go-${place}`, resourceVersion: "1" },
});
const objects = (...places: string[]): ReturnType<typeof objectsOf> =>
  objectsOf({ "v1 ConfigMap": places.map(inside) });

interface Scene {
  readonly gate: GateSpec;
  readonly inMemory: readonly Namespace[];
  /** At each read; the last one stays. "unreadable": the read fails. */
  readonly live: readonly (readonly Namespace[] | "unreadable")[];
  readonly found?: ReturnType<typeof objectsOf>;
  readonly failurePolicy?: "Ignore";
  readonly overrides?: readonly HookOverride[];
  /** What the stage of a rollout looks at. */
  readonly stage?: ObjectQuery;
}

interface Attempt {
  readonly result: string;
  readonly reads: number;
}

async function confirm(scene: Scene): Promise<Attempt> {
  const { gate, inMemory, found = objects("s"), overrides = [], failurePolicy = "Fail", stage } = scene;
  const policy = clusterHookPolicy({ failurePolicy, rules: [rule({ until: [gate] })] });
  const { store } = storeWith({
    policies: [policy],
    clusters: [deleting],
    namespaces: [own, ...inMemory],
    objects: found,
    overrides: [...overrides],
  });
  let reads = 0;
  const reader = readerOf([policy], {
    cluster: async () => deleting,
    namespace: async () => own,
    namespaces: async () => {
      const read = scene.live[Math.min(reads, scene.live.length - 1)];
      reads += 1;
      if (read === undefined || read === "unreadable") throw new Error("forbidden");
      return [own, ...read];
    },
    overrides: async () => overrides.map(({ metadata }) => metadata),
    objects: async ({ kind, namespace: place }) => found.find(kind, place),
  });
  const confirmer = testConfirmer({
    store,
    reader,
    now: () => NOW,
    ...(stage && { rollouts: { objectQueries: () => [stage], readsNamespaces: () => false } }),
  });
  const confirmation = await confirmer.confirm({ call: DELETE, cluster: deleting });
  if (!confirmation.ok) return { result: confirmation.reason, reads };
  return { result: confirmation.decision.holds ? "held" : "released", reads };
}

describe("a release that depends on objects in selected namespaces", () => {
  const cases: Readonly<Record<string, { scene: Scene; want: string }>> = {
    "is confirmed when memory and the API server select the same": {
      scene: { gate: present, inMemory: [staging], live: [[staging]] },
      want: "released",
    },
    "is held when the API server selects the namespace no more": {
      scene: { gate: present, inMemory: [staging], live: [[ns("s", "test")]] },
      want: "held",
    },
    "is held when memory has not seen yet that the namespace is selected": {
      scene: { gate: present, inMemory: [ns("s", "test")], live: [[staging]] },
      want: "held",
    },
    "is held when the API server selects one more, which has an object left": {
      scene: {
        gate: gone,
        inMemory: [staging, other],
        live: [[staging, ns("o", "staging")]],
        found: objects("o"),
      },
      want: "held",
    },
    "is held when a selected namespace is being deleted in the end": {
      scene: {
        gate: gone,
        inMemory: [staging],
        live: [[staging], [ns("s", "staging", { deletionTimestamp: "2026-11-21T11:00:00Z" })]],
        found: objects(),
      },
      want: "held",
    },
    "is not confirmed when the selected namespaces change meanwhile": {
      scene: { gate: present, inMemory: [staging, other], live: [[staging], [staging, ns("o", "staging")]] },
      want: "NamespacesChanging",
    },
    "is confirmed when others change meanwhile": {
      scene: { gate: present, inMemory: [staging], live: [[staging], [staging, other]] },
      want: "released",
    },
    "is confirmed when the stage of a rollout looks at objects, too": {
      scene: {
        gate: present,
        inMemory: [staging],
        live: [[staging]],
        stage: { kind: { apiVersion: "v1", kind: "ConfigMap" }, whole: false, namespace: "o" },
      },
      want: "released",
    },
    "is held when the Namespaces cannot be read": {
      scene: { gate: present, inMemory: [staging], live: ["unreadable"] },
      want: "held",
    },
    "is not confirmed when the Namespaces cannot be read again": {
      scene: { gate: present, inMemory: [staging], live: [[staging], "unreadable"] },
      want: "NamespacesChanging",
    },
    "does not depend on Namespaces that cannot be read where the policy ignores that": {
      scene: { gate: present, inMemory: [staging], live: ["unreadable"], failurePolicy: "Ignore" },
      want: "released",
    },
    "does not depend on them where an override is in force": {
      scene: { gate: present, inMemory: [staging], live: ["unreadable"], overrides: [hookOverride()] },
      want: "released",
    },
  };
  for (const [name, { scene, want }] of Object.entries(cases))
    test(name, async () => assert.equal((await confirm(scene)).result, want));

  const left: GateSpec = { name: "left", object: { ...GO, namespace: "s", absent: true } };
  const missing: Readonly<Record<string, { live: Scene["live"]; want: string }>> = {
    "is confirmed while that exists": { live: [[staging]], want: "released" },
    "is held when that is gone": { live: [[staging], []], want: "held" },
    "is held when that is being deleted": {
      live: [[staging], [ns("s", "staging", { deletionTimestamp: "2026-11-21T11:00:00Z" })]],
      want: "held",
    },
    "is held when the Namespaces cannot be read": { live: ["unreadable"], want: "held" },
  };
  for (const [name, { live, want }] of Object.entries(missing))
    test(`on none left in a named namespace ${name}`, async () => {
      const scene = { gate: left, inMemory: [staging], live, found: objects() };
      assert.equal((await confirm(scene)).result, want);
    });

  test("reads no other Namespaces where no gate needs them", async () => {
    const gate: GateSpec = { name: "go", object: { ...GO, namespace: "s" } };
    assert.deepEqual(await confirm({ gate, inMemory: [staging], live: ["unreadable"] }), {
      result: "released",
      reads: 0,
    });
  });
});

test("a Namespace that is selected now makes memory look again, wherever the Cluster is", () => {
  const policy = clusterHookPolicy({ rules: [rule({ until: [present] })] });
  const fixture = storeWith({
    policies: [policy],
    clusters: [deleting],
    namespaces: [own, ns("s", "test")],
    objects: objects("s"),
  });
  assert.equal(rowsOf(fixture, policy)[0]?.reason, "WaitingForObject");
  fixture.setNamespace(staging);
  fixture.store.wake();
  assert.deepEqual(rowsOf(fixture, policy), []);
});
