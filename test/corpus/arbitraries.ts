/** Policies, overrides and rollouts that nobody thought of: valid ones, and valid ones with something done to them. */

import * as fc from "fast-check";
import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import type { KubeObject } from "../controlplane/client.ts";
import {
  deadline,
  duration,
  expression,
  gate,
  instant,
  key,
  label,
  labelValue,
  matchConditions,
  type NamedObject,
  named,
  selector,
  stageGate,
  text,
} from "./gate-arbitraries.ts";

const message = text.map((t) => `ask ${t.replaceAll(/[\p{Cc}\u2028\u2029]/gu, "")}`);

function rule(hooks: readonly string[], gates?: fc.Arbitrary<NamedObject>): fc.Arbitrary<NamedObject> {
  return fc.record(
    {
      name: label,
      hooks: fc.subarray([...hooks], { minLength: 1 }),
      matchConditions,
      ...(gates && { until: named(gates), deadline }),
      message,
      retryAfterSeconds: fc.integer({ min: 5, max: 300 }),
    },
    { requiredKeys: ["name", "hooks", ...(gates ? ["until" as const] : [])] },
  );
}

function rules(fleet: boolean): fc.Arbitrary<NamedObject[]> {
  return named(
    fc.oneof(
      rule(HOOK_NAMES),
      rule(["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"], gate(false, fleet)),
      rule(["BeforeClusterUpgrade", "AfterControlPlaneUpgrade", "AfterClusterUpgrade"], gate(true, fleet)),
    ),
  );
}

const spec = {
  mode: fc.constantFrom("Enforce", "Audit"),
  failurePolicy: fc.constantFrom("Fail", "Ignore"),
  clusterSelector: selector,
};
const head = { apiVersion: fc.constant("hookpolicy.dev/v1alpha1"), metadata: fc.record({ name: label }) };

const policyRef = fc.oneof(
  fc.record({ kind: fc.constant("HookPolicy"), name: label, namespace: label }),
  fc.record({ kind: fc.constant("ClusterHookPolicy"), name: label }),
);
const overrideSpec = fc.record(
  {
    clusterRef: fc.record(
      { namespace: label, name: label, uid: fc.uuid() },
      { requiredKeys: ["namespace", "name"] },
    ),
    hooks: fc.subarray([...HOOK_NAMES], { minLength: 1 }),
    policyRefs: fc.array(policyRef, { minLength: 1, maxLength: 3 }),
    reason: message,
    expiresAt: instant,
  },
  { requiredKeys: ["clusterRef", "hooks", "reason", "expiresAt"] },
);

export const validPolicy: fc.Arbitrary<KubeObject> = fc.oneof(
  fc.record({
    ...head,
    kind: fc.constant("HookPolicy"),
    spec: fc.record({ ...spec, rules: rules(false) }, { requiredKeys: ["rules"] }),
  }),
  fc.record({
    ...head,
    kind: fc.constant("ClusterHookPolicy"),
    spec: fc.record(
      { ...spec, namespaceSelector: selector, rules: rules(true) },
      { requiredKeys: ["namespaceSelector", "rules"] },
    ),
  }),
);

const validOverride: fc.Arbitrary<KubeObject> = fc.record({
  ...head,
  kind: fc.constant("HookOverride"),
  spec: overrideSpec,
});

const percentage = fc.nat({ max: 100 }).map((n) => `${n}%`);
const upTo = (max: number): fc.Arbitrary<number | string> => fc.oneof(fc.nat({ max }), percentage);
const stage = fc.record(
  {
    name: label,
    clusterSelector: fc.record({ matchLabels: fc.dictionary(key, labelValue, { minKeys: 1, maxKeys: 2 }) }),
    namespaceSelector: selector,
    maxConcurrency: upTo(200),
    minSucceeded: upTo(10_000),
    minSuccessTime: fc.oneof(duration, fc.constant("0s")),
    maxFailures: upTo(50),
    until: named(stageGate),
  },
  { requiredKeys: ["name", "clusterSelector"] },
);
const rolloutSpec = {
  mode: fc.constantFrom("Enforce", "Audit"),
  paused: fc.boolean(),
  namespaceSelector: selector,
  clusterSelector: selector,
  maxConcurrency: upTo(200),
  spread: fc.uniqueArray(
    fc.record(
      { labelKey: key, from: fc.constantFrom("Cluster", "Namespace"), maxConcurrency: upTo(200) },
      { requiredKeys: ["labelKey", "maxConcurrency"] },
    ),
    {
      selector: ({ labelKey }) => labelKey,
      maxLength: 2,
    },
  ),
  orderLabelKey: key,
  retryAfterSeconds: fc.integer({ min: 5, max: 300 }),
  progressDeadline: duration,
  healthyWhen: named(fc.record({ name: label, expression })),
  ignoreFailuresBefore: instant,
};
const required = ["operation", "namespaceSelector", "progressDeadline"] as const;
const validRollout: fc.Arbitrary<KubeObject> = fc.record({
  ...head,
  kind: fc.constant("HookRollout"),
  spec: fc.oneof(
    fc.record(
      { ...rolloutSpec, operation: fc.constantFrom("Create", "Delete") },
      { requiredKeys: [...required] },
    ),
    fc.record(
      { ...rolloutSpec, operation: fc.constant("Upgrade"), stages: named(stage, 0) },
      { requiredKeys: [...required] },
    ),
  ),
});

export const validObject = fc.oneof(
  { weight: 4, arbitrary: validPolicy },
  { weight: 1, arbitrary: validOverride },
  { weight: 2, arbitrary: validRollout },
);

// oxlint-disable-next-line typescript/no-explicit-any -- whatever a policy holds, lists and nonsense included
type Mutation = (parent: any, field: string) => void;

const set =
  (value: unknown): Mutation =>
  (parent, field) => {
    parent[field] = structuredClone(value); // the next mutation may put something into it, itself included
  };
const change =
  (edit: (text: string) => string): Mutation =>
  (parent, field) => {
    parent[field] = edit(typeof parent[field] === "string" ? parent[field] : JSON.stringify(parent[field]));
  };

/** What people and programs do to a field. */
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.constantFrom<Mutation[]>(
    (parent, field) => (Array.isArray(parent) ? parent.splice(Number(field), 1) : delete parent[field]),
    (parent, field) =>
      Array.isArray(parent) ? parent.push(structuredClone(parent[Number(field)])) : delete parent[field],
    (parent, field) => {
      parent[`${field}s`] = structuredClone(parent[field]);
    },
    ...[null, "", 0, 7, 10.5, 1e300, -1, true, [], {}, [null], ["In"], "Exists", "TargetVersion"].map(set),
    ...["101%", "10%", 201].map(set),
    ...["7d", "0s", "2026-02-30T00:00:00Z", "2026-12-20", ">=1, <2", "v1", "Secret", "UTC", false].map(set),
    (parent) => {
      parent.object = { apiVersion: "v1", kind: "Secret", name: "a" };
    },
    (parent) => {
      parent.schedule = "0 0 * * *";
    },
    ...[
      "AfterControlPlaneInitialized",
      "BeforeClusterDelete",
      ["BeforeClusterDelete", "BeforeClusterUpgrade"],
    ].map(set),
    change((t) => t.toLowerCase()),
    change((t) => `${t} `),
    change((t) => `${t}\n`),
    change((t) => `${t}.`),
    change((t) => `${t}/${t}`),
    change((t) => t.repeat(30)),
    change((t) => `${t}\u0085`),
    change((t) => `${t}é`),
  ),
  text.map(set),
  labelValue.map(set),
  fc.jsonValue({ maxDepth: 2 }).map(set),
);

/** One or two fields of the spec, wherever they are, or the name, with something done to them. */
export const mutatedObject: fc.Arbitrary<KubeObject> = fc
  .tuple(validObject, fc.array(fc.tuple(fc.nat(), mutation), { minLength: 1, maxLength: 2 }))
  .map(([object, changes]) => {
    const copy: KubeObject = JSON.parse(JSON.stringify(object));
    for (const [choice, mutate] of changes) {
      const fields = [...fieldsOf(copy["spec"]), [copy.metadata, "name"] as const];
      const [parent, field] = fields[choice % fields.length] ?? [copy, "spec"];
      mutate(parent, field);
    }
    // Its other fields are the API server's own business.
    return { ...copy, metadata: { name: copy.metadata.name } };
  });

function* fieldsOf(value: unknown): Generator<readonly [object, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [field, child] of Object.entries(value)) {
    yield [value, field];
    yield* fieldsOf(child);
  }
}
