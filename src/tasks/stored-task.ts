/** A HookTask as memory keeps it: who it is and how far it is, without what it does. */

import { hash } from "node:crypto";
import {
  type HookTask,
  type HookTaskStatus,
  MAX_RETRY,
  type TaskAttempt,
  type TaskTemplate,
} from "../api/hook-policy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { viewMetadata } from "../views/cluster.ts";
import { readTimestamp } from "../lib/instant.ts";
import { isAlteredTask, taskName } from "../policy/tasks/task-identity.ts";
import type { TaskPhase, TaskRecord } from "../policy/tasks/task-record.ts";
import type { KubeObject } from "../kube/resource.ts";
import { nextAttemptOf, RETRY_ANNOTATION } from "./next-step.ts";
import { isHindered, openAttempt, UNSEEN } from "./task-progress.ts";

/** Ten thousand ended tasks are kept, so only what is searched for has fields, and all that is kept is one text. */
export class StoredTask {
  readonly metadata: ObjectMeta;
  readonly clusterUID: string;
  readonly cluster: Pick<ObjectMeta, "name"> & { readonly namespace: string };
  readonly policyUID: string;
  readonly rule: string;
  readonly task: string;
  readonly hook: HookName;
  readonly phase: TaskPhase;
  readonly over: boolean;
  /** Whether an attempt has begun and not ended. */
  readonly isRunning: boolean;
  readonly altered: boolean;
  /** The HookTask that has to end well before this one begins. */
  readonly after: string | undefined;
  /** When it ended; milliseconds. */
  readonly endMs: number;
  readonly #packed: string;

  constructor(task: HookTask) {
    const { metadata, spec, status } = task;
    this.metadata = identityIn(metadata);
    const { uid, name, namespace } = spec.clusterRef;
    this.clusterUID = uid;
    this.cluster = { name, namespace };
    this.policyUID = spec.policyRef.uid;
    this.rule = spec.rule;
    this.task = spec.task;
    this.hook = spec.hook;
    this.phase = status?.phase ?? "Pending";
    this.over = status?.over !== undefined;
    this.isRunning = openAttempt(status) !== undefined;
    this.altered = isAlteredTask(task);
    this.after = spec.after;
    this.endMs = Date.parse(status?.endedAt ?? status?.over ?? metadata.creationTimestamp ?? "") || 0;
    // The text is a copy: V8 would keep the text of a whole list for the sake of a part.
    this.#packed = JSON.stringify(outlineOf(task));
  }

  get record(): TaskRecord {
    return recordIn(this.outline, this.altered);
  }

  /** Without action and expressions; with the last attempt alone. */
  get outline(): HookTask {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the constructor has packed
    return JSON.parse(this.#packed) as HookTask;
  }
}

function outlineOf({ apiVersion, kind, metadata, spec, status }: HookTask): HookTask {
  const { succeeded: _, failed: _failed, action, ...rest } = spec;
  const { create, apply, delete: deletion } = action;
  const retry = metadata.annotations?.[RETRY_ANNOTATION];
  return {
    apiVersion,
    kind,
    metadata: {
      ...identityIn(metadata),
      ...(retry !== undefined && { annotations: { [RETRY_ANNOTATION]: retry } }),
    },
    spec: {
      ...rest,
      action: {
        ...(create && { create: kindOnly(create) }),
        ...(apply && { apply: kindOnly(apply) }),
        ...(deletion && { delete: kindOnly(deletion) }),
      },
    },
    ...(status !== undefined && { status: outlineOfStatus(status) }),
  };
}

function identityIn({
  name,
  namespace = "",
  uid,
  resourceVersion,
  creationTimestamp,
  deletionTimestamp,
}: ObjectMeta): ObjectMeta {
  const created = creationTimestamp !== undefined && { creationTimestamp };
  const deleted = deletionTimestamp !== undefined && { deletionTimestamp };
  return { name, namespace, uid, resourceVersion, ...created, ...deleted };
}

export function viewTask(raw: KubeObject): HookTask {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server has checked the CRD's schema
  const { apiVersion, kind, spec, status } = raw as unknown as HookTask;
  return {
    apiVersion,
    kind,
    metadata: withRetryAlone(viewMetadata(raw.metadata)),
    spec,
    ...(status !== undefined && { status }),
  };
}

/** People write annotations of any length, and a status with a longer `retriedFor` is refused. */
function withRetryAlone({ annotations, ...metadata }: ObjectMeta): ObjectMeta {
  const value = annotations?.[RETRY_ANNOTATION];
  if (value === undefined) return metadata;
  const retry = value.length > MAX_RETRY ? hash("sha256", value).slice(0, MAX_RETRY) : value;
  return { ...metadata, annotations: { [RETRY_ANNOTATION]: retry } };
}

/**
 * Without those whose name is not that of their identity: the operator has not made them. Who may create HookTasks can make
 * one with the right name, too: RBAC gives that to the operator alone.
 */
export function recordsOf(list: readonly KubeObject[]): readonly TaskRecord[] {
  const named = list.map(viewTask).filter(isNamed);
  return named.map((task) => recordIn(task, isAlteredTask(task)));
}

function isNamed({ metadata, spec }: HookTask): boolean {
  return taskName(spec) === metadata.name;
}

function recordIn({ metadata, spec, status = {} }: HookTask, altered: boolean): TaskRecord {
  const { phase = "Pending" } = status;
  const endedAt = readTimestamp(status.endedAt);
  const next = nextAttemptOf({ spec, status });
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    identity: spec,
    phase,
    over: isOver(metadata, status),
    altered,
    ...(spec.after !== undefined && { after: spec.after }),
    ...(phase === "Succeeded" && endedAt !== undefined && { succeededAt: endedAt }),
    ...(endedAt !== undefined && { endedAt }),
    attempts: status.begun ?? 0,
    ...(next !== undefined && { nextAttempt: next }),
    hindered: isHindered(status),
    message: status.message?.replace(UNSEEN, "") ?? "",
  };
}

/** Who deletes a success wants what was done judged again, although finalizers may keep the HookTask. */
function isOver({ deletionTimestamp }: ObjectMeta, { over, phase }: HookTaskStatus): boolean {
  return over !== undefined || (phase === "Succeeded" && deletionTimestamp !== undefined);
}

/** Throws if the operator has not made it: the informer then keeps nothing of it. */
export function storedTask(raw: KubeObject): StoredTask {
  const task = viewTask(raw);
  if (!isNamed(task)) throw new Error("its name is not that of what it is about, so it does not count");
  return new StoredTask(task);
}

function kindOnly({ apiVersion, kind }: Pick<TaskTemplate, "apiVersion" | "kind">): TaskTemplate {
  return { apiVersion, kind };
}

/** Of a success, nothing is needed but when it was. */
function outlineOfStatus({ attempts, message, ...status }: HookTaskStatus): HookTaskStatus {
  if (status.phase === "Succeeded") {
    const { startedAt: _, object: _object, allowed: _allowed, ...ended } = status;
    return ended;
  }
  const last = attempts?.at(-1);
  const said = message !== undefined && status.over === undefined && { message };
  return { ...status, ...said, ...(last !== undefined && { attempts: [outlineOfAttempt(last)] }) };
}

function outlineOfAttempt({ message: _, targets, ...attempt }: TaskAttempt): TaskAttempt {
  return { ...attempt, ...(targets !== undefined && { targets: [] }) };
}
