/** How Argo CD and Flux delete by their own code: Clusters, whose deletion in the foreground is refused, policies, and what is kept. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { type KubeObject, objectOf, refOf } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { force, type ObjectStatus, prune, type PruneOptions, rename } from "../controlplane/gitops.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { approvalRule, policyRef } from "../controlplane/policies.ts";
import { template } from "../install/chart.ts";
import { extensionConfigCrd, kustomize, ROOT } from "../install/tools.ts";

const NAMESPACE = "team-a";
const REFUSAL =
  /Cluster team-a\/(\S+) cannot be deleted in the foreground: .*kubectl delete clusters\.cluster\.x-k8s\.io -n team-a \1 --cascade=background \(Argo CD: sync option PrunePropagationPolicy=background/;
const REFUSED = /"no label" is not a label value/;

const cp = await startControlPlane();
after(async () => await cp.stop());
await installClusterDefinition(cp);
await cp.kubectl("apply", "-f", join(ROOT, "manifests/foreground-deletion.yaml"));
await createCluster(cp, { namespace: NAMESPACE, name: "canary" });
const canary = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/clusters/canary`;
const options = {
  apiVersion: "v1",
  kind: "DeleteOptions",
  propagationPolicy: "Foreground",
  dryRun: ["All"],
};
await cp.waitFor("the policy to refuse", async () => {
  const refusal = await cp.request("DELETE", canary, JSON.stringify(options)).catch(String);
  return REFUSAL.test(String(refusal));
});

describe("a Cluster that has left Git", () => {
  async function pruned(
    name: string,
    how: Omit<PruneOptions, "kubeconfig">,
  ): Promise<{ said: ObjectStatus; left?: KubeObject }> {
    await createCluster(cp, { namespace: NAMESPACE, name });
    const ref = clusterRef(NAMESPACE, name);
    const said = await prune(await cp.get(ref), { ...how, kubeconfig: cp.adminKubeconfig });
    const left = await cp.find(ref);
    return { said, ...(left !== undefined && { left }) };
  }

  test("is not pruned by Argo CD in the foreground, its default, and its sync says what to do", async () => {
    for (const how of [{ tool: "argo" }, { tool: "argo", propagation: "Foreground" }] as const) {
      const { said, left } = await pruned(`by-${"propagation" in how ? "option" : "default"}`, how);
      assert.equal(said.status, "Failed");
      assert.match(said.message, REFUSAL);
      assert.ok(left !== undefined, "the Cluster stays");
      assert.equal(left.metadata.deletionTimestamp, undefined);
      assert.deepEqual(left.metadata.finalizers ?? [], []);
    }
  });

  test("is pruned by Argo CD with PrunePropagationPolicy=background", async () => {
    const { said, left } = await pruned("in-background", { tool: "argo", propagation: "Background" });
    assert.equal(said.status, "Pruned", said.message);
    assert.equal(left, undefined);
  });

  test("is pruned by Flux", async () => {
    const { said, left } = await pruned("by-flux", { tool: "flux" });
    assert.equal(said.status, "deleted", said.message);
    assert.equal(left, undefined);
  });
});

describe("a policy", () => {
  const protect = policyRef(NAMESPACE, "protect");
  const spec = { rules: [approvalRule("BeforeClusterDelete")] };
  const refused = { ...spec, clusterSelector: { matchLabels: { tier: "no label" } } };
  const renamed = objectOf({ ...protect, name: "renamed" }, { spec: refused });

  before(async () => {
    await cp.apply(await kustomize(join(ROOT, "crds")));
  });
  beforeEach(async () => {
    await cp.apply(objectOf(protect, { spec }));
  });

  for (const isPrunedLast of [false, true])
    test(`that is renamed, and refused under its new name, is ${isPrunedLast ? "kept by Argo CD with" : "deleted by Argo CD without"} PruneLast=true`, async () => {
      const said = await rename(await cp.get(protect), renamed, {
        kubeconfig: cp.adminKubeconfig,
        isPrunedLast,
      });
      assert.equal(said.status, "Failed", said.message);
      assert.match(said.message, REFUSED);
      assert.equal((await cp.find(protect)) !== undefined, isPrunedLast);
    });

  test("whose edit is invalid is deleted by Flux with force", async () => {
    const said = await force(objectOf(protect, { spec: refused }), cp.adminKubeconfig);
    assert.equal(said.status, "Failed");
    assert.match(said.message, REFUSED);
    assert.equal(await cp.find(protect), undefined);
  });
});

test("CRDs and the ExtensionConfig are not pruned by Argo CD, which does not know Helm's annotation, nor by Flux", async () => {
  await cp.apply(await extensionConfigCrd());
  for (const all of [await kustomize(join(ROOT, "manifests")), await template()]) {
    const kept = all.filter(({ kind }) => ["CustomResourceDefinition", "ExtensionConfig"].includes(kind));
    assert.equal(kept.length, 6);
    await cp.apply(kept);
    for (const ref of kept.map(refOf))
      for (const [tool, status] of [
        ["argo", "Failed"],
        ["flux", "skipped"],
      ] as const) {
        const said = await prune(await cp.get(ref), { tool, kubeconfig: cp.adminKubeconfig });
        assert.equal(said.status, status, `${ref.name}: ${said.message}`);
        assert.equal((await cp.get(ref)).metadata.deletionTimestamp, undefined);
      }
  }
});
