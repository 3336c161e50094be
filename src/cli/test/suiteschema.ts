/** The JSON Schema of a HookPolicyTest, for `hookpolicy test` and for completion in editors. */

import { HOOK_NAMES } from "../../api/runtimehooks.ts";
import { ADMISSION_VERDICTS } from "../../policy/admission.ts";
import { REQUESTS } from "../fleet/requestnames.ts";
import { EVENT_REASONS, METRIC_LABELS } from "./spec.ts";

export const SUITE_GROUP = "cli.hookpolicy.dev";
export const SUITE_API_VERSION = `${SUITE_GROUP}/v1alpha1`;
export const SUITE_KIND = "HookPolicyTest";

const text = (description: string): object => ({ type: "string", minLength: 1, description });
const instant = (description: string): object => ({
  type: "string",
  format: "date-time",
  description: `${description} (RFC 3339: "2026-11-21T12:00:00Z")`,
});
const duration = (description: string): object => ({
  type: "string",
  format: "duration",
  description: `${description} ("90s", "1h30m")`,
});
const CLUSTER = {
  type: "string",
  pattern: "^[^/ ]+/[^/ ]+$",
  "x-expected": "namespace/name",
  description: "namespace/name of a Cluster of this suite",
};
const POLICY = text(
  'A policy of this suite: its name, or "HookPolicy team-a/protect", "ClusterHookPolicy freeze"',
);
const CLUSTERS = (description: string): object => ({ type: "array", items: CLUSTER, description });
const VERDICTS = ["Allowed", "Observed", "WouldBlock", "Blocked", "NotEvaluable"];

function record(properties: object, required: readonly string[] = [], more: object = {}): object {
  return { type: "object", additionalProperties: false, properties, required, ...more };
}

/** Paths of files, folders and globs, relative to the suite's folder, or inline objects. */
function sources(what: string, more: object = {}): object {
  return {
    type: "array",
    description: `${what}: files, folders and globs, relative to this file, or objects`,
    items: { type: ["string", "object"] },
    ...more,
  };
}

const OBJECT_REF = record(
  {
    apiVersion: text("As in the object"),
    kind: text("As in the object"),
    namespace: text("Absent: none"),
    name: text("Its name"),
  },
  ["kind", "name"],
);

const CALL_FIELDS = {
  hook: { type: "string", enum: [...HOOK_NAMES], description: "What Cluster API asks" },
  cluster: CLUSTER,
  fromKubernetesVersion: text(
    "Hooks before an upgrade; default: what the Cluster shows, else it is not known",
  ),
  toKubernetesVersion: text(
    "Hooks before an upgrade; default: what the Cluster shows, else its spec.topology.version. For BeforeClusterUpgrade, another one becomes its spec.topology.version",
  ),
  kubernetesVersion: text(
    "Hooks after an upgrade; default: what the Cluster shows, else its spec.topology.version. For AfterClusterUpgrade, another one becomes its spec.topology.version",
  ),
  settings: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "spec.settings of the ExtensionConfig",
  },
};

/** A call of a hook, or a request to the API server. */
const CALL = record(
  {
    ...CALL_FIELDS,
    admission: {
      type: "string",
      enum: [...REQUESTS],
      description:
        "Instead of hook: a request to the API server, which rules with admission refuse or warn of",
    },
  },
  ["cluster"],
  {
    description: "Cluster API asks, or the API server before it stores a request",
    oneOf: [{ required: ["hook"] }, { required: ["admission"] }],
  },
);

const EXPECT = record(
  {
    verdict: {
      type: "string",
      enum: [...VERDICTS, ...ADMISSION_VERDICTS],
      description: `Of all policies together; of a request at admission: ${ADMISSION_VERDICTS.join(", ")}`,
    },
    policy: POLICY,
    rule: text("The rule that decides"),
    gate: text("The gate that does not hold; of an answer that releases, one that holds"),
    rollout: text("The HookRollout that holds it, once every policy has released it"),
    stage: text("Of the HookRollout: the Cluster's, or the one that it waits for"),
    reason: text("Of the gate, if there is one, else of the rule; of a HookRollout, why it holds"),
    retryAfterSeconds: { type: "integer", minimum: 0, maximum: 300, description: "0: it proceeds" },
    message: {
      type: "string",
      format: "regex",
      description:
        "Regular expression (RE2) that the message matches; of a request, the refusal or the warnings",
    },
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
  {
    reason: {
      type: "string",
      enum: EVENT_REASONS,
      description: "All Events of a reason that is named must be listed",
    },
    about: text(
      '"Cluster team-a/prod-1", "HookPolicy team-a/protect", "ClusterHookPolicy freeze" or "HookRollout upgrades"',
    ),
    message: {
      type: "string",
      format: "regex",
      description: "Regular expression (RE2) that the Event's note matches",
    },
  },
  ["reason"],
);

const METRIC = record(
  {
    name: { type: "string", enum: Object.keys(METRIC_LABELS), description: "As the operator shows it" },
    labels: {
      type: "object",
      description: "The series that count; absent: all of the metric",
      additionalProperties: { type: "string" },
    },
    value: { type: "number", description: "Of these series together" },
  },
  ["name", "value"],
);

const SPAN = record(
  {
    verdict: {
      type: "string",
      enum: VERDICTS,
      description: "All spans of a verdict that is named must be listed",
    },
    from: instant("Default: the clock of this step"),
    to: instant("Default: the end of the timeline"),
  },
  ["verdict"],
);

const ROLLOUT = record(
  {
    name: text("A HookRollout of this suite"),
    target: text("The version that Clusters are upgraded to"),
    stage: text("The first stage that has not passed"),
    halted: { type: "boolean", description: "Whether it is halted" },
    running: CLUSTERS("All that have a slot, in any order"),
    next: CLUSTERS("The queue, in its order, of at most ten Clusters"),
    failed: CLUSTERS("All that have failed, in any order"),
  },
  ["name"],
  { minProperties: 2 },
);

const STEP = record(
  {
    name: text("Shown in reports"),
    at: instant("Moves the clock, never backwards"),
    advance: duration("Moves the clock"),
    create: sources("Objects that come to be", { minItems: 1 }),
    patch: {
      type: "array",
      minItems: 1,
      description: "JSON merge patches: objects with kind and metadata.name, and the fields that change",
      items: { type: "object" },
    },
    delete: { type: "array", minItems: 1, items: OBJECT_REF, description: "Objects that go" },
    completed: {
      ...CLUSTERS("Clusters whose operation, which a HookRollout has released, ends well"),
      minItems: 1,
    },
    failed: {
      ...CLUSTERS("Clusters whose upgrade ends, and that are unhealthy for the 30 s that this step takes"),
      minItems: 1,
    },
    call: CALL,
    expect: EXPECT,
    events: {
      type: "array",
      items: EVENT,
      description: "What the operator reports in this step; [] is nothing",
    },
    metrics: {
      type: "array",
      minItems: 1,
      items: METRIC,
      description: "What the operator shows after this step",
    },
    rollouts: {
      type: "array",
      minItems: 1,
      items: ROLLOUT,
      description: "What statuses of HookRollouts say after this step",
    },
    timeline: record(
      {
        ...CALL_FIELDS,
        to: instant("The end"),
        expect: { type: "array", minItems: 1, items: SPAN, description: "What is answered when" },
      },
      ["hook", "cluster", "to", "expect"],
      { description: "What would be answered from the clock to an instant, if nothing but time passed" },
    ),
  },
  [],
  { minProperties: 1, dependencies: { expect: ["call"] } },
);

const ASKED = record(
  {
    ...CALL_FIELDS,
    firstAsked: instant("When Cluster API asked for the first time"),
    timers: {
      type: "array",
      description: "Of rules with a deadline or a wait, as in status.decisions[].timers",
      items: record(
        {
          policy: POLICY,
          rule: text("A rule of it"),
          blockedSince: instant("Its deadline counts from here"),
          gatesMetSince: instant("Its wait counts from here"),
        },
        ["policy", "rule"],
      ),
    },
  },
  ["hook", "cluster", "firstAsked"],
);

/** Editors read it too (yaml-language-server), so every field has a description. */
export const SUITE_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: SUITE_KIND,
  description: "A test of HookPolicies and HookRollouts: run by `hookpolicy test`",
  ...record(
    {
      apiVersion: { type: "string", enum: [SUITE_API_VERSION] },
      kind: { type: "string", enum: [SUITE_KIND] },
      metadata: { type: "object", properties: { name: text("Shown in reports") }, required: ["name"] },
      spec: record(
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
          objects: sources("What object gates look at"),
          overrides: sources("HookOverrides"),
          asked: { type: "array", items: ASKED, description: "What Cluster API has asked before" },
          steps: { type: "array", minItems: 1, items: STEP, description: "In this order" },
        },
        ["at", "clusters", "steps"],
        { anyOf: [{ required: ["policies"] }, { required: ["rollouts"] }] },
      ),
    },
    ["apiVersion", "kind", "metadata", "spec"],
  ),
};
