/** What `hookpolicy simulate` says of requests at admission. */

import assert from "node:assert/strict";
import test from "node:test";
import { checked, folder, yaml } from "../program.ts";
import { rawCluster, rawNamespace, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const AT = ["--at", "2026-11-21T12:00:00Z"];
const NAMESPACE = rawNamespace();

const policy = (name: string, rules: readonly object[]): object => rawPolicy(name, { rules });

const confirmed = {
  name: "confirmed",
  hooks: ["BeforeClusterDelete"],
  until: [{ name: "approved", annotation: { key: "example.com/ok" } }],
};
const nightly = {
  name: "nightly",
  hooks: ["BeforeClusterUpgrade"],
  until: [
    { name: "night", window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] } },
  ],
};

const FLEET = {
  "fleet/clusters.yaml": yaml(NAMESPACE, rawCluster("prod-1"), rawCluster("prod-2"), {
    ...rawCluster("by-hand"),
    spec: {},
  }),
  "fleet/policies.yaml": yaml(policy("protect", [confirmed])),
};
const simulate = (...args: readonly string[]): string[] => ["simulate", "--against", "fleet", ...args];

interface Report {
  readonly totals: Readonly<Record<string, number>>;
  readonly changes: readonly {
    readonly change: string;
    readonly cluster: string;
    readonly hook: string;
    readonly request?: string;
    readonly from?: string;
    readonly seconds?: number;
    readonly before: { readonly verdict: string };
    readonly after: { readonly verdict: string };
  }[];
}

async function json(cwd: string, ...args: readonly string[]): Promise<Report> {
  const { stdout } = await hookpolicy(simulate(...args, ...AT, "-o", "json"), { cwd });
  const report: Report = await checked("simulate", JSON.parse(stdout));
  return report;
}

test("what admission answers to deletions and upgrades is compared where a rule speaks there", async (t) => {
  const denied = { ...confirmed, hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"], admission: "Deny" };
  const cwd = await folder(t, {
    ...FLEET,
    "deny/p.yaml": yaml(policy("protect", [denied])),
    "warn/p.yaml": yaml(policy("protect", [{ ...denied, admission: "Warn" }])),
  });
  const report = await json(cwd, "-f", "deny");
  const of = ({ changes }: Report): readonly unknown[] =>
    changes
      .filter(({ request }) => request !== undefined)
      .map(({ change, cluster: name, hook, before, after }) => [
        `${change} ${name} ${hook}`,
        before.verdict,
        after.verdict,
      ]);
  const deletions = ["by-hand", "prod-1", "prod-2"].map((name) => [
    `newly-blocked team-a/${name} BeforeClusterDelete`,
    "Passed",
    "Denied",
  ]);
  assert.deepEqual(of(report), deletions);
  const totals = ["requests", "deniedBefore", "deniedAfter", "operations"].map((name) => report.totals[name]);
  assert.deepEqual(totals, [3, 0, 3, 18]);
  assert.equal(of(await json(cwd, "-f", "deny", "--to-version", "v1.36.0")).length, 5);
  assert.equal(of(await json(cwd, "-f", "deny", "--to-version", "v1.35.0")).length, 3);
  assert.deepEqual(of(await json(cwd, "-f", "deny", "--hook", "BeforeClusterCreate")), []);
  const warned = await json(cwd, "-f", "warn");
  assert.deepEqual(of(warned)[0], ["changed-reason team-a/by-hand BeforeClusterDelete", "Passed", "Warned"]);
  const { stdout } = await hookpolicy(simulate("-f", "deny", ...AT), { cwd });
  assert.match(
    stdout,
    /^newly blocked: Delete at admission\n {2}before +Passed\n {2}after +Denied by HookPolicy team-a\/protect confirmed\/approved \(WaitingForAnnotation\)\n {2}clusters +3: /m,
  );
  assert.match(stdout, /^newly blocked: Delete at admission\n.*\n.*\n {2}clusters {2}3: /m);
  assert.match(stdout, /: 18 operations of 2 Clusters and 3 requests at admission at /);
  assert.match(stdout, /; denied at admission: 0 before, 3 after$/m);
});

test("of another version, the hook answers as admission does", async (t) => {
  const tested = { name: "tested", expression: "cluster.topology.version != 'v1.36.0'" };
  const rule = { ...nightly, admission: "Deny", until: [tested] };
  const cwd = await folder(t, { ...FLEET, "new/p.yaml": yaml(policy("tested", [rule])) });
  assert.deepEqual((await json(cwd, "-f", "new", "--to-version", "v1.37.0")).changes, []);
  const { changes } = await json(cwd, "-f", "new", "--to-version", "1.36.0");
  const found = changes.map(({ cluster: name, request = "hook" }) => `${request} ${name}`);
  const names = ["team-a/prod-1", "team-a/prod-2"];
  assert.deepEqual(
    found.toSorted(),
    ["Upgrade", "hook"].flatMap((each) => names.map((name) => `${each} ${name}`)),
  );
});

test("over a time, a refusal by a window begins and ends with it", async (t) => {
  const refused = { ...nightly, hooks: ["BeforeClusterDelete"], admission: "Deny" };
  const cwd = await folder(t, {
    "fleet/clusters.yaml": yaml(NAMESPACE, rawCluster("prod-1")),
    "new/p.yaml": yaml(policy("nights", [refused])),
  });
  const times = ["--from", "2026-11-21T22:00:00Z", "--to", "2026-11-23T22:00:00Z"];
  const { stdout } = await hookpolicy(simulate("-f", "new", ...times, "-o", "json"), { cwd });
  const { changes }: Report = JSON.parse(stdout);
  const [request] = changes.filter(({ request: name }) => name === "Delete");
  assert.deepEqual(
    [request?.change, request?.from, request?.seconds],
    ["newly-blocked", "2026-11-22T02:00:00Z", 2 * 20 * 3600],
  );
});

test("an expression with now is looked at again before the rule's window closes", async (t) => {
  const early = { name: "early", expression: "now < timestamp('2026-11-21T23:00:00Z')" };
  const until = [...nightly.until, early];
  const refused = { ...nightly, hooks: ["BeforeClusterDelete"], admission: "Deny", until };
  const cwd = await folder(t, {
    "fleet/clusters.yaml": yaml(NAMESPACE, rawCluster("prod-1")),
    "new/p.yaml": yaml(policy("nights", [refused])),
  });
  const times = ["--from", "2026-11-21T22:00:00Z", "--to", "2026-11-21T23:40:00Z"];
  const { stdout } = await hookpolicy(simulate("-f", "new", ...times, "-o", "json"), { cwd });
  const { changes }: Report = JSON.parse(stdout);
  const [request] = changes.filter(({ request: name }) => name === "Delete");
  assert.deepEqual([request?.from, request?.seconds], ["2026-11-21T23:00:00Z", 40 * 60]);
});

test("a creation is that of each Cluster as if it were created again", async (t) => {
  const owned = {
    name: "owned",
    hooks: ["BeforeClusterCreate"],
    admission: "Deny",
    until: [{ name: "owner", label: { key: "example.com/owner" } }],
  };
  const cwd = await folder(t, {
    "fleet/clusters.yaml": yaml(
      NAMESPACE,
      rawCluster("prod-1"),
      { ...rawCluster("by-hand"), spec: {} },
      { ...rawCluster("restored"), spec: { ...rawCluster().spec, paused: true } },
      owning(rawCluster("owned")),
    ),
    "new/p.yaml": yaml(policy("owners", [owned]), rawCluster("from-git")),
  });
  const { changes, totals } = await json(cwd, "-f", "new");
  const requests = changes.filter(({ request }) => request === "Create");
  assert.deepEqual(
    requests.map(({ cluster: name, hook, before, after }) => [name, hook, before.verdict, after.verdict]),
    ["by-hand", "from-git", "prod-1"].map((name) => [
      `team-a/${name}`,
      "BeforeClusterCreate",
      "Passed",
      "Denied",
    ]),
  );
  assert.deepEqual([totals["requests"], totals["deniedAfter"]], [4, 3]);
});

function owning(object: object): object {
  const { metadata, ...rest } = object as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, labels: { "example.com/owner": "anna" } } };
}
