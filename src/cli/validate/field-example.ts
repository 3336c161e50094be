/** What to write in a known field whose value has another type: with the user's words where they fit, otherwise an example. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { isFields } from "../../lib/fields.ts";
import { parseDuration } from "../../lib/duration.ts";
import { stepsOf } from "./value-at.ts";

/** `text`: what the user has written, if it is one text. */
type Example = (text: string | undefined) => unknown;

const GATE = { annotation: { key: "example.com/approved", valueFrom: "ClusterUID" } };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const CLUSTER_NAME = "cluster.metadata.name";
const EXPRESSION = `${CLUSTER_NAME} == 'prod-1'`;
const SCHEDULE = "0 22 * * FRI";
const RANGE = ">=1.33.0 <1.34.0";
const INSTANT = "2026-11-25T12:00:00Z";
const CALL = { hook: "BeforeClusterDelete", cluster: "team-a/prod-1" };

/** By the name of the field, or by the field above it, too, where that is what tells them apart; [] is an item of a list. */
const OBJECTS: Readonly<Record<string, Example>> = {
  "rules[]": (name = "approved") => ({
    name,
    hooks: ["BeforeClusterDelete"],
    until: [{ name: "ok", ...GATE }],
  }),
  "until[]": (name = "approved") => ({ name, ...GATE }),
  "anyOf[]": (name = "approved") => ({ name, ...GATE }),
  "matchConditions[]": (expression = EXPRESSION) => ({ name: "which", expression }),
  "healthyWhen[]": (expression = EXPRESSION) => ({ name: "healthy", expression }),
  annotation: (key = "example.com/approved") => ({ key }),
  label: (key = "example.com/approved") => ({ key }),
  window: (schedule = SCHEDULE) => ({ allow: [{ schedule, duration: "8h" }] }),
  "allow[]": (schedule = SCHEDULE) => ({ schedule, duration: "8h" }),
  "deny[]": (schedule = SCHEDULE) => ({ schedule, duration: "8h" }),
  version: (range = RANGE) => ({ range }),
  object: (kind = "Backup") => ({
    apiVersion: "velero.io/v1",
    kind,
    nameExpression: CLUSTER_NAME,
  }),
  wait: (text) => ({ duration: durationIn(text) ?? "30m" }),
  deadline: (text) => ({ after: durationIn(text) ?? "72h", onExpiry: "KeepBlocking" }),
  clusterSelector: selectorIn,
  namespaceSelector: selectorIn,
  selector: selectorIn,
  "matchExpressions[]": (key = "tier") => ({ key, operator: "Exists" }),
  matchLabels: () => ({ tier: "production" }),
  labels: () => ({ tier: "production" }),
  serviceAccount: (text) => nameIn(text, "hookpolicy-tasks"),
  clusterRef: (text) => nameIn(text, "prod-1"),
  "policyRefs[]": (name = "protect") => ({ kind: "ClusterHookPolicy", name: name.split("/").at(-1) }),
  "spread[]": (labelKey = "topology.kubernetes.io/region") => ({ labelKey, maxConcurrency: 1 }),
  "stages[]": (name = "canary") => ({ name }),
  "tasks[]": (name = "notify") => ({ name, create: { ...CONFIG_MAP, metadata: { name } } }),
  create: () => ({ ...CONFIG_MAP, metadata: { name: "notify" } }),
  apply: () => ({ ...CONFIG_MAP, metadata: { name: "notify" } }),
  delete: () => ({ ...CONFIG_MAP, name: "notify" }),
  // Of suites.
  "asked[]": () => ({ ...CALL, firstAsked: INSTANT }),
  "timers[]": (rule = "approved") => ({ policy: "HookPolicy team-a/protect", rule }),
  settings: () => ({ team: "a" }),
  "steps[]": () => ({ call: CALL, expect: { verdict: "Blocked" } }),
  "patch[]": () => ({ kind: "Cluster", metadata: { name: "prod-1", namespace: "team-a" } }),
  "delete[]": () => ({ kind: "Cluster", namespace: "team-a", name: "prod-1" }),
  call: (hook = CALL.hook) => ({ ...CALL, hook }),
  expect: (verdict = "Blocked") => ({ verdict }),
  "events[]": (reason = "Held") => ({ reason }),
  "metrics[]": (name = "hookpolicy_held_clusters") => ({ name, value: 1 }),
  "steps[].rollouts[]": (name = "upgrades") => ({ name }),
  "steps[].tasks[]": (name = "notify") => ({ name }),
  "tasks[].object": () => ({ data: {} }),
  timeline: () => ({
    ...CALL,
    to: "2026-11-27T12:00:00Z",
    expect: [{ verdict: "Blocked" }],
  }),
  "timeline.expect[]": (verdict = "Blocked") => ({ verdict }),
};

/** Texts with a form of their own, so that quotes around a number do not make one. */
const FORMS: Readonly<Record<string, string>> = {
  schedule: SCHEDULE,
  timeZone: "Europe/Berlin",
  from: "2026-11-26",
  to: "2026-11-28",
  range: RANGE,
  expression: EXPRESSION,
  nameExpression: CLUSTER_NAME,
  when: EXPRESSION,
  succeeded: "object.status.phase == 'Completed'",
  failed: "object.status.phase == 'Failed'",
  expiresAt: INSTANT,
  ignoreFailuresBefore: INSTANT,
  at: INSTANT,
  firstAsked: INSTANT,
  blockedSince: INSTANT,
  gatesMetSince: INSTANT,
  "timeline.to": INSTANT,
  "expect[].from": INSTANT,
  "expect[].to": INSTANT,
  duration: "8h",
  after: "72h",
  warnBefore: "4h",
  progressDeadline: "2h",
  minSuccessTime: "24h",
  timeout: "15m",
  validFor: "24h",
  keep: "24h",
  advance: "3h",
  nextChange: "in 3h",
  cluster: "team-a/prod-1",
};

const NUMBERS: Readonly<Record<string, number>> = {
  retryAfterSeconds: 30,
  minCount: 1,
  maxCount: 0,
  retries: 3,
};

/** `undefined`: the value has the type of the schema, or its words alone are wrong. */
export function exampleFor(schema: CrdSchema, value: unknown, path: string): string | undefined {
  if (isOfType(schema, value)) return undefined;
  const text = textIn(value);
  switch (schema.type) {
    case "object":
      return mapExample(schema, path, text);
    case "array":
      return listExample(schema.items, path, text);
    case "string":
      return textExample(schema, value, path);
    case "boolean":
      return schema.enum === undefined ? "write true or false" : "write true, or leave the field out";
    case "integer":
      return `write a number, such as ${NUMBERS[nameOf(path)] ?? 1}`;
    default:
      return "write a number or a percentage, such as 1 or 10%";
  }
}

function isOfType({ type }: CrdSchema, value: unknown): boolean {
  if (value === null) return false;
  const is = Array.isArray(value) ? "array" : typeof value === "number" ? "integer" : typeof value;
  return typeof type === "string" ? type === is : type.some((each) => each === is);
}

function textIn(value: unknown): string | undefined {
  const [only, ...others]: readonly unknown[] = Array.isArray(value) ? value : [value];
  return typeof only === "string" && only !== "" && others.length === 0 ? only : undefined;
}

function mapExample({ properties = {} }: CrdSchema, path: string, text: string | undefined): string {
  const example = known(OBJECTS, path);
  return example === undefined
    ? `write a map of its fields: ${Object.keys(properties).join(", ")}`
    : `write a map, such as ${flow(example(text))}`;
}

function listExample(
  items: CrdSchema | undefined,
  path: string,
  text: string | undefined,
): string | undefined {
  const example = known(OBJECTS, `${path}[]`);
  if (example !== undefined) return `write a list, such as [${flow(example(text))}]`;
  if (Array.isArray(items?.type)) return "write a list, such as [file.yaml]";
  return `write a list, such as [${scalar(text ?? String(items?.enum?.[0] ?? "production"))}]`;
}

function textExample({ enum: words }: CrdSchema, value: unknown, path: string): string | undefined {
  if (words !== undefined) return `write one word: ${words.join(", ")}`;
  const form = known(FORMS, path);
  if (typeof value === "object") {
    const text = textIn(value);
    if (text !== undefined) return `write one text: ${scalar(text)}`;
    return `write one text, such as ${JSON.stringify(form ?? nameOf(path))}`;
  }
  return form === undefined ? undefined : `write a text such as ${JSON.stringify(form)}`;
}

/** The entry of the last two fields, or else of the last one. */
function known<T>(table: Readonly<Record<string, T>>, path: string): T | undefined {
  const fields = path
    .replaceAll(/\[\d+\]/g, "[]")
    .replaceAll(/\banyOf\[\]\./g, "")
    .split(".");
  const [long, short] = [fields.slice(-2).join("."), fields.at(-1) ?? ""];
  return Object.hasOwn(table, long) ? table[long] : Object.hasOwn(table, short) ? table[short] : undefined;
}

function nameOf(path: string): string {
  return stepsOf(path).findLast((step) => !/^\d+$/.test(step)) ?? "";
}

function durationIn(text: string | undefined): string | undefined {
  return text !== undefined && parseDuration(text) !== undefined ? text : undefined;
}

function selectorIn(text: string | undefined): object {
  const [, key = "tier", value = ""] = /^([^\s:=]+)(?:==?|:)?([^\s:=]*)$/.exec(text ?? "") ?? [];
  return { matchLabels: { [key]: value === "" ? "production" : value } };
}

function nameIn(text: string | undefined, other: string): object {
  const [name = other, namespace = "team-a"] = (text ?? other).split("/").toReversed();
  return { namespace, name };
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => flow(each)).join(", ")}]`;
  if (!isFields(value)) return typeof value === "string" ? scalar(value) : JSON.stringify(value);
  const fields = Object.entries(value).map(([key, each]) => `${key}: ${flow(each)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** Words that need no quotes in a list or map in one line. */
export const PLAIN = /^[A-Za-z][\w./:=-]*$/;

/** YAML 1.1 reads more words than true and false as booleans. */
const NO_TEXT = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

export function scalar(text: string): string {
  return PLAIN.test(text) && !NO_TEXT.test(text) ? text : JSON.stringify(text);
}
