/** Objects for tests: each builder gives a valid one, and a test says what is different. */

import type {
  ClusterHookPolicySpec,
  GateSpec,
  HookOverride,
  HookOverrideSpec,
  HookPolicySpec,
  HookRollout,
  RuleSpec,
  WindowEntry,
} from "../../src/api/hook-policy.ts";
import {
  type Cluster,
  type Condition,
  type Namespace,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
  type StoredNamespace,
} from "../../src/api/meta.ts";
import type { HookCall, HookName } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { servedHooks } from "../../src/api/hook-catalog.ts";
import { compilePolicy } from "../../src/policy/compile.ts";
import { decide } from "../../src/policy/decide.ts";
import type { Decision, ValidityCheck } from "../../src/policy/decision.ts";
import {
  type ObjectKind,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../../src/policy/watched-objects.ts";
import { compileOverride } from "../../src/policy/compile-override.ts";
import type { CompiledPolicy } from "../../src/policy/policy.ts";
import { remember } from "../../src/operations/timers.ts";
import { markOf } from "../../src/operations/hook-lives.ts";
import { targetVersion } from "../../src/api/target-version.ts";
import type { OperationState, World } from "../../src/policy/world.ts";

export const NOW = new Date("2026-11-21T12:00:00Z");
export const ALL_HOOKS = servedHooks(14);

export function metadata(over: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name: "prod-1", namespace: "team-a", uid: "uid-prod-1", resourceVersion: "100", ...over };
}

export function cluster(
  over: Partial<ObjectMeta> = {},
  rest: Partial<Omit<Cluster, "metadata">> = {},
): Cluster {
  return {
    metadata: metadata(over),
    paused: false,
    created: true,
    topology: { className: "lab", version: "v1.34.0" },
    ...rest,
  };
}

/** Cluster API waits for the hook, as its condition says. */
export function heldAt(hook: HookName, on: Cluster, plan: readonly string[] = []): Cluster {
  return { ...on, progress: { heldAt: hook, plan } };
}

/** The Cluster as it is when Cluster API makes this call. */
export function calling(call: HookCall, on: Cluster): Cluster {
  const { hook } = call;
  if (hook === "BeforeClusterCreate") return { ...on, created: false };
  if (hook === "BeforeClusterDelete")
    return { ...on, metadata: { ...on.metadata, deletionTimestamp: NOW.toISOString() } };
  const marks = hook === "BeforeClusterUpgrade" ? {} : { [PENDING_HOOKS_ANNOTATION]: markOf(hook) };
  return {
    ...on,
    metadata: { ...on.metadata, annotations: { ...on.metadata.annotations, ...marks } },
    topology: { className: "lab", version: targetVersion(call) ?? "v1.34.0" },
  };
}

/** The Cluster as it is once Cluster API may delete it. */
export function letGo(on: Cluster): Cluster {
  const annotations = { ...on.metadata.annotations, [OK_TO_DELETE_ANNOTATION]: "" };
  return { ...on, metadata: { ...on.metadata, annotations } };
}

export function namespace(over: Partial<ObjectMeta> = {}): Namespace {
  return { metadata: { name: "team-a", uid: "uid-team-a", resourceVersion: "1", ...over } };
}

/** There are none, of any kind. */
export const NO_OBJECTS: ObjectReader = { find: () => ({ ok: true, namespaced: true, objects: [] }) };

/** All Namespaces, as a world has them. */
export function listerOf(all: readonly StoredNamespace[]): NonNullable<World["namespaces"]> {
  return { get: (name) => all.find((each) => each.metadata.name === name), list: () => all };
}

/** Objects of namespaced kinds, by "apiVersion Kind"; of other kinds there are none. */
export function objectsOf(
  kinds: Readonly<Record<string, readonly WatchedObject[]>>,
  namespaced = true,
): ObjectReader {
  return {
    find: (kind: ObjectKind, ns: string) => {
      const objects = kinds[objectKindKey(kind)] ?? [];
      const inScope = ({ metadata: meta }: WatchedObject): boolean => !namespaced || meta.namespace === ns;
      return { ok: true, namespaced, objects: objects.filter(inScope) };
    },
  };
}

/** A Cluster in its Namespace, and nothing else. */
export function world(over: Partial<World> = {}): World {
  return { cluster: cluster(), namespace: namespace(), objects: NO_OBJECTS, overrides: [], ...over };
}

export const READY = {
  type: "Ready",
  status: "True",
  reason: "Loaded",
  message: "",
  lastTransitionTime: "",
} as const satisfies Condition;

export const APPROVED = "hooks.example.com/delete-approved";

export function rule(over: Partial<RuleSpec> = {}): RuleSpec {
  return {
    name: "confirmed-delete",
    hooks: ["BeforeClusterDelete"],
    until: [{ name: "approved", annotation: { key: APPROVED } }],
    ...over,
  };
}

export function hookPolicy(spec: Partial<HookPolicySpec> = {}, meta: Partial<ObjectMeta> = {}): PolicyObject {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: metadata({ name: "protect", uid: "uid-protect", generation: 1, ...meta }),
    spec: { mode: "Enforce", failurePolicy: "Fail", rules: [rule()], ...spec },
  };
}

export function clusterHookPolicy(
  spec: Partial<ClusterHookPolicySpec> = {},
  meta: Partial<ObjectMeta> = {},
): PolicyObject {
  const { namespace: _, ...own } = metadata({ name: "fleet", uid: "uid-fleet", generation: 1, ...meta });
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "ClusterHookPolicy",
    metadata: own,
    spec: { mode: "Enforce", failurePolicy: "Fail", namespaceSelector: {}, rules: [rule()], ...spec },
  };
}

export function compiled(object: PolicyObject): CompiledPolicy {
  return compilePolicy(object.kind, object, ALL_HOOKS);
}

export const DELETE: HookCall = { hook: "BeforeClusterDelete" };
export const UPGRADE: HookCall = {
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: "v1.34.0",
  toKubernetesVersion: "v1.35.0",
};

/** "+90s", "-1h": an instant relative to NOW. */
export function at(offset: string): Date {
  const [, sign, amount, unit] = /^([+-])(\d+)([smhd])$/.exec(offset) ?? [];
  const ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit ?? ""];
  if (ms === undefined) throw new Error(`${offset} is no offset`);
  return new Date(NOW.getTime() + Number(`${sign}${amount}`) * ms);
}

/** From the one instant to the other, by their offsets. */
export function period(from: string, to: string): WindowEntry {
  return { from: at(from).toISOString(), to: at(to).toISOString() };
}

/** A window that opens by this schedule, in UTC. */
export function scheduled(name: string, schedule: string, duration: string): GateSpec {
  return { name, window: { timeZone: "UTC", allow: [{ schedule, duration }] } };
}

/** A policy with one rule that has these gates. */
export function gated(until: readonly GateSpec[], over: Partial<RuleSpec> = {}): PolicyObject {
  return hookPolicy({ rules: [rule({ until: [...until], ...over })] });
}

/** One operation: what is decided is remembered, as the store does. */
export class Operation {
  readonly policies: readonly CompiledPolicy[];
  readonly call: HookCall;
  state: OperationState | undefined;

  constructor(policies: readonly PolicyObject[], call: HookCall = DELETE) {
    this.policies = policies.map(compiled);
    this.call = call;
  }

  at(now: Date, over: Partial<World> = {}): Decision {
    const { state = { firstAsked: now, rules: new Map() } } = this;
    const decision = decide(this.policies, world({ ...over, state }), this.call, now);
    this.state = remember(state, this.policies, decision.trace);
    return decision;
  }
}

export const MAX_OVERRIDE_MS = 7 * 86_400_000;

/** Made an hour ago, and in force for another one. */
export function hookOverride(
  spec: Partial<HookOverrideSpec> = {},
  meta: Partial<ObjectMeta> = {},
): HookOverride {
  const { namespace: _, ...own } = metadata({
    name: "let-go",
    uid: "uid-let-go",
    generation: 1,
    creationTimestamp: at("-1h").toISOString(),
    ...meta,
  });
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookOverride",
    metadata: own,
    spec: {
      clusterRef: { namespace: "team-a", name: "prod-1" },
      hooks: ["BeforeClusterDelete"],
      reason: "the backup system is down",
      expiresAt: at("+1h").toISOString(),
      ...spec,
    },
  };
}

export function override(...args: Parameters<typeof hookOverride>): ReturnType<typeof compileOverride> {
  return compileOverride(hookOverride(...args), MAX_OVERRIDE_MS);
}

/** Its spec can be read by everything else. */
export function failingWhenValidated<T extends HookOverride | HookRollout>(object: T): T {
  const entries = Object.entries(object.spec).map(([key, value]) => {
    const get = (): unknown => {
      if (new Error("stack").stack?.includes("validateObject") === true) throw new Error("a bug");
      return value;
    };
    return [key, { enumerable: true, get }] as const;
  });
  return { ...object, spec: Object.defineProperties({}, Object.fromEntries(entries)) };
}

/** From 0 on. */
export const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

export const manyAnnotations = (count: number): Record<string, string> =>
  Object.fromEntries(range(count).map((i) => [`a${i.toString(36)}`, ""]));

/** Whether a decision is still valid; `forAnyCall`: it follows from the operation alone. */
export function validity(isValid: () => boolean = () => true, forAnyCall = true): ValidityCheck {
  return Object.assign(() => isValid(), { forAnyCall });
}
