/** Carries out and observes one attempt, as the task's ServiceAccount. Each function returns the status to store. */

import { hash, randomBytes } from "node:crypto";
import {
  type HookTask,
  type HookTaskStatus,
  MAX_TASK_TARGETS,
  type TaskAttempt,
  type TaskTarget,
} from "../api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../api/meta.ts";
import {
  isAlreadyExists,
  isFieldManagerConflict,
  isForbidden,
  isNamespaceTerminating,
  isNotFound,
  isRightMissing,
  KubeError,
} from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/resource.ts";
import { fieldsOf } from "../lib/fields.ts";
import { readTimestamp } from "../lib/instant.ts";
import { messageOf } from "../lib/thrown.ts";
import { judgeObject } from "../policy/tasks/task-outcome.ts";
import { CLUSTER_UID, MANAGED_BY, TASK_LABEL } from "../policy/tasks/template-metadata.ts";
import { durationText, durationOrNever } from "../lib/duration.ts";
import { timesOutAt } from "./next-step.ts";
import {
  type AttemptOutcome,
  attemptEnded,
  attemptFound,
  attemptWaits,
  isCarriedOut,
  kindOf,
  lastAttempt,
  UNSEEN,
} from "./task-progress.ts";
import { type ObjectRef, type TaskActor, type TaskObject, type TaskObjects } from "./task-objects.ts";

type Objects = Pick<TaskObjects, "create" | "apply" | "find" | "select" | "delete">;

export interface AttemptWork {
  readonly objects: Objects;
  readonly task: HookTask;
  readonly attempt: TaskAttempt;
  /** A stub of it, once it is gone. */
  readonly cluster: Cluster;
  /** The apiVersion in which the API server serves it. */
  readonly clusterVersion: string;
  readonly now: Date;
  /** Its request was refused, and has changed nothing. */
  readonly onRefused?: () => void;
}

/** Objects deleted in one reconcile. */
const MAX_DELETED = 10;
/** Reason of a KubeError: another client has created an object of the attempt's name. */
const NAME_TAKEN = "NameTaken";
const MAX_NAME = 63;
const RANDOM_LETTERS = 10;

function accountOf({ metadata, spec }: HookTask): TaskActor {
  return {
    namespace: metadata.namespace ?? "",
    name: spec.serviceAccountName,
    namespacedOnly: spec.policyRef.kind === "HookPolicy",
  };
}

/** The name of the next attempt, which no other object has. */
export function newAttempt({ metadata, spec }: HookTask): Pick<TaskAttempt, "name" | "namespace"> {
  const { create: created, apply, delete: deletion } = spec.action;
  const template = metadataOf(created ?? apply);
  const namespace = deletion === undefined ? template.namespace : deletion.namespace;
  const wanted = template.name ?? deletion?.name ?? spec.task;
  const random = randomBytes(RANDOM_LETTERS / 2).toString("hex");
  const name = created === undefined ? wanted : `${prefixOf(wanted)}-${random}`;
  return { name, ...placeOf(namespace ?? metadata.namespace) };
}

function placeOf(namespace: string | undefined): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function prefixOf(name: string): string {
  const cut = name.replaceAll(".", "-").slice(0, MAX_NAME - RANDOM_LETTERS - 1);
  return cut.replace(/(?<!-)-+$/, "");
}

function metadataOf(template: unknown): { readonly name?: string; readonly namespace?: string } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rendered from a template that was checked
  return (template as { metadata?: { name?: string; namespace?: string } } | undefined)?.metadata ?? {};
}

/** Creates or applies the object, or finds what is to be deleted and deletes it. */
export async function carryOut(work: AttemptWork): Promise<HookTaskStatus> {
  const { objects, task } = work;
  const { action } = task.spec;
  try {
    if (action.delete !== undefined) return await sent(work, findTargets(work));
    const object = objectOf(work);
    const stored =
      action.create === undefined
        ? await sent(work, objects.apply(accountOf(task), object, fieldManagerOf(task)))
        : await createOnce(work, object);
    const status = foundAs(work, stored);
    const attempt = lastAttempt(status) ?? work.attempt;
    return judged({ ...work, task: { ...task, status }, attempt }, stored);
  } catch (error) {
    return await notCarriedOut(work, error);
  }
}

/** The API server's clock counts only between the instants that this machine knows: theirs may differ. */
function foundAs({ task, attempt, now }: AttemptWork, { metadata }: KubeObject): HookTaskStatus {
  const began = readTimestamp(attempt.askedAt ?? attempt.startedAt) ?? now;
  // What is applied may have existed before.
  const created = (task.spec.action.create && readTimestamp(metadata.creationTimestamp)) ?? now;
  const since = Math.min(now.getTime(), Math.max(began.getTime(), created.getTime()));
  return attemptFound(task, { uid: metadata.uid }, new Date(since));
}

/** The name is the attempt's own, so an object that has it already was created by a request whose answer was lost. */
async function createOnce(work: AttemptWork, object: TaskObject): Promise<KubeObject> {
  const { objects, task, attempt } = work;
  try {
    return await sent(work, objects.create(accountOf(task), object));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const ref = refOf(task, attempt);
    const found = await objects.find(accountOf(task), ref);
    if (found === undefined) throw error;
    if (isOwn(task, attempt, found)) return found;
    throw new KubeError(`${ref.kind} ${ref.name} exists already, and this task has not created it`, {
      code: 409,
      reason: NAME_TAKEN,
    });
  }
}

async function sent<T>({ onRefused }: AttemptWork, request: Promise<T>): Promise<T> {
  return await request.catch((error: unknown) => {
    if (isRefused(error)) onRefused?.();
    throw error;
  });
}

/** One that was never seen under its uid has the task's label if the task has created it. */
function isOwn(task: HookTask, { uid }: TaskAttempt, { metadata }: KubeObject): boolean {
  return uid === undefined ? metadata.labels?.[TASK_LABEL] === task.metadata.name : metadata.uid === uid;
}

/** What is there now has to go; what comes later does not count. */
async function findTargets({ objects, task, attempt, now }: AttemptWork): Promise<HookTaskStatus> {
  const account = accountOf(task);
  const ref = refOf(task, attempt);
  const selector = selectorOf(task);
  const found =
    selector === "" ? [await objects.find(account, ref)] : await objects.select(account, ref, selector);
  const targets = found.flatMap((each): TaskTarget[] =>
    each === undefined ? [] : [{ name: each.metadata.name, uid: each.metadata.uid }],
  );
  if (targets.length > MAX_TASK_TARGETS)
    throw new KubeError(
      `${targets.length} objects are selected for deletion, and at most ${MAX_TASK_TARGETS} may be`,
      { code: 422, reason: "TooMany" },
    );
  return attemptFound(task, { targets }, now);
}

/** Empty: the deletion names one object. */
function selectorOf({ spec }: HookTask): string {
  const labels = Object.entries(spec.action.delete?.selector?.matchLabels ?? {});
  return labels.map(([key, value]) => `${key}=${value}`).join(",");
}

function refOf({ spec }: HookTask, { name, namespace }: TaskAttempt): ObjectRef {
  return { ...kindOf(spec), name, ...placeOf(namespace) };
}

function objectOf(work: AttemptWork): TaskObject {
  const { task, attempt } = work;
  const { create: created, apply } = task.spec.action;
  const template: Record<string, unknown> = { ...(created ?? apply) };
  const { labels, annotations, ...metadata } = fieldsOf(template["metadata"]);
  return {
    ...template,
    ...kindOf(task.spec),
    metadata: {
      ...metadata,
      name: attempt.name,
      ...placeOf(attempt.namespace),
      labels: {
        ...fieldsOf(labels),
        [MANAGED_BY]: "hookpolicy",
        [TASK_LABEL]: task.metadata.name,
      },
      annotations: { ...fieldsOf(annotations), [CLUSTER_UID]: task.spec.clusterRef.uid },
      ...ownersOf(work),
    },
  };
}

/** Without blockOwnerDeletion, which the account may not be allowed to set. */
function ownersOf({ task, cluster, clusterVersion: apiVersion }: AttemptWork): object {
  if (task.spec.action.ownedByCluster !== true) return {};
  const { name, uid } = cluster.metadata;
  return { ownerReferences: [{ apiVersion, kind: "Cluster", name, uid }] };
}

/**
 * Another policy, task or Cluster that applies the object conflicts with this one, but not a policy or Cluster that was moved,
 * restored or created again. Rules of a policy whose tasks have one name share what they apply: one installs it, and another
 * one upgrades it.
 */
function fieldManagerOf({ spec: { policyRef, task, clusterRef } }: HookTask): string {
  const policy = [policyRef.kind, policyRef.namespace, policyRef.name];
  const who = JSON.stringify([...policy, task, clusterRef.namespace, clusterRef.name]);
  return `hookpolicy-${hash("sha256", who).slice(0, 16)}`;
}

async function notCarriedOut(work: AttemptWork, error: unknown): Promise<HookTaskStatus> {
  const { objects, task, attempt, now } = work;
  const message = reasonOf(error);
  const refusal = refusalOf(error);
  if (refusal !== undefined)
    return attemptEnded(task, { outcome: refusal, message, final: isNamespaceTerminating(error) }, now);
  if (now >= timesOutAt(task, attempt) && task.spec.action.create !== undefined) {
    // The answer of a request that was carried out may have been lost.
    const found = await objects.find(accountOf(task), refOf(task, attempt)).catch(() => undefined);
    if (found !== undefined && isOwn(task, attempt, found)) return foundAs(work, found);
  }
  return waitsOrTimedOut(work, message);
}

/** What is not a missing right, a quota or a webhook refuses. */
function reasonOf(error: unknown): string {
  const text = messageOf(error);
  if (!isForbidden(error)) return text;
  return isRightMissing(error)
    ? `a right is missing (hookpolicy doctor prints which): ${text}`
    : `admission refuses it (correct what it names): ${text}`;
}

/** What no repetition makes better. Another conflict does pass: a quota's, whose use changes at that moment. */
function refusalOf(error: unknown): AttemptOutcome | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (isNamespaceTerminating(error)) return "Refused";
  if (isFieldManagerConflict(error) || error.reason === NAME_TAKEN) return "Conflict";
  return error.code === 400 || error.code === 422 ? "Refused" : undefined;
}

/** Looks at the object, or at what has to go. */
export async function observe(work: AttemptWork): Promise<HookTaskStatus> {
  const { objects, task, attempt, now } = work;
  try {
    if (attempt.targets !== undefined) return await observeDeletion(work, attempt.targets);
    const found = await objects.find(accountOf(task), refOf(task, attempt));
    if (found !== undefined && found.metadata.uid === attempt.uid) return judged(work, found);
    const name = `${kindOf(task.spec).kind} ${attempt.name}`;
    const message =
      found === undefined
        ? `${name} is gone, and was not seen to be done`
        : `${name} was replaced by another`;
    return attemptEnded(task, { outcome: "Vanished", message }, now);
  } catch (error) {
    return waitsOrTimedOut(work, `${isRefused(error) ? UNSEEN : ""}${reasonOf(error)}`);
  }
}

function judged(work: AttemptWork, found: KubeObject): HookTaskStatus {
  const { task, cluster, now } = work;
  const { metadata } = found;
  if (metadata.deletionTimestamp !== undefined) return waitsOrTimedOut(work, "it is being deleted");
  const { outcome, message } = judgeObject({
    spec: task.spec,
    kind: kindOf(task.spec),
    object: found,
    cluster,
    now,
  });
  if (outcome === "Unfinished") return waitsOrTimedOut(work, message);
  return attemptEnded(task, { outcome, message }, now);
}

function waitsOrTimedOut({ task, attempt, now }: AttemptWork, message: string): HookTaskStatus {
  if (now < timesOutAt(task, attempt)) return attemptWaits(task.status ?? {}, message);
  const limit = durationText(durationOrNever(task.spec.timeout));
  const what = isCarriedOut(attempt) ? "not done" : "could not begin";
  return attemptEnded(task, { outcome: "TimedOut", message: `${what} within ${limit}: ${message}` }, now);
}

/** Each is deleted with its uid, so what comes later under its name stays. */
async function observeDeletion(work: AttemptWork, targets: readonly TaskTarget[]): Promise<HookTaskStatus> {
  const { objects, task, attempt, now } = work;
  const left = await targetsLeft(work, targets);
  const untouched = left.filter(({ deletionTimestamp }) => deletionTimestamp === undefined);
  for (const { name, uid } of untouched.slice(0, MAX_DELETED))
    await objects.delete(accountOf(task), { ...refOf(task, attempt), name }, uid, "Background");
  if (left.length === 0) return attemptEnded(task, { outcome: "Succeeded", message: "" }, now);
  const { kind } = kindOf(task.spec);
  const more = left.length > 1 ? ` and ${left.length - 1} more` : "";
  return waitsOrTimedOut(work, `${kind} ${left[0]?.name}${more} still exists`);
}

/** At least one of the targets that are left, if any is: few requests, however many targets there are. */
async function targetsLeft(
  { objects, task, attempt }: AttemptWork,
  targets: readonly TaskTarget[],
): Promise<readonly ObjectMeta[]> {
  const account = accountOf(task);
  const ref = refOf(task, attempt);
  const selector = selectorOf(task);
  if (selector !== "") {
    const uids = new Set(targets.map(({ uid }) => uid));
    const selected = (await objects.select(account, ref, selector)).map(({ metadata }) => metadata);
    const left = selected.filter(({ uid }) => uids.has(uid));
    if (left.length > 0) return left;
  }
  // Also those whose labels were removed in the meantime.
  for (const { name, uid } of targets) {
    const found = await objects.find(account, { ...ref, name });
    if (found?.metadata.uid === uid) return [found.metadata];
  }
  return [];
}

/** Why the attempt's object may still be at work, after its deletion was asked for; `undefined`: it is gone. */
export async function whyNotGone(
  objects: Objects,
  task: HookTask,
  attempt: TaskAttempt,
): Promise<string | undefined> {
  try {
    return (await remove(objects, task, attempt)) ? undefined : "it still exists";
  } catch (error) {
    // It was never seen, and who may not read it, or cannot name its kind, has not created it.
    return attempt.uid === undefined && isRefused(error) ? undefined : reasonOf(error);
  }
}

/** Deletes what the attempts have created; `onRefused`: what is left, as the account or the operator has lost its rights. */
export async function removeAll(
  objects: Objects,
  task: HookTask,
  attempts: readonly TaskAttempt[],
  onRefused: (attempt: TaskAttempt, error: unknown) => void,
): Promise<void> {
  for (const attempt of task.spec.action.create === undefined ? [] : attempts) {
    // The answer that told of it may have been lost until the time-out.
    if (attempt.uid === undefined && attempt.outcome !== "TimedOut") continue;
    await remove(objects, task, attempt).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
      if (attempt.uid !== undefined) onRefused(attempt, error);
    });
  }
}

/** The account may not do it, or there is no such kind: another try soon would be answered alike. */
function isRefused(error: unknown): boolean {
  return isForbidden(error) || isNotFound(error) || refusalOf(error) === "Refused";
}

/** Deletes the attempt's object if it is there; returns whether it is gone. */
async function remove(objects: Objects, task: HookTask, attempt: TaskAttempt): Promise<boolean> {
  const account = accountOf(task);
  const ref = refOf(task, attempt);
  const found = await objects.find(account, ref);
  if (found === undefined || !isOwn(task, attempt, found)) return true;
  if (found.metadata.deletionTimestamp === undefined)
    await objects.delete(account, ref, found.metadata.uid, "Foreground");
  return (await objects.find(account, ref))?.metadata.uid !== found.metadata.uid;
}
