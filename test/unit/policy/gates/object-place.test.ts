/** Object gates that look into the namespaces that a selector selects, and that count in both directions. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { ObjectGateSpec } from "../../../../src/api/hook-policy.ts";
import type { Namespace, ObjectMeta } from "../../../../src/api/meta.ts";
import type { ObjectReader, WatchedObject } from "../../../../src/policy/watched-objects.ts";
import type { GateTrace } from "../../../../src/policy/policy.ts";
import type { World } from "../../../../src/policy/world.ts";
import {
  clusterHookPolicy,
  compiled,
  gated,
  listerOf,
  namespace,
  NOW,
  objectsOf,
  Operation,
  rule,
  UPGRADE,
  world,
} from "../../builders.ts";

const CLUSTER = { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster" };
const STAGING = { matchLabels: { env: "staging" } };
const going = { deletionTimestamp: "2026-11-21T11:00:00Z" };

function ns(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  over: Partial<ObjectMeta> = {},
): Namespace {
  return namespace({ name, uid: `uid-${name}`, labels, ...over });
}

const PRODUCTION = ns("team-a", { env: "production" });
const NAMESPACES = [PRODUCTION, ns("staging-1", { env: "staging" }), ns("staging-2", { env: "staging" })];

function running(place: string, version: string, over: Partial<ObjectMeta> = {}): WatchedObject {
  const metadata = {
    name: "c",
    namespace: place,
    uid: `uid-${place}-${version}`,
    resourceVersion: "1",
    ...over,
  };
  return { metadata, raw: { metadata, spec: { topology: { version } } } };
}

function among(objects: readonly WatchedObject[], all: readonly Namespace[] = NAMESPACES): Partial<World> {
  return {
    namespaces: listerOf(all),
    objects: objectsOf({ "cluster.x-k8s.io/v1beta2 Cluster": objects }),
  };
}

const SAME_VERSION = "object.spec.topology.version == request.toKubernetesVersion";

function judged(object: Partial<ObjectGateSpec>, over: Partial<World>): GateTrace {
  const until = [{ name: "seen", object: { ...CLUSTER, selector: {}, ...object } }];
  const policy = clusterHookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"], until })] });
  const gate = new Operation([policy], UPGRADE).at(NOW, over).trace[0]?.rules[0]?.gates[0];
  assert.ok(gate, "the gate was evaluated");
  return gate;
}

interface Case {
  readonly gate: Partial<ObjectGateSpec>;
  readonly over: Partial<World>;
  readonly want: readonly [met: boolean | undefined, reason: string];
}

function check(cases: Readonly<Record<string, Case>>): void {
  for (const [name, { gate, over, want }] of Object.entries(cases)) {
    test(name, () => {
      const { met, reason } = judged(gate, over);
      assert.deepEqual([met, reason], want);
    });
  }
}

describe("a namespace", () => {
  const left = { absent: true as const, namespace: "staging-1" };
  check({
    "proves nothing while it is being deleted": {
      gate: left,
      over: among([], [PRODUCTION, ns("staging-1", {}, going)]),
      want: [false, "NamespaceTerminating"],
    },
    "proves nothing if there is none of its name": {
      gate: { ...left, namespace: "stagging-1" },
      over: among([]),
      want: [undefined, "NoSuchNamespace"],
    },
    "does not prove that there are few if there is none of its name": {
      gate: { maxCount: 2, namespace: "stagging-1" },
      over: among([]),
      want: [undefined, "NoSuchNamespace"],
    },
    "proves nothing while the Namespaces are not known": {
      gate: left,
      over: { objects: among([]).objects ?? world().objects },
      want: [undefined, "NamespacesUnknown"],
    },
  });
});

test("what shows the objects of a name is a command that kubectl takes, wherever they are", () => {
  const look = (namespaceSelector: object): readonly unknown[] | undefined =>
    judged({ selector: undefined as never, name: "nightly", namespaceSelector }, among([])).look;
  const kind = "cluster.cluster.x-k8s.io";
  assert.deepEqual(look({ matchLabels: { env: "production" } }), [
    `kubectl get ${kind} -n team-a nightly`,
    `kubectl auth can-i create ${kind} -n team-a`,
  ]);
  for (const env of ["staging", "stagging"])
    assert.deepEqual(look({ matchLabels: { env } }), [
      `kubectl get ${kind} -A --field-selector metadata.name=nightly`,
      `kubectl auth can-i create ${kind} -A`,
    ]);
});

describe("namespaceSelector", () => {
  const inStaging = { namespaceSelector: STAGING, expression: SAME_VERSION };
  check({
    "finds an object in any selected namespace, and the version of the operation in its expression": {
      gate: inStaging,
      over: among([running("staging-1", "v1.30.0"), running("staging-2", "v1.35.0")]),
      want: [true, "Holds"],
    },
    "does not find an object in a namespace that is not selected": {
      gate: inStaging,
      over: among([running("team-a", "v1.35.0")]),
      want: [false, "WaitingForObject"],
    },
    "counts the objects of all selected namespaces together": {
      gate: { ...inStaging, minCount: 2 },
      over: among([running("staging-1", "v1.35.0"), running("staging-2", "v1.35.0")]),
      want: [true, "Holds"],
    },
    "finds a name in each of them": {
      gate: { selector: undefined as never, name: "c", namespaceSelector: STAGING, minCount: 2 },
      over: among([running("staging-1", "v1"), running("staging-2", "v1")]),
      want: [true, "Holds"],
    },
    "that selects no namespace finds nothing": {
      gate: { ...inStaging, namespaceSelector: { matchLabels: { env: "stagging" } } },
      over: among([running("staging-1", "v1.35.0")]),
      want: [false, "WaitingForObject"],
    },
    "that selects no namespace proves no absence": {
      gate: { absent: true, namespaceSelector: { matchLabels: { env: "stagging" } } },
      over: among([running("staging-1", "v1.35.0")]),
      want: [undefined, "NoNamespaceSelected"],
    },
    "proves absence in all of them": {
      gate: { absent: true, namespaceSelector: STAGING },
      over: among([running("team-a", "v1.35.0")]),
      want: [true, "Holds"],
    },
    "proves no absence while one of them has an object left": {
      gate: { absent: true, namespaceSelector: STAGING },
      over: among([running("staging-2", "v1.35.0")]),
      want: [false, "WaitingForAbsence"],
    },
    "proves no absence while one of them is being deleted": {
      gate: { absent: true, namespaceSelector: STAGING },
      over: among([], [PRODUCTION, ns("staging-1", { env: "staging" }, going)]),
      want: [false, "NamespaceTerminating"],
    },
    "is not evaluable while the Namespaces are not known": {
      gate: inStaging,
      over: { objects: among([running("staging-1", "v1.35.0")]).objects ?? world().objects },
      want: [undefined, "NamespacesUnknown"],
    },
    "is not evaluable for a kind that is cluster-scoped": {
      gate: { namespaceSelector: STAGING },
      over: { namespaces: listerOf(NAMESPACES), objects: objectsOf({}, false) },
      want: [undefined, "ObjectOutOfReach"],
    },
    "is not evaluable for more namespaces than can be read before a release": {
      gate: { namespaceSelector: {} },
      over: among(
        [running("staging-1", "v1")],
        Array.from({ length: 101 }, (_, index) => ns(`n-${index}`)),
      ),
      want: [undefined, "TooManyNamespaces"],
    },
  });

  test("is not evaluable while the objects of one selected namespace are not known", () => {
    const reader: ObjectReader = {
      find: (_, place) =>
        place === "staging-2"
          ? { ok: false, reason: "ObjectsUnreadable", message: "not just now" }
          : { ok: true, namespaced: true, objects: [running("staging-1", "v1.35.0")] },
    };
    for (const gate of [{}, { absent: true as const }, { maxCount: 5 }]) {
      const { met, reason } = judged(
        { ...gate, namespaceSelector: STAGING },
        { namespaces: listerOf(NAMESPACES), objects: reader },
      );
      assert.deepEqual([met, reason], [undefined, "ObjectsUnreadable"]);
    }
  });

  test("charges its steps, so that many Namespaces cannot make a decision slow", () => {
    const many = Array.from({ length: 400_000 }, () => PRODUCTION);
    assert.equal(judged({ namespaceSelector: STAGING }, among([], many)).reason, "BudgetExhausted");
  });

  test("reads the objects of each selected namespace before a release, and no others", () => {
    const until = [{ name: "seen", object: { ...CLUSTER, selector: {}, ...inStaging } }];
    const { rules } = compiled(
      clusterHookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"], until })] }),
    );
    const queries = rules.flatMap(({ gates }) =>
      gates.flatMap(
        (gate) =>
          gate.queries?.({ world: world({ namespaces: listerOf(NAMESPACES) }), call: UPGRADE, now: NOW }) ??
          [],
      ),
    );
    assert.deepEqual(queries, [
      { kind: CLUSTER, whole: true, namespace: "staging-1" },
      { kind: CLUSTER, whole: true, namespace: "staging-2" },
    ]);
  });

  test("in a HookPolicy is never evaluable, even if the API server has stored it", () => {
    const until = [{ name: "seen", object: { ...CLUSTER, selector: {}, namespaceSelector: {} } }];
    const decision = new Operation([gated(until)]).at(NOW, among([running("team-a", "v1")]));
    assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
  });

  test("is named in messages as kubectl takes selectors, without the namespaces that it selects", () => {
    const { wanted } = judged(
      {
        namespaceSelector: {
          matchLabels: { env: "staging" },
          matchExpressions: [
            { key: "tier", operator: "In", values: ["a", "b"] },
            { key: "tier", operator: "NotIn", values: ["c"] },
            { key: "team", operator: "Exists" },
            { key: "old", operator: "DoesNotExist" },
          ],
        },
      },
      among([]),
    );
    assert.equal(
      wanted,
      "Cluster.cluster.x-k8s.io in the namespaces with env=staging, tier in (a, b), tier notin (c), team, !old",
    );
    assert.match(judged({ namespaceSelector: {} }, among([])).wanted, / in all namespaces$/);
  });
});

describe("maxCount", () => {
  const one = running("team-a", "v1");
  const two = running("team-a", "v2");
  const leaving = running("team-a", "v3", going);
  const known = { namespace: PRODUCTION };
  check({
    "is met for none": { gate: { maxCount: 1 }, over: among([]), want: [true, "Holds"] },
    "is met for as many": { gate: { maxCount: 1 }, over: among([one]), want: [true, "Holds"] },
    "waits while there are more": {
      gate: { maxCount: 1 },
      over: among([one, two]),
      want: [false, "TooManyObjects"],
    },
    "counts an object that is being deleted": {
      gate: { maxCount: 1 },
      over: among([one, leaving]),
      want: [false, "TooManyObjects"],
    },
    "does not take an object that is being deleted for one of minCount": {
      gate: { minCount: 2, maxCount: 3 },
      over: among([one, leaving]),
      want: [false, "WaitingForObject"],
    },
    "is met between minCount and itself": {
      gate: { minCount: 2, maxCount: 2 },
      over: among([one, two]),
      want: [true, "Holds"],
    },
    "is not evaluable while an object that cannot be evaluated could be one too many": {
      gate: { maxCount: 1, expression: "object.spec.flag" },
      over: among([one, two]),
      want: [undefined, "ExpressionError"],
    },
    "is evaluable while such an object could not be": {
      gate: { maxCount: 2, expression: "object.spec.flag" },
      over: among([one, two]),
      want: [true, "Holds"],
    },
    "proves nothing in the Cluster's own namespace while that is being deleted": {
      gate: { maxCount: 1 },
      over: { ...among([]), ...known, namespace: namespace(going) },
      want: [false, "NamespaceTerminating"],
    },
  });

  test("is told in messages", () => {
    const wanted = (gate: Partial<ObjectGateSpec>): string => judged(gate, among([])).wanted;
    assert.match(wanted({ maxCount: 2 }), /^at most 2 × Cluster/);
    assert.match(wanted({ minCount: 1, maxCount: 2 }), /^1 to 2 × Cluster/);
    assert.match(wanted({ minCount: 2, maxCount: 2 }), /^exactly 2 × Cluster/);
  });
});
