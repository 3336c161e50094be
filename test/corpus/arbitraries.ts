/** Policies that nobody thought of: valid ones, and valid ones with something done to them. */

import * as fc from "fast-check";
import { HOOK_NAMES } from "../../src/api/runtimehooks.ts";
import type { KubeObject } from "../controlplane/client.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const labelValue = fc.stringMatching(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?)?$/);
const key = fc.stringMatching(
  /^([a-z0-9]([-a-z0-9]{0,9}[a-z0-9])?(\.[a-z0-9]{1,5})?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/,
);
const text = fc.string({ unit: "binary", maxLength: 40 });
const message = text.map((t) => `ask ${t.replaceAll(/[\p{Cc}\u2028\u2029]/gu, "")}`);

const requirement = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom("In", "NotIn"),
    values: fc.array(labelValue, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }),
);
const selector = fc.record(
  {
    matchLabels: fc.dictionary(key, labelValue, { maxKeys: 3 }),
    matchExpressions: fc.array(requirement, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const from = fc.constantFrom("Cluster", "Namespace");
function metadataGate(value: fc.Arbitrary<string>, upgrade: boolean): fc.Arbitrary<object> {
  const valueFrom = fc.constantFrom("ClusterName", "ClusterUID", ...(upgrade ? ["TargetVersion"] : []));
  return fc.oneof(
    fc.record({ key, from, value }, { requiredKeys: ["key"] }),
    fc.record({ key, from, valueFrom }, { requiredKeys: ["key"] }),
  );
}

function gate(upgrade: boolean): fc.Arbitrary<{ name: string }> {
  return fc.oneof(
    fc.record({ name: label, annotation: metadataGate(text, upgrade) }),
    fc.record({ name: label, label: metadataGate(labelValue, upgrade) }),
  );
}

function rule(
  hooks: readonly string[],
  gates: fc.Arbitrary<{ name: string }> | undefined,
): fc.Arbitrary<{ name: string }> {
  const until = gates && fc.uniqueArray(gates, { selector: ({ name }) => name, minLength: 1, maxLength: 3 });
  return fc.record(
    {
      name: label,
      hooks: fc.subarray([...hooks], { minLength: 1 }),
      ...(until && { until }),
      message,
      retryAfterSeconds: fc.integer({ min: 5, max: 300 }),
    },
    { requiredKeys: ["name", "hooks"] },
  );
}

const rules = fc.uniqueArray(
  fc.oneof(
    rule(HOOK_NAMES, undefined),
    rule(["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"], gate(false)),
    rule(["BeforeClusterUpgrade", "AfterControlPlaneUpgrade", "AfterClusterUpgrade"], gate(true)),
  ),
  { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
);
const spec = {
  mode: fc.constantFrom("Enforce", "Audit"),
  failurePolicy: fc.constantFrom("Fail", "Ignore"),
  clusterSelector: selector,
  rules,
};
const head = { apiVersion: fc.constant("hookpolicy.dev/v1alpha1"), metadata: fc.record({ name: label }) };

export const validPolicy: fc.Arbitrary<KubeObject> = fc.oneof(
  fc.record({ ...head, kind: fc.constant("HookPolicy"), spec: fc.record(spec, { requiredKeys: ["rules"] }) }),
  fc.record({
    ...head,
    kind: fc.constant("ClusterHookPolicy"),
    spec: fc.record(
      { ...spec, namespaceSelector: selector },
      { requiredKeys: ["namespaceSelector", "rules"] },
    ),
  }),
);

// oxlint-disable-next-line typescript/no-explicit-any -- whatever a policy holds, lists and nonsense included
type Mutation = (parent: any, field: string) => void;

const set =
  (value: unknown): Mutation =>
  (parent, field) => {
    parent[field] = value;
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
      parent[`${field}s`] = parent[field];
    },
    ...[null, "", 0, 7, 10.5, 1e300, -1, true, [], {}, [null], ["In"], "Exists", "TargetVersion"].map(set),
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
export const mutatedPolicy: fc.Arbitrary<KubeObject> = fc
  .tuple(validPolicy, fc.array(fc.tuple(fc.nat(), mutation), { minLength: 1, maxLength: 2 }))
  .map(([policy, changes]) => {
    const copy: KubeObject = JSON.parse(JSON.stringify(policy));
    for (const [choice, mutate] of changes) {
      const fields = [...fieldsOf(copy["spec"]), [copy.metadata, "name"] as const];
      const [parent, field] = fields[choice % fields.length] ?? [copy, "spec"];
      mutate(parent, field);
    }
    return copy;
  });

function* fieldsOf(value: unknown): Generator<readonly [object, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [field, child] of Object.entries(value)) {
    yield [value, field];
    yield* fieldsOf(child);
  }
}
