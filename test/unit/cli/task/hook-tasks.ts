/** HookTasks as the API server stores them. */

import type { HookTask, HookTaskSpec, HookTaskStatus } from "../../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../../src/api/meta.ts";
import { renderedHash } from "../../../../src/policy/tasks/task-identity.ts";
import { CLUSTER_UID } from "../../../../src/policy/tasks/template-metadata.ts";

const JOB = { create: { apiVersion: "batch/v1", kind: "Job" } };

export function hookTask(
  metadata: Pick<ObjectMeta, "name"> & Partial<ObjectMeta>,
  status: HookTaskStatus = {},
  spec: Partial<HookTaskSpec> = {},
): HookTask {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookTask",
    metadata: {
      namespace: "team-a",
      uid: `uid-of-${metadata.name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-11-21T10:00:00Z",
      labels: { [CLUSTER_UID]: spec.clusterRef?.uid ?? "u1" },
      ...metadata,
    },
    spec: {
      policyRef: { kind: "HookPolicy", namespace: "team-a", name: "backups", uid: "p" },
      rule: "backed-up-upgrade",
      task: "backup",
      clusterRef: { namespace: "team-a", name: "prod-1", uid: "u1" },
      hook: "BeforeClusterUpgrade",
      version: "v1.35.0",
      run: 1,
      actionHash: "h",
      serviceAccountName: "cluster-tasks",
      action: JOB,
      renderedHash: renderedHash(spec.action ?? JOB),
      timeout: "15m",
      retries: 1,
      ...spec,
    },
    status,
  };
}
