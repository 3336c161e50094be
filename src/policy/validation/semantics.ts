/** Checks of a policy beyond the CRDs: CEL, cron, zones, version ranges, and what is legal but suspicious. */

import type { RuleSpec } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import {
  type CompiledExpression,
  compileExpression,
  type ExpressionField,
  type ExpressionProblem,
  type ExpressionWarning,
} from "../cel/expression.ts";
import { atPosition, positionAfter } from "../cel/syntax.ts";
import { STEP_HOOKS } from "../../api/hook-catalog.ts";
import type { FieldError } from "./schema.ts";
import { conditionsOf } from "../gates/gates.ts";
import { gatesOf, type GateField, type SoundRule, soundRules } from "./sound-parts.ts";
import { contradictions, untilMissing } from "./contradictions.ts";
import { expressionsOfTasks, taskErrors, type TaskOwner } from "./task-checks.ts";
import { taskWarnings } from "./task-warnings.ts";
import { sendsField } from "../../api/target-version.ts";
import { MAX_ASKS } from "../window/window.ts";
import { atOnce, type WorkSteps } from "../../lib/work-steps.ts";

export interface Semantics {
  /** Errors that make the rule not evaluable. */
  readonly errors: readonly FieldError[];
  /** Legal, but perhaps not intended. */
  readonly warnings: readonly FieldError[];
}

/** Limit for all expressions of a policy, because compiling them takes the time of all calls. */
const MAX_EXPRESSION_LETTERS = 8 * 1024;
/** The least number of characters that an expression counts as, because compiling even a short one takes some time. */
const LETTERS_AT_LEAST = 32;
/** How many errors of one rule the operator looks for, because suggesting what was meant takes longer than checking. */
export const ENOUGH_ERRORS = 4;
/** Entries of all different windows of a policy. */
const MAX_WINDOW_ENTRIES = 256;
/** Asks of all searches of a policy together. */
const MAX_POLICY_ASKS = 16_000;
/** Limit for all patterns of a policy: compiled, they take about 100 bytes per unit of weight. */
const MAX_PATTERN_WEIGHT = 8000;

/**
 * Checks only what fits the schema: `schemaErrors` are those of validatePolicy(). `mode`: `spec.mode`, which may be invalid.
 */
export function checkRules(...args: Parameters<typeof checkInSteps>): Semantics {
  return atOnce(checkInSteps(...args));
}

export function* checkInSteps(
  rules: readonly RuleSpec[],
  schemaErrors: readonly FieldError[],
  { mode, ...limits }: Pick<RuleSet, "max" | "owner" | "made"> & { readonly mode?: unknown } = {},
): WorkSteps<Semantics> {
  const sound = soundRules(rules, schemaErrors);
  const { errors, warnings } = yield* checkRuleSet({
    path: "spec.rules",
    rules: sound,
    remedy: "split the policy",
    ...limits,
  });
  return { errors, warnings: [...warnings, ...(schemaErrors.length > 0 ? [] : untilMissing(rules, mode))] };
}

/** The parts of one object that share its limits. */
export interface RuleSet {
  readonly path: string;
  readonly rules: readonly SoundRule[];
  /** Health checks of a rollout. */
  readonly health?: readonly ExpressionField[];
  /** How to get below a limit. */
  readonly remedy: string;
  /** A rule with this many errors is not checked any further. */
  readonly max?: number | undefined;
  /** Absent: of any kind, and in any namespace. */
  readonly owner?: TaskOwner | undefined;
  /** Gets what is compiled: compileExpression() forgets between two turns what nothing refers to. */
  readonly made?: CompiledExpression[] | undefined;
}

type Findings = Record<"errors" | "warnings", FieldError[]> &
  Pick<RuleSet, "made"> & { patternWeight: number };

export function* checkRuleSet(together: RuleSet): WorkSteps<Semantics> {
  const { path: whole, rules, health = [], remedy, made } = together;
  // Makes every rule not evaluable.
  const refused = (problem: string): Semantics => ({
    errors: [{ path: whole, message: `${problem}: ${remedy}` }],
    warnings: [],
  });
  const expressions = [...rules.flatMap(({ rule, path }) => expressionsOf(rule, path)), ...health];
  if (lettersOf(expressions) > MAX_EXPRESSION_LETTERS) return refused(TOO_MANY_LETTERS);
  const { tooMany } = countWindows(rules.map(({ rule }) => rule));
  if (tooMany) return refused(TOO_MANY_ENTRIES);
  const findings: Findings = { errors: [], warnings: [], patternWeight: 0, made };
  for (const each of rules) {
    yield* checkRule(each, findings, together);
    if (findings.patternWeight > MAX_PATTERN_WEIGHT) return refused(TOO_MANY_PATTERNS);
  }
  for (const expression of health) {
    checkExpression(expression, [], findings);
    if (findings.patternWeight > MAX_PATTERN_WEIGHT) return refused(TOO_MANY_PATTERNS);
  }
  const { errors, warnings } = findings;
  return { errors, warnings: [...warnings, ...taskWarnings(rules, together.owner)] };
}

/**
 * For rules that fit the schema. `asks`: how often each search may ask an entry, because all windows of a policy are searched
 * at once every hour.
 */
export function countWindows(rules: readonly RuleSpec[]): {
  readonly tooMany: boolean;
  readonly asks: number;
} {
  const windows = rules.flatMap((rule) => gatesOf(rule, "")).flatMap(({ gate }) => gate.window ?? []);
  const different = new Map(windows.map((window) => [JSON.stringify(window), window]));
  const entries = [...different.values()].flatMap(({ allow = [], deny = [] }) => [...allow, ...deny]);
  const share = Math.floor(MAX_POLICY_ASKS / Math.max(1, different.size));
  return { tooMany: entries.length > MAX_WINDOW_ENTRIES, asks: Math.min(MAX_ASKS, share) };
}

/** Equal expressions are compiled once. */
function lettersOf(expressions: readonly ExpressionField[]): number {
  const different = new Set(expressions.map(({ source }) => source));
  return different.values().reduce((sum, { length }) => sum + Math.max(length, LETTERS_AT_LEAST), 0);
}

const TOO_MANY_LETTERS = `the different expressions have more than ${MAX_EXPRESSION_LETTERS} letters together`;
const TOO_MANY_ENTRIES = `the different windows have more than ${MAX_WINDOW_ENTRIES} entries together`;
const TOO_MANY_PATTERNS = "the patterns of all expressions together repeat too much";

/** All expressions of the rule at the path. */
export function expressionsOf(rule: RuleSpec, path: string): readonly ExpressionField[] {
  const ofGates = gatesOf(rule, path).flatMap(expressionsOfGate);
  return [...matchConditionsOf(rule, path), ...ofGates, ...expressionsOfTasks(rule, path)];
}

function matchConditionsOf({ matchConditions = [] }: RuleSpec, path: string): readonly ExpressionField[] {
  return matchConditions.map(({ expression: source }, index) => {
    return { source, use: "matchCondition", path: `${path}.matchConditions[${index}].expression` };
  });
}

function expressionsOfGate({ gate, path }: GateField): readonly ExpressionField[] {
  return conditionsOf(gate, path).flatMap(({ kind, spec, place }) =>
    (kind.expressions?.(spec) ?? []).map(place),
  );
}

function* checkRule(
  { rule, path }: SoundRule,
  findings: Findings,
  { max = Infinity, owner }: Pick<RuleSet, "max" | "owner">,
): WorkSteps {
  const before = findings.errors.length;
  for (const part of [
    ...matchConditionsOf(rule, path),
    ...gatesOf(rule, path),
    ...expressionsOfTasks(rule, path),
  ]) {
    yield;
    if (findings.errors.length - before >= max) return;
    if ("gate" in part) checkGate(part, rule, findings);
    else checkExpression(part, rule.hooks, findings);
  }
  findings.errors.push(...taskErrors(rule, path, owner));
  findings.warnings.push(
    ...midUpgrade(rule, path),
    ...unshown(rule, path),
    ...contradictions(rule, path),
    ...passedDeadline(rule, path),
  );
}

function checkGate(placed: GateField, rule: RuleSpec, findings: Findings): void {
  for (const expression of expressionsOfGate(placed)) checkExpression(expression, rule.hooks, findings);
  for (const { kind, spec, place } of conditionsOf(placed.gate, placed.path)) {
    const { errors = [], warnings = [] } = kind.check?.(spec, rule) ?? {};
    findings.errors.push(...errors.map(place));
    findings.warnings.push(...warnings.map(place));
  }
}

function checkExpression(
  { source, use, path, before = "" }: ExpressionField,
  hooks: readonly HookName[],
  findings: Findings,
): void {
  const made = compileExpression(source, use);
  findings.made?.push(made);
  const { problems, warnings, patternWeight } = made;
  const placed = ({ message, line, column }: ExpressionProblem): FieldError => {
    return { path, message: `${atPosition(...positionAfter(before, line, column))}${message}` };
  };
  findings.patternWeight += patternWeight;
  findings.errors.push(...problems.map(placed));
  const suspicious = warnings.flatMap((warning) => forHooks(warning, hooks) ?? []);
  findings.warnings.push(...suspicious.map((warning) => ({ ...placed(warning), id: warning.id })));
}

/**
 * Each hook sends different fields of `request`. `undefined`: every hook of the rule sends the field, so that it is
 * never missing.
 */
function forHooks(warning: ExpressionWarning, hooks: readonly HookName[]): ExpressionWarning | undefined {
  const { requestField: field } = warning;
  if (field === undefined) return warning;
  const lacking = hooks.filter((hook) => !sendsField(hook, field));
  if (lacking.length === 0) return undefined;
  const path = `request.${field}`;
  const names = lacking.join(", ");
  if (lacking.length === hooks.length) {
    const message = `${names} ${lacking.length === 1 ? "has" : "have"} no ${path}, so the rule cannot be evaluated: leave it out`;
    return { ...warning, id: "field-always-missing", message };
  }
  const message = `${path} is missing for ${names}, and then the rule cannot be evaluated: ask first, as in has(${path}) && …`;
  return { ...warning, message };
}

/** Cluster API rejects another spec.topology.version during an upgrade (its Cluster webhook). */
function midUpgrade({ hooks, until }: RuleSpec, path: string): FieldError[] {
  const index = hooks.findIndex((hook) => STEP_HOOKS.has(hook));
  if (until === undefined || index < 0) return [];
  const message = `${hooks[index]} is asked once the upgrade is under way: while this rule holds it, the Cluster stays between two versions and cannot take another one. To stop an upgrade before anything changes, hold BeforeClusterUpgrade`;
  return [{ path: `${path}.hooks[${index}]`, id: "mid-upgrade", message }];
}

/** The hooks whose fromKubernetesVersion no annotation shows. */
const SHOWN_BY_STATUS: readonly HookName[] = ["BeforeClusterUpgrade", "BeforeWorkersUpgrade"];

/** Timers count from what the Cluster shows, so they never begin for a rule that needs more of the call. */
function unshown(rule: RuleSpec, path: string): FieldError[] {
  const { hooks, until, deadline } = rule;
  const index = hooks.findIndex((hook) => SHOWN_BY_STATUS.includes(hook));
  const hasClock = deadline !== undefined || until?.some(({ wait }) => wait !== undefined) === true;
  if (index < 0 || !hasClock) return [];
  const readsFrom = expressionsOf(rule, path).some(({ source, use }) =>
    compileExpression(source, use).expression?.requestFields.has("fromKubernetesVersion"),
  );
  if (!readsFrom) return [];
  const message = `a Cluster may not show request.fromKubernetesVersion of ${hooks[index]} (before Cluster API 1.14, without workers, or if its control plane reports no status.versions): between calls the rule is then not evaluable, and its \`wait\` and \`deadline\` never begin. Put them into a rule that does not read it`;
  return [{ path: `${path}.hooks[${index}]`, id: "from-version-not-shown", message }];
}

/** A deadline counts from the first call of the hook, which a refused request never leads to. */
function passedDeadline({ admission, deadline }: RuleSpec, path: string): FieldError[] {
  if (admission !== "Deny" || deadline?.onExpiry !== "Allow") return [];
  const message =
    "the deadline ends only what a hook holds: at admission, the API server refuses the request until the gates are met, however long that takes. Use admission: Warn, or remove the deadline";
  return [{ path: `${path}.deadline.onExpiry`, id: "deadline-not-at-admission", message }];
}
