/** Objects that their owners make as large as the API server takes them: what others pay for that. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { describe, test } from "node:test";
import * as fc from "fast-check";

import type { DecisionStore } from "../../src/memory/decision-store.ts";
import type { PolicyKind } from "../../src/policy/policy-ref.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import type { Confirmer } from "../../src/decisions/confirmation.ts";
import { sameCluster } from "../../src/memory/same-object.ts";
import { auditEntry } from "../../src/report/audit-entry.ts";
import { createMetrics } from "../../src/report/metrics.ts";
import { viewCluster } from "../../src/views/cluster.ts";
import { decide } from "../../src/policy/decide.ts";
import type { FoundObjects } from "../../src/policy/watched-objects.ts";
import {
  cluster,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  metadata,
  namespace,
  NOW,
  world,
} from "../unit/builders.ts";
import { keyOf, policyList, storeWith } from "../unit/memory/fixtures.ts";
import { metricsWorld } from "../unit/report/metrics-world.ts";
import { testConfirmer } from "../unit/decisions/confirmer.ts";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const GATES = Array.from({ length: 16 }, (_, index) => ({
  name: `g${index}`,
  object: { ...CONFIG_MAP, ...(index === 0 ? { selector: {} } : { name: `x${index}` }) },
}));
const FOUND: FoundObjects = {
  ok: true,
  namespaced: true,
  objects: Array.from({ length: 100 }, (_, index) => ({
    metadata: metadata({ name: `x${index}`, uid: `x${index}` }),
  })),
};

describe("annotations", () => {
  const strings = fc.dictionary(
    fc.constantFrom("a", "b", "constructor", "__proto__", "toString"),
    fc.constantFrom("", "x"),
    {
      noNullPrototype: true,
    },
  );
  const last = "kubectl.kubernetes.io/last-applied-configuration";

  test("are not copied", () => {
    const annotations = { a: "1" };
    assert.equal(viewCluster({ metadata: { annotations } }).metadata.annotations, annotations);
  });

  test("are copied without what is not kept, and none gets a meaning", () => {
    fc.assert(
      fc.property(strings, fc.boolean(), (kept, ofAnotherType) => {
        const all = Object.assign(structuredClone(kept), { [last]: "{}" }, ofAnotherType && { number: 1 });
        for (const [key, value] of Object.entries(kept))
          Object.defineProperty(all, key, { value, enumerable: true, writable: true, configurable: true });
        const viewed = viewCluster({ metadata: { annotations: all } }).metadata.annotations;
        assert.deepStrictEqual(viewed ?? {}, kept);
      }),
    );
  });

  test("are the same where nothing about them differs", () => {
    fc.assert(
      fc.property(strings, strings, (a, b) => {
        const [before, now] = [a, b].map((annotations) => cluster({ annotations }));
        assert.ok(before && now);
        assert.equal(sameCluster(before, now, { withStatus: true }), isDeepStrictEqual(a, b));
      }),
    );
  });
});

/** The API server has this policy alone, and one Cluster. */
function confirmerOf(
  store: DecisionStore,
  policy: PolicyObject,
  onStale: (kinds: ReadonlySet<PolicyKind>) => void = () => undefined,
): Confirmer {
  return testConfirmer({
    store,
    reader: {
      policies: async (of) => policyList(of === policy.kind ? [policy.metadata] : []),
      cluster: async () => cluster(),
      namespace: async () => namespace(),
      namespaces: async () => [],
      rollouts: async () => [],
      definition: async (kind) => kind,
      overrides: async () => [],
      objects: async () => FOUND,
      reasonOf: String,
      tasks: async () => await Promise.reject(new Error("not read")),
      clockAheadMs: () => 0,
    },
    now: () => NOW,
    onStale,
  });
}

test("what gates look at in one place is joined once for a live decision", async () => {
  const policy = gated(GATES);
  const { store } = storeWith({ policies: [policy], clusters: [cluster()] });
  const found = new Set<FoundObjects>();
  const decideLive = store.decider.decideLive.bind(store.decider);
  store.decider.decideLive = (request, live, at) => {
    for (const _ of GATES) found.add(live.objects.find(CONFIG_MAP, "team-a"));
    return decideLive(request, live, at);
  };
  const confirmer = confirmerOf(store, policy);
  assert.ok((await confirmer.confirm({ call: DELETE, cluster: cluster() })).ok);
  assert.equal(found.size, 1);
});

test("an entry of the audit log goes through each place once, and counts what it leaves out", () => {
  let looks = 0;
  const policies = [compiled(gated(GATES))];
  const from = world({ objects: { find: () => FOUND } });
  const decision = { ...decide(policies, from, DELETE, NOW) };
  const counting = { ...from, objects: { find: () => ((looks += 1), FOUND) } };
  const basis = { source: "Memory" as const, world: counting, policies };
  const answer = { status: "Success" as const, retryAfterSeconds: 5, message: "" };
  const outcome = { verdict: decision.verdict, answer, decision: { ...decision, basis } };
  const about = { call: DELETE, cluster: from.cluster };
  const entry = auditEntry(about, outcome, { now: NOW, instance: "x" });
  assert.equal(looks, 1);
  assert.equal(entry.decision?.inputs.objects.length, 32);
  assert.equal(entry.decision?.inputs.objectsOmitted, 68);
});

test("a scrape goes through the held operations once", async () => {
  const policy = hookPolicy();
  const fixture = storeWith({
    policies: [policy],
    clusters: [cluster({ deletionTimestamp: "2026-01-01T00:00:00Z" })],
  });
  const { store } = fixture;
  const held = store.policies.get(keyOf(policy))?.held;
  assert.equal(held?.size, 1);
  let looks = 0;
  const values = held.values.bind(held);
  held.values = () => ((looks += 1), values());
  const metrics = createMetrics({ capiVersion: "1.14" });
  metrics.follow(metricsWorld({ store }));
  const [text] = await Promise.all([metrics.text(), metrics.text()]);
  assert.match(text, /^hookpolicy_held_clusters\{hook="BeforeClusterDelete"\} 1$/m);
  assert.match(text, /^hookpolicy_policy_decisions\{.*\} 1$/m);
  assert.equal(looks, 3, "for Clusters, for decisions and for the oldest");
});

describe("a policy that memory does not have", () => {
  const stale = async (edited: ReturnType<typeof hookPolicy>, compiles: boolean): Promise<string[]> => {
    const policy = hookPolicy();
    const { store } = storeWith({ policies: [policy], clusters: [cluster()] });
    store.compiles = () => compiles;
    const kinds: string[] = [];
    const confirmer = confirmerOf(store, edited, (of) => kinds.push(...of));
    const result = await confirmer.confirm({ call: DELETE, cluster: cluster() });
    assert.deepEqual(result, { ok: false, reason: "PolicyNotInMemory" });
    return kinds;
  };
  const edited = hookPolicy({}, { generation: 99 });

  test("has the policies of its kind read again, and nothing else", async () => {
    assert.deepEqual(await stale(edited, false), ["HookPolicy"]);
  });

  test("is not read again while its edit is being compiled", async () => {
    assert.deepEqual(await stale(edited, true), []);
  });
});
