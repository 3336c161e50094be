/** A backup before each step of an upgrade, under the real Cluster API and two replicas, of which one is killed again and again. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import type { Ref } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, createCluster, installLab, provision, upgrade } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_CONTROL_PLANE } from "../controlplane/lab-kinds.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { taskIs, tasksIn } from "../controlplane/tasks.ts";
import { BACKUPS, backupsOf, defineBackups, endBackup, openBackup } from "../controlplane/velero.ts";
import { Recipe } from "./recipe-fleet.ts";

const VERSIONS = ["v1.33.0", "v1.34.0", "v1.35.0"] as const;
/** Where Velero is, and the HookTasks. */
const VELERO = BACKUPS.namespace;

describe("two replicas", () => {
  let cp: ControlPlane;
  let service: Balancer;
  const replicas = new Map<string, Operator>();

  before(async () => {
    cp = await startControlPlane({ seed: "clusterApi" });
    await installHookPolicy(cp);
    service = await startBalancer();
    await Promise.all([installClusterApi(cp), startReplica("one"), startReplica("two")]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: `https://127.0.0.1:${service.port}/` });
    await defineBackups(cp);
    const versions = { kubernetesVersions: VERSIONS };
    const labClass = { apiVersion: CLUSTER_API, kind: "ClusterClass", namespace: "lab", name: "lab" };
    await cp.patch(labClass, { spec: versions });
  });
  after(async () => {
    await cp?.stop();
    await service?.stop();
  });

  let starts = 0;
  async function startReplica(replica: string): Promise<void> {
    const ports = replicas.get(replica)?.ports;
    starts += 1;
    const name = `${replica}-${starts}`;
    const flags = { "leader-elect": "true" };
    const operator = await startOperator(cp, { name, flags, ...(ports !== undefined && { ports }) });
    if (ports === undefined) service.add(operator.ports);
    replicas.set(replica, operator);
  }

  /** Without a goodbye, so that its Lease stays until it expires; and starts it again. */
  async function killLeader(): Promise<void> {
    const leader = await cp.waitFor("a leader", async () => {
      for (const [name, operator] of replicas)
        if ((await operator.metric("hookpolicy_leader").catch(() => 0)) === 1) return name;
      return undefined;
    });
    await replicas.get(leader)?.daemon.stop("SIGKILL");
    await startReplica(leader);
  }

  test("let Velero back up a Cluster once before each step, wherever the leader is killed", async () => {
    const page = new Recipe(cp, "backup-at-a-hook");
    const { namespace } = page;
    await page.type("hookpolicy init tasks");
    await page.apply("kind: ClusterHookPolicy", (yaml) =>
      yaml.replace("[BeforeClusterUpgrade]", "[BeforeControlPlaneUpgrade]\n      retryAfterSeconds: 5"),
    );
    await createCluster(cp, { namespace, name: "c1", version: VERSIONS[0] });
    await provision(cp, namespace, "c1");
    await upgrade(cp, namespace, "c1", VERSIONS[2]);
    const steps = [
      { version: VERSIONS[1], killed: ["stored", "running"], fails: false },
      { version: VERSIONS[2], killed: ["failed", "complete", "succeeded"], fails: true },
    ];
    for (const { version, killed, fails } of steps) {
      const at = async (point: string): Promise<void> => {
        if (killed.includes(point)) await killLeader();
      };
      await cp.waitFor(`a HookTask for ${version}`, async () =>
        (await tasksIn(cp, VELERO)).some(({ spec }) => spec.version === version),
      );
      await at("stored");
      let backup = await openBackup(cp, `upgrade-${namespace}-c1`);
      await at("running");
      if (fails) {
        await endBackup(cp, backup, "Failed");
        await at("failed");
        const { metadata } = await taskIs(cp, VELERO, "Failed");
        await cp.kubectl("annotate", "hooktask", "-n", VELERO, metadata.name, "hookpolicy.dev/retry=once");
        backup = await openBackup(cp, `upgrade-${namespace}-c1`);
      }
      const controlPlane = await controlPlaneVersion(namespace);
      assert.notEqual(controlPlane, version, "it is held");
      await endBackup(cp, backup, "Completed");
      await at("complete");
      await taskIs(cp, VELERO, "Succeeded", ({ spec }) => spec.version === version);
      await at("succeeded");
      await cp.waitFor(
        `the control plane to be told ${version}`,
        async () => (await controlPlaneVersion(namespace)) === version,
      );
      await cp.patchStatus(await controlPlaneRef(namespace), { version });
    }
    await cp.waitFor("the upgrade to end", async () => {
      const { metadata } = await cp.get(clusterRef(namespace, "c1"));
      return (metadata.annotations?.["runtime.cluster.x-k8s.io/pending-hooks"] ?? "") === "";
    });
    const tasks = await tasksIn(cp, VELERO);
    assert.deepEqual(
      tasks.map(({ spec, status }) => [
        spec.version,
        spec.run,
        status?.phase,
        status?.attempts?.map(({ outcome }) => outcome),
      ]),
      [
        [VERSIONS[1], 1, "Succeeded", ["Succeeded"]],
        [VERSIONS[2], 1, "Succeeded", ["Failed", "Succeeded"]],
      ],
    );
    // The one that failed is gone: an expression calls it so, and it might have run on.
    const phases = (await backupsOf(cp)).map(({ status }) => status?.phase);
    assert.deepEqual(phases, ["Completed", "Completed"]);
  });

  async function controlPlaneRef(namespace: string): Promise<Ref> {
    const { spec } = await cp.get(clusterRef(namespace, "c1"));
    const { name } = spec.controlPlaneRef;
    return { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace, name };
  }

  async function controlPlaneVersion(namespace: string): Promise<string> {
    return (await cp.get(await controlPlaneRef(namespace)))["spec"]?.version;
  }
});
