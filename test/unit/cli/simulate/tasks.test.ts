/** What `hookpolicy simulate` says of tasks. */

import assert from "node:assert/strict";
import test from "node:test";
import { parse } from "yaml";
import { checked, folder, yaml } from "../program.ts";
import { rawCluster, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const cluster = (name: string, labels: object = {}): object => rawCluster({ name, uid: name, labels });
const policy = (name: string, image: string, mode = "Enforce"): object =>
  rawPolicy(name, {
    mode,
    serviceAccountName: "cluster-tasks",
    rules: [
      {
        name: "clean",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "approved", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } }],
        tasks: [
          {
            name: "remove",
            when: "!cluster.metadata.name.startsWith('canary')",
            create: {
              apiVersion: "v1",
              kind: "Pod",
              metadata: {
                labels: { tier: "<< cluster.metadata.labels['tier'] >>" },
                annotations: { deleted: "<< string(cluster.metadata.deletionTimestamp) >>" },
              },
              spec: { restartPolicy: "Never", containers: [{ name: "a", image }] },
            },
          },
        ],
      },
    ],
  });
const FLEET = [cluster("prod-1", { tier: "gold" }), cluster("prod-2"), cluster("canary-1", { tier: "x" })];

async function simulated(
  t: test.TestContext,
  before: readonly object[],
  after: readonly object[],
  format: string,
) {
  const cwd = await folder(t, { "fleet.yaml": yaml(...FLEET, ...before), "new.yaml": yaml(...after) });
  const args = ["--against", "fleet.yaml", "-f", "new.yaml", "--at", "2026-11-21T12:00:00Z", "-o", format];
  const { code, stdout, stderr } = await hookpolicy(["simulate", ...args], { cwd });
  assert.equal(code, 0, stderr);
  return stdout;
}

test("the tasks of a new policy are listed with their Clusters, and where they cannot be told", async (t) => {
  const text = await simulated(t, [], [policy("clean", "a:1")], "text");
  assert.match(
    text,
    /^task remove: BeforeClusterDelete\n {2}of {8}HookPolicy team-a\/clean clean\n {2}does {6}creates a Pod, once nothing else holds the operation\n {2}clusters {2}team-a\/prod-1\n/m,
  );
  assert.match(
    text,
    /^ {2}does {6}nothing, and the rule is not evaluable: .*tier.*\n {2}clusters {2}team-a\/prod-2$/m,
  );
  assert.match(
    await simulated(t, [], [policy("clean", "a:1")], "markdown"),
    /\ntask remove: BeforeClusterDelete\n/,
  );
});

interface TaskRow {
  readonly mode: string;
  readonly action?: {
    readonly create: { readonly metadata: { readonly labels: { readonly tier: string } } };
  };
  readonly problem?: string;
}

test("as YAML they are rendered, and keep to the schema", async (t) => {
  const text = await simulated(t, [], [policy("clean", "a:1", "Audit")], "yaml");
  const report: { tasks: TaskRow[] } = await checked("simulate", parse(text));
  const [first, second, ...others] = report.tasks;
  assert.deepEqual(others, []);
  assert.equal(first?.mode, "Audit");
  assert.equal(first?.action?.create.metadata.labels.tier, "gold");
  assert.equal(second?.action, undefined);
  assert.match(second?.problem ?? "", /tier/);
});

test("tasks of policies that do not change are not listed; of a changed one, as they are then", async (t) => {
  const before = [policy("clean", "a:1"), policy("other", "b:1")];
  const report: { tasks: { policy: string; cluster: string; action?: { create: { spec: object } } }[] } =
    JSON.parse(await simulated(t, before, [policy("clean", "a:2")], "json"));
  assert.deepEqual(
    report.tasks.map((task) => [
      task.policy,
      task.cluster,
      JSON.stringify(task.action?.create.spec ?? "").includes("a:2"),
    ]),
    [
      ["HookPolicy team-a/clean", "team-a/prod-1", true],
      ["HookPolicy team-a/clean", "team-a/prod-2", false],
    ],
  );
  const same = JSON.parse(await simulated(t, before, [policy("clean", "a:1")], "json"));
  assert.equal(same.tasks, undefined);
});
