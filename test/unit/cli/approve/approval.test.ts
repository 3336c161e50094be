import assert from "node:assert/strict";
import test from "node:test";
import type { GateSpec } from "../../../../src/api/hook-policy.ts";
import type { HookName } from "../../../../src/api/runtime-hooks.ts";
import { type ApprovalPlan, type ApprovalScope, planApproval } from "../../../../src/cli/approve/approval.ts";
import { endingOf } from "../../../../src/cli/approve/wait-for-end.ts";
import { doesNoMore } from "../../../../src/cli/approve/write-marks.ts";
import { markReaders } from "../../../../src/policy/mark-readers.ts";
import { placeOf } from "../../../../src/policy/mark.ts";
import { markCommand, approvalLines } from "../../../../src/cli/approve/report.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import {
  findHolder,
  liftedBy,
  newOverride,
  overrideProblems,
} from "../../../../src/cli/override/new-override.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { ALL_HOOKS, NOW } from "../../builders.ts";
import { printed } from "../printed.ts";
import { rawCluster, rawFleetPolicy, rawNamespace, rawOverride, rawPolicy } from "../raw.ts";

const UPGRADE = "BeforeClusterUpgrade";
const DELETE = "BeforeClusterDelete";
const FIRST_ASKED = "2026-11-21T11:00:00Z";

const clusterWith = (metadata: object = {}): RawObject =>
  rawCluster({ uid: "u1", resourceVersion: "7", ...metadata });

const CREATED = { infrastructureRef: { kind: "LabCluster", name: "prod-1" } };

const NAMESPACE = rawNamespace({ uid: "n1" });

function policy(name: string, until: readonly GateSpec[], hook: HookName = UPGRADE, asked = true): RawObject {
  const row = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "u1",
    hook,
    ...(hook.endsWith("Upgrade") && { targetVersion: "v1.35.0" }),
    firstAsked: FIRST_ASKED,
    rule: "r",
    verdict: "Blocked",
  };
  return {
    ...rawPolicy({ name, uid: `uid-${name}` }, { rules: [{ name: "r", hooks: [hook], until }] }),
    status: { decisions: asked ? [row] : [] },
  };
}

function plan(
  objects: readonly RawObject[],
  hook?: HookName,
  cluster = clusterWith(),
  may: Partial<ApprovalScope> = {},
): ApprovalPlan {
  const fleet = new Fleet([cluster, NAMESPACE, ...objects], {
    served: ALL_HOOKS,
    maxOverrideMs: 168 * 3_600_000,
    now: NOW,
  });
  const found = fleet.cluster("team-a", "prod-1");
  assert.ok(found);
  const readers = markReaders(fleet.platform, true);
  return planApproval(fleet, found, { hook, readers, namespaceMarks: [], unattended: false, ...may }, NOW);
}

const marks = (given: ApprovalPlan): string[] =>
  given.marks.map(({ on, field, key, value }) => `${on} ${field} ${key}=${value}`);

const annotation = (more: object = {}): GateSpec => ({
  name: "ok",
  annotation: { key: "example.com/ok", ...more },
});
const later: GateSpec = {
  name: "later",
  window: { allow: [{ from: "2026-11-21T18:00:00Z", to: "2026-11-21T20:00:00Z" }] },
};

const VALUES: Record<string, { gate: GateSpec; mark: string; named?: string }> = {
  "any value": { gate: annotation(), mark: "Cluster annotation example.com/ok=true" },
  "one value": { gate: annotation({ value: "by ops" }), mark: "Cluster annotation example.com/ok=by ops" },
  "the name": {
    gate: annotation({ valueFrom: "ClusterName" }),
    mark: "Cluster annotation example.com/ok=prod-1",
  },
  "the uid": { gate: annotation({ valueFrom: "ClusterUID" }), mark: "Cluster annotation example.com/ok=u1" },
  "the version": {
    gate: annotation({ valueFrom: "TargetVersion" }),
    mark: "Cluster annotation example.com/ok=v1.35.0",
  },
  "a label": { gate: { name: "ok", label: { key: "ok" } }, mark: "Cluster label ok=true" },
  "the Namespace": {
    gate: annotation({ from: "Namespace" }),
    mark: "Namespace annotation example.com/ok=true",
    named: "example.com/ok=true",
  },
  "anyOf, on the Cluster if it can be": {
    gate: {
      name: "either",
      anyOf: [{ ...annotation({ from: "Namespace" }), name: "a" }, later, { ...annotation(), name: "b" }],
    },
    mark: "Cluster annotation example.com/ok=true",
  },
};
for (const [name, { gate, mark, named }] of Object.entries(VALUES)) {
  test(`an approval sets what the gate waits for: ${name}`, () => {
    const may = named === undefined ? {} : { namespaceMarks: [named] };
    const given = plan([policy("p", [gate])], undefined, clusterWith(), may);
    assert.deepEqual(marks(given), [mark]);
    assert.deepEqual(given.operations[0]?.obstacles, []);
    assert.deepEqual(given.operations[0].releasedAt, NOW);
  });
}

test("what cannot be approved is listed with the time at which it opens, and when the operation proceeds", () => {
  const given = plan([
    policy("p", [annotation(), later]),
    policy("q", [{ name: "never", expression: "false" }]),
  ]);
  assert.deepEqual(
    given.operations[0]?.obstacles.map(({ policy: { name }, gate, release }) => [
      name,
      gate,
      release?.toISOString(),
    ]),
    [
      ["p", "later", "2026-11-21T18:00:00.000Z"],
      ["q", "never", undefined],
    ],
  );
  assert.equal(given.operations[0].releasedAt, undefined);
  const [alone] = plan([policy("p", [annotation(), later])]).operations;
  assert.equal(alone?.releasedAt?.toISOString(), "2026-11-21T18:00:00.000Z");
});

test("two gates that want different values of one key cannot both be approved", () => {
  const given = plan([policy("p", [annotation({ value: "a" })]), policy("q", [annotation({ value: "b" })])]);
  assert.deepEqual(marks(given), ["Cluster annotation example.com/ok=a"]);
  assert.deepEqual(
    given.operations[0]?.obstacles.map(({ policy: { name } }) => name),
    ["q"],
  );
});

test("an older approval is replaced, and the command by hand says so", () => {
  const cluster = clusterWith({ annotations: { "example.com/ok": "v1.34.0" } });
  const given = plan([policy("p", [annotation({ valueFrom: "TargetVersion" })])], undefined, cluster);
  assert.equal(given.marks[0]?.replaces, "v1.34.0");
  assert.equal(
    markCommand(given.marks[0], given),
    "kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 example.com/ok=v1.35.0 --overwrite",
  );
});

test("what does not hold the Cluster is not approved: Audit, an override, gates that are met", () => {
  const audit = policy("p", [annotation()]);
  assert.deepEqual(
    plan([{ ...audit, spec: { ...(audit["spec"] as object), mode: "Audit" } }]).operations,
    [],
  );
  const override = rawOverride("o", { hooks: [UPGRADE], expiresAt: "2026-11-22T00:00:00Z" });
  assert.deepEqual(plan([audit, override]).operations, []);
  const marked = clusterWith({ annotations: { "example.com/ok": "true" } });
  assert.deepEqual(plan([audit], undefined, marked).operations, []);
});

test("of one hook only; other operations that the same marks release are listed", () => {
  const STEP = "BeforeControlPlaneUpgrade";
  const upgrading = { annotations: { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" } };
  const objects = [policy("p", [annotation()], STEP), policy("d", [annotation()], "AfterClusterUpgrade")];
  const given = plan(objects, STEP, clusterWith(upgrading));
  assert.deepEqual(
    [given.operations, given.alsoReleases].map((calls) => calls.length),
    [1, 1],
  );
  const text = printed(approvalLines(given, { now: NOW, colour: PLAIN }));
  assert.match(
    text,
    /^BeforeControlPlaneUpgrade of Cluster team-a\/prod-1, held for 60m\n {2}then +Cluster API upgrades /,
  );
  assert.match(text, /\nalso releases: AfterClusterUpgrade: /);
  assert.equal(plan(objects, undefined, clusterWith(upgrading)).operations.length, 2);
});

test("a future operation is listed, too, if the same mark will release it by time alone", () => {
  const hooks: HookName[] = [UPGRADE, DELETE, "BeforeClusterCreate"];
  const both = policy("p", [annotation(), later]);
  const given = plan([{ ...both, spec: { rules: [{ name: "r", hooks, until: [annotation(), later] }] } }]);
  assert.deepEqual(
    given.alsoReleases.map(({ call }) => call.hook),
    ["BeforeClusterCreate", DELETE],
  );
  const text = printed(approvalLines(given, { now: NOW, colour: PLAIN }));
  assert.match(
    text,
    /\nalso releases: BeforeClusterDelete, once Cluster API asks: deletes the Cluster and its machines\n$/,
  );
  const created = { ...clusterWith(), spec: { ...(clusterWith()["spec"] as object), ...CREATED } };
  const again = plan(
    [{ ...both, spec: { rules: [{ name: "r", hooks, until: [annotation(), later] }] } }],
    undefined,
    created,
  );
  assert.deepEqual(
    again.alsoReleases.map(({ call }) => call.hook),
    [DELETE],
  );
  const bound = policy("p", [annotation(), { name: "uid", annotation: { key: "uid" } }]);
  const rules = [
    { name: "r", hooks: [UPGRADE], until: [annotation()] },
    { name: "d", hooks: [DELETE], until: [annotation(), { name: "uid", annotation: { key: "uid" } }] },
  ];
  assert.deepEqual(plan([{ ...bound, spec: { rules } }]).alsoReleases, []);
});

test("only what was shown is carried out: no other mark, operation, version or Cluster", () => {
  const shown = plan([policy("p", [annotation()])]);
  const none = new Set<string>();
  assert.ok(doesNoMore(shown, shown, none));
  assert.ok(doesNoMore(plan([]), shown, none), "it may be less");
  const deletion = clusterWith({ deletionTimestamp: "2026-11-21T11:30:00Z", finalizers: ["x"] });
  const more = [policy("p", [annotation()]), policy("d", [annotation()], DELETE, false)];
  const other = plan([policy("p", [annotation({ value: "b" })])]);
  const elsewhere = plan([policy("p", [annotation()])], undefined, clusterWith({ uid: "u2" }));
  const replaced = plan(
    [policy("p", [annotation({ value: "b" })])],
    undefined,
    clusterWith({ annotations: { "example.com/ok": "x" } }),
  );
  for (const seen of [plan(more), plan(more, undefined, deletion), other, elsewhere, replaced]) {
    assert.ok(!doesNoMore(seen, shown, none));
  }
  const future = plan(more);
  assert.ok(doesNoMore(plan(more, undefined, deletion), future, none), "it was told that it comes");
  const [mark] = other.marks;
  assert.ok(mark);
  assert.ok(doesNoMore(other, shown, new Set([placeOf(mark)])), "the place is done");
});

test("the version of an upgrade is shown, too, unless it is still to come", () => {
  const none = new Set<string>();
  const next = { ...clusterWith(), spec: { topology: { classRef: { name: "lab" }, version: "v1.36.0" } } };
  const hooks: HookName[] = [UPGRADE, DELETE];
  const both = {
    ...policy("p", [annotation()]),
    spec: { rules: [{ name: "r", hooks, until: [annotation()] }] },
  };
  const isCovered = (hook: HookName, shown: HookName): boolean =>
    doesNoMore(plan([{ ...both, status: {} }], hook, next), plan([{ ...both, status: {} }], shown), none);
  assert.equal(isCovered(UPGRADE, UPGRADE), false);
  assert.equal(isCovered(UPGRADE, DELETE), true);
});

test("an upgrade without a call has the version that the topology wants, or none", () => {
  const gate = annotation({ valueFrom: "TargetVersion" });
  assert.deepEqual(marks(plan([policy("p", [gate], UPGRADE, false)], UPGRADE)), [
    "Cluster annotation example.com/ok=v1.35.0",
  ]);
  const given = plan([policy("p", [gate], UPGRADE, false)], UPGRADE, { ...clusterWith(), spec: {} });
  assert.deepEqual(marks(given), []);
  assert.match(given.operations[0]?.obstacles[0]?.text ?? "", /the call names no version/);
  const from = policy(
    "p",
    [{ name: "from", expression: "request.fromKubernetesVersion == 'v1.35.0'" }],
    UPGRADE,
    false,
  );
  assert.match(plan([from], UPGRADE).operations[0]?.obstacles[0]?.text ?? "", /cannot be evaluated/);
});

test("the plan says why Cluster API calls no extension, and that a status leaves rows out", () => {
  const held = policy("p", [annotation()]);
  assert.deepEqual([plan([held]).notCalled, plan([held]).omitted], [undefined, undefined]);
  assert.match(plan([held], undefined, { ...clusterWith(), spec: {} }).notCalled ?? "", /no spec.topology/);
  const paused = { ...clusterWith(), spec: { ...(clusterWith()["spec"] as object), paused: true } };
  assert.match(plan([held], undefined, paused).notCalled ?? "", /while it is paused/);
  const full = { ...held, status: { decisions: [], decisionsOmitted: 3 } };
  assert.match(plan([full]).omitted ?? "", /more operations can wait: ask with --hook/);
  assert.equal(plan([full], UPGRADE).omitted, undefined);
  const elsewhere = {
    ...full,
    spec: { ...(held["spec"] as object), clusterSelector: { matchLabels: { a: "b" } } },
  };
  assert.equal(plan([elsewhere]).omitted, undefined);
});

test("a hook that is named is approved before Cluster API asks", () => {
  const given = plan([policy("d", [annotation()], DELETE, false)], DELETE);
  assert.deepEqual(
    [marks(given), given.operations[0]?.pending],
    [["Cluster annotation example.com/ok=true"], undefined],
  );
  assert.deepEqual(plan([policy("d", [annotation()], DELETE, false)]).operations, []);
});

const IN_DELETION: GateSpec = {
  name: "going",
  expression: "has(cluster.metadata.deletionTimestamp) && 'example.com/ok' in cluster.metadata.annotations",
};

test("a deletion that is still to come is approved as Cluster API will ask about it", () => {
  const given = plan([policy("d", [annotation(), IN_DELETION], DELETE, false)], DELETE);
  assert.deepEqual(given.operations[0]?.obstacles, []);
  assert.deepEqual(given.operations[0].releasedAt, NOW);
});

test("an override of a deletion that is still to come lifts what will hold it then", () => {
  const freed: GateSpec = { name: "free", expression: "!has(cluster.metadata.deletionTimestamp)" };
  const fleet = new Fleet([clusterWith(), NAMESPACE, policy("d", [freed], DELETE, false)], {
    served: ALL_HOOKS,
    maxOverrideMs: 168 * 3_600_000,
    now: NOW,
  });
  const wish = { hooks: [DELETE] as const, reason: "r", forMs: 3_600_000 };
  const lifted = liftedBy(fleet, plan([]).cluster, wish, NOW);
  assert.deepEqual(
    lifted.map(({ asked, lifts }) => [asked, lifts.map(({ rule }) => rule)]),
    [[false, ["r"]]],
  );
});

test("how an operation ends shows in the Cluster", () => {
  const [operation] = plan([policy("p", [annotation()])]).operations;
  assert.ok(operation);
  const ending = (cluster: RawObject | undefined): string | undefined => {
    const fleet = new Fleet(cluster === undefined ? [] : [cluster], {
      served: ALL_HOOKS,
      maxOverrideMs: 1,
      now: NOW,
    });
    return endingOf(operation, fleet.cluster("team-a", "prod-1"), ALL_HOOKS);
  };
  const pending = { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" };
  assert.equal(ending(clusterWith()), undefined);
  assert.equal(ending(clusterWith({ annotations: pending })), "WentOn");
  const back = { spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" } } };
  assert.equal(ending({ ...clusterWith(), ...back }), "NotWanted");
  assert.deepEqual([ending(undefined), ending(clusterWith({ uid: "u2" }))], ["Gone", "Gone"]);
  const deletion = plan(
    [policy("d", [annotation()], DELETE, false)],
    undefined,
    clusterWith({ deletionTimestamp: FIRST_ASKED }),
  ).operations[0];
  assert.ok(deletion);
  assert.equal(endingOf(deletion, undefined, ALL_HOOKS), "WentOn");
});

test("an override is for this very Cluster, and its name is one, however long the Cluster's", () => {
  const wish = { hooks: [DELETE] as const, reason: "r", forMs: 3_600_000 };
  const { cluster } = plan([]);
  const made = newOverride(cluster, wish, NOW);
  assert.deepEqual(made.spec, {
    clusterRef: { namespace: "team-a", name: "prod-1", uid: "u1" },
    hooks: [DELETE],
    reason: "r",
    expiresAt: "2026-11-21T13:00:00Z",
  });
  assert.deepEqual(overrideProblems(made), []);
  const name = `${"x".repeat(38)}.${"y".repeat(100)}`;
  const long = newOverride({ ...cluster, metadata: { ...cluster.metadata, name } }, wish, NOW);
  assert.deepEqual(overrideProblems(long), []);
  assert.ok(long.metadata.name.length <= 63);
  const [problem = ""] = overrideProblems(newOverride(cluster, { ...wish, reason: "a\nb" }, NOW));
  assert.match(problem, /^spec.reason: /);
});

test("a policy is found by name and by kind and name, if a rule of it is on the hook", () => {
  const both = rawFleetPolicy("p", { rules: [{ name: "r", hooks: [DELETE], until: [annotation()] }] });
  const fleet = new Fleet(
    [
      clusterWith(),
      NAMESPACE,
      both,
      policy("p", [later], DELETE),
      policy("q", [later], DELETE),
      policy("up", [later]),
    ],
    {
      served: ALL_HOOKS,
      maxOverrideMs: 1,
      now: NOW,
    },
  );
  const { cluster } = plan([]);
  const found = (text: string): unknown => findHolder(fleet, cluster, text, [DELETE]).kind;
  assert.equal(found("q"), "HookPolicy");
  assert.equal(found("ClusterHookPolicy/p"), "ClusterHookPolicy");
  assert.throws(() => found("p"), {
    name: "UsageError",
    message: '--policy: "p" can be ClusterHookPolicy/p or HookPolicy/p',
  });
  assert.throws(() => found("up"), /that speaks about the Cluster at BeforeClusterDelete is named "up"/);
  assert.throws(() => found("z"), {
    name: "UsageError",
    message: `--policy: no policy or HookRollout that speaks about the Cluster at ${DELETE} is named "z" (did you mean p?)`,
  });
});
