/** What is wrong with the tasks of a rule beyond the schema. */

import type { RuleSpec, TaskSpec } from "../../api/hook-policy.ts";
import { type Fields, fieldsOf, isFields, nonEmptyText } from "../../lib/fields.ts";
import { byteLength } from "../../lib/truncate.ts";
import { compileExpression, expressionAt, type ExpressionField } from "../cel/expression.ts";
import type { PolicyRef } from "../policy-ref.ts";
import { actionOf, type TaskVerb } from "../tasks/compile-task.ts";
import { contentsOf, placedValues, textsIn } from "../tasks/template.ts";
import { metadataProblems } from "../tasks/template-metadata.ts";
import { hasExpression } from "../tasks/template-text.ts";
import type { FieldError } from "./schema.ts";

/** Whose policy it is: a HookPolicy's tasks stay in its namespace. */
export type TaskOwner = Pick<PolicyRef, "kind" | "namespace">;

export interface PlacedTask {
  readonly task: TaskSpec;
  readonly path: string;
  readonly verb: TaskVerb;
  readonly template: Fields;
  readonly templatePath: string;
}

export function tasksOf({ tasks = [] }: RuleSpec, path: string): readonly PlacedTask[] {
  return tasks.map((task, index) => {
    const at = `${path}.tasks[${index}]`;
    const { verb, template } = actionOf(task);
    return { task, path: at, verb, template, templatePath: `${at}.${verb}` };
  });
}

/** The CEL of the tasks of the rule at the path. Templates that are too large are not looked at. */
export function expressionsOfTasks(rule: RuleSpec, path: string): readonly ExpressionField[] {
  return tasksOf(rule, path).flatMap((placedTask) => {
    const { task, path: at, template, templatePath } = placedTask;
    return [
      ...expressionAt(task.when, "when", `${at}.when`),
      ...(tooLarge(placedTask).length > 0 ? [] : contentsOf(template, templatePath).expressions),
      ...expressionAt(task.succeeded, "outcome", `${at}.succeeded`),
      ...expressionAt(task.failed, "outcome", `${at}.failed`),
    ];
  });
}

export function taskErrors(
  rule: RuleSpec,
  path: string,
  owner: TaskOwner | undefined,
): readonly FieldError[] {
  return tasksOf(rule, path).flatMap((placedTask) => {
    const large = tooLarge(placedTask);
    if (large.length > 0) return large;
    return [
      ...contentsOf(placedTask.template, placedTask.templatePath).problems,
      ...misplaced(placedTask),
      ...(placedTask.verb === "delete" ? selectorErrors(placedTask) : objectErrors(placedTask, owner)),
    ];
  });
}

const MAX_TEMPLATE_BYTES = 16 * 1024;

function tooLarge({ template, templatePath }: PlacedTask): FieldError[] {
  const length = byteLength(JSON.stringify(template));
  if (length <= MAX_TEMPLATE_BYTES) return [];
  const message = `found ${length} bytes, expected at most ${MAX_TEMPLATE_BYTES}: put what is long into a ConfigMap or an image`;
  return [{ path: templatePath, message }];
}

/** A value there would choose what is run, or become a part of a command. */
const COMMANDS: readonly string[] = ["command", "args", "script"];
const CONTAINERS: readonly string[] = ["containers", "initContainers"];
const FIXED: readonly string[] = ["apiVersion", "kind"];

const IN_COMMAND =
  'must not have an expression, because a value could become a command: pass the value by env, as in env: [{ name: VALUE, value: "<< … >>" }], and in args write $(VALUE)';

function misplaced({ template, templatePath }: PlacedTask): FieldError[] {
  const inValues = textsIn(template, templatePath).flatMap(({ path, fields }): FieldError[] => {
    if (fields.some((name) => COMMANDS.includes(name)) || givesContainer(fields))
      return [{ path, message: IN_COMMAND }];
    if (!FIXED.includes(fields.at(-1) ?? "")) return [];
    return [{ path, message: "must not have an expression. Write a task for each of them, with when" }];
  });
  return [...inValues, ...keysWithExpressions(template, templatePath)];
}

/** With commands, or with variables whose values are not escaped. A label may be named env, too. */
function givesContainer(fields: readonly string[]): boolean {
  const [field = "", parent = ""] = fields.toReversed();
  return CONTAINERS.includes(field) || (field === "env" && CONTAINERS.includes(parent));
}

function keysWithExpressions(value: unknown, path: string): FieldError[] {
  const own = Object.keys(isFields(value) ? value : {}).filter(hasExpression);
  return [
    ...own.map(() => ({
      path,
      message: "the name of a field must not have an expression. Write it in full",
    })),
    ...placedValues(value, path, []).flatMap((place) => keysWithExpressions(place.value, place.path)),
  ];
}

function objectErrors(placedTask: PlacedTask, owner: TaskOwner | undefined): FieldError[] {
  const { template, templatePath } = placedTask;
  const { metadata } = template;
  if (metadata !== undefined && !isFields(metadata))
    return [{ path: `${templatePath}.metadata`, message: "expected an object" }];
  return [...metadataErrors(placedTask, fieldsOf(metadata), owner), ...podErrors(placedTask)];
}

function metadataErrors(
  { verb, templatePath, task }: PlacedTask,
  metadata: Fields,
  owner: TaskOwner | undefined,
): FieldError[] {
  const { name, generateName, namespace } = metadata;
  const errors: FieldError[] = [];
  const add = (field: string, message: string): number =>
    errors.push({ path: `${templatePath}.metadata.${field}`, message });
  if (generateName !== undefined)
    add("generateName", "each attempt gets a name of its own, which begins with metadata.name. Use that");
  if (verb === "apply" && nonEmptyText(name) === undefined)
    add("name", "required field is missing: what is applied needs a name");
  if (name !== undefined && nonEmptyText(name) === undefined)
    add("name", "expected a text that is not empty");
  if (namespace !== undefined && owner?.kind === "HookPolicy" && !isOwn(namespace, owner))
    add("namespace", "a HookPolicy's tasks stay in its own namespace. Remove it, or use a ClusterHookPolicy");
  for (const { path, message } of metadataProblems(metadata, task.ownedByCluster === true, isOpen))
    add(path, message);
  return errors;
}

function isOpen(value: unknown): boolean {
  return typeof value === "string" && hasExpression(value);
}

/** A file need not say which namespace the policy is in. */
function isOwn(namespace: unknown, owner: TaskOwner): boolean {
  if (typeof namespace !== "string" || hasExpression(namespace)) return false;
  return owner.namespace === undefined || owner.namespace === namespace;
}

function podErrors({ template: { apiVersion, kind, spec }, templatePath }: PlacedTask): FieldError[] {
  const type = `${String(apiVersion)}/${String(kind)}`;
  if (type === "v1/Pod") return restartErrors(fieldsOf(spec), `${templatePath}.spec`);
  if (type !== "batch/v1/Job") return [];
  const { ttlSecondsAfterFinished, template } = fieldsOf(spec);
  const pod = fieldsOf(fieldsOf(template)["spec"]);
  return [
    ...(ttlSecondsAfterFinished === undefined
      ? []
      : [
          {
            path: `${templatePath}.spec.ttlSecondsAfterFinished`,
            message: "a Job that is gone has not succeeded. Use keep, which removes it after its success",
          },
        ]),
    ...restartErrors(pod, `${templatePath}.spec.template.spec`),
  ];
}

function restartErrors({ restartPolicy = "Always" }: Fields, path: string): FieldError[] {
  if (restartPolicy !== "Always") return [];
  const message = "a Pod that always restarts is never done. Set restartPolicy: Never, or OnFailure";
  return [{ path: `${path}.restartPolicy`, message }];
}

/** Otherwise one Cluster's task would delete what belongs to others. */
function selectorErrors({ template, templatePath }: PlacedTask): FieldError[] {
  const { selector } = template;
  if (selector === undefined) return [];
  const { expressions, problems } = contentsOf(selector, `${templatePath}.selector`);
  const readsCluster = expressions.some(
    ({ source, use }) => (compileExpression(source, use).expression?.clusterPaths.length ?? 0) > 0,
  );
  if (readsCluster || problems.length > 0) return [];
  const message =
    "no value reads cluster, so it selects the same objects for every Cluster. Add a label whose value tells its objects from those of others, such as << cluster.metadata.uid >>; where the objects are beside the Cluster, << cluster.metadata.name >> does";
  return [{ path: `${templatePath}.selector.matchLabels`, message }];
}
