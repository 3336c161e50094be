/** What the product needs to know of a kind of gate. Each kind is a module in this folder, and gates.ts lists them all. */

import type { Cluster } from "../../api/meta.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import type { ExpressionField } from "../cel/expression.ts";
import type { ObjectKind } from "../watched-objects.ts";
import type { CompiledGate } from "../policy.ts";
import type { PolicyRef } from "../policy-ref.ts";
import type { Mark, MarkPlace } from "../mark.ts";
import type { FieldError } from "../validation/schema.ts";

/**
 * `Spec`: the value of the gate's field in a policy, such as that of `annotation`; it fits the schema. Paths are relative
 * to it: ".key", or "" for all of it.
 */
export interface GateKind<Spec> {
  /** For a spec without errors. */
  compile(name: string, spec: Spec, owner: GateOwner): CompiledGate;
  /** The CEL in the spec, which is checked like that of match conditions. */
  expressions?(spec: Spec): readonly ExpressionField[];
  /** What else is wrong with the spec, or suspicious in this rule. */
  check?(spec: Spec, rule: Pick<RuleSpec, "hooks" | "admission">): CheckResult;
  /** Why the gate is never met: by nothing, or not at the same time as a gate of its kind that the rule names before it. */
  contradicts?(spec: Spec, earlier: readonly SiblingGate<Spec>[]): readonly Contradiction[];
  /** The annotations and labels that meet the gate, if one of them is set. Absent: none does. */
  marks?(spec: Spec, cluster: Cluster, call: HookCall): readonly Mark[];
  /**
   * The annotations and labels of a Cluster or its Namespace that the gate reads, besides those in its expressions: no command
   * sets them for a tenant's policy if the platform's gates read them. The spec may be invalid.
   */
  readonly reads: "NoMark" | ((spec: unknown) => readonly MarkPlace[]);
  /** The objects that the gate looks at, which the author of the policy must be allowed to read. The spec may be invalid. */
  looksAt?(spec: unknown): ObjectReach | undefined;
  /** Whether the gate can fail with a valid spec, instead of being met or not. */
  canFail?(spec: Spec): boolean;
  /** Whether the gate is met by what a person or a system gives for one version. */
  approvesVersion?(spec: Spec): boolean;
}

export interface GateOwner {
  /** What a tenant writes must not choose what an administrator's command sets, nor reach other namespaces. */
  readonly policy: PolicyRef;
  /** How often a search in a window may ask its entries. */
  readonly asks: number;
}

export interface CheckResult {
  readonly errors?: readonly FieldError[];
  readonly warnings?: readonly FieldError[];
}

export interface SiblingGate<Spec> {
  readonly name: string;
  readonly spec: Spec;
}

export interface Contradiction {
  readonly path: string;
  readonly why: string;
}

export interface ObjectReach {
  readonly kind: ObjectKind;
  /** Absent: all names. */
  readonly name?: string;
  /** Absent: the Cluster's, or those that it selects. */
  readonly namespace?: string;
  /** It looks into the namespaces that a selector selects. */
  readonly selectsNamespaces: boolean;
}
