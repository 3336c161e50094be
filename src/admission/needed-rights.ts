/** Finds what the author of a spec must be allowed to do. The spec may be invalid: an error in one part must not hide another. */

import { type Fields, fieldsOf, listOf, nonEmptyText } from "../lib/fields.ts";
import type { ObjectReach } from "../policy/gates/gate-kind.ts";
import { type GateCondition, conditionsOf, gatesIn } from "../policy/gates/gates.ts";
import type { Review } from "./review.ts";

export interface ObjectGate extends ObjectReach {
  /** spec.rules[0].until[1].object, or spec.stages[0].until[1].object of a rollout */
  readonly path: string;
  /** JSON of everything that decides which objects the gate looks at and what it reveals about them. */
  readonly meaning: string;
}

export type GatedObject = Exclude<Review["object"], { readonly kind: "HookOverride" }>;

function objectGates(policy: GatedObject): ObjectGate[] {
  return gatesIn(policy.spec)
    .flatMap(({ value, path }) => conditionsOf(value, path))
    .flatMap((condition) => readGate(condition, policy));
}

/** An unchanged gate shows its author nothing new, so a bot may edit another rule. */
export function newGates(policy: GatedObject, old: GatedObject | undefined): ObjectGate[] {
  const known = new Set(old === undefined ? [] : objectGates(old).map(({ meaning }) => meaning));
  return objectGates(policy).filter(({ meaning }) => !known.has(meaning));
}

function readGate({ field, kind, spec, place }: GateCondition, policy: GatedObject): ObjectGate[] {
  const reach = kind.looksAt?.(spec);
  if (reach === undefined) return [];
  const namespace = policy.kind === "HookPolicy" ? policy.metadata.namespace : reach.namespace;
  const at = place({ path: "" });
  const selectors = [policy.spec, ...stagesUpTo(at.path, policy)].map(fieldsOf).map(selectorsOf);
  return [
    {
      ...at,
      ...reach,
      ...(namespace !== undefined && { namespace }),
      // Without a namespace, the gate looks into the namespaces of the selected Clusters.
      meaning: JSON.stringify([field, spec, ...(namespace === undefined ? selectors.flat() : [])]),
    },
  ];
}

/** The stages of a rollout that say which Clusters the gate is about: each belongs to the first stage that selects it. */
function stagesUpTo(path: string, { spec }: GatedObject): readonly unknown[] {
  const stage = /^spec\.stages\[(\d+)\]/.exec(path)?.[1];
  return stage === undefined ? [] : listOf(fieldsOf(spec)["stages"]).slice(0, Number(stage) + 1);
}

function selectorsOf({ clusterSelector, namespaceSelector }: Fields): readonly unknown[] {
  return [clusterSelector, namespaceSelector];
}

/**
 * The ServiceAccount as which tasks act, which the author must be allowed to impersonate: who may could do all of it by
 * hand. Every change of such a spec is one: without a gate, or with a wider selector, the same tasks do more.
 */
export interface NeededAccount {
  /** spec.serviceAccountName or spec.serviceAccount */
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
}

/** The account of the policy or, if it has no tasks any more, that of the old one; of specs that may be invalid. */
export function neededAccount(policy: GatedObject, old: GatedObject | undefined): NeededAccount | undefined {
  return ownAccountOf(policy) ?? (old && ownAccountOf(old));
}

function ownAccountOf({ kind, metadata, spec }: GatedObject): NeededAccount | undefined {
  const { rules, serviceAccountName, serviceAccount } = fieldsOf(spec);
  if (kind === "HookRollout" || !listOf(rules).some((rule) => (fieldsOf(rule)["tasks"] ?? null) !== null))
    return undefined;
  const [path, namespace, name] =
    kind === "HookPolicy"
      ? ["spec.serviceAccountName", metadata.namespace, serviceAccountName]
      : ["spec.serviceAccount", fieldsOf(serviceAccount)["namespace"], fieldsOf(serviceAccount)["name"]];
  return { path, namespace: nonEmptyText(namespace) ?? "", name: nonEmptyText(name) ?? "" };
}
