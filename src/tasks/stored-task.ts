/** A HookTask as memory keeps it: who it is and how far it is, without what it does. */

import type {
  HookTask,
  HookTaskSpec,
  HookTaskStatus,
  TaskAttempt,
  TaskTemplate,
} from "../api/hook-policy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { viewIdentity, viewMetadata } from "../policy/cluster.ts";
import { readTimestamp } from "../policy/instant.ts";
import { identityOf, taskName } from "../policy/tasks/task-identity.ts";
import type { TaskPhase, TaskRecord } from "../policy/tasks/task-record.ts";
import type { KubeObject } from "../kube/resource.ts";
import { RETRY_ANNOTATION } from "./next-step.ts";

export interface StoredTask {
  readonly metadata: ObjectMeta;
  readonly record: TaskRecord;
  /** Without action, expressions and request; with the last attempt alone. */
  readonly outline: HookTask;
}

/** Selects the HookTasks of a Cluster. Not evidence: the spec says which Cluster it is. */
export const CLUSTER_UID_LABEL = "hookpolicy.dev/cluster-uid";

export function viewTask(raw: KubeObject): HookTask {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server has checked the CRD's schema
  const { apiVersion, kind, spec, status } = raw as unknown as HookTask;
  return {
    apiVersion,
    kind,
    metadata: viewMetadata(raw.metadata),
    spec,
    ...(status !== undefined && { status }),
  };
}

/**
 * `undefined`: the name is not that of its identity, so the operator has not made it. Who may create HookTasks can make one
 * with the right name, too: RBAC gives that to the operator alone.
 */
export function recordOf({ metadata, spec, status = {} }: HookTask): TaskRecord | undefined {
  const identity = identityOf(spec);
  if (taskName(identity) !== metadata.name) return undefined;
  const phase: TaskPhase = status.phase ?? "Pending";
  const endedAt = readTimestamp(status.endedAt);
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    identity,
    phase,
    over: status.over !== undefined,
    ...(spec.after !== undefined && { after: spec.after }),
    ...(phase === "Succeeded" && endedAt !== undefined && { succeededAt: endedAt }),
    ...(endedAt !== undefined && { endedAt }),
    attempts: status.begun ?? 0,
    message: status.message ?? "",
  };
}

/** Throws if the operator has not made it: the informer then keeps nothing of it. */
export function storedTask(raw: KubeObject): StoredTask {
  const task = viewTask(raw);
  const record = recordOf(task);
  if (record === undefined) throw new Error("its name is not that of what it is about, so it does not count");
  const retry = task.metadata.annotations?.[RETRY_ANNOTATION];
  const metadata = viewIdentity(raw.metadata);
  return {
    metadata,
    record,
    outline: {
      apiVersion: task.apiVersion,
      kind: task.kind,
      metadata: { ...metadata, ...(retry !== undefined && { annotations: { [RETRY_ANNOTATION]: retry } }) },
      spec: outlineOf(task.spec),
      ...(task.status !== undefined && { status: outlineOfStatus(task.status) }),
    },
  };
}

function outlineOf(spec: HookTaskSpec): HookTaskSpec {
  const { action, succeeded: _succeeded, failed: _failed, ...rest } = spec;
  const { create, apply, delete: deletion } = action;
  return {
    ...rest,
    action: {
      ...(create !== undefined && { create: kindOnly(create) }),
      ...(apply !== undefined && { apply: kindOnly(apply) }),
      ...(deletion !== undefined && { delete: kindOnly(deletion) }),
    },
  };
}

function kindOnly({ apiVersion, kind }: Kind): TaskTemplate {
  return { apiVersion, kind };
}

type Kind = Pick<TaskTemplate, "apiVersion" | "kind">;

function outlineOfStatus({ attempts, message: _, ...status }: HookTaskStatus): HookTaskStatus {
  const last = attempts?.at(-1);
  return { ...status, ...(last !== undefined && { attempts: [outlineOfAttempt(last)] }) };
}

function outlineOfAttempt({ message: _, targets, ...attempt }: TaskAttempt): TaskAttempt {
  return { ...attempt, ...(targets !== undefined && { targets: [] }) };
}
