/** Tasks as tests write them: their ServiceAccount with its rights, and what a kubelet would do with their Jobs. */

import type { HookTask, HookTaskSpec, TaskSpec } from "../../src/api/hook-policy.ts";
import { taskName } from "../../src/policy/tasks/task-identity.ts";
import { CLUSTER_UID } from "../../src/policy/tasks/template-metadata.ts";
import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { NAMESPACE } from "./operator.ts";
import { allow, createAccountWith, grant, type PolicyRule } from "./rights.ts";

export const ACCOUNT = "cluster-tasks";

export interface AccountOptions {
  readonly name?: string;
  /** Whether the operator may act as it. */
  readonly optIn?: boolean;
  readonly rules?: readonly PolicyRule[];
}

/** What `hookpolicy init tasks` prints. */
export async function createAccount(
  cp: ControlPlane,
  namespace: string,
  { name = ACCOUNT, optIn = true, rules = MAY_RUN_JOBS }: AccountOptions = {},
): Promise<void> {
  await createAccountWith(cp, namespace, name, { inNamespace: rules });
  if (optIn) await allowImpersonation(cp, namespace, name);
}

const MAY_RUN_JOBS = [allow("batch", "jobs", "create", "get", "list", "patch", "delete")];

export async function allowImpersonation(cp: ControlPlane, namespace: string, name = ACCOUNT): Promise<void> {
  const rules = [{ ...allow("", "serviceaccounts", "impersonate"), resourceNames: [name] }];
  const operator = { kind: "ServiceAccount", namespace: NAMESPACE, name: "hookpolicy" };
  await cp.apply(grant({ namespace, name: `${name}-operator` }, rules, operator));
}

export function jobTask(name: string, more: Partial<TaskSpec> = {}): TaskSpec {
  return {
    name,
    create: {
      apiVersion: "batch/v1",
      kind: "Job",
      spec: {
        backoffLimit: 0,
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [
              {
                name: "main",
                image: "registry.example.com/work:1.0",
                env: [{ name: "CLUSTER", value: "<< cluster.metadata.name >>" }],
              },
            ],
          },
        },
      },
    },
    ...more,
  };
}

export const HOOK_TASKS = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookTask" };

/** As the operator would store it. */
export function hookTask(spec: HookTaskSpec, namespace = spec.clusterRef.namespace): KubeObject {
  const labels = { [CLUSTER_UID]: spec.clusterRef.uid };
  return { ...HOOK_TASKS, metadata: { namespace, name: taskName(spec), labels }, spec };
}

const JOBS = { apiVersion: "batch/v1", kind: "Job" };

/** The oldest first. */
export async function tasksIn(cp: ControlPlane, namespace: string): Promise<readonly HookTask[]> {
  const tasks = await cp.list({ ...HOOK_TASKS, namespace });
  return oldestFirst(tasks) as unknown as HookTask[];
}

/** The oldest first. */
export async function jobsIn(cp: ControlPlane, namespace: string): Promise<readonly KubeObject[]> {
  return oldestFirst(await cp.list({ ...JOBS, namespace }));
}

function oldestFirst(objects: readonly KubeObject[]): KubeObject[] {
  const time = ({ metadata }: KubeObject): string => `${metadata.creationTimestamp}`;
  return objects.toSorted((a, b) => (time(a) < time(b) ? -1 : 1));
}

/** Waits for the Job that runs now: of those that have no end. */
export async function openJob(cp: ControlPlane, namespace: string): Promise<KubeObject> {
  return await cp.waitFor(`a Job of ${namespace} to run`, async () => {
    const jobs = await jobsIn(cp, namespace);
    return jobs.find(({ status }) => (status?.conditions ?? []).length === 0);
  });
}

/** What the Job's controller writes when its Pods have ended. */
export async function endJob(
  cp: ControlPlane,
  { metadata }: Pick<KubeObject, "metadata">,
  type: "Complete" | "Failed",
): Promise<void> {
  const { namespace = "", name } = metadata;
  const ref: Ref = { ...JOBS, namespace, name };
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const before = type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  const conditions = [before, type].map((each) => ({
    type: each,
    status: "True",
    reason: type === "Failed" ? "BackoffLimitExceeded" : "CompletionsReached",
    message: type === "Failed" ? "Job has reached the specified backoff limit" : "Reached expected number",
    lastTransitionTime: at,
    lastProbeTime: at,
  }));
  const ended = type === "Complete" ? { succeeded: 1, completionTime: at } : { failed: 1 };
  await cp.patchStatus(ref, { startTime: at, ready: 0, terminating: 0, ...ended, conditions });
}

export async function taskIs(
  cp: ControlPlane,
  namespace: string,
  phase: string,
  matches: (task: HookTask) => boolean = () => true,
): Promise<HookTask> {
  return await cp.waitFor(`a HookTask of ${namespace} to be ${phase}`, async () => {
    const tasks = await tasksIn(cp, namespace);
    return tasks.find((task) => (task.status?.phase ?? "Pending") === phase && matches(task));
  });
}
