/** HookTasks as tests of the leader need them. */

import type { HookTask, HookTaskSpec, HookTaskStatus, TaskAttempt } from "../../../src/api/hook-policy.ts";
import { CLUSTER_UID } from "../../../src/policy/tasks/template-metadata.ts";
import { renderedHash } from "../../../src/policy/tasks/task-identity.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");

export function ago(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1000).toISOString().replace(".000Z", "Z");
}

const SPEC: Omit<HookTaskSpec, "renderedHash"> = {
  policyRef: { kind: "HookPolicy", namespace: "team-a", name: "protect", uid: "policy-uid" },
  rule: "rule",
  task: "clean",
  clusterRef: { namespace: "team-a", name: "prod-1", uid: "cluster-uid" },
  hook: "BeforeClusterDelete",
  run: 1,
  actionHash: "0123456789abcdef",
  serviceAccountName: "cluster-tasks",
  action: {
    create: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "clean", namespace: "team-a" } },
  },
  timeout: "15m",
  retries: 0,
};

export function hookTask(
  status?: HookTaskStatus,
  spec: Partial<HookTaskSpec> = {},
  annotations?: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): HookTask {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookTask",
    metadata: {
      name: "prod-1-clean-0123456789abcdef",
      namespace: "team-a",
      uid: "task-uid",
      resourceVersion: "1",
      labels: { [CLUSTER_UID]: SPEC.clusterRef.uid, ...labels },
      ...(annotations !== undefined && { annotations }),
    },
    spec: { ...SPEC, renderedHash: renderedHash(spec.action ?? SPEC.action), ...spec },
    ...(status !== undefined && { status }),
  };
}

export function attempt(more: Partial<TaskAttempt> = {}): TaskAttempt {
  return { name: "clean-0123456789", namespace: "team-a", startedAt: ago(60), askedAt: ago(60), ...more };
}
