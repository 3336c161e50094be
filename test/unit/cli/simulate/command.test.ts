/** `hookpolicy simulate` as a person runs it, on a folder. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { checked, folder, yaml } from "../program.ts";
import { rawCluster, rawNamespace, rawOverride, rawPolicy } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const AT = ["--at", "2026-11-21T12:00:00Z"];

const cluster = (name: string, labels: object = {}): object => rawCluster({ name, labels });

const policy = (name: string, rules: readonly object[], over: object = {}): object =>
  rawPolicy(name, { rules, ...over });

const approved = { name: "approved", annotation: { key: "example.com/ok" } };
const confirmed = { name: "confirmed", hooks: ["BeforeClusterDelete"], until: [approved] };
const night = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const nightly = { name: "nightly", hooks: ["BeforeClusterUpgrade"], until: [night] };
const NAMESPACE = rawNamespace();

const FLEET = {
  "fleet/clusters.yaml": yaml(NAMESPACE, cluster("prod-1"), cluster("prod-2"), {
    ...cluster("by-hand"),
    spec: {},
  }),
  "fleet/policies.yaml": yaml(policy("protect", [confirmed])),
};
const simulate = (...args: readonly string[]): string[] => ["simulate", "--against", "fleet", ...args];

test("a Cluster is being deleted when Cluster API asks about its deletion", async (t) => {
  const deleted = { name: "deleted", expression: "has(cluster.metadata.deletionTimestamp)" };
  const cwd = await folder(t, {
    ...FLEET,
    "new/policies.yaml": yaml(policy("protect", [{ ...confirmed, until: [deleted] }])),
  });
  const { stdout } = await hookpolicy(simulate("-f", "new", ...AT), { cwd });
  assert.match(stdout, /^newly allowed: BeforeClusterDelete$/m);
});

test("what the new policies block, allow and hold for another reason is told, with totals", async (t) => {
  const other = { ...confirmed, until: [{ name: "signed", annotation: { key: "example.com/signed" } }] };
  const files = {
    ...FLEET,
    "fleet/policies.yaml": yaml(policy("protect", [confirmed]), policy("nights", [nightly])),
    "new/policies.yaml": yaml(
      policy("protect", [other]),
      policy("nights", []),
      policy("creation", [{ ...confirmed, hooks: ["BeforeClusterCreate"] }]),
    ).replace('"rules":[]', '"rules":[{"name":"seen","hooks":["BeforeClusterUpgrade"]}]'),
  };
  const { code, stdout, stderr } = await onFiles(t, files, simulate("-f", "new", ...AT));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.equal(
    stdout,
    `HookPolicy team-a/creation is added

HookPolicy team-a/nights is changed:
  rules[nightly] is removed
  rules[seen] is added

HookPolicy team-a/protect is changed:
  rules[confirmed].until[approved] is removed
  rules[confirmed].until[signed] is added

newly blocked: BeforeClusterCreate
  before    Allowed
  after     Blocked by HookPolicy team-a/creation confirmed/approved (WaitingForAnnotation)
  clusters  2: team-a/prod-1, team-a/prod-2

newly allowed: BeforeClusterUpgrade
  before    Blocked by HookPolicy team-a/nights nightly/night (WindowClosed)
  after     Observed by HookPolicy team-a/nights seen (Observed)
  clusters  2: team-a/prod-1, team-a/prod-2

changed reason: BeforeClusterDelete
  before    Blocked by HookPolicy team-a/protect confirmed/approved (WaitingForAnnotation)
  after     Blocked by HookPolicy team-a/protect confirmed/signed (WaitingForAnnotation)
  clusters  2: team-a/prod-1, team-a/prod-2

2 newly blocked, 2 newly allowed, 2 changed reason, 0 unknown: 18 operations of 2 Clusters at 2026-11-21T12:00:00Z; 1 skipped, for which Cluster API calls no hook
blocked at 2026-11-21T12:00:00Z: 4 before, 4 after
-o json lists every Cluster and every rule
only this instant was compared, and windows can change the answer of HookPolicy team-a/nights: add --from 2026-11-21T12:00:00Z --to 2026-11-28T12:00:00Z to compare a week
`,
  );
});

const json = async (cwd: string, ...args: readonly string[]): Promise<Report> =>
  JSON.parse((await hookpolicy(simulate(...AT, "-o", "json", ...args), { cwd })).stdout);

interface Report {
  readonly totals: Readonly<Record<string, number>>;
  readonly unseen: readonly string[];
  readonly changes: readonly {
    readonly change: string;
    readonly cluster: string;
    readonly hook: string;
    readonly from?: string;
    readonly seconds?: number;
    readonly after: { readonly verdict: string; readonly message: string; readonly rules: readonly object[] };
  }[];
}

const shown = ({ changes }: Report): string[] =>
  changes.map(({ change, cluster: name, hook }) => `${change} ${name} ${hook}`);

test("nothing changes where the same is applied again", async (t) => {
  const cwd = await folder(t, FLEET);
  const { totals, changes } = await json(cwd, "-f", "fleet/policies.yaml");
  assert.deepEqual(changes, []);
  assert.deepEqual([totals["blockedBefore"], totals["blockedAfter"], totals["skipped"]], [2, 2, 1]);
});

test("a policy that is not applied stays, unless it is pruned", async (t) => {
  const cwd = await folder(t, { ...FLEET, "new/p.yaml": yaml(policy("other", [nightly])) });
  const upgrades = [
    "newly-blocked team-a/prod-1 BeforeClusterUpgrade",
    "newly-blocked team-a/prod-2 BeforeClusterUpgrade",
  ];
  assert.deepEqual(shown(await json(cwd, "-f", "new")), upgrades);
  const deletions = upgrades.map((text) => text.replace("blocked", "allowed").replace("Upgrade", "Delete"));
  assert.deepEqual(shown(await json(cwd, "-f", "new", "--prune")).toSorted(), [...deletions, ...upgrades]);
});

test("Clusters are changed and added by what is applied, too, and compared under the old policies", async (t) => {
  const selective = policy("protect", [confirmed], {
    clusterSelector: { matchLabels: { tier: "production" } },
  });
  const cwd = await folder(t, {
    ...FLEET,
    "fleet/policies.yaml": yaml(selective),
    "new/c.yaml": yaml(cluster("prod-1", { tier: "production" }), cluster("prod-3", { tier: "production" })),
  });
  assert.deepEqual(shown(await json(cwd, "-f", "new")), ["newly-blocked team-a/prod-1 BeforeClusterDelete"]);
});

test("an applied override releases, and a policy of Audit would only block", async (t) => {
  const override = rawOverride("let-go", { expiresAt: "2026-11-22T12:00:00Z" });
  const audit = policy("protect", [confirmed], { mode: "Audit" });
  const cwd = await folder(t, { ...FLEET, "new/o.yaml": yaml(override), "audit.yaml": yaml(audit) });
  const overridden = await json(cwd, "-f", "new");
  assert.deepEqual(shown(overridden), ["newly-allowed team-a/prod-1 BeforeClusterDelete"]);
  assert.deepEqual(overridden.unseen, []);
  const [first] = (await json(cwd, "-f", "audit.yaml")).changes;
  assert.equal(first?.after.verdict, "WouldBlock");
  assert.equal(first.after.rules.length, 1);
});

test("over a time, it is told when the difference begins and how long it lasts in all", async (t) => {
  const longer = {
    ...night,
    window: { ...night.window, allow: [{ schedule: "0 22 * * *", duration: "5h" }] },
  };
  const cwd = await folder(t, {
    ...FLEET,
    "fleet/policies.yaml": yaml(policy("nights", [nightly])),
    "new/p.yaml": yaml(policy("nights", [{ ...nightly, until: [longer] }])),
  });
  const times = ["--from", "2026-11-21T12:00:00Z", "--to", "2026-11-24T12:00:00Z"];
  const { stdout } = await hookpolicy(simulate("-f", "new", ...times, "-o", "json"), { cwd });
  const report: Report = await checked("simulate", JSON.parse(stdout));
  assert.deepEqual(
    report.changes.map(({ change, from, seconds }) => [change, from, seconds]),
    Array.from({ length: 2 }, () => ["newly-allowed", "2026-11-22T02:00:00Z", 3 * 3600]),
  );
  const text = await hookpolicy(simulate("-f", "new", ...times), { cwd });
  assert.match(text.stdout, /^ {2}when {6}2026-11-22T02:00:00Z, 3h in all$/m);
});

test("--fail-on decides about the exit code, and --hook about what is looked at", async (t) => {
  const cwd = await folder(t, { ...FLEET, "new/p.yaml": yaml(policy("other", [nightly])) });
  const code = async (...args: readonly string[]): Promise<number> =>
    (await hookpolicy(simulate("-f", "new", ...AT, ...args), { cwd })).code;
  assert.deepEqual(
    await Promise.all([
      code("--fail-on", "newly-blocked"),
      code("--fail-on", "any"),
      code("--fail-on", "newly-allowed"),
      code("--fail-on", "any", "--hook", "BeforeClusterDelete"),
      code("--fail-on", "any", "--hook", "BeforeClusterDelete", "--hook", "BeforeClusterUpgrade"),
    ]),
    [1, 1, 0, 0, 1],
  );
});

test("gates see the version that upgrades would go to", async (t) => {
  const ranged = { ...nightly, until: [{ name: "tested", version: { range: "<1.36" } }] };
  const cwd = await folder(t, { ...FLEET, "new/p.yaml": yaml(policy("tested", [ranged])) });
  assert.deepEqual(shown(await json(cwd, "-f", "new")), []);
  const to = shown(await json(cwd, "-f", "new", "--to-version", "v1.36.0"));
  assert.deepEqual(to.length, 2);
});

test("an upgrade comes from the version that the Cluster shows, else from an unknown one", async (t) => {
  const status = { controlPlane: { versions: [{ version: "v1.34.2" }] } };
  const matchConditions = [{ name: "old", expression: "request.fromKubernetesVersion.startsWith('v1.34.')" }];
  const cwd = await folder(t, {
    "fleet/clusters.yaml": yaml(NAMESPACE, { ...cluster("prod-1"), status }, cluster("prod-2")),
    "new/p.yaml": yaml(policy("from", [{ ...nightly, matchConditions }])),
  });
  const expected = (version: readonly string[]): Promise<void> =>
    json(cwd, "-f", "new", ...version).then(({ changes }) => {
      assert.deepEqual(
        changes.map(({ cluster: name, hook, after }) => [name, hook, after.verdict]),
        [
          ["team-a/prod-1", "BeforeClusterUpgrade", "Blocked"],
          ["team-a/prod-2", "BeforeClusterUpgrade", "NotEvaluable"],
        ],
      );
    });
  await expected([]);
  await expected(["--to-version", "v1.36.0"]);
  const again = ["simulate", "--against", "new", "-f", "new", "-f", "fleet", ...AT];
  const { code, stdout, stderr } = await hookpolicy(again, { cwd });
  assert.equal(code, 0);
  assert.match(stdout, /^0 newly blocked, 0 newly allowed, 0 changed reason, 0 unknown:/);
  assert.match(
    stderr,
    /^warning: HookPolicy team-a\/from rule nightly is not evaluable \(operations: 1\): .*the Cluster does not show request\.fromKubernetesVersion/,
  );
});

test("--from-version says where upgrades come from, and a step that leaves out a minor version is told", async (t) => {
  const matchConditions = [{ name: "old", expression: "request.fromKubernetesVersion.startsWith('v1.34.')" }];
  const hooks = ["BeforeControlPlaneUpgrade"];
  const cwd = await folder(t, {
    ...FLEET,
    "new/p.yaml": yaml(policy("from", [{ ...nightly, hooks, matchConditions }])),
  });
  const versions = ["--from-version", "v1.34.0"];
  const upgrades = ["team-a/prod-1", "team-a/prod-2"].map(
    (name) => `newly-blocked ${name} BeforeControlPlaneUpgrade`,
  );
  assert.deepEqual(shown(await json(cwd, "-f", "new", ...versions)), upgrades);
  assert.deepEqual(
    shown(await json(cwd, "-f", "new", "--from-version", "v1.35.0", "--to-version", "v1.36.0")),
    [],
  );
  const warned = await hookpolicy(simulate("-f", "new", ...AT, ...versions, "--to-version", "v1.36.0"), {
    cwd,
  });
  assert.match(
    warned.stderr,
    /^warning: Cluster API upgrades a control plane by one minor version at a time/,
  );
  const explain = [
    ..."explain team-a/prod-1 --hook BeforeControlPlaneUpgrade -f fleet -f new".split(" "),
    ...AT,
  ];
  const told = await hookpolicy([...explain, ...versions, "--to-version", "v1.36.0"], { cwd });
  assert.match(told.stdout, /^note: Cluster API upgrades a control plane by one minor version at a time/);
  const step = await hookpolicy([...explain, ...versions, "--to-version", "v1.35.0"], { cwd });
  assert.match(step.stdout, /^Blocked: BeforeControlPlaneUpgrade \(v1\.35\.0\)/);
});

test("one fleet is compared: --against twice is refused", async (t) => {
  const { code, stderr } = await onFiles(t, FLEET, simulate("-f", "fleet", "--against", "live"));
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: option '--against .*already given as fleet: put files of one fleet in one folder/,
  );
});

test("Markdown is ready for a comment, whatever stands in names and messages", async (t) => {
  const cwd = await folder(t, { ...FLEET, "new/p.yaml": yaml(policy("other", [nightly])) });
  const { stdout } = await hookpolicy(simulate("-f", "new", ...AT, "-o", "markdown"), { cwd });
  assert.match(stdout, /^### HookPolicy simulation\n\n```\n2 newly blocked, 0 newly allowed/);
  assert.match(
    stdout,
    /^newly blocked: BeforeClusterUpgrade\n {2}before {4}Allowed\n {2}after .*WindowClosed/m,
  );
  assert.match(stdout, /\n```\n$/);
});

test("reports what cannot be compared, and exits 2", async (t) => {
  const fleetWide = {
    ...policy("fleet", [confirmed], { namespaceSelector: {} }),
    kind: "ClusterHookPolicy",
    metadata: { name: "fleet" },
  };
  const files = {
    ...FLEET,
    "bad.yaml": yaml(policy("bad", [{ ...confirmed, hooks: ["BeforeClusterDelet"] }])),
    "wide.yaml": yaml(fleetWide),
    "none/n.yaml": yaml(NAMESPACE),
    "alone/c.yaml": yaml(cluster("prod-1")),
  };
  const cwd = await folder(t, files);
  const run = async (...args: readonly string[]): Promise<[number, string]> => {
    const { code, stderr } = await hookpolicy(["simulate", ...args], { cwd });
    return [code, stderr];
  };
  const [invalid, text] = await run("--against", "fleet", "-f", "bad.yaml");
  assert.equal(invalid, 2);
  assert.match(
    text,
    /^error: bad\.yaml:1:\d+: HookPolicy team-a\/bad: spec\.rules\[0\]\.hooks\[0\]: .*did you mean/,
  );
  assert.deepEqual(await run("--against", "gone", "-f", "wide.yaml"), [
    2,
    "error: gone: no such file or folder\n",
  ]);
  assert.deepEqual(await run("--against", "none", "-f", "wide.yaml"), [
    2,
    "error: there is no Cluster to simulate in none, wide.yaml: add Clusters with --against or -f\n",
  ]);
  const [, warning] = await run("--against", "alone", "-f", "wide.yaml");
  assert.match(
    warning,
    /^warning: the Namespace of Clusters is not among the objects: team-a; what ClusterHookPolicy \S+ selects of them is unknown, so the rules are not evaluable\. Add it, with its labels, to the files$/m,
  );
  for (const [args, message] of [
    [["--at", "noon"], /Allowed: a date or a time/],
    [["--from", "2026-11-21T12:00:00Z"], /--from needs --to/],
    [["--to", "2026-11-21T12:00:00Z"], /now must be before --to/],
    [["--from", "2026-11-21T12:00:00Z", "--to", "2026-11-21T12:00:00Z"], /--from must be before --to/],
    [[...AT, "--from", "2026-11-21T12:00:00Z"], /--at is an instant/],
    [["--hook", "BeforeClusterDelet"], /did you mean BeforeClusterDelete\?/],
    [["--fail-on", "newly-blockd"], /did you mean newly-blocked\?/],
  ] as const) {
    const [code, problem] = await run("--against", "fleet", "-f", "fleet", ...args);
    assert.equal(code, 2);
    assert.match(problem, message);
  }
});

test("a kind that is misspelt is refused by all that decide with files", async (t) => {
  const typo = { ...policy("typo", [confirmed]), kind: "HookPolciy" };
  const cwd = await folder(t, { ...FLEET, "typo.json": JSON.stringify(typo) });
  const commands = [
    simulate("-f", "typo.json"),
    ["explain", "team-a/prod-1", "-f", "fleet", "-f", "typo.json"],
    ["windows", "-f", "typo.json"],
  ];
  for (const args of commands) {
    const { code, stderr } = await hookpolicy(args, { cwd });
    assert.equal(code, 2, args[0]);
    assert.match(stderr, /^error: typo\.json:1:\d+: kind: found "HookPolciy".*did you mean "HookPolicy"\?\n/);
  }
});

test("reports a policy that occurs twice with both places", async (t) => {
  const again = yaml(policy("protect", [confirmed]));
  const cwd = await folder(t, { ...FLEET, "a.yaml": again, "b.yaml": `\n${again}` });
  const { code, stderr } = await hookpolicy(simulate("-f", "a.yaml", "-f", "b.yaml"), { cwd });
  assert.equal(code, 0);
  assert.match(stderr, /^warning: b\.yaml:2: metadata\.name: HookPolicy \S+ is also at a\.yaml:1: /);
  const { stdout } = await hookpolicy(["validate", "a.yaml", "b.yaml"], { cwd });
  assert.match(stdout, /^b\.yaml:2:\d+: warning: .*is also at a\.yaml:1/m);
});

test("--fail-on takes changes of the reason, too", async (t) => {
  const other = { ...confirmed, until: [{ name: "signed", annotation: { key: "example.com/signed" } }] };
  const cwd = await folder(t, { ...FLEET, "new.yaml": yaml(policy("protect", [other])) });
  const code = async (failOn: string): Promise<number> =>
    (await hookpolicy(simulate("-f", "new.yaml", "--fail-on", failOn), { cwd })).code;
  assert.deepEqual([await code("changed-reason"), await code("newly-blocked")], [1, 0]);
});

test("a weakened policy is no all-clear where the fleet lacks the policies before the change", async (t) => {
  const page = await readFile(join(import.meta.dirname, "../../../../docs/cli.md"), "utf8");
  const plain = (text: string): string => text.replaceAll(/[`']/g, "").trim();
  const weakened = yaml(policy("protect", [confirmed], { mode: "Audit" }));
  const cwd = await folder(t, { "fleet/clusters.yaml": FLEET["fleet/clusters.yaml"], "new.yaml": weakened });
  for (const failOn of ["newly-allowed", "changed-reason", "unknown", "any"]) {
    const { code, stdout, stderr } = await hookpolicy(simulate("-f", "new.yaml", "--fail-on", failOn), {
      cwd,
    });
    assert.deepEqual([code, stdout], [2, ""], failOn);
    assert.match(stderr, /^error: --against fleet has no policy and no HookRollout: /);
    // The page gives the same advice.
    assert.ok(plain(page).includes(plain(stderr.split("a weakened policy. ")[1] ?? stderr)), stderr);
  }
  for (const failOn of ["never", "newly-blocked"]) {
    const { code, stdout, stderr } = await hookpolicy(simulate("-f", "new.yaml", "--fail-on", failOn), {
      cwd,
    });
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^warning: --against fleet has no policy and no HookRollout: nothing can be newly allowed$/m,
    );
    assert.match(stdout, /^blocked at \S+: 0 before \(without any policy\), 0 after$/m);
  }
});

test("a policy that selects no Cluster of the fleet is told in each format", async (t) => {
  const labelled = [cluster("prod-1", { tier: "production" }), cluster("dev-1", { tier: "staging" })];
  const misspelt = policy("new", [confirmed], { clusterSelector: { matchLabels: { teir: "production" } } });
  const fleet = yaml(NAMESPACE, ...labelled, policy("protect", [confirmed]));
  const files = { "fleet/all.yaml": fleet, "new.yaml": yaml(misspelt) };
  const cwd = await folder(t, files);
  const told =
    'HookPolicy team-a/new: spec.clusterSelector: teir=production selects none of the 2 Clusters of namespace team-a, so the policy holds nothing; did you mean "tier=production"?';
  const text = await hookpolicy(simulate("-f", "new.yaml", ...AT), { cwd });
  assert.equal(text.stderr, `warning: ${told}\n`);
  const report = await hookpolicy(simulate("-f", "new.yaml", "-o", "json", ...AT), { cwd });
  assert.deepEqual(JSON.parse(report.stdout).selectsNothing, [told]);
  const { stdout } = await hookpolicy(simulate("-f", "new.yaml", "-o", "markdown", ...AT), { cwd });
  assert.ok(stdout.includes(`\nwarning: ${told}\n`), stdout);
});
