/** Objects for tests: each builder gives a valid one, and a test says what is different. */

import type { ClusterHookPolicySpec, HookPolicySpec, RuleSpec } from "../../src/api/hookpolicy.ts";
import type { Cluster, Namespace, ObjectMeta } from "../../src/api/meta.ts";
import type { PolicyObject } from "../../src/controller/policyset.ts";
import { servedHooks } from "../../src/hooks/catalog.ts";
import { compilePolicy } from "../../src/policy/compile.ts";
import type { ObjectReader } from "../../src/policy/objects.ts";
import type { CompiledPolicy } from "../../src/policy/policy.ts";
import type { World } from "../../src/policy/world.ts";

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

export function namespace(over: Partial<ObjectMeta> = {}): Namespace {
  return { metadata: { name: "team-a", uid: "uid-team-a", resourceVersion: "1", ...over } };
}

/** There are none, of any kind. */
export const NO_OBJECTS: ObjectReader = { find: () => ({ ok: true, namespaced: true, objects: [] }) };

/** A Cluster in its Namespace, and nothing else. */
export function world(over: Partial<World> = {}): World {
  return { cluster: cluster(), namespace: namespace(), objects: NO_OBJECTS, overrides: [], ...over };
}

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
