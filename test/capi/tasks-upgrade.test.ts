/** A backup before each step of an upgrade, under the real Cluster API and two replicas, of which one is killed again and again. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, createCluster, installLab, provision, upgrade } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_CONTROL_PLANE } from "../controlplane/lab-kinds.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, policyRef } from "../controlplane/policies.ts";
import {
  ACCOUNT,
  createAccount,
  endJob,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";

const VERSIONS = ["v1.33.0", "v1.34.0", "v1.35.0"] as const;
const NAMESPACE = "backed-up";

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

  test("back up a Cluster once before each step, wherever the leader is killed", async () => {
    const rules = [
      {
        name: "backed-up",
        hooks: ["BeforeControlPlaneUpgrade"],
        tasks: [jobTask("backup")],
        retryAfterSeconds: 5,
      },
    ];
    await createAccount(cp, NAMESPACE);
    await applyPolicy(cp, policyRef(NAMESPACE, "backups"), { serviceAccountName: ACCOUNT, rules });
    await createCluster(cp, { namespace: NAMESPACE, name: "c1", version: VERSIONS[0] });
    await provision(cp, NAMESPACE, "c1");
    await upgrade(cp, NAMESPACE, "c1", VERSIONS[2]);
    const steps = [
      { version: VERSIONS[1], killed: ["stored", "running"] },
      { version: VERSIONS[2], killed: ["complete", "succeeded"] },
    ];
    for (const { version, killed } of steps) {
      const at = async (point: string): Promise<void> => {
        if (killed.includes(point)) await killLeader();
      };
      await cp.waitFor(`a HookTask for ${version}`, async () =>
        (await tasksIn(cp, NAMESPACE)).some(({ spec }) => spec.version === version),
      );
      await at("stored");
      const job = await openJob(cp, NAMESPACE);
      await at("running");
      const controlPlane = await controlPlaneVersion();
      assert.notEqual(controlPlane, version, "it is held");
      await endJob(cp, job, "Complete");
      await at("complete");
      await taskIs(cp, NAMESPACE, "Succeeded", ({ spec }) => spec.version === version);
      await at("succeeded");
      await cp.waitFor(
        `the control plane to be told ${version}`,
        async () => (await controlPlaneVersion()) === version,
      );
      await cp.patchStatus(await controlPlaneRef(), { version });
    }
    await cp.waitFor("the upgrade to end", async () => {
      const { metadata } = await cp.get(clusterRef(NAMESPACE, "c1"));
      return (metadata.annotations?.["runtime.cluster.x-k8s.io/pending-hooks"] ?? "") === "";
    });
    const tasks = await tasksIn(cp, NAMESPACE);
    assert.deepEqual(
      tasks.map(({ spec, status }) => [spec.version, spec.run, status?.phase, status?.begun]),
      [
        [VERSIONS[1], 1, "Succeeded", 1],
        [VERSIONS[2], 1, "Succeeded", 1],
      ],
    );
    assert.equal((await jobsIn(cp, NAMESPACE)).length, 2);
  });

  async function controlPlaneRef(): Promise<Parameters<ControlPlane["get"]>[0]> {
    const { spec } = await cp.get(clusterRef(NAMESPACE, "c1"));
    const { name } = spec.controlPlaneRef;
    return { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace: NAMESPACE, name };
  }

  async function controlPlaneVersion(): Promise<string> {
    return (await cp.get(await controlPlaneRef()))["spec"]?.version;
  }
});
