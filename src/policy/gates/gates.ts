/** The kinds of gates. CONTRIBUTING.md says what a new one needs. */

import type { AnyOfGateSpec, GateSpec } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import { type CompiledGate, unevaluable } from "../policy.ts";
import type { PolicyRef } from "../policy-ref.ts";
import type { Mark, MarkPlace } from "../mark.ts";
import { READS_NOTHING } from "../../api/target-version.ts";
import { MAX_ASKS } from "../window/window.ts";
import { anyOfGate } from "./any-of.ts";
import { expressionGate } from "./expression.ts";
import type { GateKind, ObjectReach } from "./gate-kind.ts";
import { annotationGate, labelGate } from "./metadata.ts";
import { objectGate } from "./object.ts";
import { versionGate } from "./version.ts";
import { windowGate } from "./window.ts";

type Conditions = Required<Omit<AnyOfGateSpec, "name" | "message">>;

/** One for each field of the CRDs that a gate and a member of anyOf can have. */
const GATES: { readonly [Field in keyof Conditions]: GateKind<Conditions[Field]> } = {
  annotation: annotationGate,
  label: labelGate,
  expression: expressionGate,
  window: windowGate,
  version: versionGate,
  object: objectGate,
};

const KINDS: readonly (readonly [field: string, kind: GateKind<unknown>])[] = Object.entries(GATES);

export interface GateCondition {
  /** The name of the kind, which is that of its field in a gate. */
  readonly field: string;
  readonly kind: GateKind<unknown>;
  readonly spec: unknown;
  /** Completes a path that is relative to the spec. */
  readonly place: <T extends { readonly path: string }>(found: T) => T;
}

/** The conditions of the gate at the path, without its members. A valid gate has one; `wait` and `anyOf` have none. */
export function conditionsOf(gate: unknown, path = ""): readonly GateCondition[] {
  const fields = fieldsOf(gate);
  return KINDS.flatMap(([field, kind]): GateCondition[] => {
    const spec = fields[field] ?? undefined;
    if (spec === undefined) return [];
    const place: GateCondition["place"] = (found) => ({ ...found, path: `${path}.${field}${found.path}` });
    return [{ field, kind, spec, place }];
  });
}

/** Something in a spec that may be invalid. */
interface FoundValue {
  readonly value: unknown;
  /** "spec.rules[0].until[1]" */
  readonly path: string;
}

/** The gates of a policy's rules or of a rollout's stages, each before its members; of a spec that may be invalid. */
export function gatesIn(spec: unknown): readonly FoundValue[] {
  return ["rules", "stages"]
    .flatMap((field) => itemsOf({ value: spec, path: "spec" }, field))
    .flatMap((rule) => itemsOf(rule, "until"))
    .flatMap((gate) => [gate, ...itemsOf(gate, "anyOf")]);
}

function itemsOf({ value: parent, path }: FoundValue, field: string): readonly FoundValue[] {
  return listOf(fieldsOf(parent)[field]).map((value, index) => ({
    value,
    path: `${path}.${field}[${index}]`,
  }));
}

/** The gate itself, or the members of an anyOf gate; of a spec that may be invalid. */
export function membersOf(gate: unknown): readonly unknown[] {
  const { anyOf } = fieldsOf(gate);
  return Array.isArray(anyOf) ? anyOf : [gate];
}

export function allConditionsOf(gate: unknown): readonly GateCondition[] {
  return membersOf(gate).flatMap((member) => conditionsOf(member));
}

/** The annotations and labels that meet the gate or one of its members. */
export function marksOf(gate: unknown, cluster: Cluster, call: HookCall): readonly Mark[] {
  return allConditionsOf(gate).flatMap(({ kind, spec }) => kind.marks?.(spec, cluster, call) ?? []);
}

/** Whether an annotation or a label can meet the gate, or one of its members. */
export function isMetByMarks(gate: unknown): boolean {
  return placesOf(gate).length > 0;
}

/** Where the annotations and labels are that can meet the gate, or one of its members. */
export function placesOf(gate: unknown): readonly MarkPlace[] {
  return allConditionsOf(gate).flatMap(({ kind, spec }) =>
    kind.marks === undefined || kind.reads === "NoMark" ? [] : kind.reads(spec),
  );
}

/** The annotations and labels that the condition reads, besides those in its expressions; of a field that may be no condition. */
export function readBy(field: string, spec: unknown): readonly MarkPlace[] {
  const reads = KINDS.find(([name]) => name === field)?.[1].reads ?? "NoMark";
  return reads === "NoMark" ? [] : reads(spec);
}

/** Where the gate, or its members, look for objects. */
export function reachOf(gate: unknown): readonly ObjectReach[] {
  return allConditionsOf(gate).flatMap(({ kind, spec }) => kind.looksAt?.(spec) ?? []);
}

/**
 * For a valid spec of another kind than `wait`, which belongs to its rule. `asks`: how often a search in a window may
 * ask its entries.
 */
export function compileGate(spec: GateSpec, policy: PolicyRef, asks = MAX_ASKS): CompiledGate {
  const compile = (gate: AnyOfGateSpec): CompiledGate => {
    const [condition] = conditionsOf(gate);
    const compiled = condition?.kind.compile(gate.name, condition.spec, { policy, asks });
    return saying(gate.message, compiled ?? unknownGate(gate.name));
  };
  if (spec.anyOf === undefined) return compile(spec);
  return saying(spec.message, anyOfGate(spec.name, spec.anyOf.map(compile)));
}

/** The gate with a message of its own. */
function saying(said: string | undefined, gate: CompiledGate): CompiledGate {
  if (said === undefined) return gate;
  return { ...gate, evaluate: (situation) => ({ ...gate.evaluate(situation), said }) };
}

/** A kind that this version does not know makes the rule not evaluable, never more permissive. */
function unknownGate(name: string): CompiledGate {
  const wanted = "a kind of gate that this version of the operator knows";
  const result = unevaluable("UnknownGate", wanted, "none that it knows");
  return { name, requestFields: READS_NOTHING, evaluate: () => result };
}
