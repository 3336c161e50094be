/** Policies that have something to say about Clusters, and Clusters, Namespaces and objects for them to look at. */

import * as fc from "fast-check";
import type {
  ClusterHookPolicySpec,
  GateSpec,
  HookOverrideSpec,
  RuleSpec,
} from "../../src/api/hook-policy.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";

const key = fc.constantFrom("example.com/a", "example.com/b");
const value = fc.constantFrom("x", "y");
/** Labels or annotations: often what a gate waits for, and often not. */
const marks = fc.dictionary(key, fc.oneof(value, fc.constantFrom("c0", "v1.35.0")), { maxKeys: 2 });

const metadataGate = fc.record(
  {
    key,
    value: fc.option(value, { nil: undefined }),
    from: fc.constantFrom("Cluster" as const, "Namespace" as const),
  },
  { requiredKeys: ["key"] },
);
const boundGate = fc.record({
  key,
  valueFrom: fc.constantFrom("ClusterName" as const, "ClusterUID" as const),
});

const expression = fc.constantFrom(
  "cluster.metadata.name == 'c0'",
  "has(cluster.metadata.labels) && 'example.com/a' in cluster.metadata.labels",
  "namespaceObject.metadata.labels['example.com/a'] == 'x'",
  "request.toKubernetesVersion.startsWith('v1.35')",
  "cluster.topology.version == 'v1.35.0' && now > timestamp('2020-01-01T00:00:00Z')",
  "size(cluster.status.conditions) == 0",
);

const entry = fc.constantFrom(
  { from: "2001-01-01T00:00:00Z", to: "2998-01-01T00:00:00Z" },
  { from: "2001-01-01T00:00:00Z", to: "2002-01-01T00:00:00Z" },
  { from: "2997-01-01T00:00:00Z", to: "2998-01-01T00:00:00Z" },
  { schedule: "0 22 * * FRI", duration: "8h" },
  { schedule: "0 6 * * *", duration: "12h" },
  { schedule: "*/5 * * * *", duration: "2m" },
);
const entries = fc.array(entry, { minLength: 1, maxLength: 2 });
const window = fc.record(
  { timeZone: fc.constant("Europe/Berlin"), allow: entries, deny: entries },
  {
    requiredKeys: ["timeZone", "allow"],
  },
);

/** Of ConfigMaps, so that nothing has to be installed. */
const configMap = { apiVersion: fc.constant("v1"), kind: fc.constant("ConfigMap") };
const selector = fc.record({ matchLabels: fc.record({ "example.com/a": value }) });
const objectExpression = fc.constantFrom(
  "object.data.go == 'yes'",
  "has(object.data) && object.data.go == 'yes'",
);
const object = fc.oneof(
  fc.record({
    ...configMap,
    name: fc.constantFrom("m0", "m1"),
    expression: fc.option(objectExpression, { nil: undefined }),
  }),
  fc.record({
    ...configMap,
    nameExpression: fc.constantFrom("cluster.metadata.name.replace('c', 'm')", "request.hook"),
  }),
  fc.record({ ...configMap, selector, minCount: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ ...configMap, selector, absent: fc.constant(true) }),
);

/** A JSON copy has no fields that are undefined. */
function plain<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return arbitrary.map((each) => JSON.parse(JSON.stringify(each)) as T);
}

const simple = (name: string): fc.Arbitrary<GateSpec> =>
  plain<object>(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ annotation: fc.oneof(metadataGate, boundGate) }) },
      { weight: 2, arbitrary: fc.record({ label: metadataGate }) },
      { weight: 2, arbitrary: fc.record({ expression }) },
      { weight: 3, arbitrary: fc.record({ window }) },
      { weight: 2, arbitrary: fc.record({ object }) },
    ),
  ).map((gate) => ({ name, ...gate }));

const gate = (name: string): fc.Arbitrary<GateSpec> =>
  fc.oneof(
    { weight: 6, arbitrary: simple(name) },
    { weight: 1, arbitrary: fc.constant({ name, wait: { duration: "1h" } }) },
    { weight: 1, arbitrary: fc.tuple(simple("p"), simple("q")).map((anyOf) => ({ name, anyOf })) },
  );

/** Of rules on upgrade hooks alone. */
const upgradeGate = (name: string): fc.Arbitrary<GateSpec> =>
  fc.oneof(
    fc.constantFrom(">=1.34.0 <1.36.0", "1.34.x").map((range) => ({ name, version: { range } })),
    key.map((each) => ({ name, annotation: { key: each, valueFrom: "TargetVersion" as const } })),
    gate(name),
  );

const gates = (one: typeof gate): fc.Arbitrary<GateSpec[]> =>
  fc
    .integer({ min: 0, max: 3 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => one(`gate-${index}`))));

const UPGRADE_HOOKS = ["BeforeClusterUpgrade", "AfterControlPlaneUpgrade", "AfterClusterUpgrade"] as const;
const hooksOf = (...names: readonly HookName[]): fc.Arbitrary<HookName[]> =>
  fc.subarray([...names], { minLength: 2 });
const anyHooks = hooksOf("BeforeClusterCreate", ...UPGRADE_HOOKS, "BeforeClusterDelete");
const scope = fc.oneof(
  fc.record({ hooks: anyHooks, until: gates(gate) }),
  fc.record({ hooks: hooksOf(...UPGRADE_HOOKS), until: gates(upgradeGate) }),
);

const rule = (name: string): fc.Arbitrary<RuleSpec> =>
  fc
    .record({
      scope,
      matchConditions: fc.array(expression, { maxLength: 1 }),
      deadline: fc.option(
        fc.constantFrom<NonNullable<RuleSpec["deadline"]>>(
          { after: "1h", onExpiry: "Allow" },
          { after: "2h", onExpiry: "KeepBlocking" },
        ),
        { freq: 4 },
      ),
      retryAfterSeconds: fc.option(fc.constantFrom(5, 60, 300)),
      message: fc.option(fc.constantFrom("ask #platform")),
    })
    .map(({ scope: { hooks, until }, matchConditions, deadline, retryAfterSeconds, message }) => ({
      name,
      hooks,
      ...(until.length > 0 && { until }),
      ...(until.length > 0 && deadline !== null && { deadline }),
      ...(matchConditions.length > 0 && {
        matchConditions: matchConditions.map((source) => ({ name: "c", expression: source })),
      }),
      ...(retryAfterSeconds !== null && { retryAfterSeconds }),
      ...(message !== null && { message }),
    }));

const some = fc.oneof(fc.constant({}), fc.record({ matchLabels: fc.record({ "example.com/a": value }) }));

/** A HookPolicy's is the same without namespaceSelector. */
export const policySpec: fc.Arbitrary<ClusterHookPolicySpec> = fc.record({
  mode: fc.constantFrom("Enforce" as const, "Enforce" as const, "Audit" as const),
  failurePolicy: fc.constantFrom("Fail" as const, "Fail" as const, "Ignore" as const),
  clusterSelector: some,
  namespaceSelector: some,
  rules: fc
    .integer({ min: 1, max: 2 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => rule(`rule-${index}`)))),
});

export interface RandomCluster {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

export const clusterMarks: fc.Arbitrary<RandomCluster> = fc.record({ labels: marks, annotations: marks });

export interface RandomConfigMap {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly data: Record<string, string>;
}

export const configMaps: fc.Arbitrary<RandomConfigMap[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("m0", "m1", "m2"),
    labels: marks,
    data: fc.dictionary(fc.constant("go"), fc.constantFrom("yes", "no"), { maxKeys: 1 }),
  }),
  { selector: ({ name }) => name, maxLength: 3 },
);

/** Of the Cluster "c0" or "c1". */
export const overrideSpec: fc.Arbitrary<
  Omit<HookOverrideSpec, "expiresAt" | "clusterRef"> & { readonly cluster: string }
> = fc.record({
  cluster: fc.constantFrom("c0", "c1"),
  hooks: anyHooks,
  reason: fc.constant("a test"),
});
