/** Policies of the whole language, worlds and calls, made so that gates of every kind come out either way. */

import * as fc from "fast-check";
import type { AnyOfGateSpec, GateSpec, RuleSpec, WindowGateSpec } from "../../../src/api/hook-policy.ts";
import { HOOK_NAMES, type HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { compileOverride } from "../../../src/policy/compile-override.ts";
import type { ObjectReader, WatchedObject } from "../../../src/policy/watched-objects.ts";
import { type OperationState, type RuleTimers, timerKey, type World } from "../../../src/policy/world.ts";
import {
  cluster,
  clusterHookPolicy,
  hookOverride,
  hookPolicy,
  MAX_OVERRIDE_MS,
  namespace,
  NOW,
  objectsOf,
} from "../builders.ts";

const minutes = (n: number): Date => new Date(NOW.getTime() + n * 60_000);
const key = fc.constantFrom("a", "b", "example.com/c");
const value = fc.constantFrom("", "x", "uid-prod-1", "v1.35.0");
const source = fc.oneof(
  fc.constant({}),
  value.map((wanted) => ({ value: wanted })),
  fc.constantFrom("ClusterName", "ClusterUID").map((valueFrom) => ({ valueFrom })),
);
const metadataGate = fc
  .record({
    key,
    from: fc.constantFrom("Cluster", "Namespace"),
    source,
    kind: fc.constantFrom("annotation", "label"),
  })
  .map(({ kind, source: from, ...rest }) => ({ [kind]: { ...rest, ...from } }));

const CONDITIONS = [
  "cluster.metadata.name == 'prod-1'",
  "'a' in cluster.metadata.labels",
  "cluster.metadata.labels['a'] == 'x'",
  "cluster.metadata.annotations['b'] != ''",
  "has(cluster.metadata.deletionTimestamp)",
  "request.hook.startsWith('Before')",
] as const;
const expression = fc.constantFrom(...CONDITIONS);
const clocked = fc.constantFrom(
  "now >= timestamp('2026-11-21T12:30:00Z')",
  "now < timestamp('2026-11-21T12:20:00Z') || 'a' in cluster.metadata.labels",
);

const period = fc
  .tuple(fc.integer({ min: -60, max: 90 }), fc.integer({ min: 1, max: 60 }))
  .map(([start, length]) => ({
    from: minutes(start).toISOString(),
    to: minutes(start + length).toISOString(),
  }));
const recurring = fc.constantFrom(
  { schedule: "*/20 * * * *", duration: "5m" },
  { schedule: "0 13 * * SAT", duration: "8h" },
);
const periods = fc.array(period, { minLength: 1, maxLength: 2 });
const window: fc.Arbitrary<WindowGateSpec> = fc.oneof(
  periods.map((allow) => ({ allow })),
  periods.map((deny) => ({ deny })),
  fc.tuple(recurring, periods).map(([allow, deny]) => ({ timeZone: "Europe/Berlin", allow: [allow], deny })),
);

const KINDS = [
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "velero.io/v1", kind: "Backup" },
] as const;
const condition = fc.constantFrom(
  "object.status.phase == 'Completed'",
  "has(object.metadata.labels)",
  "object.metadata.name != cluster.metadata.name",
);
const objectGate = fc
  .record({
    kind: fc.constantFrom(...KINDS),
    which: fc.oneof(
      fc.constantFrom({ name: "one" }, { selector: {} }, { selector: { matchLabels: { a: "x" } } }),
      fc.constantFrom({ nameExpression: "cluster.metadata.annotations['b']" }),
    ),
    absent: fc.boolean(),
    expression: fc.option(condition, { nil: undefined }),
    minCount: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ kind, which, absent, expression: of, minCount }) => ({
    ...kind,
    ...which,
    ...(of !== undefined && { expression: of }),
    ...(absent ? { absent } : "selector" in which && { minCount }),
  }));

const simple = (timed: boolean): fc.Arbitrary<object> =>
  fc.oneof(
    { weight: 3, arbitrary: metadataGate },
    { weight: 3, arbitrary: window.map((spec) => ({ window: spec })) },
    { weight: 2, arbitrary: expression.map((text) => ({ expression: text })) },
    { weight: timed ? 1 : 0, arbitrary: clocked.map((text) => ({ expression: text })) },
    { weight: 2, arbitrary: objectGate.map((spec) => ({ object: spec })) },
  );
const numbered = <T extends object>(list: readonly T[]): (T & { readonly name: string })[] =>
  list.map((each, n) => ({ ...each, name: `g${n}` }));
const duration = fc.integer({ min: 1, max: 45 }).map((n) => `${n}m`);

/** `timed`: also such as change with the clock at instants that nobody can tell. */
export const gate = (timed: boolean): fc.Arbitrary<Omit<GateSpec, "name">> =>
  fc.oneof(
    { weight: 6, arbitrary: simple(timed) },
    { weight: 2, arbitrary: duration.map((wait) => ({ wait: { duration: wait } })) },
    {
      weight: 1,
      arbitrary: fc
        .array(simple(timed), { minLength: 2, maxLength: 3 })
        .map((list) => ({ anyOf: numbered(list) as AnyOfGateSpec[] })),
    },
  );

/** On hooks where every kind of gate is allowed; with gates always, where `gated`. */
export const rule = (timed: boolean, gated = false): fc.Arbitrary<RuleSpec> =>
  fc
    .record({
      hooks: fc.subarray(["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"] as const, {
        minLength: 1,
      }),
      until: fc.array(gate(timed), { minLength: gated ? 1 : 0, maxLength: 3 }),
      matchConditions: fc.array(timed ? fc.oneof(expression, clocked) : expression, { maxLength: 2 }),
      retryAfterSeconds: fc.integer({ min: 5, max: 300 }),
      deadline: fc.option(
        fc.record({ after: duration, onExpiry: fc.constantFrom("Allow" as const, "KeepBlocking" as const) }),
        { nil: undefined },
      ),
    })
    .map(({ until, matchConditions, deadline, hooks, retryAfterSeconds }) => ({
      name: "r",
      hooks: [...hooks],
      retryAfterSeconds,
      ...(until.length > 0 && { until: numbered(until) }),
      ...(until.length > 0 && deadline && { deadline }),
      ...(matchConditions.length > 0 && {
        matchConditions: matchConditions.map((text, n) => ({ name: `c${n}`, expression: text })),
      }),
    }));

const selector = fc.constantFrom({}, { matchLabels: { a: "x" } });

export const policy = (timed: boolean): fc.Arbitrary<PolicyObject> =>
  fc
    .record({
      mode: fc.constantFrom("Enforce" as const, "Audit" as const),
      failurePolicy: fc.constantFrom("Fail" as const, "Ignore" as const),
      clusterSelector: selector,
      rules: fc
        .array(rule(timed), { minLength: 1, maxLength: 3 })
        .map((list) => list.map((each, n) => ({ ...each, name: `r${n}` }))),
      wide: fc.option(selector, { nil: undefined }),
    })
    .map(({ wide, ...spec }) =>
      wide === undefined ? hookPolicy(spec) : clusterHookPolicy({ ...spec, namespaceSelector: wide }),
    );

/** In the stable order of their names. */
export const policies = (timed: boolean, maxLength = 3): fc.Arbitrary<PolicyObject[]> =>
  fc.array(policy(timed), { maxLength }).map((list) => list.map((each, n) => named(each, `p${n}`)));

export function named(object: PolicyObject, name: string): PolicyObject {
  return { ...object, metadata: { ...object.metadata, name, uid: name } };
}

const strings = fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true });
const deletion = fc.option(fc.constant("2026-11-21T11:50:00Z"), { nil: undefined });
const meta = fc
  .record({ labels: strings, annotations: strings, deletionTimestamp: deletion })
  .map(({ deletionTimestamp, ...rest }) => ({ ...rest, ...(deletionTimestamp && { deletionTimestamp }) }));

const watched = fc
  .record({
    name: fc.constantFrom("one", "two", "x"),
    labels: strings,
    gone: deletion,
    phase: fc.constantFrom("Completed", "New", ""),
  })
  .map(({ name, labels, gone, phase }): WatchedObject => {
    const metadata = { name, namespace: "team-a", uid: name, resourceVersion: "1", labels };
    const status = phase === "" ? {} : { status: { phase } };
    return {
      metadata: { ...metadata, ...(gone && { deletionTimestamp: gone }) },
      raw: { metadata, ...status },
    };
  });
const list = fc.uniqueArray(watched, { selector: ({ metadata }) => metadata.name, maxLength: 3 });
export const UNREADABLE: ObjectReader = {
  find: () => ({ ok: false, reason: "ObjectsNotLoaded", message: "not loaded" }),
};
const objects: fc.Arbitrary<ObjectReader> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(list, list)
      .map(([a, b]) => objectsOf({ "v1 ConfigMap": a, "velero.io/v1 Backup": b })),
  },
  { weight: 1, arbitrary: fc.constant(UNREADABLE) },
);

const override = fc
  .record({ ends: fc.integer({ min: -30, max: 60 }), all: fc.boolean(), name: fc.constantFrom("o1", "o2") })
  .map(({ ends, all, name }) => {
    const spec = { hooks: [...HOOK_NAMES], expiresAt: minutes(ends).toISOString() };
    const some = { policyRefs: [{ kind: "HookPolicy" as const, namespace: "team-a", name: "p0" }] };
    return compileOverride(
      hookOverride({ ...spec, ...(!all && some) }, { name, uid: name }),
      MAX_OVERRIDE_MS,
    );
  });

const before = fc.option(fc.integer({ min: -60, max: 0 }).map(minutes), { nil: undefined });
const timers = fc
  .record({ blockedSince: before, gatesMetSince: before })
  .map(({ blockedSince, gatesMetSince }): RuleTimers => ({
    ...(blockedSince && { blockedSince }),
    ...(gatesMetSince && { gatesMetSince }),
  }));
const KEYS = ["p0", "p1", "p2", "p3"].flatMap((uid) => ["r0", "r1", "r2"].map((name) => timerKey(uid, name)));
const state: fc.Arbitrary<OperationState> = fc
  .tuple(fc.integer({ min: -60, max: 0 }).map(minutes), fc.array(timers, { minLength: 12, maxLength: 12 }))
  .map(([firstAsked, all]) => ({ firstAsked, rules: new Map(KEYS.map((each, n) => [each, all[n] ?? {}])) }));

const world: fc.Arbitrary<World> = fc
  .record({
    on: meta,
    around: fc.option(meta, { nil: undefined, freq: 6 }),
    objects,
    overrides: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(override, { maxLength: 2 }) },
    ),
    state: fc.option(state, { nil: undefined }),
  })
  .map(({ on, around, state: memory, ...rest }) => ({
    ...rest,
    cluster: cluster(on),
    namespace: around === undefined ? undefined : namespace(around),
    ...(memory && { state: memory }),
  }));

const call: fc.Arbitrary<HookCall> = fc.constantFrom(
  { hook: "BeforeClusterCreate" },
  { hook: "BeforeClusterUpgrade", fromKubernetesVersion: "v1.34.0", toKubernetesVersion: "v1.35.0" },
  { hook: "BeforeClusterDelete" },
);

export const situation = fc.record({ at: world, call });
