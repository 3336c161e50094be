/** The JSON Schema of a HookPolicyTest, for `hookpolicy test` and for completion in editors. */

import { HOOK_NAMES, MAX_VERSION, VERSION_PATTERN } from "../../api/runtime-hooks.ts";
import { ADMISSION_VERDICTS } from "../../policy/admission.ts";
import type { Verdict } from "../../policy/decision.ts";
import { OPERATIONS } from "../../operations/beginnings.ts";
import { EVENT_REASONS, METRIC_LABELS, TASK_PHASES } from "./spec.ts";

export const SUITE_GROUP = "cli.hookpolicy.dev";
export const SUITE_API_VERSION = `${SUITE_GROUP}/v1alpha1`;
export const SUITE_KIND = "HookPolicyTest";

const text = (description: string): object => ({ type: "string", minLength: 1, description });
const word = (words: readonly string[], description: string): object => ({
  type: "string",
  enum: words,
  description,
});
const instant = (description: string): object => ({
  type: "string",
  format: "date-time",
  "x-expected": 'an instant such as "2026-11-21T12:00:00Z"',
  description: `${description} (RFC 3339: "2026-11-21T12:00:00Z")`,
});
const pattern = (description: string): object => ({
  type: "string",
  format: "regex",
  "x-expected": "a regular expression (RE2)",
  description: `Regular expression (RE2) that ${description}`,
});
const version = (description: string): object => ({
  type: "string",
  pattern: VERSION_PATTERN,
  maxLength: MAX_VERSION,
  "x-expected": 'a version in full, such as "v1.36.0"',
  description,
});
/** At least one item. */
const list = (items: object, description: string): object => ({
  type: "array",
  minItems: 1,
  items,
  description,
});
const texts = { type: "object", additionalProperties: { type: "string" } };
const CLUSTER = {
  type: "string",
  pattern: "^[^/ ]+/[^/ ]+$",
  "x-expected": "namespace/name",
  description: "namespace/name of a Cluster of this suite",
};
const clusters = (description: string): object => ({ type: "array", items: CLUSTER, description });
const POLICY = text(
  'A policy of this suite: its name, or "HookPolicy team-a/protect", "ClusterHookPolicy freeze", "ClusterHookPolicy/freeze"',
);
export const VERDICTS: readonly Verdict[] = ["Allowed", "Observed", "WouldBlock", "Blocked", "NotEvaluable"];

/** `name`: that of its type, in spec.gen.ts or spec.ts. */
function record(
  name: string,
  properties: object,
  required: readonly string[] = [],
  more: object = {},
): object {
  return { "x-type": name, type: "object", additionalProperties: false, properties, required, ...more };
}

/** Paths of files, folders and globs, relative to the suite's folder, or inline objects. */
function sources(what: string, more: object = {}): object {
  return {
    "x-type": "Sources",
    type: "array",
    description: `${what}: files, folders and globs, relative to this file, or objects`,
    items: { type: ["string", "object"], "x-expected": "a path or an object" },
    ...more,
  };
}

const OBJECT_REF = record(
  "ObjectRefSpec",
  {
    apiVersion: text("As in the object"),
    kind: text("As in the object"),
    namespace: text("As in the object; needed only where the name alone is ambiguous"),
    name: text("As in the object"),
  },
  ["kind", "name"],
);

const CALL_FIELDS = {
  hook: word(HOOK_NAMES, "The hook that Cluster API calls"),
  cluster: CLUSTER,
  fromKubernetesVersion: text(
    "For hooks before an upgrade; default: the version that the Cluster shows, otherwise it is unknown",
  ),
  toKubernetesVersion: version(
    "For hooks before an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of BeforeClusterUpgrade, another version becomes its spec.topology.version",
  ),
  kubernetesVersion: version(
    "For hooks after an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of AfterClusterUpgrade, another version becomes its spec.topology.version",
  ),
  settings: { ...texts, description: "spec.settings of the ExtensionConfig" },
};

/** A call of a hook, or a request to the API server. */
const CALL = record(
  "CallSpec | RequestSpec",
  {
    ...CALL_FIELDS,
    admission: word(
      OPERATIONS,
      "Instead of hook: a request to the API server, which rules with admission refuse or warn about",
    ),
  },
  ["cluster"],
  {
    description: "A call by Cluster API, or a request to the API server that is not stored yet",
    oneOf: [{ required: ["hook"] }, { required: ["admission"] }],
    "x-expected": "hook or admission, one of them",
  },
);

const EXPECT = record(
  "ExpectSpec",
  {
    verdict: word(
      [...VERDICTS, ...ADMISSION_VERDICTS],
      `The verdict of all policies together; for a request at admission: ${ADMISSION_VERDICTS.join(", ")}`,
    ),
    policy: POLICY,
    rule: text("The rule that decides"),
    gate: text("The gate that is not met; in an answer that releases, a gate that is met"),
    task: text("The task that the rule waits for"),
    rollout: text("The HookRollout that holds the Cluster after every policy has released it"),
    stage: text("The Cluster's stage of the HookRollout, or the stage that it waits for"),
    reason: text(
      "The gate's or the task's reason if that is set, otherwise the rule's; under a HookRollout, why it holds",
    ),
    retryAfterSeconds: { type: "integer", minimum: 0, maximum: 300, description: "0: it proceeds" },
    message: pattern("the message matches; for a request, the refusal or the warnings"),
    nextChange: {
      anyOf: [{ format: "date-time" }, { enum: ["Never", "Unknown"] }],
      type: "string",
      "x-expected": 'an instant, "Never" or "Unknown"',
      description: 'When time alone changes what a policy says: an instant, "Never" or "Unknown"',
    },
  },
  [],
  { minProperties: 1 },
);

const EVENT = record(
  "EventSpec",
  {
    reason: word(EVENT_REASONS, "If a reason is named, all of its Events must be listed"),
    about: text(
      '"Cluster team-a/prod-1", "HookPolicy team-a/protect", "ClusterHookPolicy freeze" or "HookRollout upgrades"',
    ),
    message: pattern("the Event's note matches"),
  },
  ["reason"],
);

const METRIC = record(
  "MetricSpec",
  {
    name: word(Object.keys(METRIC_LABELS), "The name under which the operator exports it"),
    labels: { ...texts, description: "Labels of the series to add up; absent: all series of the metric" },
    value: { type: "number", description: "The sum of these series" },
  },
  ["name", "value"],
);

const SPAN = record(
  "SpanSpec",
  {
    verdict: word(VERDICTS, "If a verdict is named, all of its spans must be listed"),
    from: instant("Default: the clock of this step"),
    to: instant("Default: the end of the timeline"),
  },
  ["verdict"],
);

const ROLLOUT = record(
  "RolloutExpectSpec",
  {
    name: text("A HookRollout of this suite"),
    target: text("The version that Clusters are upgraded to"),
    stage: text("The first stage that has not passed"),
    halted: { type: "boolean", description: "Whether it is halted" },
    running: clusters("All that have a slot, in any order"),
    next: clusters("The queue, in its order, of at most ten Clusters"),
    failed: clusters("All that have failed, in any order"),
  },
  ["name"],
  { minProperties: 2 },
);

const TASK = record(
  "TaskExpectSpec",
  {
    name: text("A task of a policy of this suite"),
    cluster: CLUSTER,
    phase: word(
      TASK_PHASES,
      "None: it has not begun for the operation that is pending, or was last; Retrying: an attempt has failed, and another follows",
    ),
    attempts: { type: "integer", minimum: 0, description: "How many have begun" },
    object: {
      "x-type": "RawObject",
      type: "object",
      description: "Fields of the object of its last attempt; without one, of what the task does",
    },
  },
  ["name"],
  { minProperties: 2 },
);

const STEP = record(
  "StepSpec",
  {
    name: text("Shown in reports"),
    at: instant("Moves the clock, never backwards"),
    advance: {
      type: "string",
      format: "duration",
      "x-expected": 'a duration such as "90s", "1h30m" or "168h"',
      description: 'Moves the clock ("90s", "1h30m")',
    },
    create: sources("Objects to create", { minItems: 1 }),
    patch: list(
      { "x-type": "RawObject", type: "object" },
      "JSON merge patches: objects with kind and metadata.name, and the fields that change",
    ),
    delete: list(OBJECT_REF, "Objects to delete"),
    completed: list(CLUSTER, "Clusters whose operation, which a HookRollout has released, succeeds"),
    failed: list(
      CLUSTER,
      "Clusters whose upgrade ends, and that are unhealthy for the 30 s that this step takes",
    ),
    retry: list(text("A task"), "Tasks that have failed and that a person tries again"),
    call: CALL,
    expect: EXPECT,
    events: {
      type: "array",
      items: EVENT,
      description: "The Events that the operator writes in this step; []: none",
    },
    metrics: list(METRIC, "The metrics that the operator exports after this step"),
    rollouts: list(ROLLOUT, "The statuses of HookRollouts after this step"),
    tasks: list(TASK, "What tasks have done after this step"),
    timeline: record(
      "TimelineSpec",
      {
        ...CALL_FIELDS,
        to: instant("The end"),
        expect: list(SPAN, "The expected verdicts, and when they apply"),
      },
      ["hook", "cluster", "to", "expect"],
      { description: "The answers from the clock to an instant, if nothing but time passes" },
    ),
  },
  [],
  { minProperties: 1, dependencies: { expect: ["call"] } },
);

const ASKED = record(
  "AskedSpec",
  {
    ...CALL_FIELDS,
    firstAsked: instant("When Cluster API asked for the first time"),
    timers: {
      type: "array",
      description: "Timers of rules with a deadline or a wait, as in status.decisions[].timers",
      items: record(
        "TimersSpec",
        {
          policy: POLICY,
          rule: text("A rule of the policy"),
          blockedSince: instant("Its deadline counts from here"),
          gatesMetSince: instant("Its wait counts from here"),
        },
        ["policy", "rule"],
      ),
    },
  },
  ["hook", "cluster", "firstAsked"],
);

/** Editors read the schema, too (yaml-language-server), so every field has a description. */
export const SUITE_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: SUITE_KIND,
  description: "A test of HookPolicies and HookRollouts: run by `hookpolicy test`",
  ...record(
    "HookPolicyTest",
    {
      apiVersion: { type: "string", enum: [SUITE_API_VERSION] },
      kind: { type: "string", enum: [SUITE_KIND] },
      metadata: { type: "object", properties: { name: text("Shown in reports") }, required: ["name"] },
      spec: record(
        "SuiteSpec",
        {
          capiVersion: {
            type: "string",
            pattern: String.raw`^1\.\d{1,3}$`,
            "x-expected": "a version such as 1.14",
            description: "Cluster API version that calls (default: 1.14)",
          },
          at: instant("The clock when the first step begins"),
          policies: sources("HookPolicies and ClusterHookPolicies", { minItems: 1 }),
          rollouts: sources("HookRollouts", { minItems: 1 }),
          clusters: sources("Clusters", { minItems: 1 }),
          namespaces: sources("Namespaces"),
          objects: sources("The objects that object gates look at"),
          overrides: sources("HookOverrides"),
          asked: { type: "array", items: ASKED, description: "Calls that Cluster API has made before" },
          steps: list(STEP, "In this order"),
        },
        ["at", "clusters", "steps"],
        {
          anyOf: [{ required: ["policies"] }, { required: ["rollouts"] }],
          "x-expected": "policies, rollouts or both",
        },
      ),
    },
    ["apiVersion", "kind", "metadata", "spec"],
  ),
};
