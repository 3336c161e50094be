/** What is legal in the tasks of a policy, and probably not meant. */

import type { RuleSpec, TaskSpec } from "../../api/hook-policy.ts";
import { compileExpression } from "../cel/expression.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { durationOrNever } from "../../lib/duration.ts";
import { reachOf } from "../gates/gates.ts";
import { RETRY_DELAYS_MS, TASK_DEFAULTS, validForOf } from "../tasks/compile-task.ts";
import { BESIDE_IT } from "../tasks/render-action.ts";
import { apiGroup } from "../watched-objects.ts";
import { contentsOf, textsIn } from "../tasks/template.ts";
import type { FieldError } from "./schema.ts";
import type { SoundRule } from "./sound-parts.ts";
import { type PlacedTask, type TaskOwner, tasksOf } from "./task-checks.ts";

/** For the rules of a policy that fit the schema. */
export function taskWarnings(
  rules: readonly SoundRule[],
  owner: TaskOwner | undefined,
): readonly FieldError[] {
  return rules.flatMap(({ rule, path }) => [
    ...waitingGates(rule, path, rules),
    ...severalHooks(rule, path),
    ...(owner?.kind === "ClusterHookPolicy" ? tasksOf(rule, path) : []).flatMap((placed) => [
      ...writtenByTenants(placed),
      ...sameNameElsewhere(placed),
      ...ownedElsewhere(placed),
    ]),
    ...endless(rule, path),
  ]);
}

/** A task that begins last waits for the gate, which waits for what the task does. */
function waitingGates(
  { hooks, until = [] }: RuleSpec,
  path: string,
  rules: readonly SoundRule[],
): FieldError[] {
  const tasks = rules
    .filter(({ rule }) => rule.hooks.some((hook) => hooks.includes(hook)))
    .flatMap((each) => tasksOf(each.rule, each.path))
    .filter(({ task }) => task.begins !== "First");
  return until.flatMap((gate, index): FieldError[] => {
    const kinds = reachOf(gate).map(({ kind }) => kind);
    const found = tasks.find(({ template }) => kinds.some((kind) => isSameKind(kind, template)));
    if (found === undefined) return [];
    const message = `task ${JSON.stringify(found.task.name)} of the same hook begins once all gates are met, and makes or deletes what this gate looks at, so each may wait for the other: let the task's succeeded, or its delete, wait for that instead of the gate, or let it begin with begins: First`;
    return [{ path: `${path}.until[${index}]`, id: "gate-waits-for-task", message }];
  });
}

/** Whatever their versions. */
function isSameKind(
  a: { readonly apiVersion: string; readonly kind: string },
  { apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown },
): boolean {
  return a.kind === kind && apiGroup(a.apiVersion) === apiGroup(String(apiVersion));
}

function severalHooks({ hooks, tasks }: RuleSpec, path: string): FieldError[] {
  const upgrade = hooks.filter((hook) => hook.endsWith("Upgrade"));
  const [first, second] = upgrade;
  if (tasks === undefined || second === undefined) return [];
  const message = `${first} and ${second} are hooks of one upgrade, so the tasks run at each of them: name one hook, or make a rule for each`;
  const index = hooks.indexOf(second);
  return [{ path: `${path}.hooks[${index}]`, id: "tasks-at-several-hooks", message }];
}

/** Fields that choose what is run, with whose rights, or where. */
const POWERFUL: readonly string[] = ["namespace", "image", "serviceAccountName"];

function writtenByTenants({ template, templatePath, verb }: PlacedTask): FieldError[] {
  return textsIn(template, templatePath).flatMap(({ value: text, path, fields }): FieldError[] => {
    const field = fields.at(-1) ?? "";
    const chooses =
      POWERFUL.includes(field) ||
      fields.includes("subjects") ||
      (verb === "delete" && path === `${templatePath}.name`);
    if (!chooses || !readsOf(text).isWritten) return [];
    const message =
      "tenants write what this reads of the Cluster, and so choose it for a ServiceAccount that is not theirs. Write it in full, or read it from namespaceObject";
    return [{ path, id: "tenant-written-field", message }];
  });
}

/** The Clusters of two tenants may have one name, and one set of labels. */
function sameNameElsewhere({ template, templatePath, verb }: PlacedTask): FieldError[] {
  const { name, namespace } = verb === "delete" ? template : fieldsOf(template["metadata"]);
  const [what, place] =
    verb === "delete"
      ? [template["selector"], `${templatePath}.selector`]
      : [name, `${templatePath}.metadata.name`];
  if (verb === "create" || what === undefined || readsOf(namespace).isOwn) return [];
  const { isWritten, isOwn } = readsOf(what);
  if (!isWritten || isOwn) return [];
  const message =
    "a Cluster of another namespace may have the same name and labels, and then its task acts on the same objects. Read cluster.metadata.uid or cluster.metadata.namespace, too, or set namespace: << cluster.metadata.namespace >>";
  return [{ path: place, id: "same-name-elsewhere", message }];
}

/** Right where the account of the policy is in the namespace of the Clusters. */
function ownedElsewhere({ template, templatePath, task }: PlacedTask): FieldError[] {
  if (task.ownedByCluster !== true || readsOf(fieldsOf(template["metadata"])["namespace"]).isOwn) return [];
  const message = `the object may be in another namespace than the Cluster, which cannot own it there: ${BESIDE_IT}`;
  return [{ path: `${templatePath}.metadata.namespace`, id: "owned-elsewhere", message }];
}

interface Reads {
  /** Something of the Cluster that its owner writes. */
  readonly isWritten: boolean;
  /** What no Cluster of another namespace has. */
  readonly isOwn: boolean;
}

/** `value`: a part of a template. */
function readsOf(value: unknown): Reads {
  const { expressions } = contentsOf(value, "");
  const paths = expressions.flatMap(
    ({ source, use }) => compileExpression(source, use).expression?.clusterPaths ?? [],
  );
  const own = paths.filter(([, field = ""]) => field === "namespace" || field === "uid");
  const isOwn = own.length > 0 || expressions.some(({ source }) => OWN_NAMESPACE.test(source));
  return { isWritten: own.length < paths.length, isOwn };
}

const OWN_NAMESPACE = /\bnamespaceObject\.metadata\.(name|uid)\b/;

/** A success that is too old at the release needs another run, after which that one may be too old. */
function endless(rule: RuleSpec, path: string): FieldError[] {
  const { tasks = [] } = rule;
  const windowMs = shortestWindow(rule) ?? Infinity;
  return tasks.flatMap((task, index): FieldError[] => {
    const validFor = validForOf(task) ?? Infinity;
    const laterMs = tasks
      .slice(index + 1)
      .filter(({ begins }) => begins === "First")
      .reduce((sum, each) => sum + longestMs(each), 0);
    if (validFor === Infinity || (laterMs < validFor && longestMs(task) < windowMs)) return [];
    const at = `${path}.tasks[${index}].${task.validFor === undefined ? "create" : "validFor"}`;
    const message =
      "its success may be too old once the tasks after it that begin first are done, or when the next window opens, and then it begins again: raise validFor, or lower timeout and retries";
    return [{ path: at, id: "endless-tasks", message }];
  });
}

/** Waiting between attempts included. */
function longestMs(task: TaskSpec): number {
  const { timeout, retries } = { ...TASK_DEFAULTS, ...task };
  const pausesMs = RETRY_DELAYS_MS.slice(0, retries).reduce((sum, ms) => sum + ms, 0);
  return durationOrNever(timeout) * (retries + 1) + pausesMs;
}

/** Of those that recur and that the rule cannot do without. */
function shortestWindow({ until = [] }: RuleSpec): number | undefined {
  const durations = until.flatMap(({ window }) =>
    (window?.allow ?? []).flatMap(({ duration }) =>
      duration === undefined ? [] : durationOrNever(duration),
    ),
  );
  return durations.length === 0 ? undefined : Math.min(...durations);
}
