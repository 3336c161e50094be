import assert from "node:assert/strict";
import test from "node:test";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { heldBy, type HeldFleet } from "../../../../src/cli/fleet/held.ts";
import { ageText, until } from "../../../../src/lib/age.ts";
import { heldJson, heldLines, heldStream, type HeldView } from "../../../../src/cli/get/report.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { printed } from "../printed.ts";
import { rawPolicy, rawRollout } from "../raw.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const annotation = { key: "example.com/ok" };
const GATES = [
  { name: "approved", annotation },
  {
    name: "either",
    anyOf: [
      { name: "open", window: {} },
      { name: "said", label: annotation },
    ],
  },
  { name: "later", window: {} },
];

const policy = (
  name: string,
  decisions: readonly object[],
  over: object = {},
  status: object = {},
): RawObject => ({
  ...rawPolicy(name, { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: GATES }], ...over }),
  status: { decisions, ...status },
});

function row(cluster: string, over: object = {}): object {
  return {
    namespace: "team-a",
    cluster,
    clusterUID: `uid-${cluster}`,
    hook: "BeforeClusterDelete",
    rule: "r",
    gate: "approved",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "gate approved waits for annotation example.com/ok",
    firstAsked: "2026-11-21T10:00:00Z",
    since: "2026-11-21T11:00:00Z",
    ...over,
  };
}

const names = (objects: readonly RawObject[], namespace?: string): string[] =>
  heldBy(objects, namespace).held.map(({ policy: { name }, row: { cluster } }) => `${name} ${cluster}`);

test("the oldest question comes first, whichever policy holds it", () => {
  const older = { firstAsked: "2026-11-20T10:00:00Z" };
  assert.deepEqual(names([policy("a", [row("c1"), row("c3", older)]), policy("b", [row("c2", older)])]), [
    "b c2",
    "a c3",
    "a c1",
  ]);
});

/** As the operator writes it; `operation` and `mode` are of its spec. */
const rollout = (spec: object, status: object): RawObject => ({ ...rawRollout("r", spec), status });

const BEHIND = {
  namespace: "team-a",
  name: "prod-1",
  uid: "u1",
  target: "v1.36.0",
  stage: "rest",
  reason: "StageClosed",
  message: "HookRollout r: waits for stage canary (hookpolicy rollout status r)",
  since: "2026-11-21T10:00:00Z",
};

test("what a rollout holds is a row like that of a policy, with its stage, reason and since when", () => {
  const upgrades = rollout({ operation: "Upgrade" }, { held: [BEHIND], heldOmitted: 2 });
  const fleet = heldBy([upgrades], "team-a");
  assert.deepEqual(
    fleet.held.map(({ policy: { kind }, row: { rule, hook, firstAsked } }) => [kind, rule, hook, firstAsked]),
    [["HookRollout", "rest", "BeforeClusterUpgrade", BEHIND.since]],
  );
  assert.equal(fleet.omitted[0]?.count, 2);
  const text = heldText(fleet, view());
  assert.match(text, /prod-1 +BeforeClusterUpgrade +HookRollout\/r +rest +120m/);
  assert.match(text, /waits for stage canary/);
  assert.deepEqual(heldBy([upgrades], "team-b").held, []);
  const audit = heldBy([rollout({ operation: "Upgrade", mode: "Audit" }, { held: [BEHIND] })]);
  assert.deepEqual([audit.held, audit.omitted, audit.wouldBlock], [[], [], 1]);
});

test("what proceeds is not held: Audit, failurePolicy Ignore, a deadline that has passed", () => {
  const notEvaluable = row("c1", { verdict: "NotEvaluable" });
  assert.deepEqual(names([policy("a", [notEvaluable])]), ["a c1"]);
  assert.deepEqual(names([policy("a", [notEvaluable], { failurePolicy: "Ignore" })]), []);
  assert.deepEqual(names([policy("a", [notEvaluable], { mode: "Audit" })]), []);
  assert.deepEqual(names([policy("a", [row("c1", { verdict: "Allowed" })])]), []);
  const audit = heldBy([policy("a", [row("c1", { verdict: "WouldBlock" })], { mode: "Audit" })]);
  assert.deepEqual([audit.held, audit.wouldBlock], [[], 1]);
});

test("where Cluster API does not call the hooks of a policy, that is said, whether or not it has rows", () => {
  const condition = { type: "NotCalled", status: "True", reason: "NotRegistered" };
  const silent = policy("a", [], {}, { conditions: [condition] });
  assert.match(
    heldText(heldBy([silent, policy("b", [])], "team-a"), view()),
    /^Cluster API does not call the hooks of HookPolicy team-a\/a \(NotRegistered\); see 'kubectl hookpolicy doctor'$/m,
  );
  const ref = { kind: "HookPolicy", namespace: "team-a", name: "a" };
  const json: object = JSON.parse(JSON.stringify(heldJson(heldBy([silent]), NOW)));
  assert.deepEqual(json, {
    held: [],
    omitted: [],
    wouldBlock: 0,
    notCalled: [{ policy: ref, reason: "NotRegistered" }],
    overdue: [],
  });
  const called = policy("a", [], {}, { conditions: [{ ...condition, status: "False" }] });
  assert.doesNotMatch(heldText(heldBy([called]), view()), /does not call/);
});

test("the gate that is shown is that of the command beside it", () => {
  const text = (message: string): string =>
    heldText(heldBy([policy("a", [row("c1", { gate: "later", message })])]), view());
  const brief = "gate approved waits (kubectl annotate c example.com/ok=), and 1 more";
  assert.match(text(brief), /r\/approved .*kubectl annotate/);
  assert.match(text(`"say \\"ok\\", gate x waits (a)", ${brief}`), /r\/approved .*kubectl annotate/);
  assert.match(text("gate later waits for its window"), /r\/later /);
});

test("rows are out of date where the operator has missed what was due, and only there", () => {
  const withDue = (nextTransitionTime: string): RawObject =>
    policy("a", [row("c1")], {}, { nextTransitionTime });
  const late = heldBy([withDue("2026-11-21T11:00:00Z")]);
  assert.match(
    heldText(late, view()),
    /^the operator should have updated the status of HookPolicy team-a\/a 60m ago: it seems not to run, .*doctor'$/m,
  );
  assert.deepEqual(JSON.parse(JSON.stringify(heldJson(late, NOW))).overdue.length, 1);
  for (const due of ["2026-11-21T11:59:30Z", "2026-11-21T13:00:00Z"]) {
    const inTime = heldBy([withDue(due)]);
    assert.doesNotMatch(heldText(inTime, view()), /operator/);
    assert.deepEqual(JSON.parse(JSON.stringify(heldJson(inTime, NOW))).overdue, []);
  }
});

test("rows are out of date where the operator has shown no sign of life since", () => {
  const seen = (operatorSeen: string, rows = [row("c1")]): HeldFleet => ({
    ...heldBy([policy("a", rows, {}, { nextTransitionTime: "2026-11-21T11:00:00Z" })]),
    operatorSeen: new Date(operatorSeen),
  });
  const silent = seen("2026-11-21T11:30:00Z");
  assert.match(
    heldText(silent, view()),
    /^the operator's last sign of life is 30m old: it seems not to run, or cannot write, and these rows can be out of date; .*doctor'$/m,
  );
  assert.doesNotMatch(heldText(silent, view()), /should have updated/);
  assert.equal(JSON.parse(JSON.stringify(heldJson(silent, NOW))).operatorSeen, "2026-11-21T11:30:00Z");
  for (const alive of [
    seen("2026-11-21T11:59:30Z"),
    seen("2020-01-01T00:00:00Z", [row("c1", { since: "2026-11-21T11:59:30Z" })]),
  ]) {
    assert.doesNotMatch(heldText(alive, view()), /sign of life|seems not to run/);
    assert.match(
      heldText(alive, view()),
      /should have updated .* 60m ago, and these rows can be out of date;/,
    );
  }
});

test("reports that Leases cannot be read, instead of an age of the rows", () => {
  const operatorUnread = "you may not list leases.coordination.k8s.io";
  const fleet = { ...heldBy([policy("a", [row("c1")])]), operatorUnread };
  assert.match(
    heldText(fleet, view()),
    /^you may not list leases.*whether these rows are up to date; see 'kubectl hookpolicy doctor'$/m,
  );
  assert.doesNotMatch(heldText({ ...heldBy([policy("a", [])]), operatorUnread }, view()), /may not list/);
});

test("shows the command that lets the operator read what a gate looks at, if its condition says that it may not", () => {
  const forbidden = "the operator may not read backups.velero.io: bind the verbs get, list and watch";
  const why = { gate: "later", verdict: "NotEvaluable", reason: "ObjectsForbidden" };
  const refused = row("c1", { ...why, message: forbidden });
  const told = (message: string, ...rows: object[]): string => {
    const conditions = [{ type: "Ready", status: "False", reason: "ObjectsForbidden", message }];
    const asked = { ...view(), connection: " --context prod" };
    return heldText(heldBy([policy("a", rows, {}, { conditions })]), asked);
  };
  const command =
    / kubectl create clusterrole hookpolicy-backups\.velero\.io --verb=get,list,watch --resource=backups\.velero\.io --context prod && kubectl label clusterrole hookpolicy-backups\.velero\.io hookpolicy\.dev\/aggregate-to-operator=true --context prod$/m;
  assert.match(told(forbidden, refused), command);
  const forged = { ...refused, message: `"the operator may not read secrets: bind": ${forbidden}` };
  assert.match(told(forbidden, forged), command);
  assert.doesNotMatch(told("it is not valid", forged), /kubectl create/);
  assert.doesNotMatch(told(forbidden, row("c1", { message: forbidden })), /kubectl create/);
});

test("shows only the Clusters of the given namespace", () => {
  const objects = [policy("a", [row("c1"), row("c2", { namespace: "team-b" })])];
  assert.deepEqual(names(objects, "team-b"), ["a c2"]);
  assert.deepEqual(names(objects), ["a c1", "a c2"]);
});

test("gates on annotations and labels can be approved, also within anyOf", () => {
  const gates = ["approved", "either", "later", "none", undefined];
  const { held } = heldBy([
    policy(
      "a",
      gates.map((gate, index) => row(`c${index}`, { gate })),
    ),
  ]);
  assert.deepEqual(
    held.map(({ approvable }) => approvable),
    [true, true, false, false, false],
  );
});

test("no gate can be approved whose mark approve sets for no HookPolicy", () => {
  const platform = (spec: object): RawObject => ({
    ...policy("freeze", [], spec),
    kind: "ClusterHookPolicy",
    metadata: { name: "freeze" },
  });
  const approvable = (gate: object, spec: object = {}): boolean | undefined => {
    const rules = [{ name: "r", hooks: ["BeforeClusterDelete"], until: [{ name: "approved", ...gate }] }];
    return heldBy([policy("a", [row("c1")], { rules }), platform({ rules: [], ...spec })]).held[0]
      ?.approvable;
  };
  assert.equal(approvable({ annotation }), true);
  assert.equal(
    approvable({ annotation }, { rules: [{ name: "r", until: GATES }] }),
    false,
    "its gate reads it",
  );
  assert.equal(approvable({ label: annotation }), true);
  const clusterSelector = { matchLabels: { "example.com/ok": "yes" } };
  assert.equal(approvable({ label: annotation }, { clusterSelector }), false, "it selects by it");
  assert.equal(approvable({ annotation: { key: "hookpolicy.dev/ok" } }), false, "a reserved key");
  assert.equal(approvable({ annotation: { ...annotation, from: "Namespace" } }), false, "on the Namespace");
});

test("a missing status, and a spec of another shape, hold nothing and break nothing", () => {
  const { status: _, ...fresh } = policy("a", []);
  assert.deepEqual(names([fresh, { ...fresh, spec: { rules: "no" }, status: { decisions: null } }]), []);
  assert.deepEqual(names([policy("a", [row("c1")], { rules: [null, { name: "r", until: 5 }] })]), ["a c1"]);
});

const view = (columns?: number): HeldView => ({
  now: NOW,
  by: "operation",
  program: "kubectl hookpolicy",
  connection: "",
  colour: PLAIN,
  ...(columns !== undefined && { columns }),
});

function heldText(...args: Parameters<typeof heldLines>): string {
  return printed(heldLines(...args));
}

test("a wide terminal shows the way out, a narrower one leaves it away, and a narrow one gets blocks", () => {
  const fleet = heldBy([
    policy("a", [row("c1", { earliestRelease: "2026-11-21T15:00:00Z" })], {}, { decisionsOmitted: 7 }),
  ]);
  const more = "and 7 more that the status of HookPolicy team-a/a leaves out\n";
  assert.equal(
    heldText(fleet, view()),
    `CLUSTER     HOOK                  POLICY         RULE/GATE    HELD   RELEASE   UNBLOCK
team-a/c1   BeforeClusterDelete   HookPolicy/a   r/approved   120m   in 3h0m   kubectl hookpolicy approve team-a/c1 --hook BeforeClusterDelete
${more}`.replace("in 3h0m", "in 3h  "),
  );
  const [headings = ""] = heldText(fleet, view(100)).split("\n");
  assert.match(headings, /RELEASE$/);
  assert.equal(
    heldText(fleet, view(60)),
    `team-a/c1
  hook       BeforeClusterDelete
  policy     HookPolicy/a
  rule/gate  r/approved
  held       120m
  release    in 3h
  unblock    kubectl hookpolicy approve team-a/c1 --hook BeforeClusterDelete
  reason     WaitingForAnnotation
${more}`,
  );
  const message = "gate later waits for a window that opens only in the night of the next day";
  const held = heldBy([policy("a", [row("c1", { gate: "later", reason: "OutsideWindow", message })])]);
  assert.match(
    heldText(held, view(60)),
    /\n {2}unblock +gate later waits for a window that opens only\n {13}in the night of the next day\n {2}reason +OutsideWindow\n$/,
  );
});

test("a Cluster proceeds when the last policy releases it, and a policy counts its Clusters", () => {
  const release = (earliestRelease: string): object => row("c1", { earliestRelease });
  const objects = [
    policy("a", [release("2026-11-21T13:30:00Z")]),
    policy("b", [release("2026-11-21T14:30:00Z")]),
  ];
  const by = (grouping: "policy" | "cluster", given = objects): string =>
    heldText(heldBy(given), { ...view(), by: grouping });
  assert.match(
    by("cluster"),
    /\nteam-a\/c1 +BeforeClusterDelete +HookPolicy\/a,HookPolicy\/b +120m +in 150m\n$/,
  );
  assert.match(by("cluster", [...objects, policy("c", [row("c1")])]), / -\n$/);
  assert.match(
    by("policy"),
    /\nHookPolicy team-a\/a +1 +120m +in 90m\nHookPolicy team-a\/b +1 +120m +in 150m\n$/,
  );
});

test("a summary stays one on a narrow terminal: a block for each policy or Cluster", () => {
  const objects = [policy("a", [row("c1", { earliestRelease: "2026-11-21T13:30:00Z" }), row("c2")])];
  const by = (grouping: "policy" | "cluster"): string =>
    heldText(heldBy(objects), { ...view(30), by: grouping });
  assert.equal(
    by("policy"),
    `HookPolicy team-a/a
  clusters      2
  oldest        120m
  next release  in 90m
`,
  );
  assert.equal(
    by("cluster"),
    `team-a/c1
  hook      BeforeClusterDelete
  policies  HookPolicy/a
  held      120m
  release   in 90m
team-a/c2
  hook      BeforeClusterDelete
  policies  HookPolicy/a
  held      120m
  release   -
`,
  );
});

test("what objects hold cannot steer the terminal", () => {
  const text = heldText(
    heldBy([policy("a", [row("c1", { rule: "\u001B[1m", gate: "later", message: "\u001B[2J\nx" })])]),
    view(),
  );
  assert.match(text, /^CLUSTER +.*\n.* \\u001b\[1m\/later .* \\u001b\[2J\\nx\n$/);
});

test("a stream tells what comes, changes and goes, and nothing twice", () => {
  const stream = heldStream({ json: false, program: "hookpolicy", connection: "" });
  const next = (decisions: readonly object[], status: object = {}): string[] =>
    stream(heldBy([policy("a", decisions, {}, status)]), NOW).map((line) =>
      line.split(/ {3,}/).slice(0, 2).join(" "),
    );
  assert.deepEqual(next([row("c1"), row("c2")]), ["EVENT CLUSTER", "Held team-a/c1", "Held team-a/c2"]);
  assert.deepEqual(next([row("c1"), row("c2")]), []);
  assert.deepEqual(next([row("c1", { gate: "later" }), row("c2")]), ["Changed team-a/c1"]);
  assert.deepEqual(next([row("c2")], { decisionsOmitted: 1 }), [], "it may only have lost its place");
  assert.deepEqual(next([]), ["Released team-a/c2"]);
});

test("a stream has its headings above the first change, however late that comes", () => {
  const stream = heldStream({ json: false, program: "hookpolicy", connection: "" });
  const next = (decisions: readonly object[]): string[] =>
    stream(heldBy([policy("a", decisions)]), NOW).map((line) => line.split(/ +/)[0] ?? "");
  assert.deepEqual(next([]), []);
  assert.deepEqual(next([row("c1")]), ["EVENT", "Held"]);
  assert.deepEqual(next([]), ["Released"]);
});

test("shows ages as kubectl does", () => {
  const texts = { "0s": 0, "119s": 119, "2m": 120, "9m59s": 599, "10m": 600, "3h5m": 11_100, "47h": 169_200 };
  for (const [text, seconds] of Object.entries(texts)) assert.equal(ageText(seconds * 1000), text);
  assert.equal(ageText(3 * 86_400_000 + 4 * 3_600_000), "3d4h");
  assert.equal(ageText(800 * 86_400_000), "2y70d");
  assert.deepEqual(
    [ageText(NaN), until(undefined, NOW), until("2026-11-21T11:00:00Z", NOW)],
    ["?", "-", "now"],
  );
});

test("the way out is about the cluster that was asked, and one word of a shell each", () => {
  const given = heldBy([policy("a", [row("c 1")])]);
  const text = heldText(given, { ...view(), connection: " --context 'my prod'" });
  assert.match(text, /kubectl hookpolicy approve 'team-a\/c 1' --hook \S+ --context 'my prod'\n/);
});

test("a task that has failed is unblocked by a user who looks at it; one that runs, by itself", () => {
  const task = { gate: undefined, message: "task clean runs" };
  const named = `${"x".repeat(9)}: task clean has failed (hookpolicy task retry team-a/c3-clean-1)`;
  const rows = [
    row("c1", { ...task, reason: "TaskFailed" }),
    row("c2", { ...task, reason: "TaskRunning" }),
    row("c3", { ...task, reason: "TaskFailed", message: named }),
    row("c4", { ...task, reason: "TaskFailed", message: named.replace("team-a/", "team-b/") }),
  ];
  const text = heldText(heldBy([policy("a", rows)]), view());
  assert.match(text, /^team-a\/c1 .* kubectl hookpolicy task list -n team-a --for-cluster team-a\/c1$/m);
  assert.match(text, /^team-a\/c2 .* task clean runs$/m);
  assert.match(text, /^team-a\/c3 .* kubectl hookpolicy task retry -n team-a c3-clean-1$/m);
  assert.match(text, /^team-a\/c4 .* kubectl hookpolicy task list -n team-a --for-cluster team-a\/c4$/m);
});
