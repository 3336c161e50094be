/** A change of policies that the fleet cannot show is told, and is no all-clear. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { checked, folder } from "../program.ts";
import { rawCluster, rawPolicy } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const AT = ["--at", "2026-11-25T12:00:00Z"]; // a Wednesday

const CLUSTER = rawCluster();

function policy(until: readonly object[], rule: object = {}): object {
  const rules = [{ name: "backed-up", hooks: ["BeforeClusterDelete"], until, ...rule }];
  return rawPolicy("backups", { rules });
}

const backup = (minCount: number, phase = "object.status.phase == 'Completed'"): object => ({
  name: "backup",
  object: {
    apiVersion: "velero.io/v1",
    kind: "Backup",
    minCount,
    selector: {},
    expression: `has(object.status.phase) && ${phase}`,
  },
});
const WEEKEND = {
  name: "weekend",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * FRI", duration: "50h" }] },
};
const OK = { name: "ok", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } };

async function compared(t: TestContext, before: object, after: object, ...args: string[]): Promise<Outcome> {
  const cwd = await folder(t, {
    "fleet/cluster.json": JSON.stringify(CLUSTER),
    "fleet/policy.json": JSON.stringify(before),
    "new/policy.json": JSON.stringify(after),
  });
  return await hookpolicy(["simulate", "--against", "fleet", "-f", "new", ...AT, ...args], { cwd });
}
type Outcome = Awaited<ReturnType<typeof hookpolicy>>;

test("a loosened rule whose objects the fleet lacks is unknown, in the text and the exit code", async (t) => {
  const { code, stdout } = await compared(t, policy([backup(2)]), policy([backup(1)]), "--fail-on", "any");
  assert.equal(code, 1, stdout);
  assert.match(
    stdout,
    /^HookPolicy team-a\/backups is changed:\n {2}rules\[backed-up\]\.until\[backup\]\.object\.minCount: 2 → 1\n/,
  );
  assert.match(
    stdout,
    /^unknown: BeforeClusterDelete\n.*\n {2}after .*; unknown because .*backed-up: gate backup: no velero\.io\/v1 Backup/m,
  );
  assert.match(stdout, /^0 newly blocked, 0 newly allowed, 0 changed reason, 1 unknown: /m);
});

interface Report {
  readonly totals: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly change: string; readonly doubts: readonly object[] }[];
  readonly objects: readonly { readonly fields: readonly { readonly path: string }[] }[];
}

test("it is in Markdown and in JSON", async (t) => {
  const [before, after] = [policy([backup(1)]), policy([backup(1, "object.status.phase != 'Failed'")])];
  const markdown = await compared(t, before, after, "-o", "markdown");
  assert.match(markdown.stdout, /^ {2}rules\S+expression: .*Completed.* → .*Failed.*$/m);
  assert.match(markdown.stdout, /^unknown: BeforeClusterDelete\n.*\n.*no velero\.io\/v1 Backup/m);
  const { stdout } = await compared(t, before, after, "-o", "json");
  const report: Report = await checked("simulate", JSON.parse(stdout));
  assert.equal(report.totals.unknown, 1);
  assert.deepEqual(
    report.changes.map(({ change, doubts }) => [change, doubts.length]),
    [["unknown", 1]],
  );
  assert.equal(report.objects[0]?.fields[0]?.path, "rules[backed-up].until[backup].object.expression");
});

test("--fail-on newly-allowed fails, too, because it may be one; never does not", async (t) => {
  const codes = await Promise.all(
    ["newly-allowed", "newly-blocked", "changed-reason", "unknown", "never"].map(
      async (name) => (await compared(t, policy([backup(2)]), policy([backup(1)]), "--fail-on", name)).code,
    ),
  );
  assert.deepEqual(codes, [1, 1, 1, 1, 0]);
});

test("a window that is closed now, another rule, and an alternative that is met hide nothing", async (t) => {
  const either = (each: object): object =>
    policy([{ name: "either", anyOf: [{ name: "new", version: { range: ">1.0" } }, each] }], {
      hooks: ["BeforeClusterUpgrade"],
    });
  const hidden: readonly (readonly [object, object])[] = [
    [policy([WEEKEND, backup(2)]), policy([WEEKEND, backup(1)])],
    [policy([OK, backup(2)]), policy([OK, backup(1)])],
    [either(backup(2)), either(backup(1))],
  ];
  for (const [before, after] of hidden) {
    const { code, stdout } = await compared(t, before, after, "--fail-on", "any");
    assert.equal(code, 1, stdout);
    assert.match(stdout, /1 unknown: /);
  }
});

test("a rule that is not evaluable hides what another one no longer holds", async (t) => {
  const both = policy([backup(1)]);
  const other = { name: "asked", hooks: ["BeforeClusterDelete"], until: [OK] };
  const more = policy([backup(1)]);
  Object.assign(more, { spec: { rules: [...Reflect.get(both, "spec").rules, other] } });
  const { code, stdout } = await compared(t, more, both, "--fail-on", "newly-allowed");
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^unknown: BeforeClusterDelete$/m);
});

test("another text and defaults that are written are no unknown change", async (t) => {
  const before = policy([OK, backup(2)]);
  const same = policy([OK, backup(2)], { message: "ask team-a", retryAfterSeconds: 60 });
  Object.assign(Reflect.get(same, "spec"), { mode: "Enforce", failurePolicy: "Fail" });
  const { code, stdout } = await compared(t, before, same, "--fail-on", "any");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /0 unknown: /);
  assert.match(stdout, /^ {2}rules\[backed-up\]\.message: none → ask team-a$/m);
  assert.doesNotMatch(stdout, /failurePolicy|until/);
});

test("what changes in the policies is listed although no Cluster is meant", async (t) => {
  const elsewhere = { ...policy([OK]), metadata: { namespace: "team-b", name: "backups" } };
  const { code, stdout } = await compared(t, policy([OK]), elsewhere, "--fail-on", "any");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^HookPolicy team-b\/backups is added$/m);
});

test("an empty list of the kind says that there are none: not unknown, and the weaker rule still fails any", async (t) => {
  const cwd = await folder(t, {
    "fleet/cluster.json": JSON.stringify(CLUSTER),
    "fleet/backups.json": JSON.stringify({ apiVersion: "velero.io/v1", kind: "BackupList", items: [] }),
    "fleet/policy.json": JSON.stringify(policy([backup(2)])),
    "new/policy.json": JSON.stringify(policy([backup(1)])),
  });
  const args = ["simulate", "--against", "fleet", "-f", "new", ...AT, "--fail-on"];
  const { code, stdout, stderr } = await hookpolicy([...args, "newly-allowed"], { cwd });
  assert.deepEqual([code, stderr], [0, ""], stdout);
  assert.equal((await hookpolicy([...args, "any"], { cwd })).code, 1);
  assert.match(stdout, /0 unknown: .*\nblocked at .*: 1 before, 1 after/);
});

test("the items of a list have its kind", async (t) => {
  const name = (each: string): object => ({
    metadata: { namespace: "team-a", name: each },
    status: { phase: "Completed" },
  });
  const list = { apiVersion: "velero.io/v1", kind: "BackupList", items: [name("one")] };
  const cwd = await folder(t, {
    "fleet/cluster.json": JSON.stringify(CLUSTER),
    "fleet/backups.json": JSON.stringify(list),
    "fleet/policy.json": JSON.stringify(policy([backup(2)])),
    "new/policy.json": JSON.stringify(policy([backup(1)])),
  });
  const { stdout } = await hookpolicy(["simulate", "--against", "fleet", "-f", "new", ...AT], { cwd });
  assert.match(stdout, /^newly allowed: BeforeClusterDelete$/m);
});

test("an empty list of policies says that there were none before the change", async (t) => {
  const none = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicyList", items: [] };
  const { code, stderr } = await compared(t, none, policy([OK]), "--fail-on", "newly-allowed");
  assert.deepEqual([code, stderr], [0, ""]);
});

test("an approval in Git of a Cluster whose uid no file says is unknown, but one that recreates it approves nothing", async (t) => {
  const files = {
    "fleet/cluster.json": JSON.stringify(CLUSTER),
    "fleet/policy.json": JSON.stringify(policy([OK], { admission: "Deny" })),
    "new/cluster.json": JSON.stringify(rawCluster({ annotations: { "example.com/ok": "2f51" } })),
  };
  const args = ["simulate", "--against", "fleet", "-f", "new", ...AT, "--fail-on", "newly-allowed"];
  const { code, stdout } = await onFiles(t, files, args);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /unknown because .*write its metadata\.uid/);
  assert.match(stdout, /^0 newly blocked, 0 newly allowed, 0 changed reason, [12] unknown: /m);
});

test("an approval that replaces another one is unknown, too", async (t) => {
  const approved = (uid: string): string =>
    JSON.stringify(rawCluster({ annotations: { "example.com/ok": uid } }));
  const files = (uid: string) => ({
    "fleet/cluster.json": approved("2f51"),
    "fleet/policy.json": JSON.stringify(policy([OK])),
    "new/cluster.json": approved(uid),
  });
  const args = ["simulate", "--against", "fleet", "-f", "new", ...AT, "--fail-on", "newly-allowed"];
  const { code, stdout } = await onFiles(t, files("4711"), args);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^0 newly blocked, 0 newly allowed, 0 changed reason, [12] unknown: /m);
  assert.equal((await onFiles(t, files("2f51"), args)).code, 0);
});
