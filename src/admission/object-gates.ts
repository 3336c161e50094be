/** Finds the object gates of a spec, valid or not: no gate may be missed because another part is invalid. */

import { fieldsOf, listOf } from "../lib/fields.ts";
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
  const field = policy.kind === "HookRollout" ? "stages" : "rules";
  return children(policy.spec, field, "spec").flatMap((rule) =>
    children(rule.value, "until", rule.path)
      .flatMap((gate) => [gate, ...children(gate.value, "anyOf", gate.path)])
      .flatMap(({ value, path }) => readGate(fieldsOf(value)["object"], `${path}.object`, policy)),
  );
}

/** An unchanged gate shows its author nothing new, so a bot may edit another rule. */
export function newGates(policy: WithGates, old: WithGates | undefined): ObjectGate[] {
  const known = new Set(old === undefined ? [] : objectGates(old).map(({ meaning }) => meaning));
  return objectGates(policy).filter(({ meaning }) => !known.has(meaning));
}

function readGate(value: unknown, path: string, policy: WithGates): ObjectGate[] {
  const { apiVersion, kind, name, namespace: own, namespaceSelector } = fieldsOf(value);
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  const selectsNamespaces = (namespaceSelector ?? null) !== null;
  const reached = selectsNamespaces ? undefined : own;
  const namespace = policy.kind === "HookPolicy" ? policy.metadata.namespace : reached;
  const selectors = [fieldsOf(policy.spec)["clusterSelector"], fieldsOf(policy.spec)["namespaceSelector"]];
  return [
    {
      path,
      kind: { apiVersion, kind },
      ...(typeof name === "string" && { name }),
      ...(typeof namespace === "string" && { namespace }),
      selectsNamespaces,
      // Without a namespace, the gate looks into the namespaces of the selected Clusters.
      meaning: JSON.stringify(namespace === undefined ? [value, ...selectors] : [value]),
    },
  ];
}

function children(parent: unknown, field: string, path: string): { value: unknown; path: string }[] {
  return listOf(fieldsOf(parent)[field]).map((value, index) => ({
    value,
    path: `${path}.${field}[${index}]`,
  }));
}
