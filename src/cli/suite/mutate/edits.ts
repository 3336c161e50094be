/**
 * Lists the small changes of a policy that a test should notice, such as a missing gate, another operator or hour, or
 * Audit instead of Enforce. Fields are found by their names, wherever they are.
 */

import type { Steps } from "../../../lib/field-path.ts";
import { type Fields, fieldsOf, isFields, listOf } from "../../../lib/fields.ts";
import { allConditionsOf } from "../../../policy/gates/gates.ts";
import { changedExpressions } from "./expression-edits.ts";
import { halved, hourLater, laterSchedules, otherZone } from "./time-edits.ts";

export interface Edit {
  readonly path: Steps;
  /** Absent: removed. */
  readonly to?: unknown;
}

export function* editsOf(spec: Fields): Generator<Edit> {
  yield* modes(spec);
  yield* within(spec, ["spec"]);
}

const OTHER_MODE: Readonly<Record<string, string>> = { Enforce: "Audit", Audit: "Enforce" };
const OTHER_FAILURE: Readonly<Record<string, string>> = { Fail: "Ignore", Ignore: "Fail" };

/** Both fields have a default. Without a gate, or without a part that can fail, a change of them has no effect. */
function* modes(spec: Fields): Generator<Edit> {
  const { mode = "Enforce", failurePolicy = "Fail" } = spec;
  const gated = listOf(spec["rules"])
    .map(fieldsOf)
    .some(({ until, tasks }) => listOf(until).length + listOf(tasks).length > 0);
  if (!gated) return;
  yield { path: ["spec", "mode"], to: OTHER_MODE[String(mode)] };
  if (canFail(spec)) yield { path: ["spec", "failurePolicy"], to: OTHER_FAILURE[String(failurePolicy)] };
}

/** Whether a part of it can be not evaluable. */
function canFail(spec: Fields): boolean {
  if ("namespaceSelector" in spec) return true;
  return listOf(spec["rules"]).some((rule) => {
    const { matchConditions, until, tasks } = fieldsOf(rule);
    const conditions = listOf(until).flatMap((gate) => allConditionsOf(gate));
    return (
      matchConditions !== undefined ||
      listOf(tasks).some(
        (task) => fieldsOf(task)["when"] !== undefined || JSON.stringify(task).includes("<<"),
      ) ||
      conditions.some((condition) => condition.kind.canFail?.(condition.spec) === true)
    );
  });
}

function* within(value: unknown, path: Steps, parent?: unknown): Generator<Edit> {
  const key = path.at(-1);
  // The fields of a template are those of another kind.
  if (path.at(-3) === "tasks" && TEMPLATES.has(String(key))) return;
  const changed = typeof key === "string" ? BY_NAME.get(key)?.(value, path, parent) : undefined;
  for (const to of changed ?? NO_CHANGE) yield { path, to };
  if (Array.isArray(value)) yield* inList(value, path);
  else if (isFields(value)) {
    if (key === "matchLabels") yield* labels(value, path);
    else for (const [field, inner] of Object.entries(value)) yield* within(inner, [...path, field], value);
  }
}

const TEMPLATES: ReadonlySet<string> = new Set(["create", "apply", "delete"]);

/** A list goes with its last item. */
function* inList(items: readonly unknown[], path: Steps): Generator<Edit> {
  for (const [index, item] of items.entries()) {
    yield { path: items.length === 1 ? path : [...path, index] };
    if (path.at(-1) === "anyOf" && items.length === 2) yield { path: path.slice(0, -1), to: item };
    yield* within(item, [...path, index]);
  }
}

function* labels(wanted: Fields, path: Steps): Generator<Edit> {
  for (const [label, value] of Object.entries(wanted)) {
    yield { path: [...path, label] };
    if (typeof value === "string") yield { path: [...path, label], to: `${value}-x` };
  }
}

const REMOVED = undefined;
type ChangedValues = Iterable<unknown>;
type Change = (value: unknown, path: Steps, parent: unknown) => ChangedValues;

const NO_CHANGE: ChangedValues = [];

function ifText(change: (text: string, path: Steps) => ChangedValues): Change {
  return (value, path) => (typeof value === "string" ? change(value, path) : NO_CHANGE);
}

const some = (value: unknown): ChangedValues => (value === undefined ? NO_CHANGE : [value]);
const turned = (table: Readonly<Record<string, string>>): Change => ifText((text) => some(table[text]));
const isInObject = (path: Steps): boolean => path.at(-2) === "object";
const nameOfObject = ifText((text, path) => (isInObject(path) ? [`${text}-x`] : NO_CHANGE));

const CHANGES: Readonly<Record<string, Change>> = {
  admission: turned({ Deny: "Warn", Warn: "None" }),
  deadline: changedDeadlines,
  onExpiry: turned({ Allow: "KeepBlocking", KeepBlocking: "Allow" }),
  duration: ifText((text) => some(halved(text))),
  schedule: ifText(laterSchedules),
  timeZone: (value, _, window) =>
    typeof value === "string" && hasLocalTimes(window) ? [otherZone(value)] : NO_CHANGE,
  from: ifText((text) => (text === "Namespace" ? ["Cluster"] : some(hourLater(text)))),
  to: ifText((text) => some(hourLater(text))),
  key: ifText((text) => [`${text}-x`]),
  value: ifText((text) => [`${text}-x`, REMOVED]),
  valueFrom: ifText((text) => [...some(OTHER_VALUE[text]), REMOVED]),
  operator: turned({ In: "NotIn", NotIn: "In", Exists: "DoesNotExist", DoesNotExist: "Exists" }),
  expression: ifText((text, path) => [
    `!(${text})`,
    ...changedExpressions(text),
    ...(isInObject(path) ? [REMOVED] : []),
  ]),
  nameExpression: ifText(changedExpressions),
  when: ifText((text) => [`!(${text})`, ...changedExpressions(text), REMOVED]),
  begins: turned({ First: "Last", Last: "First" }),
  onFailure: turned({ Hold: "Proceed", Proceed: "Hold" }),
  succeeded: ifText((text) => [`!(${text})`, ...changedExpressions(text)]),
  failed: ifText((text) => [`!(${text})`, ...changedExpressions(text), REMOVED]),
  name: nameOfObject,
  namespace: nameOfObject,
  range: ifText(changedRanges),
  minCount: counted,
  maxCount: counted,
  absent: (value) => (value === true ? [REMOVED] : NO_CHANGE),
};
const BY_NAME: ReadonlyMap<string, Change> = new Map(Object.entries(CHANGES));

const OFFSET = /(?:Z|[+-]\d\d:\d\d)$/i;

/** An instant with an offset does not depend on the time zone. */
function hasLocalTimes(window: unknown): boolean {
  const { allow, deny } = fieldsOf(window);
  return [...listOf(allow), ...listOf(deny)].map(fieldsOf).some(({ schedule, from, to }) => {
    const instants = [from, to].filter((each) => typeof each === "string");
    return schedule !== undefined || instants.some((each) => !OFFSET.test(each));
  });
}

/** A deadline that keeps blocking changes no answer. */
function changedDeadlines(value: unknown): ChangedValues {
  const { onExpiry, after, ...rest } = fieldsOf(value);
  if (onExpiry !== "Allow") return NO_CHANGE;
  const sooner = typeof after === "string" ? halved(after) : undefined;
  return [REMOVED, ...(sooner === undefined ? [] : [{ after: sooner, onExpiry, ...rest }])];
}

const OTHER_VALUE: Readonly<Record<string, string>> = {
  ClusterUID: "ClusterName",
  ClusterName: "ClusterUID",
};

function counted(value: unknown): ChangedValues {
  return typeof value === "number" ? [value + 1, ...(value > 0 ? [value - 1] : [])] : NO_CHANGE;
}

const OTHER_BOUND: Readonly<Record<string, string>> = { ">=": ">", "<=": "<", ">": ">=", "<": "<=" };

/** Includes or excludes the version of each bound, and raises each minor version by one. */
function* changedRanges(range: string): Generator<string> {
  for (const { 0: found, index } of range.matchAll(/[<>]=?/g))
    yield `${range.slice(0, index)}${OTHER_BOUND[found]}${range.slice(index + found.length)}`;
  for (const { 0: found, index } of range.matchAll(/(?<=(?<![\d.])\d+\.)\d+/g))
    yield `${range.slice(0, index)}${Number(found) + 1}${range.slice(index + found.length)}`;
}
