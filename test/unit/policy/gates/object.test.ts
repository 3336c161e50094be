/** Gates on other objects: what is met, what is waited for, and what cannot be told. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { ObjectGateSpec } from "../../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../../src/api/meta.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import type { ObjectReader, WatchedObject } from "../../../../src/policy/watched-objects.ts";
import type { GateTrace, ObjectQuery } from "../../../../src/policy/policy.ts";
import type { World } from "../../../../src/policy/world.ts";
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
  objectsOf,
  Operation,
  rule,
  world,
} from "../../builders.ts";

const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };
const COMPLETED = "object.status.phase == 'Completed'";

function backup(name: string, phase?: string, meta: Partial<ObjectMeta> = {}): WatchedObject {
  const metadata = { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion: "1", ...meta };
  return { metadata, raw: { metadata, ...(phase !== undefined && { status: { phase } }) } };
}

const backups = (...objects: WatchedObject[]): Partial<World> => ({
  objects: objectsOf({ "velero.io/v1 Backup": objects }),
});
const going = { deletionTimestamp: "2026-11-21T11:00:00Z" };
const terminating: Partial<World> = { namespace: namespace(going) };
const elsewhere = (meta: Partial<ObjectMeta> = {}): Partial<World> => ({
  namespaces: listerOf([namespace({ name: "backups", ...meta })]),
});

function policyWith(object: Partial<ObjectGateSpec>, fleet = false): PolicyObject {
  const until = [{ name: "backed-up", object: { ...BACKUP, ...object } }];
  return fleet ? clusterHookPolicy({ rules: [rule({ until })] }) : gated(until);
}

function decided(object: Partial<ObjectGateSpec>, over: Partial<World>, fleet = false): Decision {
  return new Operation([policyWith(object, fleet)]).at(NOW, over);
}

function judged(object: Partial<ObjectGateSpec>, over: Partial<World>, fleet = false): GateTrace {
  const gate = decided(object, over, fleet).trace[0]?.rules[0]?.gates[0];
  assert.ok(gate, "the gate was asked");
  return gate;
}

interface Case {
  readonly gate: Partial<ObjectGateSpec>;
  readonly over: Partial<World>;
  readonly fleet?: true;
  readonly want: readonly [met: boolean | undefined, reason: string];
}

function check(cases: Readonly<Record<string, Case>>): void {
  for (const [name, { gate, over, fleet = false, want }] of Object.entries(cases)) {
    test(name, () => {
      const { met, reason } = judged(gate, over, fleet);
      assert.deepEqual([met, reason], want);
    });
  }
}

const labelled = { labels: { app: "db" } };
const selector = { matchLabels: { app: "db" } };

describe("an object gate", () => {
  check({
    "is met when the object of its name is there": {
      gate: { name: "final" },
      over: backups(backup("final")),
      want: [true, "Holds"],
    },
    "waits for the object of its name": {
      gate: { name: "final" },
      over: backups(backup("other")),
      want: [false, "WaitingForObject"],
    },
    "is met when the object of the name that an expression gives is there": {
      gate: { nameExpression: "cluster.metadata.name + '-final'" },
      over: backups(backup("prod-1-final")),
      want: [true, "Holds"],
    },
    "waits for the object of the name that an expression gives": {
      gate: { nameExpression: "cluster.metadata.name + '-final'" },
      over: backups(backup("prod-2-final")),
      want: [false, "WaitingForObject"],
    },
    "is met when its selector finds one": {
      gate: { selector },
      over: backups(backup("any", "New", labelled)),
      want: [true, "Holds"],
    },
    "waits while its selector finds none": {
      gate: { selector },
      over: backups(backup("any", "New", { labels: { app: "web" } })),
      want: [false, "WaitingForObject"],
    },
    "does not take an object of another namespace": {
      gate: { name: "final" },
      over: backups(backup("final", "Completed", { namespace: "team-b" })),
      want: [false, "WaitingForObject"],
    },
    "does not take an object that is being deleted": {
      gate: { name: "final" },
      over: backups(backup("final", "Completed", going)),
      want: [false, "WaitingForObject"],
    },
  });
});

describe("its condition", () => {
  check({
    "is true": {
      gate: { name: "final", expression: COMPLETED },
      over: backups(backup("final", "Completed")),
      want: [true, "Holds"],
    },
    "is false": {
      gate: { name: "final", expression: COMPLETED },
      over: backups(backup("final", "InProgress")),
      want: [false, "WaitingForObject"],
    },
    "cannot be evaluated for the only object": {
      gate: { name: "final", expression: COMPLETED },
      over: backups(backup("final")),
      want: [undefined, "ExpressionError"],
    },
    "cannot be evaluated for one object while enough others fulfil it": {
      gate: { selector: {}, expression: COMPLETED, minCount: 2 },
      over: backups(backup("a", "Completed"), backup("b"), backup("c", "Completed")),
      want: [true, "Holds"],
    },
    "cannot be evaluated for one object that might make it enough": {
      gate: { selector: {}, expression: COMPLETED, minCount: 2 },
      over: backups(backup("a", "Completed"), backup("b"), backup("c", "Failed")),
      want: [undefined, "ExpressionError"],
    },
    "cannot be evaluated for one object that would not make it enough": {
      gate: { selector: {}, expression: COMPLETED, minCount: 3 },
      over: backups(backup("a", "Completed"), backup("b"), backup("c", "Failed")),
      want: [false, "WaitingForObject"],
    },
    "is not asked of an object that is being deleted": {
      gate: { selector: {}, expression: COMPLETED },
      over: backups(backup("a", undefined, going)),
      want: [false, "WaitingForObject"],
    },
    "needs more than the metadata that are known": {
      gate: { name: "final", expression: COMPLETED },
      over: backups({ metadata: backup("final").metadata }),
      want: [undefined, "ExpressionError"],
    },
    "needs no more than metadata": {
      gate: { name: "final", expression: "object.metadata.labels['app'] == 'db'" },
      over: backups({ metadata: backup("final", undefined, labelled).metadata }),
      want: [true, "Holds"],
    },
  });

  test("is fulfilled by as many as minCount asks for, and by no fewer", () => {
    const gate = { selector: {}, minCount: 2 };
    assert.equal(judged(gate, backups(backup("a"), backup("b"))).met, true);
    const { met, wanted, observed } = judged(gate, backups(backup("a")));
    assert.deepEqual(
      [met, wanted, observed],
      [false, "2 × Backup.velero.io in namespace team-a", "1 exists; 2 wanted"],
    );
    assert.match(decided(gate, backups(backup("a"))).message, /2 × Backup\.velero\.io in .*: found 1 of 2$/);
    assert.equal(judged(gate, backups()).observed, "none exists; 2 wanted");
  });

  test("tells what exists of what it wants, and a message the same whatever else exists", () => {
    const gate = { selector: {}, expression: COMPLETED };
    const running = ["a", "b", "c"].map((name) => backup(name, "InProgress"));
    assert.equal(
      judged(gate, backups(...running)).observed,
      "3 exist, and none of them meets the expression",
    );
    assert.equal(judged(gate, backups()).observed, "none exists");
    assert.equal(
      judged({ ...gate, minCount: 2 }, backups(backup("d", "Completed"), ...running)).observed,
      "4 exist, and 1 of them meets the expression; 2 wanted",
    );
    assert.equal(
      judged(
        { ...gate, minCount: 3 },
        backups(backup("d", "Completed"), backup("e", "Completed"), ...running),
      ).observed,
      "5 exist, and 2 of them meet the expression; 3 wanted",
    );
    assert.equal(decided(gate, backups(...running)).message, decided(gate, backups()).message);
    const many = Array.from({ length: 12 }, (_, index) => backup(`b${index}`));
    const none = decided({ selector: {}, absent: true }, backups(...many)).message;
    assert.match(none, /no Backup\.velero\.io in namespace team-a to be left: more than 10 left$/);
  });

  test("with the clock can change at any time", () => {
    const aged = "now - timestamp(object.metadata.creationTimestamp) > duration('1h')";
    const gate = compiled(policyWith({ name: "final", expression: aged })).rules[0]?.gates[0];
    assert.equal(gate?.opensAt?.(NOW), "Unknown");
    assert.equal(gate?.evaluate({ world: world(), call: DELETE, now: NOW }).changesAt, "Unknown");
  });
});

describe("absence", () => {
  check({
    "is met when nothing is left": {
      gate: { selector: {}, absent: true },
      over: backups(),
      want: [true, "Holds"],
    },
    "waits for an object to go": {
      gate: { selector: {}, absent: true },
      over: backups(backup("a")),
      want: [false, "WaitingForAbsence"],
    },
    "waits for an object that is being deleted": {
      gate: { selector: {}, absent: true },
      over: backups(backup("a", undefined, going)),
      want: [false, "WaitingForAbsence"],
    },
    "does not count an object without what the expression asks for": {
      gate: { selector: {}, absent: true, expression: COMPLETED },
      over: backups(backup("a", "Failed")),
      want: [true, "Holds"],
    },
    "cannot be told when the expression cannot be evaluated for an object": {
      gate: { selector: {}, absent: true, expression: COMPLETED },
      over: backups(backup("a", "Failed"), backup("b")),
      want: [undefined, "ExpressionError"],
    },
    "is not there while another object is left, whatever cannot be evaluated": {
      gate: { selector: {}, absent: true, expression: COMPLETED },
      over: backups(backup("a", "Completed"), backup("b")),
      want: [false, "WaitingForAbsence"],
    },
    "proves nothing in the Cluster's own namespace while that is being deleted": {
      gate: { selector: {}, absent: true },
      over: { ...backups(), ...terminating },
      want: [false, "NamespaceTerminating"],
    },
    "cannot be told while it is not known whether the namespace is being deleted": {
      gate: { selector: {}, absent: true },
      over: { ...backups(), namespace: undefined },
      want: [undefined, "NamespaceUnknown"],
    },
    "counts in another namespace while the Cluster's own is being deleted": {
      gate: { selector: {}, absent: true, namespace: "backups" },
      over: { ...backups(), ...terminating, ...elsewhere() },
      fleet: true,
      want: [true, "Holds"],
    },
    "counts for a cluster-scoped kind while the Cluster's own namespace is being deleted": {
      gate: { selector: {}, absent: true },
      over: { objects: objectsOf({}, false), ...terminating },
      fleet: true,
      want: [true, "Holds"],
    },
  });

  test("says what was wrong with an object, the same whatever their order", () => {
    const gate = { selector: {}, expression: "now - object.status.phase > duration('1h')" };
    const late = backup("a", "2026-01-01T00:00:00Z");
    const says = (...objects: readonly WatchedObject[]): string => judged(gate, backups(...objects)).observed;
    const text =
      "the expression cannot be evaluated for an object: now, object.status.phase: - does not take (timestamp, string)";
    assert.equal(says(late, backup("b")), text);
    assert.equal(says(backup("b"), late), text);
    assert.match(says(backup("b")), /: object has no field "status"$/);
  });

  test("is met by an object that is there, even in a namespace that is being deleted", () => {
    assert.equal(judged({ name: "final" }, { ...backups(backup("final")), ...terminating }).met, true);
  });
});

describe("reach", () => {
  const refused = (reason: string): ObjectReader => ({
    find: () => ({ ok: false, reason, message: `no ${reason}` }),
  });
  check({
    "a HookPolicy's does not go to cluster-scoped kinds": {
      gate: { name: "final" },
      over: { objects: objectsOf({ "velero.io/v1 Backup": [backup("final")] }, false) },
      want: [undefined, "ObjectOutOfReach"],
    },
    "a ClusterHookPolicy's does": {
      gate: { name: "final" },
      over: { objects: objectsOf({ "velero.io/v1 Backup": [backup("final")] }, false) },
      fleet: true,
      want: [true, "Holds"],
    },
    "a ClusterHookPolicy's is the Cluster's namespace by default": {
      gate: { name: "final" },
      over: backups(backup("final")),
      fleet: true,
      want: [true, "Holds"],
    },
    "a ClusterHookPolicy's is the namespace that it names": {
      gate: { name: "final", namespace: "backups" },
      over: backups(backup("final")),
      fleet: true,
      want: [false, "WaitingForObject"],
    },
  });

  test("a HookPolicy that names a namespace, and a gate on Secrets, cannot be evaluated", () => {
    const secret = { apiVersion: "v1", kind: "Secret", name: "final" };
    for (const [gate, fleet] of [
      [{ name: "final", namespace: "backups" }, false],
      [secret, false],
      [secret, true],
    ] as const) {
      const decision = decided(gate, backups(backup("final")), fleet);
      assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
    }
  });

  for (const reason of ["ObjectsNotLoaded", "ObjectsForbidden", "ObjectKindUnknown", "SecretsNotAllowed"]) {
    test(`objects that are not known (${reason}) hold, and the message says why`, () => {
      for (const absent of [{}, { absent: true as const }]) {
        const decision = decided({ selector: {}, ...absent }, { objects: refused(reason) });
        assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
        assert.match(decision.message, new RegExp(`gate backed-up cannot be evaluated \\(no ${reason}\\)`));
      }
    });
  }
});

describe("a name that is computed", () => {
  const named = (name: string): Partial<World> => ({
    cluster: cluster({ annotations: { backup: name } }),
    ...backups(backup(name)),
  });
  const gate = { nameExpression: "cluster.metadata.annotations['backup']" };

  for (const name of ["", ".", "..", "../../kube-system/a", "a/b", "a%2Fb", "x".repeat(254)]) {
    test(`is none that an object can have: ${JSON.stringify(name.slice(0, 20))}`, () => {
      for (const absent of [{}, { absent: true as const }]) {
        const decision = decided({ ...gate, ...absent }, named(name));
        assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
        assert.match(decision.message, /nameExpression gives no name/);
      }
    });
  }

  test("cannot be told when the expression fails, and then nothing is read", () => {
    const { met, reason } = judged(gate, backups());
    assert.deepEqual([met, reason], [undefined, "ExpressionError"]);
    assert.deepEqual(queries(gate, world()), []);
  });
});

function queries(gate: Partial<ObjectGateSpec>, at: World, fleet = false): readonly ObjectQuery[] {
  return compiled(policyWith(gate, fleet)).rules.flatMap(({ gates }) =>
    gates.flatMap((each) => each.queries?.({ world: at, call: DELETE, now: NOW }) ?? []),
  );
}

test("what is read before a release is what the gate looks at", () => {
  const place = { kind: BACKUP, whole: false, namespace: "team-a" };
  assert.deepEqual(queries({ name: "final" }, world()), [{ ...place, name: "final" }]);
  assert.deepEqual(queries({ selector }, world()), [place]);
  assert.deepEqual(queries({ nameExpression: "cluster.metadata.name", expression: COMPLETED }, world()), [
    { ...place, whole: true, name: "prod-1" },
  ]);
  assert.deepEqual(queries({ selector: {}, namespace: "backups" }, world(), true), [
    { ...place, namespace: "backups" },
  ]);
});

test("the message names kind, name or labels, namespace and how many there are, and nothing else that was observed", () => {
  const gate = { nameExpression: "cluster.metadata.name + '-final'", expression: `${COMPLETED}\n  && true` };
  const { message } = decided(gate, backups(backup("prod-1-final", "s3cret")));
  assert.equal(
    message,
    "HookPolicy team-a/protect, rule confirmed-delete: gate backed-up waits for Backup.velero.io prod-1-final " +
      "in namespace team-a for which its expression is true: none found",
  );
  assert.match(
    decided({ selector: {}, absent: true }, backups(backup("a"))).message,
    /no Backup\.velero\.io in/,
  );
  const matchExpressions = [{ key: "kind", operator: "In" as const, values: ["full", "diff"] }];
  const ofLabels = { selector: { matchLabels: { app: "db" }, matchExpressions }, minCount: 2 };
  assert.match(
    decided(ofLabels, backups(backup("a"))).message,
    /waits for 2 × Backup\.velero\.io with app=db, kind in \(full, diff\) in namespace team-a: none found$/,
  );
  const clusterScoped = { objects: objectsOf({}, false) };
  assert.match(
    decided({ name: "a" }, clusterScoped, true).message,
    /waits for Backup\.velero\.io a: none found$/,
  );
  const core = hookPolicy({
    rules: [rule({ until: [{ name: "g", object: { apiVersion: "v1", kind: "ConfigMap", name: "go" } }] })],
  });
  assert.match(
    new Operation([core]).at(NOW).message,
    /waits for ConfigMap go in namespace team-a: none found$/,
  );
});
