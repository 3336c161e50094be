/** What explain prints fits into a terminal, and its parts stay where they belong. */

import assert from "node:assert/strict";
import test from "node:test";
import { colourFor, PLAIN, width } from "../../../../src/cli/terminal/colour.ts";
import type { HookName } from "../../../../src/api/runtime-hooks.ts";
import { explain, type ExplainOptions } from "../../../../src/cli/explain/explanation.ts";
import { explanationLines } from "../../../../src/cli/explain/report.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { detailLines, treeLines } from "../../../../src/cli/terminal/tree.ts";
import { ALL_HOOKS, at, gated, NOW } from "../../builders.ts";
import { printed } from "../printed.ts";
import { rawCluster, rawRollout } from "../raw.ts";

const WEEK_MS = 7 * 86_400_000;
const CLUSTER = {
  ...rawCluster({ uid: "u", deletionTimestamp: NOW.toISOString() }),
  spec: { topology: { version: "v1.35.0" } },
};

function text(objects: readonly object[], options: object = {}, asked: Partial<ExplainOptions> = {}): string {
  // The last of two that have one name counts.
  const fleet = new Fleet([CLUSTER, ...objects] as RawObject[], {
    served: ALL_HOOKS,
    maxOverrideMs: WEEK_MS,
    now: NOW,
  });
  const cluster = fleet.cluster("team-a", "prod-1");
  assert.ok(cluster);
  const explanation = explain(fleet, { cluster, now: NOW, unread: [], live: false, ...asked });
  const standard = {
    colour: PLAIN,
    program: "kubectl hookpolicy",
    connection: "",
    chosen: false,
    requested: false,
    files: "",
  };
  return printed(explanationLines(explanation, { ...standard, ...options }));
}

const APPROVED = { name: "approved", annotation: { key: "example.com/approved", value: "yes" } };
const WINDOW = {
  name: "thawed",
  window: { deny: [{ from: "2026-11-01T00:00:00Z", to: "2027-01-01T00:00:00Z" }] },
};
const POLICY = gated([APPROVED, WINDOW], {
  message: "a long text of the policy's author, who explains what it is good for",
});

const COMMAND = "kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 example.com/approved=yes";

test("what others tear down comes first, with what to do, and its commands stay whole", () => {
  const finalizers = ["cluster.cluster.x-k8s.io", "foregroundDeletion"];
  const torn = { ...CLUSTER, metadata: { ...CLUSTER.metadata, finalizers } };
  const lines = text([torn, POLICY], { connection: " --context prod", columns: 80 }).split("\n");
  assert.deepEqual(lines.slice(0, 3), [
    "ALARM: the garbage collector deletes what the Cluster owns, whatever holds it:",
    "  its deletion is a foreground deletion",
    `  run      kubectl patch clusters.cluster.x-k8s.io -n team-a prod-1 --type merge -p '{"spec":{"paused":true}}' --context prod`,
  ]);
  const removal = lines.find((line) => line.includes('"op":"remove"'));
  assert.match(
    removal ?? "",
    /"path":"\/metadata\/finalizers\/1","value":"foregroundDeletion".* --context prod$/,
  );
  const binding = "kubectl delete validatingadmissionpolicybinding hookpolicy-protect-marks --context prod,";
  assert.ok(lines.some((line) => line.trim() === binding));
});

test("commands are about the cluster that was asked", () => {
  const lines = text([POLICY], { connection: " --context prod" }).split("\n");
  const commands = lines.filter((line) => /kubectl/.test(line));
  assert.equal(commands.length, 4);
  for (const command of commands) assert.match(command, / --context prod$/);
});

test("commands within words are about the cluster that was asked, and stay whole", () => {
  const { deletionTimestamp: _, ...metadata } = CLUSTER.metadata;
  const rollout = rawRollout("upgrades", { paused: true });
  const marked = (key: string): object => ({
    ...CLUSTER,
    metadata: { ...metadata, annotations: { [key]: "" } },
  });
  const clusters = "clusters.cluster.x-k8s.io -n team-a prod-1";
  const told = (objects: readonly object[], hook: HookName): string[] =>
    text(objects, { connection: " --context prod", columns: 60 }, { hook }).split("\n");
  const ownHold = "before-upgrade.hook.cluster.cluster.x-k8s.io/backup";
  assert.ok(
    told([marked(ownHold)], "BeforeClusterUpgrade").includes(
      `  kubectl annotate ${clusters} ${ownHold}- --context prod`,
    ),
  );
  const ahead = "runtime.cluster.x-k8s.io/ok-to-delete";
  assert.ok(
    told([marked(ahead), POLICY], "BeforeClusterDelete").includes(
      `  kubectl annotate ${clusters} ${ahead}- --context prod`,
    ),
  );
  const resume = /^ +kubectl hookpolicy rollout resume upgrades --context prod$/m;
  assert.match(told([{ ...CLUSTER, metadata }, rollout], "BeforeClusterUpgrade").join("\n"), resume);
});

test("in a cluster, one command approves all gates, as get says it", () => {
  const two = { name: "signed", annotation: { key: "example.com/signed" } };
  const lines = text(
    [gated([APPROVED, two, WINDOW])],
    { connection: " --context prod" },
    { live: true },
  ).split("\n");
  const approve = "kubectl hookpolicy approve team-a/prod-1 --hook BeforeClusterDelete --context prod";
  assert.deepEqual(
    lines.slice(1, 5).map((line) => line.trim().replaceAll(/ {2,}/g, " | ")),
    [
      `run | ${approve}`,
      "for | annotation example.com/approved=yes on Cluster team-a/prod-1 (HookPolicy team-a/protect, rule confirmed-delete, gate approved)",
      "and for | annotation example.com/signed on Cluster team-a/prod-1 (HookPolicy team-a/protect, rule confirmed-delete, gate signed)",
      "and wait for | its window, which opens at 2027-01-01T00:00:00Z (HookPolicy team-a/protect, rule confirmed-delete, gate thawed)",
    ],
  );
  assert.doesNotMatch(lines.join("\n"), /kubectl annotate/);
});

test("policies that do not match are counted; --all shows each", () => {
  const other = (name: string): object => ({
    ...POLICY,
    metadata: { namespace: "team-a", name, uid: name },
    spec: { ...POLICY.spec, clusterSelector: { matchLabels: { tier: name } } },
  });
  const many = [POLICY, other("one"), other("two")];
  assert.match(text(many), /\n2 policies do not match the Cluster: explain --all shows why\n/);
  assert.doesNotMatch(text(many), /does not match/);
  assert.match(text(many, { all: true }), /\nHookPolicy team-a\/one: does not match\n/);
  assert.match(text([POLICY, other("one")]), /\nHookPolicy team-a\/one: does not match\n/);
});

test("a terminal's lines are broken between words, but never a command", () => {
  const lines = text([POLICY], { columns: 60 }).split("\n");
  const [commands, others] = [
    lines.filter((line) => /kubectl/.test(line)),
    lines.filter((line) => !/kubectl/.test(line)),
  ];
  assert.deepEqual(
    commands.map((line) => /kubectl annotate.*|kubectl hookpolicy.*/.exec(line)?.[0]),
    [
      COMMAND,
      "kubectl hookpolicy windows team-a/protect",
      "kubectl hookpolicy override team-a/prod-1 --hook BeforeClusterDelete --policy HookPolicy/protect --for 1h --reason 'why'",
      COMMAND,
    ],
  );
  assert.deepEqual(
    others.filter((line) => width(line) > 60),
    [],
  );
});

test("colours change nothing but colours", () => {
  const colour = colourFor({ isTTY: true }, {}, {});
  const coloured = text([POLICY], { columns: 70, colour });
  assert.notEqual(coloured, text([POLICY], { columns: 70 }));
  // oxlint-disable-next-line no-control-regex -- the colours of a terminal
  assert.equal(coloured.replaceAll(/\u001B\[\d+m/g, ""), text([POLICY], { columns: 70 }));
});

test("commands are for the program as it was called", () => {
  assert.match(
    text([POLICY]),
    /^ {2}if it cannot wait: kubectl hookpolicy override team-a\/prod-1 --hook BeforeClusterDelete /m,
  );
});

test("branches and details are drawn below what they belong to", () => {
  const leaf = {
    text: "leaf",
    details: [
      { label: "a", text: "1" },
      { label: "long", text: "2 3 4" },
    ],
  };
  const tree = {
    text: "root",
    details: [{ label: "b", text: "5" }],
    branches: [{ text: "twig", branches: [leaf] }, leaf],
  };
  assert.deepEqual(treeLines(tree), [
    "root",
    "│  b  5",
    "├─ twig",
    "│  └─ leaf",
    "│        a     1",
    "│        long  2 3 4",
    "└─ leaf",
    "      a     1",
    "      long  2 3 4",
  ]);
});

test("a word that is longer than the line is alone on it", () => {
  const word = "x".repeat(50);
  assert.deepEqual(detailLines([{ label: "a", text: `1 ${word} 2` }], 30), ["a  1", `   ${word}`, "   2"]);
});

test("what begins to run until the time that is asked about has run then", () => {
  const opening = {
    name: "opening",
    window: { allow: [{ from: at("+1h").toISOString(), to: at("+9h").toISOString() }] },
  };
  const policy = gated([opening, { name: "settled", wait: { duration: "1h" } }]);
  const fleet = new Fleet([CLUSTER, policy] as RawObject[], {
    served: ALL_HOOKS,
    maxOverrideMs: WEEK_MS,
    now: NOW,
  });
  const cluster = fleet.cluster("team-a", "prod-1");
  assert.ok(cluster);
  const verdictAt = (time: Date): string | undefined =>
    explain(fleet, { cluster, now: NOW, at: time, unread: [], live: true }).operations[0]?.verdict;
  assert.deepEqual([at("+90m"), at("+2h"), at("+3h")].map(verdictAt), ["Blocked", "Allowed", "Allowed"]);
});

test("a release at an unknown time is reported as such", () => {
  const clocked = gated([{ name: "clocked", expression: "now > timestamp('2026-12-01T00:00:00Z')" }]);
  assert.match(
    text([clocked]),
    /^ {2}released +at an unknown time: .* an expression looks at the clock, .*; /m,
  );
  const ended = {
    name: "once",
    window: { allow: [{ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" }] },
  };
  assert.match(text([gated([ended])]), /^ {2}released +only after a user has acted; /m);
});
