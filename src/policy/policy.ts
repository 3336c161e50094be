/** What a HookPolicy or ClusterHookPolicy is to the decision: compiled once per generation by compile.ts. */

import type { HookCall, HookName } from "../api/runtimehooks.ts";
import type { World } from "./world.ts";
import type { FieldError } from "./schema.ts";
import type { LabelMatcher } from "./selector.ts";

export type PolicyKind = "HookPolicy" | "ClusterHookPolicy";

export interface PolicyRef {
  readonly kind: PolicyKind;
  /** Absent for a ClusterHookPolicy. */
  readonly namespace?: string;
  readonly name: string;
}

/** "HookPolicy team-a/protect-production": how messages and logs name a policy. */
export function policyName({ kind, namespace, name }: PolicyRef): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

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
  /** What is wrong with the spec; the rules concerned carry `problem` and are not evaluable. */
  readonly errors: readonly FieldError[];
  /** Rules on hooks that this process cannot hold (`--capi-version`); the rule's other hooks work. */
  readonly notEnforceable: readonly FieldError[];
}

export interface CompiledRule {
  readonly name: string;
  /** The hooks on which this rule speaks: only those that can block, unless the rule only observes. */
  readonly hooks: ReadonlySet<HookName>;
  /** All must hold. Empty: the rule only observes. */
  readonly gates: readonly CompiledGate[];
  /** Appended to the generated text. */
  readonly message?: string;
  readonly retryAfterSeconds: number;
  /** Why the rule cannot be evaluated: the field errors below it. */
  readonly problem?: string;
}

export interface CompiledGate {
  readonly name: string;
  evaluate(world: World, call: HookCall, now: Date): GateResult;
}

/** What one gate says of one Cluster at one instant. */
export interface GateResult {
  /** `undefined`: not evaluable. */
  readonly holds: boolean | undefined;
  /** CamelCase constant. */
  readonly reason: string;
  /** What the gate waits for, without anything that was observed: goes into messages. */
  readonly wanted: string;
  /** What was found: for the trace only, never for a message. */
  readonly observed: string;
  /** The command or the deed that makes the gate hold. */
  readonly remedy?: string;
  /** The earliest instant at which time alone changes the result; absent: never. */
  readonly changesAt?: Date;
}
