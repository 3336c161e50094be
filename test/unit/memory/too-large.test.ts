/** A namespace beyond its share of memory: its Clusters are held, whatever memory cannot see. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { NOTHING_KNOWN } from "../../../src/memory/policy-entry.ts";
import { computeStatus } from "../../../src/status/policy-status.ts";
import { finalizerIsDue, wantedFinalizers } from "../../../src/status/finalizer.ts";
import { FINALIZER, type HookPolicyStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta, StoredNamespace } from "../../../src/api/meta.ts";
import { labelsOfNamespace } from "../../../src/api/selector.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { decide } from "../../../src/policy/decide.ts";
import { stubMetadata, stubCluster, stubNamespace } from "../../../src/views/too-large.ts";
import {
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  listerOf,
  namespace,
  NOW,
  override,
  rule,
  world,
} from "../builders.ts";
import { keyOf, storeWith } from "./fixtures.ts";

const deleted = (over: Partial<Cluster["metadata"]> = {}): Cluster =>
  cluster({ deletionTimestamp: "2026-01-01T00:00:00Z", ...over });
const everything = (): PolicyObject => gated([{ name: "g", expression: "true" }]);

function verdict(policy: PolicyObject, on: Cluster, over: Parameters<typeof world>[0] = {}): string {
  const {
    holds,
    verdict: said,
    trace,
  } = decide([compiled(policy)], world({ cluster: on, ...over }), DELETE, NOW);
  return [said, holds, trace[0]?.rules[0]?.reason].join(" ");
}

describe("a policy that is too large", () => {
  test("holds every Cluster of its namespace, whatever it says", () => {
    assert.equal(verdict(everything(), deleted()), "Allowed false GatesHold");
    assert.equal(verdict(stubPolicy(everything()), deleted()), "NotEvaluable true TooLarge");
    const ignoring = hookPolicy({ failurePolicy: "Ignore" });
    assert.equal(verdict(stubPolicy(ignoring), deleted()), "NotEvaluable true TooLarge");
    const selecting = hookPolicy({ clusterSelector: { matchLabels: { none: "has" } } });
    assert.equal(verdict(stubPolicy(selecting), deleted()), "NotEvaluable true TooLarge");
  });

  test("holds no Cluster of another namespace", () => {
    assert.equal(verdict(stubPolicy(everything()), deleted({ namespace: "team-b" })), "Allowed false ");
  });

  test("still only audits", () => {
    const auditing = hookPolicy({ mode: "Audit" });
    assert.equal(verdict(stubPolicy(auditing), deleted()), "WouldBlock false TooLarge");
  });

  test("gives way to a HookOverride", () => {
    const overrides = [override()];
    assert.equal(verdict(stubPolicy(everything()), deleted(), { overrides }), "Allowed false TooLarge");
  });

  test("denies at admission only if it did", () => {
    const admissionOf = (policy: PolicyObject): unknown => compiled(stubPolicy(policy)).rules[0]?.admission;
    assert.equal(admissionOf(everything()), undefined);
    assert.equal(admissionOf(gated([], { admission: "Warn" })), undefined);
    assert.equal(admissionOf(gated([], { admission: "Deny" })), "Deny");
  });

  test("keeps its finalizer while the namespace has Clusters", async () => {
    const stub = compiled(stubPolicy(hookPolicy()));
    const reader = (has: boolean): Parameters<typeof wantedFinalizers>[3] =>
      ({
        hasCluster: async () => has,
        findNamespace: async () => namespace({ deletionTimestamp: "x" }),
      }) as never;
    const plain = hookPolicy().metadata;
    assert.deepEqual(await wantedFinalizers(stub, plain, 0, reader(true)), [FINALIZER]);
    assert.equal(await wantedFinalizers(stub, plain, 0, reader(false)), undefined);
    const going = { ...plain, deletionTimestamp: "x", finalizers: [FINALIZER] };
    assert.equal(await wantedFinalizers(stub, going, 0, reader(true)), undefined);
    assert.deepEqual(await wantedFinalizers(stub, going, 0, reader(false)), []);
    const many = stubMetadata({
      ...plain,
      finalizers: Array.from({ length: 200 }, (_, i) => `example.com/f${i}`),
    });
    assert.equal(finalizerIsDue(stub, many, 1), false);
  });
});

describe("a Cluster that is too large", () => {
  const stub = stubCluster(deleted({ labels: { tier: "production" }, annotations: { a: "x".repeat(9999) } }));

  test("is held by every policy that may select it, and shows what is pending", () => {
    assert.equal(stub.metadata.labels, undefined);
    assert.equal(verdict(everything(), stub), "NotEvaluable true TooLarge");
    const elsewhere = clusterHookPolicy({ namespaceSelector: { matchLabels: { team: "none" } } });
    assert.equal(verdict(elsewhere, stub, { namespace: namespace({ labels: {} }) }), "Allowed false ");
    const marks = { "runtime.cluster.x-k8s.io/ok-to-delete": "", a: "b" };
    assert.deepEqual(stubCluster(deleted({ annotations: marks })).metadata.annotations, {
      "runtime.cluster.x-k8s.io/ok-to-delete": "",
    });
  });

  test("is not released by a read that shows all of it", () => {
    const { store } = storeWith({ policies: [everything()], clusters: [stub] });
    const live = { cluster: deleted(), namespace: namespace(), overrides: [], objects: world().objects };
    const request = { call: DELETE, cluster: deleted() };
    assert.equal(store.decider.ask(request, NOW).holds, true);
    assert.equal(store.decider.decideLive(request, live, NOW).holds, true);
  });
});

describe("a Namespace that is too large", () => {
  const velero = (over: Partial<ObjectMeta> = {}): StoredNamespace =>
    stubNamespace(namespace({ name: "velero", uid: "velero", labels: { backups: "here" }, ...over }));
  const unlabelled = ({ metadata }: StoredNamespace): StoredNamespace => ({ metadata, tooLarge: true });
  const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };
  const byLabel = { namespaceSelector: { matchLabels: { backups: "here" } } };
  const gone = (place: object, failurePolicy: "Fail" | "Ignore"): PolicyObject => {
    const until = [{ name: "g", object: { ...BACKUP, selector: {}, absent: true as const, ...place } }];
    return clusterHookPolicy({ failurePolicy, rules: [rule({ until })] });
  };
  const asked = (policy: PolicyObject, ...others: readonly StoredNamespace[]): string => {
    const namespaces = [namespace(), ...others];
    const { store } = storeWith({ policies: [policy], clusters: [deleted()], namespaces });
    const request = { call: DELETE, cluster: deleted() };
    const { verdict: said, holds, trace } = store.decider.ask(request, NOW);
    const live = { ...world({ cluster: deleted() }), namespaces: listerOf([namespace()]) };
    assert.ok(!holds || store.decider.decideLive(request, live, NOW).holds, "whatever is read");
    return [said, holds, trace[0]?.rules[0]?.gates[0]?.reason].join(" ");
  };

  for (const failurePolicy of ["Fail", "Ignore"] as const)
    test(`proves nothing by what is missing there, and is not taken for missing itself: ${failurePolicy}`, () => {
      const held = "NotEvaluable true TooLarge";
      assert.equal(asked(gone({ namespace: "velero" }, failurePolicy), velero()), held);
      assert.equal(asked(gone(byLabel, failurePolicy), velero()), held);
      assert.equal(asked(gone(byLabel, failurePolicy), unlabelled(velero())), held);
    });

  test("concerns no gate whose selector does not select it", () => {
    const other = velero({ labels: {} });
    const whole = namespace({ name: "other", uid: "other", labels: { backups: "here" } });
    assert.equal(asked(gone(byLabel, "Fail"), other, whole), "Allowed false Holds");
  });

  test("holds its Clusters by every policy that may look at it", () => {
    const own = { namespace: unlabelled(stubNamespace(namespace())) };
    assert.equal(verdict(everything(), deleted(), own), "NotEvaluable true TooLarge");
    const selecting = (labels: Record<string, string>): PolicyObject =>
      clusterHookPolicy({ failurePolicy: "Ignore", namespaceSelector: { matchLabels: labels } });
    assert.equal(verdict(selecting({ team: "a" }), deleted(), own), "NotEvaluable true TooLarge");
    const labelled = { namespace: stubNamespace(namespace({ labels: { team: "b" } })) };
    assert.equal(verdict(selecting({ team: "a" }), deleted(), labelled), "Allowed false ");
    assert.equal(verdict(selecting({ team: "b" }), deleted(), labelled), "NotEvaluable true TooLarge");
  });

  test("keeps its labels unless these are too large, too", () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`l${n}`, "x".repeat(40)]));
    assert.equal(labelsOfNamespace(velero({ labels: many })), "unknown");
    assert.deepEqual(labelsOfNamespace(velero()), { backups: "here" });
    assert.equal(stubNamespace(velero()).tooLarge, true);
  });
});

describe("policies of a namespace that are too large", () => {
  const many = ["a", "b", "c"].map((name) => stubPolicy(hookPolicy({}, { name, uid: name })));

  test("are represented by one of them, and by the next one when it goes", () => {
    const fixture = storeWith({ policies: many, clusters: [deleted()] });
    const rows = (): number[] =>
      many.map((policy) => fixture.store.policies.get(keyOf(policy))?.held.size ?? -1);
    fixture.store.wake();
    assert.deepEqual(rows(), [1, 0, 0]);
    const [first] = many;
    assert.ok(first);
    fixture.deletePolicy(first);
    fixture.store.wake();
    assert.deepEqual(rows(), [-1, 1, 0]);
  });

  test("are not all released by a HookOverride that names the one that represents them", () => {
    const { store } = storeWith({ policies: many, clusters: [deleted()] });
    const request = { call: DELETE, cluster: deleted() };
    const live = { cluster: deleted(), namespace: namespace(), objects: world().objects };
    const held = (over: Parameters<typeof override>[0]): boolean =>
      store.decider.decideLive(request, { ...live, overrides: [override(over)] }, NOW).holds;
    assert.equal(held({ policyRefs: [{ kind: "HookPolicy", namespace: "team-a", name: "a" }] }), true);
    assert.equal(held({}), false);
  });

  test("know what they hold again when they are read whole", () => {
    const fixture = storeWith({ policies: many, clusters: [deleted()] });
    for (const name of ["a", "b", "c"]) fixture.setPolicy(hookPolicy({}, { name, uid: name }));
    const entries = many.map((policy) => fixture.store.policies.get(keyOf(policy)));
    assert.deepEqual(
      entries.map((entry) => [entry?.held.size, entry?.matched.size]),
      [
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    );
  });

  test("say so in their status, and a stored status with rows is written anew", () => {
    const [stub] = many;
    assert.ok(stub);
    const statusOf = (of: PolicyObject, isRepresented: boolean): HookPolicyStatus => {
      const known = { stored: undefined, matchedClusters: 0, held: [], before: NOTHING_KNOWN, recent: [] };
      return computeStatus({ policy: compiled(of), ...known, isRepresented }, NOW);
    };
    const { conditions = [], decisions, blocked } = statusOf(stub, false);
    assert.equal(blocked, 0);
    // What it holds is counted by another one.
    const represented = statusOf(stub, true);
    assert.deepEqual([represented.matchedClusters, represented.blocked], [undefined, undefined]);
    const audits = statusOf(stubPolicy(hookPolicy({ mode: "Audit" })), false);
    for (const [{ conditions: [said] = [] }, message] of [
      [
        represented,
        /^Every Cluster that it could select is held: .*; another HookPolicy .* counts and lists them$/,
      ],
      [audits, /^It holds nothing, and what it would hold is unknown: /],
    ] as const)
      assert.match(said?.message ?? "", message);
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      ["Ready False TooLarge", "Stalled True TooLarge"],
    );
    assert.equal(decisions, undefined);
    const row = { clusterUID: "x" };
    const stored = { decisions: [row, row], recent: [row, row] } as unknown as NonNullable<
      PolicyObject["status"]
    >;
    const { status } = stubPolicy({ ...hookPolicy(), status: stored });
    assert.deepEqual([status?.decisions?.length, status?.recent?.length], [1, 1]);
  });
});
