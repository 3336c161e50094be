/** `hookpolicy simulate --against live`: the fleet of a real API server, and what it refuses. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { createCluster } from "../controlplane/lab.ts";
import { installHookPolicy } from "../controlplane/operator.ts";
import { createAccountWith } from "../controlplane/rights.ts";
import { hookpolicy, type Outcome } from "../unit/cli/program.ts";

const POLICY = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "HookPolicy",
  metadata: { namespace: "live", name: "backed-up" },
  spec: {
    rules: [
      {
        name: "backed-up",
        hooks: ["BeforeClusterDelete"],
        until: [
          {
            name: "backup",
            object: {
              apiVersion: "v1",
              kind: "ConfigMap",
              nameExpression: "cluster.metadata.name",
              expression: "object.data.done == 'yes'",
            },
          },
        ],
      },
    ],
  },
};

const cp = await startControlPlane();
after(async () => await cp.stop());
await installClusterDefinition(cp);
const file = join(cp.folder, "policy.json");
await writeFile(file, JSON.stringify(POLICY));
await createCluster(cp, { namespace: "live", name: "c1" });
await createCluster(cp, { namespace: "live", name: "c2" });
const done = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "live", name: "c1" } };
await cp.create({ ...done, data: { done: "yes" } });

describe("simulate against a live fleet", () => {
  const simulate = async (kubeconfig: string, ...args: readonly string[]): Promise<Outcome> =>
    await hookpolicy(["simulate", "-f", file, "--kubeconfig", kubeconfig, ...args]);

  const changes = async (warning = ""): Promise<string[]> => {
    const { stdout, stderr } = await simulate(cp.adminKubeconfig, "-o", "json");
    assert.equal(stderr, warning);
    const report: { changes: { change: string; cluster: string; hook: string }[] } = JSON.parse(stdout);
    return report.changes.map(({ change, cluster, hook }) => `${change} ${cluster} ${hook}`);
  };

  test("gates look at the objects that are there, also before the operator is installed", async () => {
    const warning =
      "warning: --against live has no policy and no HookRollout: nothing can be newly allowed\n";
    assert.deepEqual(await changes(warning), ["newly-blocked live/c2 BeforeClusterDelete"]);
  });

  test("policies that are stored already change nothing", async () => {
    await installHookPolicy(cp);
    await cp.create(POLICY);
    assert.deepEqual(await changes(), []);
  });

  test("what may not be read is told with its verb, and so is an API server that is not there", async () => {
    await createAccountWith(cp, "live", "nobody");
    const restricted = await cp.kubeconfigFor("live", "nobody");
    const refused = await simulate(restricted);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^error: list \S+: forbidden: [^\n]+\n$/);
    const nowhere = await cp.kubeconfigFor("live", "nobody", { server: "https://127.0.0.1:1" });
    const unreachable = await simulate(nowhere);
    assert.equal(unreachable.code, 2);
    assert.match(unreachable.stderr, /^error: [^\n]*connection refused[^\n]*\n$/);
    const missing = await simulate(join(cp.folder, "none"));
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^error: kubeconfig \S+: no such file\n$/);
  });
});
