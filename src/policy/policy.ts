/** A compiled HookPolicy or ClusterHookPolicy, made once per generation by compile.ts. */

import { CATALOG } from "../api/hook-catalog.ts";
import type { TaskAccount } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { CommandLine } from "../lib/shell-quote.ts";
import type { Expression } from "./cel/expression.ts";
import { type ObjectKind, objectKindKey } from "./watched-objects.ts";
import type { FieldError } from "./validation/schema.ts";
import type { LabelMatcher } from "../api/selector.ts";
import type { TOO_LARGE } from "../views/too-large.ts";
import type { RequestField } from "../api/target-version.ts";
import type { Window } from "./window/window.ts";
import type { UNKNOWN_FIELD } from "./strict-reasons.ts";
import type { Situation } from "./world.ts";
import type { PolicyRef } from "./policy-ref.ts";
import type { CompiledTask } from "./tasks/compile-task.ts";

/** When Cluster API is to ask again where the author says nothing, or while a task is unfinished. */
export const RETRY_SECONDS = 10;
/** The same where the reason passes by itself: Cluster API does not ask earlier. */
export const SOON_SECONDS = 5;

/** The exception of a bug, for the log only: JSON leaves out a field whose name is a symbol. */
export const CAUSE = Symbol("cause");

export interface CompiledPolicy {
  readonly ref: PolicyRef;
  readonly uid: string;
  readonly generation: number;
  readonly mode: "Enforce" | "Audit";
  readonly failurePolicy: "Fail" | "Ignore";
  readonly selectsCluster: LabelMatcher;
  /** The same, as `kubectl get -l` takes it; "" selects everything. */
  readonly clusterSelector: string;
  /** Matches the labels of the Cluster's Namespace; absent for a HookPolicy, whose scope is its own namespace. */
  readonly selectsNamespace?: LabelMatcher;
  readonly rules: readonly CompiledRule[];
  /** Whether a rule may read the Cluster's status, as every expression can: otherwise memory skips its changes. */
  readonly readsStatus: boolean;
  /** Errors in the spec; the affected rules carry `problem` and are not evaluable. */
  readonly errors: readonly FieldError[];
  /** Compiled of a stub: see too-large.ts. */
  readonly tooLarge?: true;
  /** The ServiceAccount as which the tasks act; absent: no rule has tasks. */
  readonly account?: TaskAccount;
  /** Rules on hooks that this process cannot hold (`--capi-version`); the rule's other hooks work. */
  readonly notEnforceable: readonly FieldError[];
  /** Why it could not be compiled. */
  readonly [CAUSE]?: unknown;
}

export interface CompiledRule {
  readonly name: string;
  /** The hooks that this rule applies to: only those that can block, unless the rule only observes. */
  readonly hooks: ReadonlySet<HookName>;
  /** The effect at admission while its gates are not met; absent: none. */
  readonly admission?: "Warn" | "Deny";
  /** All must be true for the rule to apply. */
  readonly matchConditions: readonly { readonly name: string; readonly expression: Expression }[];
  /** All must be met. A rule without gates, waits and tasks only observes. */
  readonly gates: readonly CompiledGate[];
  /** Waits that begin when all gates are met. */
  readonly waits: readonly Wait[];
  /** Tasks that must be done as well, in order. */
  readonly tasks: readonly CompiledTask[];
  readonly deadline?: Deadline;
  /** Comes before the generated message. */
  readonly message?: string;
  readonly retryAfterSeconds: number;
  /** Why the rule cannot be evaluated: its field errors. */
  readonly problem?: string;
  /** The reason of a rule with a problem that holds whatever its failurePolicy. */
  readonly broken?: typeof TOO_LARGE | typeof UNKNOWN_FIELD;
}

/** Whether the rule can hold an operation. */
export function isGated({ gates, waits, tasks, hooks, problem }: CompiledRule): boolean {
  if (gates.length + waits.length > 0 || problem !== undefined) return true;
  return tasks.length > 0 && hooks.values().some(holds);
}

export function canHoldAt(rule: CompiledRule, hook: HookName): boolean {
  return holds(hook) && isGated(rule);
}

/** Cluster API waits for no answer there: tasks begin, and hold nothing. */
function holds(hook: HookName): boolean {
  return CATALOG[hook].blocksSince !== undefined;
}

export interface Wait {
  readonly name: string;
  readonly said?: string;
  /** As written in the policy: "30m". */
  readonly duration: string;
  readonly durationMs: number;
}

/** Counted from the rule's first block of the operation. */
export interface Deadline {
  readonly afterMs: number;
  readonly onExpiry: "Allow" | "KeepBlocking";
  /** The remaining time at which to warn; absent: after 50 and 80 % of the time. */
  readonly warnBeforeMs?: number;
}

export interface CompiledGate {
  readonly name: string;
  evaluate(situation: Situation): GateResult;
  /**
   * The earliest instant from `now` on at which time alone meets the gate, for any Cluster. "Never": it is past.
   * "Unknown": it may open, but the time cannot be computed. Absent: an action is required.
   */
  opensAt?(now: Date): Date | "Never" | "Unknown";
  /** Time alone can change the result, so rollouts and simulations look again. A window says instead when. */
  readonly usesNow?: boolean;
  readonly requestFields: ReadonlySet<RequestField>;
  /** The time windows of the gate, for the status, events and metrics. */
  readonly windows?: readonly NamedWindow[];
  readonly demands?: readonly ObjectDemand[];
  /** Other Namespaces than the Cluster's own matter to the gate. */
  readonly readsNamespaces?: boolean;
  /** The objects that the gate looks at for this Cluster, to be read live before a release. */
  queries?(situation: Situation): readonly ObjectQuery[];
}

export interface NamedWindow {
  readonly gate: string;
  /** Whether the gate is met only while the window is open, as the window is not a member of an anyOf gate. */
  readonly alone: boolean;
  readonly window: Window;
}

/** The reason of a rule or gate that reads the Namespace of a Cluster, which is not known. */
export const NAMESPACE_UNKNOWN = "NamespaceUnknown" as const;

export function windowsOf({ rules }: CompiledPolicy): readonly (NamedWindow & { readonly rule: string })[] {
  return rules.flatMap(({ name: rule, gates }) =>
    gates.flatMap(({ windows = [] }) => windows.map((window) => ({ rule, ...window }))),
  );
}

export function demandsOf({ rules }: CompiledPolicy): readonly ObjectDemand[] {
  return rules.flatMap(({ gates }) => gates.flatMap(({ demands = [] }) => demands));
}

/** Whether other Namespaces than the Cluster's own matter to a gate on the hook, or on any. */
export function readsNamespaces({ rules }: CompiledPolicy, hook?: HookName): boolean {
  return rules.some(
    ({ hooks, gates }) =>
      (hook === undefined || hooks.has(hook)) && gates.some((gate) => gate.readsNamespaces === true),
  );
}

/** One demand per kind, in the order of first mention; for the whole object if any of them needs it. */
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
  /** Whether more than metadata is needed. */
  readonly whole: boolean;
}

export interface ObjectQuery extends ObjectDemand {
  readonly namespace: string;
  /** Absent: all objects of the namespace. */
  readonly name?: string;
}

/** The result of one gate for one Cluster at one instant. */
export interface GateResult {
  /** `undefined`: not evaluable. */
  readonly met: boolean | undefined;
  readonly reason: string;
  /** What the gate waits for, without any observed value and without CEL: used in messages. */
  readonly wanted: string;
  /** `wanted` in full, where messages have a shorter form: for the trace only. */
  readonly wantedInFull?: string;
  /** The gate's own message: the words of the policy's author, which messages have in the place of `wanted`. */
  readonly said?: string;
  /** How many objects there are, of how many: for messages, so it changes only when the result comes nearer. */
  readonly found?: string;
  /** What was found: for the trace only, never for a message. If the gate is not evaluable: the reason, for both. */
  readonly observed: string;
  /** The command or action that meets the gate. */
  readonly remedy?: string;
  /**
   * The commands that show what a gate waits for that no command meets; or, if it is not evaluable, that make it so: for the
   * trace only.
   */
  readonly look?: readonly CommandLine[];
  /** Why there is no command, and what a person can do instead. */
  readonly withheld?: string;
  /**
   * The earliest instant at which time alone changes the result; absent: never. "Unknown": it can change, but the time
   * cannot be computed (CEL with `now`).
   */
  readonly changesAt?: Date | "Unknown";
  /** Nothing is known to change at `changesAt`: the search for an edge ended there. */
  readonly isSearchEnd?: true;
  /** The results of the members of an anyOf gate: for the trace only, as `observed`. */
  readonly members?: readonly GateTrace[];
}

export interface GateTrace extends GateResult {
  readonly gate: string;
  readonly [CAUSE]?: unknown;
}

/** What a message says that the gate waits for. The words of the policy's author are always in quotes. */
export function wantedInMessage({
  wanted,
  said,
  found,
}: Pick<GateResult, "wanted" | "said" | "found">): string {
  const text = said === undefined ? wanted : JSON.stringify(said);
  return found === undefined ? text : `${text}: ${found}`;
}

/** How a message names the remedy. The words of the policy's author never stand in parentheses. */
export function inParentheses({ remedy, withheld }: Pick<GateResult, "remedy" | "withheld">): string {
  if (remedy !== undefined) return ` (${remedy})`;
  return withheld === undefined ? "" : ` (no command: ${withheld})`;
}

/** The result of a gate without a verdict: the rule is not evaluable. */
export function unevaluable(reason: string, wanted: string, observed: string): GateResult {
  return { met: undefined, reason, wanted, observed };
}
