/** A namespace ends although Cluster API was removed before it, and not before that is certain. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Lab, startLab } from "../../apiserver/operator-lab.ts";
import type { Ref } from "../../controlplane/client.ts";
import { CLUSTER_DEFINITION } from "../../controlplane/cluster-api.ts";
import { clusterRef, createCluster, isGone } from "../../controlplane/lab.ts";
import { applyPolicy, approvalRule, policyRef } from "../../controlplane/policies.ts";

const FINALIZER = "hookpolicy.dev/hold-clusters";
const TEAMS = ["team-a", "team-b"] as const;
const namespaceRef = (name: string): Ref => ({ apiVersion: "v1", kind: "Namespace", name });

let lab: Lab;

before(async () => {
  lab = await startLab();
});
after(async () => await lab?.stop());

test("a namespace that waits for its Clusters ends when Cluster API's kind is gone, and so does one that is deleted after that", async () => {
  const { cp } = lab;
  for (const team of TEAMS) {
    await createCluster(cp, { namespace: team, name: "prod-1" });
    await cp.patch(clusterRef(team, "prod-1"), { metadata: { finalizers: ["example.com/machines"] } });
    await applyPolicy(cp, policyRef(team, "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    await cp.waitFor(`the finalizer in ${team}`, async () =>
      (await cp.get(policyRef(team, "protect"))).metadata.finalizers?.includes(FINALIZER),
    );
  }
  const [first, second] = TEAMS;
  await cp.delete(namespaceRef(first));
  await cp.waitFor(
    "the policy to be deleted",
    async () => (await cp.get(policyRef(first, "protect"))).metadata.deletionTimestamp !== undefined,
  );

  // Its objects go first; the kind is still served while one of them waits.
  await cp.delete(CLUSTER_DEFINITION);
  const { finalizers = [] } = (await cp.get(policyRef(first, "protect"))).metadata;
  assert.ok(finalizers.includes(FINALIZER), "it stays while a Cluster waits");

  for (const team of TEAMS) await cp.patch(clusterRef(team, "prod-1"), { metadata: { finalizers: null } });
  await isGone(cp, CLUSTER_DEFINITION);
  await isGone(cp, namespaceRef(first));

  await cp.delete(namespaceRef(second));
  await isGone(cp, namespaceRef(second));
});
