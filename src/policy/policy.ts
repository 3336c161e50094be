/** What a HookPolicy or ClusterHookPolicy is to the decision: compiled once per generation by compile.ts. */

import type { HookCall, HookName } from "../api/runtimehooks.ts";
import type { Expression } from "./cel/expression.ts";
import { type ObjectKind, objectKindKey } from "./objects.ts";
import type { FieldError } from "./validation/schema.ts";
import type { LabelMatcher } from "./selector.ts";
import type { Window } from "./window/window.ts";
import type { World } from "./world.ts";
import type { PolicyRef } from "./policyref.ts";

export interface CompiledPolicy {
  readonly ref: PolicyRef;
  readonly uid: string;
  readonly generation: number;
  readonly mode: "Enforce" | "Audit";
  readonly failurePolicy: "Fail" | "Ignore";
  readonly selectsCluster: LabelMatcher;
  /** By the labels of the Cluster's Namespace; absent for a HookPolicy, whose scope is its own namespace. */
  readonly selectsNamespace?: LabelMatcher;
  readonly rules: readonly CompiledRule[];
  /** Some rule looks at the Cluster with CEL, so that any of its fields can matter. */
  readonly hasExpressions: boolean;
  /** What is wrong with the spec; the rules concerned carry `problem` and are not evaluable. */
  readonly errors: readonly FieldError[];
  /** Rules on hooks that this process cannot hold (`--capi-version`); the rule's other hooks work. */
  readonly notEnforceable: readonly FieldError[];
}

export interface CompiledRule {
  readonly name: string;
  /** The hooks on which this rule speaks: only those that can block, unless the rule only observes. */
  readonly hooks: ReadonlySet<HookName>;
  /** All must be true, or the rule does not apply. */
  readonly matchConditions: readonly MatchCondition[];
  /** All must hold. Without gates and waits the rule only observes. */
  readonly gates: readonly CompiledGate[];
  /** Must have passed since all gates hold. */
  readonly waits: readonly Wait[];
  readonly deadline?: Deadline;
  /** Appended to the generated text. */
  readonly message?: string;
  readonly retryAfterSeconds: number;
  /** Why the rule cannot be evaluated: the field errors below it. */
  readonly problem?: string;
}

/** It can hold an operation, and does not only observe. */
export function isGated({ gates, waits, problem }: CompiledRule): boolean {
  return gates.length + waits.length > 0 || problem !== undefined;
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: Expression;
}

export interface Wait {
  readonly name: string;
  /** As the policy says it: "30m". */
  readonly duration: string;
  readonly durationMs: number;
}

/** Counted from the rule's first block of the operation. */
export interface Deadline {
  readonly afterMs: number;
  readonly onExpiry: "Allow" | "KeepBlocking";
}

export interface CompiledGate {
  readonly name: string;
  evaluate(world: World, call: HookCall, now: Date): GateResult;
  /**
   * The earliest instant from `now` on at which time alone makes the gate hold, whatever the Cluster. "Never": it
   * is past. "Unknown": it may, but nobody can tell when. Absent: somebody or something has to act.
   */
  opensAt?(now: Date): Date | "Never" | "Unknown";
  /** An expression of it looks at the clock. */
  readonly usesNow?: boolean;
  /** Its time windows, of which the status, events and metrics tell. */
  readonly windows?: readonly NamedWindow[];
  /** The kinds of objects that it looks at. */
  readonly demands?: readonly ObjectDemand[];
  /** The objects that it looks at for this Cluster, to read them live before a release. */
  queries?(world: World, call: HookCall, now: Date): readonly ObjectQuery[];
}

export interface NamedWindow {
  readonly gate: string;
  /** The gate holds only while the window is open: it is none of several, one of which is enough. */
  readonly alone: boolean;
  readonly window: Window;
}

/** Every window of the policy, in the order of its rules. */
export function windowsOf({ rules }: CompiledPolicy): readonly (NamedWindow & { readonly rule: string })[] {
  return rules.flatMap(({ name: rule, gates }) =>
    gates.flatMap(({ windows = [] }) => windows.map((window) => ({ rule, ...window }))),
  );
}

export function demandsOf({ rules }: CompiledPolicy): readonly ObjectDemand[] {
  return rules.flatMap(({ gates }) => gates.flatMap(({ demands = [] }) => demands));
}

/** One per kind, in the order of their first mention; the whole object where one of them needs it. */
export function mergeDemands(demands: Iterable<ObjectDemand>): Map<string, ObjectDemand> {
  const merged = new Map<string, ObjectDemand>();
  for (const { kind, whole } of demands) {
    const key = objectKindKey(kind);
    merged.set(key, { kind, whole: whole || merged.get(key)?.whole === true });
  }
  return merged;
}

export interface ObjectDemand {
  readonly kind: ObjectKind;
  /** More than metadata. */
  readonly whole: boolean;
}

export interface ObjectQuery extends ObjectDemand {
  readonly namespace: string;
  /** Absent: all of the namespace. */
  readonly name?: string;
}

/** What one gate says of one Cluster at one instant. */
export interface GateResult {
  /** `undefined`: not evaluable. */
  readonly holds: boolean | undefined;
  /** CamelCase constant. */
  readonly reason: string;
  /** What the gate waits for, without anything that was observed: goes into messages. */
  readonly wanted: string;
  /** What was found: for the trace only, never for a message. Where the gate is not evaluable: why, for both. */
  readonly observed: string;
  /** The command or the deed that makes the gate hold. */
  readonly remedy?: string;
  /**
   * The earliest instant at which time alone changes the result; absent: never. "Unknown": it can, but nobody
   * can tell when (CEL with `now`).
   */
  readonly changesAt?: Date | "Unknown";
  /** What each gate of several says, one of which is enough: for the trace only, as `observed`. */
  readonly members?: readonly (GateResult & { readonly gate: string })[];
}

/** A gate of which nothing can be said: the rule is not evaluable. */
export function unevaluable(reason: string, wanted: string, observed: string): GateResult {
  return { holds: undefined, reason, wanted, observed };
}
