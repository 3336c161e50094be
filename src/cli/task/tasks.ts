/** Reads HookTasks, the parts of them that commands show, and asks for another attempt. */

import type { HookTask, HookTaskStatus } from "../../api/hook-policy.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { compareText } from "../../lib/compare-text.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, unlessNotFound } from "../../kube/kube-error.ts";
import type { KubeObject, ObjectKey } from "../../kube/resource.ts";
import { HOOK_TASKS } from "../../kube/resources.ts";
import { timestamp } from "../../lib/instant.ts";
import { unless } from "../../lib/thrown.ts";
import { nextAttemptOf, RETRY_ANNOTATION } from "../../tasks/next-step.ts";
import { viewTask } from "../../tasks/stored-task.ts";
import { isHindered, retried } from "../../tasks/task-progress.ts";
import { isAlteredTask } from "../../policy/tasks/task-identity.ts";
import type { PolicyRef } from "../../policy/policy-ref.ts";
import { CommandError, nearestText, USAGE } from "../command.ts";
import { notServed } from "../fleet/connection.ts";
import { followAnswer } from "../fleet/follow.ts";
import type { ClusterName } from "../fleet/live-cluster.ts";
import { namesOf } from "../fleet/live-objects.ts";
import { stderr } from "../terminal/output.ts";

export type Phase = NonNullable<HookTaskStatus["phase"]>;

/** A HookTask with what a reader asks first. */
export interface ReadTask {
  readonly key: Required<ObjectKey>;
  readonly object: HookTask;
  /** "namespace/name" */
  readonly cluster: string;
  readonly policy: PolicyRef;
  readonly phase: Phase;
  /** Its operation has ended or is no longer wanted, so it no longer counts. */
  readonly isOver: boolean;
  /** Its action may not be the one that the operator stored, so it does not count. */
  readonly isAltered: boolean;
}

/** What has failed or cannot begin comes first, then what runs; of each, the newest. */
const ORDER: readonly Phase[] = ["Failed", "Running", "Pending", "Cancelled", "Succeeded"];

/** `namespace`: of the HookTasks, where the ServiceAccount is; absent: all. */
export async function listTasks(
  client: KubeClient,
  namespace: string | undefined,
  cluster: ClusterName | undefined,
): Promise<readonly ReadTask[]> {
  const list = await unlessNotFound(client.list(HOOK_TASKS, namespace === undefined ? {} : { namespace }));
  if (list === undefined) throw notServed("HookTasks");
  const name = cluster && namespacedName(cluster);
  return list.items
    .map((raw) => readTaskObject(raw))
    .filter((task) => name === undefined || task.cluster === name)
    .toSorted((a, b) => rankOf(a) - rankOf(b) || compareText(createdAt(b), createdAt(a)));
}

/** Those of the Cluster in all namespaces or, if the user may not list these, in its own. */
export async function tasksOfCluster(client: KubeClient, cluster: ClusterName): Promise<readonly ReadTask[]> {
  const everywhere = await unless(isForbidden, listTasks(client, undefined, cluster));
  if (everywhere !== undefined) return everywhere;
  stderr.line(
    "warning: you may not list HookTasks in all namespaces: those in the namespaces of ClusterHookPolicies' accounts are not known here",
  );
  return await listTasks(client, cluster.namespace, cluster);
}

function rankOf({ phase, isOver, isAltered, object }: ReadTask): number {
  const needsPerson = isAltered || isHindered(object.status);
  return ORDER.indexOf(needsPerson ? "Failed" : phase) + (isOver ? ORDER.length : 0);
}

function createdAt({ object }: ReadTask): string {
  return object.metadata.creationTimestamp ?? "";
}

export async function readTask(client: KubeClient, key: Required<ObjectKey>): Promise<ReadTask> {
  try {
    return readTaskObject(await client.get(HOOK_TASKS, key));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const others = await unlessNotFound(namesOf(client, HOOK_TASKS, { namespace: key.namespace }));
    if (others === undefined) throw notServed("HookTasks");
    const names = others.map(({ name }) => name);
    throw new CommandError(
      USAGE,
      `there is no HookTask ${namespacedName(key)}${nearestText(key.name, names)}`,
    );
  }
}

function readTaskObject(raw: KubeObject): ReadTask {
  const object = viewTask(raw);
  const { metadata, spec, status } = object;
  const { kind, namespace, name } = spec.policyRef;
  return {
    key: { namespace: metadata.namespace ?? "", name: metadata.name },
    object,
    cluster: namespacedName(spec.clusterRef),
    policy: { kind, ...(namespace !== undefined && { namespace }), name },
    phase: status?.phase ?? "Pending",
    isOver: status?.over !== undefined,
    isAltered: isAlteredTask(object),
  };
}

/** Why there is nothing to try again; `undefined`: there is. */
export function noRetry({ phase, isOver, isAltered, object }: ReadTask): string | undefined {
  if (isOver) return "belongs to an operation that is over: it counts no more";
  if (isAltered) return "was changed: delete it, and its task begins again";
  if (phase === "Pending" && isHindered(object.status))
    return `needs no retry: it begins by itself once this is corrected: ${object.status?.message}`;
  const next = nextAttemptOf(object);
  if (next !== undefined) return `needs no retry: attempt ${next.number} of ${next.of} begins by itself`;
  return WHY[phase];
}

/** What a retry gives. */
export function retryText({ key, object }: Pick<ReadTask, "key" | "object">): string {
  const { begun = 0, allowed = 1 } = retried(object, "");
  const others = begun + 1 < allowed ? "" : ", and no other follows without another retry";
  return `HookTask ${namespacedName(key)} has another attempt (${begun + 1} of ${allowed}): it waits for at most ${object.spec.timeout} until it can begin${others}`;
}

const WHY: Readonly<Partial<Record<Phase, string>>> = {
  Pending: "has not begun yet",
  Running: "still runs: a retry follows a failure",
  Succeeded: "has succeeded",
  Cancelled: "was cancelled, because it was no longer wanted",
};

/** Returns whether the operator has acted upon it in time. */
export async function askForRetry(client: KubeClient, { key, object }: ReadTask): Promise<boolean> {
  // New for each request; the operator writes the one that it acted upon into the status.
  const value = timestamp(client.serverClock.serverTime());
  await client.mergePatch(HOOK_TASKS, key, {
    metadata: { uid: object.metadata.uid, annotations: { [RETRY_ANNOTATION]: value } },
  });
  const isTaken = (found: KubeObject | undefined): boolean =>
    fieldsOf(found?.status)["retriedFor" satisfies keyof HookTaskStatus] === value;
  return await followAnswer(client, { resource: HOOK_TASKS, ...key }, isTaken);
}
