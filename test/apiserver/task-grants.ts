/** HookTasks that make the operator use each of its rights on them. */

import type { HookTaskSpec } from "../../src/api/hook-policy.ts";
import { CLUSTER_UID } from "../../src/policy/tasks/template-metadata.ts";
import { renderedHash, taskName } from "../../src/policy/tasks/task-identity.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, FIRST_VERSION } from "../controlplane/lab.ts";
import { applyPolicy, approve, policyRef } from "../controlplane/policies.ts";
import { ACCOUNT, createAccount, HOOK_TASKS, jobTask } from "../controlplane/tasks.ts";
import type { Case } from "./grants.ts";
import type { Lab } from "./operator-lab.ts";

const HOOK = "BeforeClusterDelete";

/** About a Cluster that there is not: the operator writes that it is over; or, if it was long ago, deletes it. */
async function orphanedTask(
  cp: ControlPlane,
  namespace: string,
  name: string,
  isOld: boolean,
): Promise<void> {
  const action = { create: { apiVersion: "batch/v1", kind: "Job" } };
  const spec: HookTaskSpec = {
    policyRef: { kind: "HookPolicy", namespace, name: "gone", uid: "gone" },
    rule: "rule",
    task: name,
    clusterRef: { namespace, name: "gone", uid: "gone" },
    hook: HOOK,
    run: 1,
    actionHash: "gone",
    serviceAccountName: ACCOUNT,
    action,
    renderedHash: renderedHash(action),
    timeout: "1h",
    retries: 0,
  };
  const ref = { ...HOOK_TASKS, namespace, name: taskName(spec) };
  const labels = { [CLUSTER_UID]: "gone" };
  await cp.apply({ ...HOOK_TASKS, metadata: { namespace, name: ref.name, labels }, spec });
  const then = "2020-01-01T00:00:00Z";
  if (isOld) await cp.patchStatus(ref, { phase: "Succeeded", endedAt: then, over: then });
}

/** A Cluster whose deletion waits for a task alone. */
async function clusterWithTask(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  await createAccount(cp, namespace);
  const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")], retryAfterSeconds: 5 }];
  const clusterSelector = { matchLabels: { with: name } };
  await applyPolicy(cp, policyRef(namespace, name), { clusterSelector, serviceAccountName: ACCOUNT, rules });
  await createCluster(cp, { namespace, name, version: FIRST_VERSION, labels: { with: name } });
  // Others of the namespace hold what is not approved.
  await approve(cp, namespace, name);
  await cp.patch(clusterRef(namespace, name), { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
  await cp.delete(clusterRef(namespace, name));
}

interface GrantLab {
  readonly lab: () => Lab;
  readonly namespace: string;
  readonly nextName: () => string;
  readonly logs: (pattern: RegExp) => Case["shows"];
  readonly follows: (kind: string) => Case;
  readonly reconcileFails: Case["shows"];
}

export function taskCases(shared: GrantLab): Readonly<Record<string, Case>> {
  const { lab, namespace, nextName, logs, follows, reconcileFails } = shared;
  const carriedOut: Case = {
    when: "run",
    does: async () => await orphanedTask(lab().cp, namespace, nextName(), false),
    sees: "hookpolicy_reconcile_errors_total, and tasks that do not begin",
    shows: reconcileFails,
  };
  return {
    "get hooktasks.hookpolicy.dev": carriedOut,
    "list hooktasks.hookpolicy.dev": {
      when: "start",
      together: "list",
      sees: "a log line “HookTasks cannot be read”, and every Cluster that a rule with tasks matches is held",
      shows: logs(/HookTasks cannot be read/),
    },
    "watch hooktasks.hookpolicy.dev": follows("hooktasks"),
    "create hooktasks.hookpolicy.dev": {
      when: "run",
      does: async () => {
        const name = nextName();
        await clusterWithTask(lab().cp, namespace, name);
        await lab().cp.waitFor("memory to know the Cluster", async () => {
          const { message = "" } = await lab().ask(HOOK, namespace, name);
          return message.includes("task clean");
        });
      },
      sees: "an Event TaskNotBegun about the Cluster, which is held",
      shows: logs(/its HookTask cannot be stored: .*forbidden/),
    },
    "delete hooktasks.hookpolicy.dev": {
      ...carriedOut,
      does: async () => await orphanedTask(lab().cp, namespace, nextName(), true),
      sees: "hookpolicy_reconcile_errors_total, and HookTasks that stay for good",
    },
    "update hooktasks.hookpolicy.dev/status": carriedOut,
  };
}
