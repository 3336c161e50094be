import assert from "node:assert/strict";
import test from "node:test";
import { admitted, requestOf } from "../../../../src/cli/fleet/admission-request.ts";
import { Fleet, type FleetOptions } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import { newOperation } from "../../../../src/operations/operation.ts";
import type { PolicyKind } from "../../../../src/policy/policy-ref.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { ALL_HOOKS, cluster as clusterOf, NOW } from "../../builders.ts";
import { RAW_POLICIES, rawCluster, rawNamespace, rawOverride } from "../raw.ts";

const DAY = 86_400_000;

function fleet(objects: readonly RawObject[], more: Partial<FleetOptions> = {}): Fleet {
  return new Fleet(objects, { served: ALL_HOOKS, maxOverrideMs: 7 * DAY, now: NOW, ...more });
}

const clusterWith = (metadata: object = {}, spec: object = {}): RawObject => ({
  ...rawCluster(metadata),
  spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" }, ...spec },
});

const policyWith = (name: string, until: readonly object[], kind: PolicyKind = "HookPolicy"): RawObject =>
  RAW_POLICIES[kind](name, {
    rules: [{ name: "held", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"], until }],
  });

const byUID = { name: "approved", annotation: { key: "approved", valueFrom: "ClusterUID" } };

function verdict(world: Fleet, call: HookCall = { hook: "BeforeClusterDelete" }) {
  const cluster = world.cluster("team-a", "prod-1");
  assert.ok(cluster !== undefined);
  const operation = newOperation(call, cluster, NOW, undefined);
  return decide(world.policiesFor(cluster), world.world(cluster, operation), call, NOW);
}

test("policies are in the order of the server, and those of a namespace only for it", () => {
  const other = { ...policyWith("z", [byUID]), metadata: { name: "z", namespace: "team-b" } };
  const world = fleet([
    policyWith("b", [byUID]),
    other,
    policyWith("c", [byUID], "ClusterHookPolicy"),
    policyWith("a", [byUID]),
  ]);
  const names = (namespace: string): string[] =>
    world.policiesFor(clusterOf({ namespace })).map(({ ref }) => ref.name);
  assert.deepEqual(names("team-a"), ["c", "a", "b"]);
  assert.deepEqual(names("team-b"), ["c", "z"]);
});

test("an empty annotation approves no Cluster that has no uid yet", () => {
  const world = fleet([policyWith("a", [byUID]), clusterWith({ annotations: { approved: "" } })]);
  assert.equal(verdict(world).verdict, "Blocked");
});

test("whether an approval names a Cluster whose uid no file says is not known, except in a suite", () => {
  const objects = (approved: string, uid?: string): RawObject[] => [
    policyWith("a", [byUID]),
    clusterWith({ annotations: { approved }, ...(uid !== undefined && { uid }) }),
  ];
  const [policy] = verdict(fleet(objects("2f51"))).trace;
  assert.equal(policy?.rules[0]?.verdict, "NotEvaluable");
  assert.match(policy.rules[0].message, /write its metadata\.uid/);
  assert.equal(verdict(fleet(objects("2f51"), { complete: true })).verdict, "Blocked");
  assert.equal(verdict(fleet(objects("2f51", "4711"))).verdict, "Blocked");
  assert.equal(verdict(fleet(objects("2f51", "2f51"))).verdict, "Allowed");
});

test("a Namespace that is not given is not known", () => {
  const freeze = policyWith("freeze", [byUID], "ClusterHookPolicy");
  assert.equal(verdict(fleet([freeze, clusterWith()])).verdict, "NotEvaluable");
  assert.equal(verdict(fleet([freeze, clusterWith(), rawNamespace()])).verdict, "Blocked");
});

const noBackup = {
  name: "none",
  object: { apiVersion: "velero.io/v1", kind: "Backup", selector: {}, absent: true },
};
const backup = { apiVersion: "velero.io/v1", kind: "Backup", metadata: { name: "b", namespace: "team-a" } };

test("a kind of which no object is given is not evaluable, unless the objects are all there are", () => {
  const objects = [policyWith("a", [noBackup]), clusterWith(), rawNamespace()];
  assert.equal(verdict(fleet(objects)).verdict, "NotEvaluable");
  assert.equal(verdict(fleet(objects, { complete: true })).verdict, "Allowed");
  assert.equal(verdict(fleet([...objects, backup], { complete: true })).verdict, "Blocked");
});

test("objects of other namespaces are not found", () => {
  const elsewhere = { ...backup, metadata: { name: "b", namespace: "team-b" } };
  const wanted = { name: "one", object: { apiVersion: "velero.io/v1", kind: "Backup", name: "b" } };
  assert.equal(verdict(fleet([policyWith("a", [wanted]), clusterWith(), elsewhere])).verdict, "Blocked");
  assert.equal(verdict(fleet([policyWith("a", [wanted]), clusterWith(), backup])).verdict, "Allowed");
});

const override = (expiresAt: string, metadata: object = {}): RawObject =>
  rawOverride({ name: "o", ...metadata }, { expiresAt });

test("an override that is not created yet counts from now, and one that lasts too long has no effect", () => {
  const objects = [policyWith("a", [byUID]), clusterWith()];
  assert.equal(verdict(fleet([...objects, override("2026-11-27T12:00:00Z")])).verdict, "Allowed");
  assert.equal(verdict(fleet([...objects, override("2026-11-29T12:00:00Z")])).verdict, "Blocked");
  const old = { creationTimestamp: "2026-11-01T12:00:00Z" };
  assert.equal(verdict(fleet([...objects, override("2026-11-27T12:00:00Z", old)])).verdict, "Blocked");
});

test("an override that names a uid has an effect on a Cluster whose uid no file says, in a suite, too", () => {
  const clusterRef = { namespace: "team-a", name: "prod-1", uid: "2f51" };
  const given = (uid?: string): RawObject[] => [
    policyWith("a", [byUID]),
    clusterWith(uid === undefined ? {} : { uid }),
    rawOverride("o", { clusterRef, expiresAt: "2026-11-27T12:00:00Z" }),
  ];
  assert.equal(verdict(fleet(given())).verdict, "Allowed");
  assert.equal(verdict(fleet(given(), { complete: true })).verdict, "Allowed");
  assert.equal(verdict(fleet(given("2f51"))).verdict, "Allowed");
  assert.equal(verdict(fleet(given("4711"))).verdict, "Blocked");
});

test("an override that names a uid does not let a Cluster be created again", () => {
  const rule = { name: "held", hooks: ["BeforeClusterCreate"], admission: "Deny", until: [byUID] };
  const hooks = ["BeforeClusterCreate"];
  const verdictWith = (clusterRef: object): string => {
    const world = fleet([
      RAW_POLICIES.HookPolicy("a", { rules: [rule] }),
      clusterWith(),
      rawOverride("o", { clusterRef, hooks, expiresAt: "2026-11-27T12:00:00Z" }),
    ]);
    const [cluster] = world.clusters();
    assert.ok(cluster !== undefined);
    const requested = requestOf("Create", cluster);
    assert.ok("call" in requested);
    return admitted(world, requested, NOW).verdict;
  };
  assert.equal(verdictWith({ namespace: "team-a", name: "prod-1", uid: "2f51" }), "Denied");
  assert.notEqual(
    verdictWith({ namespace: "team-a", name: "prod-1" }),
    "Denied",
    "it means any of that name",
  );
});

test("an override that the operator has refused as too long has no effect, until it is another one", () => {
  const refused = { type: "Active", status: "False", reason: "TooLong", message: "m", observedGeneration: 2 };
  const objects = [policyWith("a", [byUID]), clusterWith()];
  const given = (generation: number, conditions: unknown): string =>
    verdict(
      fleet([...objects, { ...override("2026-11-27T12:00:00Z", { generation }), status: { conditions } }]),
    ).verdict;
  assert.equal(given(2, [null, refused]), "Blocked");
  assert.equal(given(3, [refused]), "Allowed");
  assert.equal(given(2, [{ ...refused, reason: "Active", status: "True" }]), "Allowed");
  assert.equal(given(2, "none"), "Allowed");
});

test("objects without a namespace are in the one that kubectl would use", () => {
  const objects = [
    clusterWith({ namespace: undefined }),
    { ...policyWith("a", [byUID]), metadata: { name: "a" } },
  ];
  const found = fleet(objects).cluster("default", "prod-1") ?? assert.fail("no Cluster");
  const policies = fleet(objects).policiesFor(found);
  assert.deepEqual(
    policies.map(({ ref }) => ref.name),
    ["a"],
  );
});

test("of objects with one name the last one counts, whatever its version", () => {
  const last = { ...clusterWith({ labels: { last: "yes" } }), apiVersion: "cluster.x-k8s.io/v1beta1" };
  const found = fleet([clusterWith(), last]).clusters();
  assert.deepEqual(
    found.map(({ metadata }) => metadata.labels),
    [{ last: "yes" }],
  );
});

test("a policy with errors holds, and one that is null in places is like one without", () => {
  const broken = { ...policyWith("a", []), spec: { rules: "no" } };
  assert.equal(verdict(fleet([broken, clusterWith()])).verdict, "NotEvaluable");
  const nulls = {
    ...policyWith("a", []),
    spec: { rules: [{ name: "x", hooks: ["BeforeClusterDelete"], until: null, matchConditions: null }] },
  };
  assert.equal(verdict(fleet([nulls, clusterWith()])).verdict, "Observed");
});

const row = (over: object = {}): object => ({
  namespace: "team-a",
  cluster: "prod-1",
  clusterUID: "u1",
  hook: "BeforeClusterUpgrade",
  targetVersion: "v1.34.0",
  firstAsked: "2026-11-20T12:00:00Z",
  rule: "held",
  verdict: "Blocked",
  ...over,
});
const narrowed = (policy: RawObject, selectors: object): RawObject => ({
  ...policy,
  spec: { ...(policy["spec"] as object), ...selectors },
});
const withRows = (name: string, ...decisions: readonly object[]): RawObject => ({
  ...policyWith(name, [byUID]),
  status: { decisions },
});

test("what waits is in the rows of policies, once, since it was asked first; of a deletion, that alone", () => {
  const rows = [
    withRows(
      "a",
      row(),
      row({ clusterUID: "another", firstAsked: "2026-11-19T12:00:00Z" }),
      row({ cluster: "other" }),
    ),
    withRows("b", row({ firstAsked: "2026-11-20T11:00:00Z" })),
  ];
  const waiting = (metadata: object): readonly (readonly [string, string])[] => {
    const world = fleet([clusterWith({ uid: "u1", ...metadata }), ...rows]);
    return world
      .clusters()
      .flatMap((cluster) => world.pendingOperations(cluster))
      .map(({ call: { hook }, firstAsked }) => [hook, firstAsked.toISOString()] as const);
  };
  assert.deepEqual(waiting({}), [["BeforeClusterUpgrade", "2026-11-20T11:00:00.000Z"]]);
  assert.deepEqual(waiting({ deletionTimestamp: "2026-11-21T11:00:00Z" }), [
    ["BeforeClusterDelete", "2026-11-21T11:00:00.000Z"],
  ]);
});

test("what the Cluster shows to have gone on does not wait any more", () => {
  const world = fleet([
    clusterWith({
      uid: "u1",
      annotations: { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" },
    }),
    withRows("a", row()),
  ]);
  const [cluster] = world.clusters();
  assert.ok(cluster !== undefined);
  assert.deepEqual(world.pendingOperations(cluster), []);
});

test("a row about a Cluster that its policy does not match, or no longer matches, tells of nothing", () => {
  const waitingFor = (selectors: object): readonly string[] => {
    const policy = { ...policyWith("a", [byUID]), status: { decisions: [row()] } };
    const world = fleet([
      clusterWith({ uid: "u1", labels: { tier: "production" } }),
      narrowed(policy, selectors),
    ]);
    return world
      .clusters()
      .flatMap((cluster) => world.pendingOperations(cluster))
      .map(({ call: { hook } }) => hook);
  };
  const selecting = (tier: string): object => ({ clusterSelector: { matchLabels: { tier } } });
  assert.deepEqual(waitingFor(selecting("production")), ["BeforeClusterUpgrade"]);
  assert.deepEqual(waitingFor(selecting("development")), []);
});

test("of several rows about one operation the first one counts, as in the operator", () => {
  const rows = withRows("a", row(), row({ firstAsked: "2026-11-19T12:00:00Z" }));
  const world = fleet([clusterWith({ uid: "u1" }), rows]);
  const [cluster] = world.clusters();
  assert.ok(cluster !== undefined);
  assert.deepEqual(
    world.pendingOperations(cluster).map(({ firstAsked }) => firstAsked.toISOString()),
    ["2026-11-20T12:00:00.000Z"],
  );
});

test("a Namespace of a file has the label that the API server gives it, for selectors, gates and objects", () => {
  const selector = { matchLabels: { "kubernetes.io/metadata.name": "team-a" } };
  const freeze = policyWith("freeze", [byUID], "ClusterHookPolicy");
  const own = { ...freeze, spec: { ...(freeze["spec"] as object), namespaceSelector: selector } };
  for (const labels of [undefined, { team: "a" }, { "kubernetes.io/metadata.name": "other" }]) {
    const namespace = rawNamespace({ labels });
    assert.equal(verdict(fleet([own, clusterWith(), namespace])).verdict, "Blocked");
    const found = { name: "found", object: { apiVersion: "v1", kind: "Namespace", selector, absent: true } };
    const world = fleet([policyWith("gone", [found], "ClusterHookPolicy"), clusterWith(), namespace]);
    assert.equal(verdict(world).verdict, "Blocked");
  }
});

const NAMESPACE = rawNamespace();
const objectGate = (object: object): object => ({ name: "looks", object });
/** The reasons of the gates of one policy. */
const reasons = (
  given: readonly RawObject[],
  gate: object,
  kind?: PolicyKind,
  call?: HookCall,
): readonly string[] =>
  verdict(
    fleet([policyWith("a", [gate], kind), clusterWith(), ...given], { complete: true }),
    call,
  ).trace.flatMap(({ rules }) =>
    rules.flatMap(({ gates, reason }) =>
      gates.map((each) => each.reason).concat(gates.length > 0 ? [] : reason),
    ),
  );

test("a gate that looks at Clusters sees that of the call as Cluster API calls about it", () => {
  const clusters = { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", selector: {} };
  const upgrade = { hook: "BeforeClusterUpgrade", toKubernetesVersion: "v1.36.0" } as const;
  const other = clusterWith({ name: "prod-2" });
  const two = objectGate({ ...clusters, minCount: 2 });
  assert.deepEqual(reasons([NAMESPACE, other], two), ["WaitingForObject"]);
  assert.deepEqual(reasons([NAMESPACE, other], two, "HookPolicy", upgrade), ["Holds"]);
  const going = clusterWith({ name: "prod-2", deletionTimestamp: "2026-11-21T11:00:00Z" });
  const one = objectGate({ ...clusters, expression: "has(object.metadata.deletionTimestamp)", maxCount: 1 });
  assert.deepEqual(reasons([NAMESPACE, going], one), ["TooManyObjects"]);
  const own = { ...clusters, selector: undefined, name: "prod-1" };
  const wanted = objectGate({ ...own, expression: "object.spec.topology.version == 'v1.36.0'" });
  assert.deepEqual(reasons([NAMESPACE], wanted, "HookPolicy", upgrade), ["Holds"]);
  assert.deepEqual(reasons([NAMESPACE], wanted), ["WaitingForObject"]);
});

test("the Cluster of a call about another version has that version", () => {
  const tested = { name: "tested", expression: "cluster.topology.version.satisfies('<1.36.0')" };
  const to = (toKubernetesVersion: string): HookCall => ({
    hook: "BeforeClusterUpgrade",
    toKubernetesVersion,
  });
  const world = fleet([policyWith("a", [tested]), clusterWith()]);
  assert.deepEqual(
    [to("v1.35.0"), to("v1.36.0")].map((call) => verdict(world, call).verdict),
    ["Allowed", "Blocked"],
  );
});

test("a version without v is as Cluster API's webhook stores it, also for gates that look at Clusters", () => {
  const stored = "object.spec.topology.version == 'v1.36.0'";
  const gate = objectGate({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    name: "prod-1",
    expression: stored,
  });
  const given = clusterWith({}, { topology: { classRef: { name: "lab" }, version: "1.36.0" } });
  const world = fleet([policyWith("a", [gate]), given, NAMESPACE]);
  assert.equal(world.cluster("team-a", "prod-1")?.topology?.version, "v1.36.0");
  assert.equal(verdict(world, { hook: "BeforeClusterUpgrade" }).verdict, "Allowed");
});

test("objects are found whatever version of their group they are given as", () => {
  const older = { ...backup, apiVersion: "velero.io/v1beta1" };
  assert.deepEqual(reasons([NAMESPACE, older], noBackup), ["WaitingForAbsence"]);
  const deleted = { object: { ...noBackup.object, expression: "object.metadata.name == 'other'" } };
  assert.deepEqual(reasons([NAMESPACE, older], { ...noBackup, ...deleted }), ["Holds"]);
  const world = fleet([
    policyWith("a", [noBackup]),
    clusterWith(),
    NAMESPACE,
    { ...older, kind: "BackupList", items: [] },
  ]);
  assert.equal(verdict(world).verdict, "Allowed");
});

/** What a gate looks at is unclear: also under failurePolicy Ignore the rule holds, and says what to change. */
function assertUnclear(
  given: readonly RawObject[],
  gate: object,
  message: RegExp,
  kind: PolicyKind = "ClusterHookPolicy",
): void {
  assert.deepEqual(reasons(given, gate, kind), ["ObjectsUnclear"]);
  const policy = policyWith("a", [gate], kind);
  const ignoring = { ...policy, spec: { ...(policy["spec"] as object), failurePolicy: "Ignore" } };
  const found = verdict(fleet([ignoring, clusterWith(), ...given], { complete: true }));
  assert.ok(found.holds);
  assert.match(found.message, message);
}

test("fields of another version are unclear, of the objects that the gate selects", () => {
  const older = { ...backup, apiVersion: "velero.io/v1beta1" };
  const done = (over: object): object =>
    objectGate({
      apiVersion: "velero.io/v1",
      kind: "Backup",
      expression: "object.status.phase == 'Done'",
      ...over,
    });
  const message =
    /Backup team-a\/b is given as velero\.io\/v1beta1, and a gate reads it as velero\.io\/v1: give it as that/;
  assertUnclear([NAMESPACE, older], done({ name: "b" }), message, "HookPolicy");
  assert.deepEqual(reasons([NAMESPACE, older], done({ name: "c" })), ["WaitingForObject"]);
});

test("an object without a namespace is in that of kubectl apply if its kind has namespaces, which can be unclear", () => {
  const approval = { apiVersion: "example.com/v1", kind: "Approval", metadata: { name: "ok" } };
  const gate = (over: object): object =>
    objectGate({ apiVersion: "example.com/v1", kind: "Approval", name: "ok", ...over });
  const platform = rawNamespace("platform");
  const named = gate({ namespace: "platform" });
  assertUnclear(
    [NAMESPACE, platform, approval],
    named,
    /Approval ok has no metadata\.namespace, and a gate looks in namespace platform: write it,/,
  );
  assert.deepEqual(reasons([NAMESPACE, platform, approval], gate({}), "ClusterHookPolicy"), ["Holds"]);
  const other = { ...approval, metadata: { name: "other", namespace: "team-a" } };
  assert.deepEqual(reasons([NAMESPACE, platform, approval, other], named, "ClusterHookPolicy"), [
    "WaitingForObject",
  ]);
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ok" } };
  const ofMap = objectGate({ apiVersion: "v1", kind: "ConfigMap", name: "ok" });
  assert.deepEqual(reasons([NAMESPACE, map], ofMap, "ClusterHookPolicy"), ["WaitingForObject"]);
});

test("a HookPolicy does not reach Kubernetes' own cluster-scoped kinds, with and without objects", () => {
  const gone = objectGate({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    selector: {},
    absent: true,
  });
  assert.deepEqual(reasons([NAMESPACE], gone), ["ObjectOutOfReach"]);
  assert.deepEqual(reasons([NAMESPACE], gone, "ClusterHookPolicy"), ["Holds"]);
});

test("objects in a namespace that a gate may select are unclear without its Namespace", () => {
  const elsewhere = { ...backup, metadata: { name: "b", namespace: "team-b", labels: { tier: "one" } } };
  const production = { namespaceSelector: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } };
  const gate = (over: object): object =>
    objectGate({ apiVersion: "velero.io/v1", kind: "Backup", ...production, ...over });
  const none = gate({ selector: {}, absent: true });
  assertUnclear(
    [NAMESPACE, elsewhere],
    none,
    /Backup team-b\/b is in a namespace that a gate may select: add Namespace team-b, with its labels/,
  );
  const teamB = rawNamespace({ name: "team-b", labels: { env: "lab" } });
  assert.deepEqual(reasons([NAMESPACE, elsewhere, teamB], none, "ClusterHookPolicy"), ["Holds"]);
  const others = gate({ selector: { matchLabels: { tier: "two" } }, absent: true });
  assert.deepEqual(reasons([NAMESPACE, elsewhere], others, "ClusterHookPolicy"), ["Holds"]);
  const some = gate({ selector: {} });
  assert.deepEqual(reasons([NAMESPACE, backup, elsewhere], some, "ClusterHookPolicy"), ["Holds"]);
});
