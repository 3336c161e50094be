/** What `kubectl apply -f hookpolicy.yaml` makes of a cluster with kubelets, a scheduler and Services. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { clusterRef, createCluster, deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, approve, heldRow, policyRef } from "../controlplane/policies.ts";
import { attachCluster } from "./cluster.ts";
import {
  hookpolicy,
  installRelease,
  nodeOf,
  removeRelease,
  replicas,
  scale,
  warnings,
} from "./operatorpods.ts";

const SCALINGS = 6;
const HOOK = "BeforeClusterDelete";

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
});
after(async () => {
  await removeRelease(cluster);
  await cluster?.stop();
});

/** Where the machine is so busy that Node.js takes longer than that to listen, kubelet's first probe is refused. */
const BUSY = /connection refused|Client.Timeout/;

test("a replica starts without a Warning, and is ready when it has loaded", async (t) => {
  const all = await warnings(cluster);
  t.diagnostic(`${all.length} Warnings of a busy machine`);
  assert.deepEqual(
    all.filter((warning) => !BUSY.test(warning)),
    [],
  );
});

test("the replicas run on different nodes, whenever they are started", async () => {
  const seen: string[][] = [];
  for (let n = 0; n < SCALINGS; n++) {
    await scale(cluster, 0);
    await scale(cluster, 2);
    seen.push((await replicas(cluster)).map(nodeOf).toSorted());
  }
  assert.deepEqual(
    seen,
    Array.from({ length: SCALINGS }, () => ["n1", "n2"]),
  );
});

test("Cluster API's Pod asks the operator's Pods, and deletes a Cluster when it is approved", async () => {
  const policy = policyRef("team-a", "protect");
  await applyPolicy(cluster, policy, { rules: [approvalRule(HOOK)] });
  await createCluster(cluster, { namespace: "team-a", name: "prod" });
  // Until then its first patch can take an approval away: it sets annotations that it found empty to null.
  await cluster.waitFor("Cluster API to create the Cluster's parts", async () => {
    return (await cluster.get(clusterRef("team-a", "prod")))["spec"].controlPlaneRef !== undefined;
  });
  await deleteCluster(cluster, "team-a", "prod");
  await heldRow(cluster, policy, "prod", HOOK);
  assert.notEqual((await cluster.get(clusterRef("team-a", "prod"))).metadata.finalizers, undefined);
  await approve(cluster, "team-a", "prod");
  await waitUntilGone(cluster, "team-a", "prod");
});

test("without a replica `hookpolicy doctor` says that the statuses of policies are old", async () => {
  await scale(cluster, 0);
  await assert.rejects(hookpolicy(cluster, "doctor"), /statuses are old: no replica of the operator runs/);
  await scale(cluster, 2);
});
