/** `hookpolicy explain` as a person runs it, on files. */

import assert from "node:assert/strict";
import test from "node:test";
import { checked, folder, yaml } from "../program.ts";
import { rawOverride } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import {
  DELETING,
  NAMESPACE,
  NOW,
  TOPOLOGY,
  approved,
  cluster,
  deletion,
  explained,
  fleetWide,
  night,
  policy,
} from "./explained.ts";

const COMMAND = "kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 example.com/ok=5d2c";

test("the first lines show the verdict and the command that releases, and the tree why", async (t) => {
  const rule = deletion([approved, night], { message: "ask #platform" });
  const selective = policy("dev", [rule], { clusterSelector: { matchLabels: { tier: "dev" } } });
  const upgrades = policy("upgrades", [{ ...rule, hooks: ["BeforeClusterUpgrade"] }]);
  const stdout = await explained(t, [cluster(DELETING), policy("protect", [rule]), selective, upgrades]);
  assert.equal(
    stdout,
    `Blocked: BeforeClusterDelete of Cluster team-a/prod-1, asked since 2026-11-21T10:00:00Z, at ${NOW}
  note          ask #platform
  run           ${COMMAND}
  for           annotation example.com/ok=5d2c on Cluster team-a/prod-1 (HookPolicy team-a/protect, rule confirmed, gate approved)
  and wait for  its window, which opens at 2026-11-21T22:00:00Z (HookPolicy team-a/protect, rule confirmed, gate night)
  see           hookpolicy windows team-a/protect -f fleet.yaml --at ${NOW}
  released      only after a user has acted; Cluster API asks again after 10 s
  if it cannot wait: hookpolicy override team-a/prod-1 --hook BeforeClusterDelete --policy HookPolicy/protect --for 1h --reason 'why'

HookPolicy team-a/protect: Blocked
└─ rule confirmed: Blocked (WaitingForAnnotation)
   │  released  only after a user has acted
   ├─ gate approved: waits
   │     wanted    annotation example.com/ok=5d2c on Cluster team-a/prod-1
   │     observed  absent
   │     run       ${COMMAND}
   └─ gate night: waits
         wanted    its window, which opens at 2026-11-21T22:00:00Z
         observed  closed
HookPolicy team-a/upgrades: Allowed, no rule on this hook
HookPolicy team-a/dev: does not match
   because  clusterSelector wants tier in (dev), and finds tier=production
`,
  );
});

test("where objects hold, the first commands show them, and the expression is in the tree alone", async (t) => {
  const backup = { apiVersion: "velero.io/v1", kind: "Backup", selector: { matchLabels: { of: "prod-1" } } };
  const object = { ...backup, expression: "object.status.phase == 'Completed'" };
  const gate = { name: "backup", message: "a finished backup (#dba)", object };
  const other = { ...backup, metadata: { namespace: "team-a", name: "other" } };
  const stdout = await explained(t, [cluster(DELETING), policy("protect", [deletion([gate])]), other]);
  const [, wait, see, may] = stdout.split("\n");
  assert.match(
    wait ?? "",
    /^ {2}wait for +"a finished backup \(#dba\)": none found \(HookPolicy team-a\/protect, /,
  );
  assert.match(see ?? "", /^ {2}see +kubectl get backup\.velero\.io -n team-a -l of=prod-1$/);
  assert.match(may ?? "", /^ {2}see +kubectl auth can-i create backup\.velero\.io -n team-a$/);
  assert.match(
    stdout,
    /wanted +Backup\.velero\.io with of=prod-1 in namespace team-a with expression object\.status\.phase/,
  );
  assert.equal(stdout.split("object.status.phase").length, 2);
});

test("of a deletion that nobody has asked for yet is said what Cluster API would be told at its first call", async (t) => {
  const rule = deletion([{ name: "deleted", expression: "has(cluster.metadata.deletionTimestamp)" }]);
  const objects = [cluster(), policy("protect", [rule])];
  assert.match(
    await explained(t, objects, "--hook", "BeforeClusterDelete"),
    /^Allowed: BeforeClusterDelete /,
  );
});

test("an operation that only waits for time shows when it proceeds", async (t) => {
  const stdout = await explained(t, [
    cluster(DELETING),
    policy("nights", [deletion([night, { name: "settled", wait: { duration: "30m" } }])]),
  ]);
  assert.match(stdout, /^ {2}released +at 2026-11-21T22:30:00Z, if nothing else changes; /m);
  assert.doesNotMatch(stdout, /^ {2}run |^ {2}(and )?wait for +30m/m);
});

test("an operation that is released proceeds within the time that its rules tell Cluster API", async (t) => {
  const ok = { "example.com/ok": "5d2c" };
  const rule = deletion([approved], { retryAfterSeconds: 60 });
  const released = cluster({ ...DELETING, annotations: ok });
  const stdout = await explained(t, [released, policy("protect", [rule])]);
  assert.match(stdout, /^Allowed: .*\n {2}proceeds {2}when Cluster API asks again, within 60 s\n/);
});

test("of a deletion that Cluster API would not ask about, because it is marked, explain says first that nothing is held", async (t) => {
  const mark = { annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } };
  const objects = [cluster(mark), policy("protect", [deletion([approved])])];
  assert.match(
    await explained(t, objects, "--hook", "BeforeClusterDelete"),
    /^note: nothing is held in fact: .* without asking; to remove it: kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 runtime.cluster.x-k8s.io\/ok-to-delete-\n\nBlocked: /,
  );
});

test("a paused Cluster proceeds only once it is resumed, and explain has the command", async (t) => {
  const firstAsked = "2026-11-21T11:00:00Z";
  const row = { namespace: "team-a", cluster: "prod-1", clusterUID: "5d2c", hook: "BeforeClusterDelete" };
  const decision = { ...row, rule: "confirmed", verdict: "Blocked", reason: "R", message: "", firstAsked };
  const protect = {
    ...policy("protect", [deletion([night])]),
    status: { decisions: [{ ...decision, since: firstAsked }] },
  };
  const paused = cluster(DELETING, { topology: TOPOLOGY, paused: true });
  assert.match(
    await explained(t, [paused, protect]),
    /^ {2}and run +kubectl patch clusters.cluster.x-k8s.io -n team-a prod-1 --type merge -p '\{"spec":\{"paused":false\}\}'\n {2}for +the end of the pause.*\n {2}released +at 2026-11-21T22:00:00Z, if nothing else changes; Cluster API asks again, once the Cluster is resumed$/m,
  );
  const annotations = { "cluster.x-k8s.io/paused": "", "example.com/ok": "5d2c" };
  const released = { ...protect, ...policy("protect", [deletion([approved])]) };
  const text = await explained(t, [cluster({ ...DELETING, annotations }), released]);
  const both = /"annotations":\{"cluster.x-k8s.io\/paused":null\}\},"spec":\{"paused":false\}\}'$/m;
  assert.match(text, both);
  assert.match(text, /^ {2}proceeds {2}when Cluster API asks again, once the Cluster is resumed$/m);
  const moved = { ...annotations, "clusterctl.cluster.x-k8s.io/delete-for-move": "" };
  const stays = await explained(t, [cluster({ ...DELETING, annotations: moved }), released]);
  assert.doesNotMatch(stays, /kubectl patch/);
});

test("an expression is shown whole, because its end can decide", async (t) => {
  const names = Array.from({ length: 20 }, (_, i) => `'cluster-${i}'`).join(", ");
  const listed = { name: "listed", expression: `cluster.metadata.name in [${names}, 'the-last-one']` };
  const config = { apiVersion: "v1", kind: "ConfigMap" };
  const object = {
    ...config,
    selector: {},
    expression: `object.metadata.name in [${names}, 'the-last-map']`,
  };
  const policies = [policy("protect", [deletion([listed, { name: "map", object }])])];
  const objects = [
    cluster(DELETING),
    ...policies,
    { ...config, metadata: { namespace: "team-a", name: "a" } },
  ];
  const [head = "", tree = ""] = (await explained(t, objects)).split("\n\n");
  assert.match(head, /'the-last-one'\](?:.|\n)*'the-last-map'\]/);
  assert.match(tree, /wanted +expression .*'the-last-one'\](?:.|\n)*wanted +ConfigMap .*'the-last-map'\]/);
  assert.match(await explained(t, objects, "-o", "json"), /"wanted": "expression .*'the-last-one'\]"/);
});

test("what blocks is named before what cannot be evaluated, in explain and in simulate", async (t) => {
  const broken = { name: "broken", expression: "cluster.metadata.labels['none'] == 'a'" };
  const objects = [
    cluster(DELETING),
    policy("a", [deletion([broken])]),
    policy("b", [deletion([broken, approved])]),
  ];
  const stdout = await explained(t, objects);
  assert.match(stdout, /^Blocked: .*\n {2}run +kubectl annotate/);
  const text = yaml(NAMESPACE, cluster(DELETING));
  const policies = yaml(...objects.slice(1));
  const cwd = await folder(t, { "fleet.yaml": text, "new.yaml": policies });
  const simulated = await hookpolicy(["simulate", "-f", "new.yaml", "--against", "fleet.yaml", "--at", NOW], {
    cwd,
  });
  assert.match(
    simulated.stdout,
    /after +Blocked by HookPolicy team-a\/b confirmed\/\w+ \(WaitingForAnnotation\), and 1 more\n/,
  );
  assert.match(simulated.stdout, /^-o json lists every Cluster and every rule$/m);
});

test("an approval that is there, and one of several gates, are told as they are", async (t) => {
  const either = { name: "either", anyOf: [approved, { name: "signed", label: { key: "signed" } }] };
  const rules = [deletion([either, { name: "tier", label: { key: "tier" } }])];
  const stdout = await explained(t, [cluster(DELETING), policy("protect", rules)]);
  assert.match(
    stdout,
    /^ {2}run +kubectl annotate .*example.com\/ok=5d2c\n {2}or run +hookpolicy approve team-a\/prod-1 --hook BeforeClusterDelete$/m,
  );
  assert.match(stdout, /├─ gate either: waits \(one of 2\)\n.*├─ gate approved: waits\n/);
  assert.match(stdout, /└─ gate tier is met: label tier on Cluster team-a\/prod-1; present: "production"\n/);
});

test("why a policy says nothing is told: selectors, match conditions, modes and overrides", async (t) => {
  const canary = { name: "canary", expression: "cluster.metadata.name.startsWith('canary')" };
  const selector = { matchExpressions: [{ key: "env", operator: "In", values: ["prod", "int"] }] };
  const override = rawOverride("let-go", {
    policyRefs: [{ kind: "HookPolicy", namespace: "team-a", name: "lifted" }],
    expiresAt: "2026-11-22T12:00:00Z",
  });
  const stdout = await explained(t, [
    cluster(DELETING),
    override,
    fleetWide("prod", [deletion([approved])], { namespaceSelector: selector }),
    policy("audit", [deletion([night])], { mode: "Audit" }),
    policy("canaries", [deletion([approved], { matchConditions: [canary] })]),
    policy("lifted", [deletion([approved])]),
  ]);
  assert.match(
    stdout,
    /^WouldBlock: .*\n {2}proceeds {2}when Cluster API asks again, within 10 s: only policies of mode Audit/,
  );
  assert.match(stdout, /because {2}namespaceSelector wants env in \(prod, int\), and finds env=dev\n/);
  assert.match(stdout, /canaries: Allowed\n└─ rule confirmed: Skipped \(match condition canary is false\)\n/);
  assert.match(
    stdout,
    /audit: WouldBlock, mode Audit, so it holds nothing\n.*\n.*released {2}at 2026-11-21T22:00:00Z/,
  );
  assert.match(stdout, /lifted: Allowed, overridden by HookOverride let-go\n/);
});

test("a rule that cannot be evaluated says why, and what is wrong with the whole spec is told", async (t) => {
  const backup = { name: "backup", object: { apiVersion: "velero.io/v1", kind: "Backup", name: "final" } };
  const stdout = await explained(t, [
    cluster(DELETING),
    policy("backed-up", [deletion([backup])]),
    policy("broken", []),
  ]);
  assert.match(stdout, /^NotEvaluable: /);
  assert.match(
    stdout,
    /^ {2}because +no velero.io\/v1 Backup is among the objects that were given \(HookPolicy/m,
  );
  assert.match(
    stdout,
    /gate backup: cannot be evaluated\n +wanted +Backup.velero.io final .*\n +because +no velero/,
  );
  assert.match(
    stdout,
    /broken: NotEvaluable\n└─ spec: NotEvaluable \(InvalidSpec\)\n +because +spec.rules: /,
  );
});

test("nothing in objects controls the terminal", async (t) => {
  const rule = deletion([{ name: "a", annotation: { key: "a", value: "\u001B[2J" } }]);
  const row = { namespace: "team-a", cluster: "prod-1", clusterUID: "5d2c", hook: "BeforeClusterDelete" };
  const status = {
    decisions: [
      { ...row, firstAsked: NOW, since: "\u001B[2J", rule: "confirmed\u001B[2J", verdict: "\u001B[2J" },
    ],
  };
  const objects = [
    cluster({ ...DELETING, labels: { tier: "\u001B[2J" } }),
    { ...policy("p\u001B[2J\u202E", [rule]), status },
    fleetWide("c\u001B[2J", [deletion([approved])], { clusterSelector: { matchLabels: { tier: "x" } } }),
  ];
  const stdout = await explained(t, objects);
  assert.match(stdout, /wanted +annotation a=\$'\\033\[2J' on Cluster/);
  assert.match(stdout, /run +kubectl annotate \S+ -n team-a prod-1 \$'a=\\033\[2J'\n/);
  assert.equal(/[^\P{Cc}\n]|\u202E/u.test(stdout), false);
});

test("without --hook, a Cluster that nothing is asked about has nothing to tell", async (t) => {
  const stdout = await explained(t, [cluster(), policy("protect", [deletion([approved])])]);
  assert.equal(
    stdout,
    `No operation of Cluster team-a/prod-1 is held, and none waits for an answer.
To see what a hook would be answered: hookpolicy explain team-a/prod-1 --hook BeforeClusterDelete -f fleet.yaml
`,
  );
});

test("a hook that is not asked now is answered as it would be, about the version that is wanted", async (t) => {
  const rule = {
    ...deletion([{ name: "tested", version: { range: "<1.36" } }]),
    hooks: ["BeforeClusterUpgrade"],
  };
  const objects = [cluster(), policy("tested", [rule])];
  const upgrade = ["--hook", "BeforeClusterUpgrade"];
  assert.match(
    await explained(t, objects, ...upgrade),
    /^Allowed: BeforeClusterUpgrade \(v1.35.0\) of Cluster team-a\/prod-1, which Cluster API does not ask about now/,
  );
  assert.match(
    await explained(t, objects, ...upgrade, "--to-version", "v1.36.0"),
    /^Blocked: .* \(v1.36.0\)/,
  );
});

test("where an upgrade comes from is known if the Cluster shows it, or if it is said", async (t) => {
  const gate = { name: "step", expression: "request.fromKubernetesVersion == 'v1.34.0'" };
  const steps = policy("steps", [{ ...deletion([gate]), hooks: ["BeforeClusterUpgrade"] }]);
  const objects = [cluster(), steps];
  const upgrade = ["--hook", "BeforeClusterUpgrade"];
  assert.match(await explained(t, objects, ...upgrade), /^NotEvaluable: /);
  const status = { controlPlane: { versions: [{ version: "v1.34.0" }] } };
  assert.match(await explained(t, [steps, { ...cluster(), status }], ...upgrade), /^Allowed: /);
  assert.match(await explained(t, objects, ...upgrade, "--from-version", "v1.34.0"), /^Allowed: /);
});

test("windows of two policies that never meet are named, and one reason for an unknown time", async (t) => {
  const at = (schedule: string): object => ({
    name: "open",
    window: { timeZone: "UTC", allow: [{ schedule, duration: "8h" }] },
  });
  const upgrade = (gate: object): object => ({ ...deletion([gate]), hooks: ["BeforeClusterUpgrade"] });
  const objects = [
    cluster(),
    policy("night", [upgrade(at("0 22 * * FRI"))]),
    policy("day", [upgrade(at("0 8 * * MON"))]),
  ];
  // Both are closed, and one of them is open.
  for (const now of ["2026-11-25T12:00:00Z", "2026-11-23T12:00:00Z"]) {
    const text = await explained(t, objects, "--hook", "BeforeClusterUpgrade", "--at", now);
    assert.match(text, /^ {2}released +at an unknown time: windows are not found open together, /m);
    assert.match(
      text,
      /^note: these windows are never open at the same time in the next two years: open \(HookPolicy team-a\/day, rule \S+\), open \(HookPolicy team-a\/night, rule \S+\)$/m,
    );
  }
});

test("a Cluster for which no hook is called, and one that has passed the hook, is told", async (t) => {
  const deletes = ["--hook", "BeforeClusterDelete"];
  assert.match(await explained(t, [cluster(DELETING, {})], ...deletes), /^note: .*no spec.topology\n/);
  assert.match(
    await explained(t, [cluster(DELETING, { topology: TOPOLOGY, paused: true })], ...deletes),
    /^note: .*while it is paused\n/,
  );
  const annotations = { "runtime.cluster.x-k8s.io/ok-to-delete": "" };
  assert.match(
    await explained(t, [cluster({ ...DELETING, annotations })], ...deletes),
    /which has passed it already/,
  );
});

test("what a status remembers counts: since when, and waits that run", async (t) => {
  const uid = "uid-protect";
  const rule = deletion([{ name: "settled", wait: { duration: "3h" } }]);
  const row = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "5d2c",
    hook: "BeforeClusterDelete",
    verdict: "Blocked",
    rule: "confirmed",
    reason: "WaitPending",
    firstAsked: "2026-11-21T10:00:00Z",
    timers: [{ rule: "confirmed", gatesMetSince: "2026-11-21T11:00:00Z" }],
  };
  const protect = {
    ...policy("protect", [rule]),
    metadata: { namespace: "team-a", name: "protect", uid, generation: 2 },
    status: { observedGeneration: 2, decisions: [row] },
  };
  assert.match(await explained(t, [cluster(DELETING), protect]), /released +at 2026-11-21T14:00:00Z/);
});

test("-o json keeps to its schema, and has the commands", async (t) => {
  const either = { name: "either", anyOf: [approved, night] };
  const objects = [
    cluster(DELETING),
    policy("protect", [deletion([either], { deadline: { after: "2h", onExpiry: "Allow" } })]),
    policy("canaries", [deletion([night], { matchConditions: [{ name: "no", expression: "false" }] })]),
    policy("dev", [deletion([night])], { clusterSelector: { matchLabels: { tier: "dev" } } }),
  ];
  const stdout = await explained(t, objects, "-o", "json");
  const report: {
    readonly operations: readonly [
      { readonly verdict: string; readonly steps: readonly { readonly commands: readonly string[] }[] },
    ];
  } = await checked("explain", JSON.parse(stdout));
  const [{ verdict, steps }] = report.operations;
  assert.deepEqual([verdict, steps.map(({ commands }) => commands)], ["Blocked", [[COMMAND]]]);
});

test("a deadline that counts from a block that no file tells is not made up", async (t) => {
  const rule = deletion([approved], { deadline: { after: "72h", onExpiry: "Allow" } });
  const objects = [cluster(DELETING), policy("protect", [rule])];
  const text = await explained(t, objects);
  assert.match(text, /released +at an unknown time: .* no status shows when a deadline began/);
  assert.match(
    text,
    /deadline +72h after the rule first held the Cluster, at a time that no status shows: the rule releases the Cluster then/,
  );
  assert.doesNotMatch(text, /2026-11-24/);
  assert.doesNotMatch(await explained(t, objects, "-o", "json"), /": "2026-11-24/);
});

test("the first lines tell that a wait follows", async (t) => {
  const pause = { name: "pause", wait: { duration: "1h" } };
  const objects = [cluster(DELETING), policy("protect", [deletion([approved, pause])])];
  const [head = ""] = (await explained(t, objects)).split("\n\n");
  assert.match(head, /then wait +.*1h.*gate pause\)/);
});

test("the first lines name an override that is in force and its end", async (t) => {
  const override = rawOverride(
    { name: "let-go", creationTimestamp: "2026-11-21T11:00:00Z" },
    { expiresAt: "2026-11-21T13:00:00Z" },
  );
  const objects = [cluster(DELETING), policy("protect", [deletion([approved])]), override];
  const [head = "", tree = ""] = (await explained(t, objects)).split("\n\n");
  assert.match(
    head,
    /lifted +HookPolicy team-a\/protect until 2026-11-21T13:00:00Z, by HookOverride let-go$/,
  );
  assert.doesNotMatch(tree, /released/);
});
