/** What `simulate` makes of the files that it is given. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder, yaml } from "../program.ts";
import { inHours, rawCluster, rawNamespace, rawOverride, rawPolicy } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const policy = (name: string, over: object = {}): object => {
  const until = [{ name: "approved", annotation: { key: "example.com/ok" } }];
  return rawPolicy(name, { rules: [{ name: "confirmed", hooks: ["BeforeClusterDelete"], until }], ...over });
};
const FLEET = {
  "fleet/clusters.yaml": yaml(rawNamespace(), rawCluster()),
  "fleet/policies.yaml": yaml(policy("protect")),
};
const simulate = (...args: readonly string[]): string[] => ["simulate", "--against", "fleet", ...args];

test("--exclude leaves out what cannot be read in either folder", async (t) => {
  const template = "{{ if .Values.a }}\nkind: Cluster\n";
  const files = {
    ...FLEET,
    "fleet/charts/a.yaml": template,
    "new/p.yaml": yaml(policy("protect")),
    "new/charts/a.yaml": template,
  };
  const args = simulate("-f", "new");
  assert.equal((await onFiles(t, files, args)).code, 2);
  const { code, stderr } = await onFiles(t, files, [...args, "--exclude", "charts"]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("of two different policies of one name it is unknown which is meant, such as of two environments", async (t) => {
  const cwd = await folder(t, {
    "main/fleet.yaml": FLEET["fleet/clusters.yaml"],
    "main/prod/p.yaml": yaml(policy("protect")),
    "main/staging/p.yaml": yaml(policy("protect", { mode: "Audit" })),
  });
  const commands = [
    ["simulate", "-f", "main/prod", "--prune", "--against", "main", "--fail-on", "any"],
    ["explain", "team-a/prod-1", "-f", "main"],
    ["windows", "-f", "main"],
    ["rollout", "plan", "-f", "main", "--duration", "1h"],
  ];
  for (const args of commands) {
    const { code, stderr } = await hookpolicy(args, { cwd });
    assert.equal(code, 2, args[0]);
    assert.match(
      stderr,
      /^error: main\/staging\/p\.yaml:1:\d+: .* is also at main\/prod\/p\.yaml:1, and differs, .*: name the folder of one management cluster$/m,
    );
    assert.doesNotMatch(stderr, /this one counts/);
  }
});

test("a policy of Git and its export, with the defaults of the API server, do not differ", async (t) => {
  const exported = policy("protect", { mode: "Enforce", failurePolicy: "Fail" });
  const files = { ...FLEET, "fleet/export.yaml": yaml(exported), "p.yaml": yaml(policy("protect")) };
  const { code, stderr } = await onFiles(t, files, simulate("-f", "p.yaml"));
  assert.equal(code, 0, stderr);
});

test("an override that is not created yet is created now, wherever the time begins, and has no effect if it lasts too long", async (t) => {
  const warning = "warning: HookOverride let-go: lasts longer than 168h from its creation";
  for (const [hours, code, begin, said] of [
    [160, 1, -24, ""],
    [170, 0, -24, warning],
    [200, 0, 48, warning],
  ] as const) {
    const files = { ...FLEET, "o.yaml": yaml(rawOverride("let-go", { expiresAt: inHours(hours) })) };
    const times = ["--from", inHours(begin), "--to", inHours(begin + 48), "--fail-on", "newly-allowed"];
    const outcome = await onFiles(t, files, simulate("-f", "o.yaml", ...times));
    assert.equal(outcome.code, code, outcome.stdout);
    assert.equal(outcome.stderr.slice(0, 70).startsWith(said), true, outcome.stderr);
  }
});

test("explain counts it from now, too, whatever --at", async (t) => {
  const explain = ["explain", "team-a/prod-1", "-f", ".", "--hook", "BeforeClusterDelete", "--at"];
  for (const [hours, at, verdict, warning] of [
    [167.5, -1, /Allowed/, /^$/],
    [200, 48, /Blocked/, /^warning: HookOverride let-go: spec\.expiresAt: lasts longer than 168h/],
  ] as const) {
    const files = { ...FLEET, "o.yaml": yaml(rawOverride("let-go", { expiresAt: inHours(hours) })) };
    const { stdout, stderr } = await onFiles(t, files, [...explain, inHours(at)]);
    assert.match(stdout, verdict);
    assert.match(stderr, warning);
  }
});

test("an override that is there already does not count for a Cluster of its name without a uid, but a new one does", async (t) => {
  const clusterRef = { namespace: "team-a", name: "prod-1", uid: "2f51" };
  const override = yaml(rawOverride("let-go", { clusterRef, expiresAt: inHours(1) }));
  const looser = yaml(rawCluster(), policy("protect", { mode: "Audit" }));
  const main = { "fleet/policies.yaml": FLEET["fleet/policies.yaml"], "fleet/o.yaml": override };
  const args = simulate("-f", "new", "--prune", "--fail-on", "newly-allowed");
  const recreated = await onFiles(t, { ...main, "new/all.yaml": looser }, args);
  assert.match(recreated.stdout, /^newly allowed: BeforeClusterDelete$/m);
  assert.equal(recreated.code, 1);
  const applied = { ...FLEET, "new/o.yaml": override, "new/p.yaml": FLEET["fleet/policies.yaml"] };
  assert.equal((await onFiles(t, applied, args)).code, 1);
});
