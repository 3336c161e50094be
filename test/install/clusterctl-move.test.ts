/**
 * `clusterctl move` between two API servers whose webhooks refuse the deletion and the creation of the Cluster that moves.
 * Cluster API's controllers are not needed: the Cluster says by itself that it is provisioned.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clusterApiBinaries } from "../controlplane/binaries.ts";
import { CLUSTER_DEFINITION, installClusterDefinition } from "../controlplane/cluster-api.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef } from "../controlplane/lab.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, approvalRule, policyRef } from "../controlplane/policies.ts";
import { ClusterctlRepository } from "./clusterctl-repository.ts";
import { certManagerDefinition, clusterctlIn } from "./tools.ts";

const TEAM = "moves";
const CLUSTER = clusterRef(TEAM, "prod-1");

describe("clusterctl move", () => {
  let source: ControlPlane;
  let target: ControlPlane;
  let config: string;
  before(async () => {
    const seed = "cluster";
    [source, target] = await Promise.all([startControlPlane({ seed }), startControlPlane({ seed })]);
    const { version } = await clusterApiBinaries();
    const repository = new ClusterctlRepository(source.folder);
    config = await repository.writeConfig([await repository.writeCore(version)]);
    for (const cp of [source, target]) await prepare(cp);
  });
  after(async () => await Promise.all([source?.stop(), target?.stop()]));

  async function prepare(cp: ControlPlane): Promise<void> {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    await cp.patch(CLUSTER_DEFINITION, { metadata: { labels: { "clusterctl.cluster.x-k8s.io": "" } } });
    await cp.apply(["Issuer", "Certificate"].map(certManagerDefinition));
    await init(cp);
    const { ports } = await startOperator(cp);
    await cp.apply(await clusterWebhook(ports.admission, cp.authority.caBundle));
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
  }

  async function init(cp: ControlPlane): Promise<void> {
    const core = ["--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-"];
    await clusterctlIn(cp, config, "init", ...core);
  }

  const deletes = (cp: ControlPlane): Promise<string> =>
    cp.kubectl("delete", "clusters.cluster.x-k8s.io", "-n", TEAM, CLUSTER.name, "--wait=false");

  async function isRefused(cp: ControlPlane): Promise<void> {
    await cp.waitFor("the deletion to be refused", async () => {
      return await cp
        .kubectl("delete", "clusters.cluster.x-k8s.io", "-n", TEAM, "--all", "--dry-run=server")
        .then(
          () => false,
          (error: unknown) => /cannot be deleted yet/.test(String(error)),
        );
    });
    await assert.rejects(deletes(cp), /prod-1 cannot be deleted yet/);
  }

  test("takes a Cluster along that admission protects, and it is protected there as here", async () => {
    const spec = { controlPlaneEndpoint: { host: "127.0.0.1", port: 6443 } };
    const { apiVersion, kind, name } = CLUSTER;
    await source.create({ apiVersion, kind, metadata: { namespace: TEAM, name }, spec });
    // cmd/clusterctl/client/cluster/mover.go, checkProvisioningCompleted
    const initialization = { infrastructureProvisioned: true, controlPlaneInitialized: true };
    const conditions = ["InfrastructureReady", "ControlPlaneInitialized"].map((type) => {
      const lastTransitionTime = "2026-11-21T12:00:00Z";
      return { type, status: "True", reason: "Provisioned", message: "", lastTransitionTime };
    });
    await source.patchStatus(CLUSTER, { initialization, conditions });
    await applyPolicy(source, policyRef(TEAM, "protect"), {
      rules: (["BeforeClusterDelete", "BeforeClusterCreate"] as const).map((hook) => ({
        ...approvalRule(hook),
        name: hook.toLowerCase(),
        admission: "Deny" as const,
      })),
    });
    await isRefused(source);

    await clusterctlIn(source, config, "move", "-n", TEAM, "--to-kubeconfig", target.adminKubeconfig);
    assert.equal(await source.find(CLUSTER), undefined);
    const moved = await target.get(CLUSTER);
    assert.deepEqual([moved["spec"].paused, moved.metadata.deletionTimestamp], [undefined, undefined]);
    await isRefused(target);
  });

  test("and clusterctl delete leaves it; only kubectl delete crd takes it along, which no webhook sees", async () => {
    const remove = ["delete", "--core", "cluster-api"];
    await clusterctlIn(target, config, ...remove);
    await isRefused(target);
    // As clusterctl labels the definitions that it installs.
    await target.patch(CLUSTER_DEFINITION, {
      metadata: { labels: { "cluster.x-k8s.io/provider": "cluster-api" } },
    });
    await init(target);
    await assert.rejects(clusterctlIn(target, config, ...remove, "--include-crd"), /found existing objects/);
    await isRefused(target);
    await target.kubectl("delete", "crd", "clusters.cluster.x-k8s.io", "--wait=false");
    await target.waitFor("the Cluster to be gone", async () => (await target.find(CLUSTER)) === undefined);
  });
});
