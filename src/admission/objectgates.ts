/** Finds the object gates of a spec, valid or not: no gate may be missed because another part is invalid. */

import { type Fields, isFields } from "../api/fields.ts";
import type { ObjectKind } from "../policy/objects.ts";
import type { Review } from "./review.ts";

export interface ObjectGate {
  /** spec.rules[0].until[1].object, or spec.stages[0].until[1].object of a rollout */
  readonly path: string;
  readonly kind: ObjectKind;
  /** Absent: all names. */
  readonly name?: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** It looks into the namespaces that a selector selects. */
  readonly selectsNamespaces: boolean;
  /** JSON of everything that decides which objects the gate looks at and what it reveals about them. */
  readonly meaning: string;
}

export type WithGates = Exclude<Review["object"], { readonly kind: "HookOverride" }>;

function objectGates(policy: WithGates): ObjectGate[] {
  const spec: unknown = policy.spec;
  const field = policy.kind === "HookRollout" ? "stages" : "rules";
  return children(spec, field, "spec").flatMap((rule) =>
    children(rule.value, "until", rule.path)
      .flatMap((gate) => [gate, ...children(gate.value, "anyOf", gate.path)])
      .flatMap(({ value, path }) => readGate(fieldOf(value, "object"), `${path}.object`, policy)),
  );
}

/** An unchanged gate shows its author nothing new, so a bot may edit another rule. */
export function newGates(policy: WithGates, old: WithGates | undefined): ObjectGate[] {
  const known = new Set(old === undefined ? [] : objectGates(old).map(({ meaning }) => meaning));
  return objectGates(policy).filter(({ meaning }) => !known.has(meaning));
}

function readGate(value: unknown, path: string, policy: WithGates): ObjectGate[] {
  const [apiVersion, kind] = [fieldOf(value, "apiVersion"), fieldOf(value, "kind")];
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  const [name, own] = [fieldOf(value, "name"), fieldOf(value, "namespace")];
  const selectsNamespaces = (fieldOf(value, "namespaceSelector") ?? null) !== null;
  const reached = selectsNamespaces ? undefined : own;
  const namespace = policy.kind === "HookPolicy" ? policy.metadata.namespace : reached;
  const { clusterSelector, namespaceSelector }: Fields = { ...policy.spec };
  return [
    {
      path,
      kind: { apiVersion, kind },
      ...(typeof name === "string" && { name }),
      ...(typeof namespace === "string" && { namespace }),
      selectsNamespaces,
      // Without a namespace the gate looks into those of the Clusters, whatever the selectors.
      meaning: JSON.stringify(
        namespace === undefined ? [value, clusterSelector, namespaceSelector] : [value],
      ),
    },
  ];
}

function children(parent: unknown, field: string, path: string): { value: unknown; path: string }[] {
  const list = fieldOf(parent, field);
  if (!Array.isArray(list)) return [];
  return list.map((value: unknown, index) => ({ value, path: `${path}.${field}[${index}]` }));
}

function fieldOf(value: unknown, field: string): unknown {
  return isFields(value) && Object.hasOwn(value, field) ? value[field] : undefined;
}
