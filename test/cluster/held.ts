/** What the operator is there for, from end to end: through Pods, Services and names. */

import assert from "node:assert/strict";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { objectOf } from "../controlplane/client.ts";
import { clusterRef, createCluster, deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, approve, policyRow, policyRef } from "../controlplane/policies.ts";

const HOOK = "BeforeClusterDelete";

/** The API server asks the operator before it stores a policy: one whose expression is incomplete is not stored. */
export async function refusesFaulty(cp: ControlPlane, namespace: string): Promise<void> {
  const until = [{ name: "approved", expression: "cluster." }];
  const rules = [{ name: "held", hooks: [HOOK], until, message: "wait" }];
  const faulty = objectOf(policyRef(namespace, "faulty"), { spec: { clusterSelector: {}, rules } });
  await assert.rejects(cp.create(faulty), /admission webhook .* denied the request/);
}

/** A Cluster is deleted when it is approved, and not before. */
export async function holdsUntilApproved(cp: ControlPlane, namespace: string): Promise<void> {
  const name = "prod";
  const policy = policyRef(namespace, "protect");
  await applyPolicy(cp, policy, { rules: [approvalRule(HOOK)] });
  await createCluster(cp, { namespace, name });
  // Cluster API's first patch, which says where they are, would take an approval away: it sets annotations to null.
  await cp.waitFor("Cluster API to create the Cluster's parts", async () => {
    return (await cp.get(clusterRef(namespace, name)))["spec"].controlPlaneRef !== undefined;
  });
  await deleteCluster(cp, namespace, name);
  await policyRow(cp, policy, name, HOOK);
  assert.notEqual((await cp.get(clusterRef(namespace, name))).metadata.finalizers, undefined);
  await approve(cp, namespace, name);
  await waitUntilGone(cp, namespace, name);
}
