/** HookTasks that make the operator use each of its rights on them. */

import type { HookTaskSpec } from "../../src/api/hook-policy.ts";
import { CLUSTER_UID_LABEL } from "../../src/tasks/stored-task.ts";
import { identityOf, taskName } from "../../src/policy/tasks/task-identity.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, FIRST_VERSION } from "../controlplane/lab.ts";
import { applyPolicy, policyRef } from "../controlplane/policies.ts";
import { ACCOUNT, createAccount, HOOK_TASKS, jobTask } from "../controlplane/tasks.ts";

export const HOOK = "BeforeClusterDelete";

/** About a Cluster that there is not: the operator writes that it is over; or, if it was long ago, deletes it. */
export async function orphanedTask(
  cp: ControlPlane,
  namespace: string,
  name: string,
  isOld: boolean,
): Promise<void> {
  const spec: HookTaskSpec = {
    policyRef: { kind: "HookPolicy", namespace, name: "gone", uid: "gone" },
    rule: "rule",
    task: name,
    clusterRef: { namespace, name: "gone", uid: "gone" },
    hook: HOOK,
    run: 1,
    actionHash: "gone",
    serviceAccountName: ACCOUNT,
    action: { create: { apiVersion: "batch/v1", kind: "Job" } },
    timeout: "1h",
    retries: 0,
  };
  const ref = { ...HOOK_TASKS, namespace, name: taskName(identityOf(spec)) };
  const labels = { [CLUSTER_UID_LABEL]: "gone" };
  await cp.apply({ ...HOOK_TASKS, metadata: { namespace, name: ref.name, labels }, spec });
  const then = "2020-01-01T00:00:00Z";
  if (isOld) await cp.patchStatus(ref, { phase: "Succeeded", endedAt: then, over: then });
}

/** A Cluster whose deletion waits for a task alone. */
export async function clusterWithTask(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  await createAccount(cp, namespace);
  const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")], retryAfterSeconds: 5 }];
  const clusterSelector = { matchLabels: { with: name } };
  await applyPolicy(cp, policyRef(namespace, name), { clusterSelector, serviceAccountName: ACCOUNT, rules });
  await createCluster(cp, { namespace, name, version: FIRST_VERSION, labels: { with: name } });
  await cp.patch(clusterRef(namespace, name), { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
  await cp.delete(clusterRef(namespace, name));
}
