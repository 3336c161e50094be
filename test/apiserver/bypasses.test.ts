/** Annotations that let Clusters past their hooks, left by a restore or a forgotten break-glass: doctor and the metric. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { startLab } from "./operator-lab.ts";

const lab = await startLab();
after(async () => await lab.stop());
await createCluster(lab.cp, { namespace: "bypassed", name: "c1" });

interface Finding {
  readonly name: string;
  readonly state: string;
  readonly detail: string;
  readonly remedy?: string;
  readonly problems?: readonly { readonly detail: string }[];
}

async function finding(name: string): Promise<Finding> {
  const { stdout } = await hookpolicy(["doctor", "-o", "json", "--kubeconfig", lab.cp.adminKubeconfig]);
  const { checks }: { checks: Finding[] } = JSON.parse(stdout);
  const found = checks.find((each) => each.name === name);
  assert.ok(found, stdout);
  return found;
}

const MARKS = [
  ["ok-to-delete", "error", "runtime.cluster.x-k8s.io/ok-to-delete"],
  ["unsafe marks", "warning", "unsafe.topology.cluster.x-k8s.io/disable-update-version-check"],
  ["unsafe marks", "warning", "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check"],
] as const;

for (const [name, state, key] of MARKS) {
  test(`${key} is found and counted, and the command that doctor prints removes it`, async () => {
    const { cp, operator } = lab;
    const label = `annotation="${key.split("/")[1]}"`;
    const counted = async (count: number): Promise<void> => {
      await cp.waitFor(`${label} ${count}`, async () => {
        return (await operator.metric("hookpolicy_cluster_bypasses", label)) === count;
      });
    };
    await counted(0);
    assert.equal((await finding(name)).state, "ok");
    await cp.patch(clusterRef("bypassed", "c1"), { metadata: { annotations: { [key]: "" } } });
    await counted(1);
    const { state: found, detail, remedy = "", problems } = await finding(name);
    assert.equal(found, state);
    assert.match(detail, /1 Cluster/);
    assert.equal(problems?.[0]?.detail, "bypassed/c1");
    await cp.kubectl(...remedy.split(" ").slice(1));
    await counted(0);
    assert.equal((await finding(name)).state, "ok");
  });
}
