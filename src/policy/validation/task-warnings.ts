/** What is legal in the tasks of a policy, and probably not meant. */

import type { RuleSpec, TaskSpec } from "../../api/hook-policy.ts";
import { compileExpression } from "../cel/expression.ts";
import { durationOrNever } from "../duration.ts";
import { reachOf } from "../gates/gates.ts";
import { textsIn } from "../tasks/template.ts";
import { parseText } from "../tasks/template-text.ts";
import type { FieldError } from "./schema.ts";
import type { SoundRule } from "./sound-parts.ts";
import { type PlacedTask, type TaskOwner, tasksOf } from "./task-checks.ts";

/** For all rules of a policy, or their parts, that fit the schema. */
export function taskWarnings(
  rules: readonly SoundRule[],
  owner: TaskOwner | undefined,
): readonly FieldError[] {
  return rules.flatMap(({ rule, path }) => [
    ...waitingGates(rule, path, rules),
    ...severalHooks(rule, path),
    ...(owner?.kind === "ClusterHookPolicy" ? tasksOf(rule, path).flatMap(writtenByTenants) : []),
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
    const { task, verb } = found;
    const message = `task ${JSON.stringify(task.name)} of the same hook begins once all gates are met, and ${VERBS[verb]} what this gate looks at, so each may wait for the other: ${verb === "delete" ? "remove the gate, as the task waits until they are gone" : "say in the task's succeeded when it is done"}, or let it begin with begins: First`;
    return [{ path: `${path}.until[${index}]`, id: "gate-waits-for-task", message }];
  });
}

const VERBS = { create: "creates", apply: "applies", delete: "deletes" } as const;

/** Whatever their versions. */
function isSameKind(
  a: { readonly apiVersion: string; readonly kind: string },
  { apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown },
): boolean {
  return a.kind === kind && groupOf(a.apiVersion) === groupOf(String(apiVersion));
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
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

function writtenByTenants({ template, at, verb }: PlacedTask): FieldError[] {
  return textsIn(template, at).flatMap(({ text, path, fields }): FieldError[] => {
    const field = fields.at(-1) ?? "";
    const chooses =
      POWERFUL.includes(field) || fields.includes("subjects") || (verb === "delete" && path === `${at}.name`);
    if (!chooses || !readsCluster(text)) return [];
    const message = `tenants write what this reads of the Cluster, and so choose ${chosen(field, verb)} for a ServiceAccount that is not theirs. Write it in full, or read it from namespaceObject`;
    return [{ path, id: "tenant-written-field", message }];
  });
}

function chosen(field: string, verb: string): string {
  if (field === "namespace") return "the namespace";
  if (field === "image") return "the image";
  return verb === "delete" ? "what is deleted" : "who gets rights";
}

function readsCluster(text: string): boolean {
  const parsed = parseText(text);
  if (!parsed.ok) return false;
  return parsed.parts.some(
    (part) =>
      typeof part !== "string" &&
      (compileExpression(part.source, "value").expression?.clusterPaths.length ?? 0) > 0,
  );
}

const [DAY_MS, HOUR_MS] = [86_400_000, 3_600_000];

/** A success that is too old at the release needs another run, after which the next one may be too old. */
function endless(rule: RuleSpec, path: string): FieldError[] {
  const { tasks = [] } = rule;
  return tasks.flatMap((task, index): FieldError[] => {
    const validFor = validForOf(task);
    const at = `${path}.tasks[${index}].${task.validFor === undefined ? "create" : "validFor"}`;
    const later = tasks.slice(index + 1).find((each) => longestMs(each) >= validFor);
    if (later !== undefined) {
      const message = `its success counts for less time than task ${JSON.stringify(later.name)} may take after it, and then it begins again: raise validFor, or lower that task's timeout`;
      return [{ path: at, id: "endless-tasks", message }];
    }
    const windowMs = shortestWindow(rule);
    if (validFor === Infinity || windowMs === undefined || longestMs(task) < windowMs) return [];
    const message =
      "it may take longer than a window is open, and its success may be too old when the next one opens, so that it begins again: raise validFor, or lower timeout and retries";
    return [{ path: at, id: "endless-tasks", message }];
  });
}

function validForOf({ create, validFor }: TaskSpec): number {
  if (validFor !== undefined) return durationOrNever(validFor);
  return create === undefined ? Infinity : DAY_MS;
}

/** Waiting between attempts included. */
function longestMs({ timeout, retries = 0 }: TaskSpec): number {
  const attempt = timeout === undefined ? HOUR_MS : durationOrNever(timeout);
  return (
    attempt * (retries + 1) + [0, 30, 90, 210].slice(retries, retries + 1).reduce((a, b) => a + b, 0) * 1000
  );
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
