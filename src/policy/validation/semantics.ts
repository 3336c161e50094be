/** Checks of a policy beyond the CRDs: CEL, cron, zones, version ranges, and what is legal but suspicious. */

import type { AnyOfGateSpec, GateSpec, MetadataGateSpec, RuleSpec } from "../../api/hookpolicy.ts";
import { atOnce, type Steps } from "../../api/steps.ts";
import type { HookName } from "../../api/runtimehooks.ts";
import { compileExpression, type ExpressionUse } from "../cel/expression.ts";
import { type ServedHooks, STEP_HOOKS } from "../../api/hookcatalog.ts";
import { type FieldError, isWithin } from "./schema.ts";
import { isPresent, soundRules } from "./soundparts.ts";
import { admissionWarnings } from "./admissionwarnings.ts";
import { contradictions } from "./contradictions.ts";
import { forHooks } from "./requestfields.ts";
import { rangeProblem } from "../gates/versionrange.ts";
import { countWindows, MAX_WINDOW_ENTRIES } from "../window/windowlimits.ts";
import { windowProblems, windowWarnings } from "../window/window.ts";

export interface Semantics {
  /** Errors that make the rule not evaluable. */
  readonly errors: readonly FieldError[];
  /** Legal, but perhaps not intended. */
  readonly warnings: readonly FieldError[];
}

/**
 * Limit for all expressions of a policy: one can hold two megabytes of them, and no hook is answered while they
 * compile.
 */
const MAX_EXPRESSION_LETTERS = 16 * 1024;
/** Limit for all patterns of a policy: compiled, they take about 100 bytes per unit of weight. */
const MAX_PATTERN_WEIGHT = 8000;

/**
 * Checks only what fits the schema: `schemaErrors` are those of validatePolicy(). `served` absent: for any
 * version.
 */
export function checkRules(
  rules: readonly RuleSpec[],
  schemaErrors: readonly FieldError[],
  served?: ServedHooks,
): Semantics {
  const { errors, warnings } = atOnce(checkInSteps(rules, schemaErrors, served));
  return { errors, warnings };
}

/** Also returns how often a search in a window may ask its entries. */
export function* checkInSteps(
  rules: readonly RuleSpec[],
  schemaErrors: readonly FieldError[],
  served?: ServedHooks,
): Steps<Semantics & { readonly asks: number }> {
  const sound = soundRules(rules, schemaErrors);
  return yield* checkTogether({ path: "spec.rules", rules: sound, remedy: "split the policy" }, served);
}

/** Whether nothing at the path, around it or below it is wrong. */
export function isSound(path: string, errors: readonly FieldError[]): boolean {
  return !errors.some((each) => isWithin(each.path, path) || isWithin(path, each.path));
}

/** The parts of one object that share its limits. */
export interface Together {
  readonly path: string;
  readonly rules: readonly { readonly rule: RuleSpec; readonly path: string }[];
  /** Health checks of a rollout. */
  readonly health?: readonly { readonly expression: string; readonly path: string }[];
  /** How to get below a limit. */
  readonly remedy: string;
}

export function* checkTogether(
  { path: whole, rules, health = [], remedy }: Together,
  served: ServedHooks | undefined,
): Steps<Semantics & { readonly asks: number }> {
  // Makes every rule not evaluable.
  const refused = (problem: string): Semantics & { readonly asks: number } => ({
    errors: [{ path: whole, message: `${problem}: ${remedy}` }],
    warnings: [],
    asks: 0,
  });
  const texts = [
    ...rules.flatMap(({ rule, path }) => expressionsOf(rule, path).map(({ source }) => source)),
    ...health.map((each) => each.expression),
  ];
  const letters = texts.reduce((sum, { length }) => sum + length, 0);
  if (letters > MAX_EXPRESSION_LETTERS) return refused(TOO_MANY_LETTERS);
  const { tooMany, asks } = yield* countWindows(rules.map(({ rule }) => rule));
  if (tooMany) return refused(TOO_MANY_ENTRIES);
  const checked: Semantics[] = [];
  const patterns: Patterns = { weight: 0 };
  for (const { rule, path } of rules) {
    checked.push(yield* checkRule(rule, { path, patterns }, served));
    if (patterns.weight > MAX_PATTERN_WEIGHT) return refused(TOO_MANY_PATTERNS);
  }
  for (const { expression, path } of health) {
    yield;
    checked.push(checkExpression(expression, "health", { path, patterns }, { hooks: [] }));
    if (patterns.weight > MAX_PATTERN_WEIGHT) return refused(TOO_MANY_PATTERNS);
  }
  return { ...merge(checked), asks };
}

/** The patterns of a policy so far. */
interface Patterns {
  weight: number;
}

const TOO_MANY_LETTERS = `the expressions have more than ${MAX_EXPRESSION_LETTERS} letters together`;
const TOO_MANY_ENTRIES = `the different windows have more than ${MAX_WINDOW_ENTRIES} entries together`;
const TOO_MANY_PATTERNS = "the patterns of all expressions together repeat too much";

export interface PlacedExpression {
  readonly source: string;
  readonly use: ExpressionUse;
  readonly path: string;
}

/** All expressions of the rule at the path. */
export function expressionsOf(
  { matchConditions = [], until = [] }: RuleSpec,
  path: string,
): readonly PlacedExpression[] {
  return [
    ...matchConditions.map(({ expression: source }, i): PlacedExpression => {
      return { source, use: "matchCondition", path: `${path}.matchConditions[${i}].expression` };
    }),
    ...until.flatMap((gate, i) => [
      ...expressionsOfGate(gate, `${path}.until[${i}]`),
      ...(gate.anyOf ?? []).flatMap((each, j) => expressionsOfGate(each, `${path}.until[${i}].anyOf[${j}]`)),
    ]),
  ];
}

function expressionsOfGate({ expression, object }: AnyOfGateSpec, path: string): readonly PlacedExpression[] {
  const placed = (source: string | undefined, use: ExpressionUse, field: string): PlacedExpression[] =>
    source === undefined ? [] : [{ source, use, path: `${path}.${field}` }];
  return [
    ...placed(expression, "gate", "expression"),
    ...placed(object?.nameExpression, "objectName", "object.nameExpression"),
    ...placed(object?.expression, "object", "object.expression"),
  ];
}

const NOTHING: Semantics = { errors: [], warnings: [] };

function merge(parts: readonly Semantics[]): Semantics {
  return {
    errors: parts.flatMap(({ errors }) => errors),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

function* checkRule(
  rule: RuleSpec,
  { path, patterns }: Place,
  served: ServedHooks | undefined,
): Steps<Semantics> {
  const parts: Semantics[] = [];
  for (const [index, condition] of (rule.matchConditions ?? []).entries()) {
    if (!isPresent(condition)) continue;
    yield;
    const { expression } = condition;
    const at = { path: `${path}.matchConditions[${index}].expression`, patterns };
    parts.push(checkExpression(expression, "matchCondition", at, rule));
  }
  for (const [index, gate] of (rule.until ?? []).entries())
    parts.push(yield* checkGate(gate, rule, { path: `${path}.until[${index}]`, patterns }));
  return merge([
    ...parts,
    midUpgrade(rule, path),
    { errors: [], warnings: [...contradictions(rule, path), ...admissionWarnings(rule, path)] },
    served === undefined ? NOTHING : unshown(rule, path, served),
  ]);
}

interface Place {
  readonly path: string;
  readonly patterns: Patterns;
}

function* checkGate(gate: GateSpec, rule: RuleSpec, { path, patterns }: Place): Steps<Semantics> {
  yield;
  const parts = [checkSimpleGate(gate, rule, { path, patterns })];
  for (const [index, member] of (gate.anyOf ?? []).entries()) {
    yield;
    parts.push(checkSimpleGate(member, rule, { path: `${path}.anyOf[${index}]`, patterns }));
  }
  return merge(parts);
}

function checkSimpleGate(gate: AnyOfGateSpec, rule: RuleSpec, { path, patterns }: Place): Semantics {
  const below = (field: string): Place => ({ path: `${path}.${field}`, patterns });
  const { expression, window, version, object } = gate;
  const parts: Semantics[] = [];
  if (gate.annotation !== undefined) parts.push(outlives(gate.annotation, rule, `${path}.annotation`));
  if (gate.label !== undefined) parts.push(outlives(gate.label, rule, `${path}.label`));
  if (expression !== undefined) parts.push(checkExpression(expression, "gate", below("expression"), rule));
  if (window !== undefined) {
    const at = (problem: FieldError): FieldError => ({ ...problem, path: `${path}.window${problem.path}` });
    const errors = windowProblems(window).map(at);
    parts.push({ errors, warnings: errors.length > 0 ? [] : windowWarnings(window).map(at) });
  }
  if (version !== undefined) parts.push(checkRange(version.range, `${path}.version.range`));
  if (object?.nameExpression !== undefined) {
    parts.push(checkExpression(object.nameExpression, "objectName", below("object.nameExpression"), rule));
  }
  if (object?.expression !== undefined) {
    parts.push(checkExpression(object.expression, "object", below("object.expression"), rule));
  }
  return merge(parts);
}

function checkExpression(
  source: string,
  use: ExpressionUse,
  { path, patterns }: Place,
  { hooks }: Pick<RuleSpec, "hooks">,
): Semantics {
  const { problems, warnings, patternWeight } = compileExpression(source, use);
  patterns.weight += patternWeight;
  return {
    errors: problems.map(({ message, line, column }) => ({
      path,
      message: `${atPosition(line, column)}${message}`,
    })),
    warnings: warnings
      .flatMap((warning) => forHooks(warning, hooks) ?? [])
      .map(({ id, message, line, column }) => ({
        path,
        id,
        message: `${atPosition(line, column)}${message}`,
      })),
  };
}

/** The begin of a message about a place within an expression. */
export function atPosition(line: number | undefined, column: number | undefined): string {
  if (column === undefined) return "";
  return line === undefined || line === 1 ? `column ${column}: ` : `line ${line}, column ${column}: `;
}

function checkRange(range: string, path: string): Semantics {
  const message = rangeProblem(range);
  return message === undefined ? NOTHING : { errors: [{ path, message }], warnings: [] };
}

/**
 * An approval that only has to exist also approves the next operation. A Cluster is created once: what it must have
 * then is a requirement.
 */
function outlives(gate: MetadataGateSpec, { hooks }: RuleSpec, path: string): Semantics {
  const own = gate.from !== "Namespace";
  const before = hooks.filter(
    (hook) => hook.startsWith("Before") && !(own && hook === "BeforeClusterCreate"),
  );
  if (before.length === 0 || gate.value !== undefined || gate.valueFrom !== undefined) return NOTHING;
  const message = `${gate.key} only has to be present, so it stays an approval for whatever comes later; ${binding(hooks)}`;
  return { errors: [], warnings: [{ path, id: "unbound-approval", message }] };
}

/** The values that bind an approval to one operation, which depend on the hook. */
function binding(hooks: readonly HookName[]): string {
  if (hooks.every((hook) => hook.includes("Upgrade")))
    return "`valueFrom: TargetVersion` binds it to one upgrade";
  if (hooks.every((hook) => hook === "BeforeClusterDelete"))
    return "`valueFrom: ClusterUID` binds it to one Cluster";
  if (hooks.every((hook) => hook === "BeforeClusterCreate"))
    return "`valueFrom: ClusterName` binds it to one Cluster";
  return "a rule for each operation can bind it with `valueFrom`";
}

/** Cluster API rejects another spec.topology.version during an upgrade (its Cluster webhook). */
function midUpgrade({ hooks, until }: RuleSpec, path: string): Semantics {
  const index = hooks.findIndex((hook) => STEP_HOOKS.has(hook));
  if (until === undefined || index < 0) return NOTHING;
  const message = `${hooks[index]} is asked once the upgrade is under way: while this rule holds it, the Cluster stays between two versions and cannot take another one. To stop an upgrade before anything changes, hold BeforeClusterUpgrade`;
  return { errors: [], warnings: [{ path: `${path}.hooks[${index}]`, id: "mid-upgrade", message }] };
}

/** The hooks whose fromKubernetesVersion no annotation shows. */
const SHOWN_BY_STATUS: readonly HookName[] = ["BeforeClusterUpgrade", "BeforeWorkersUpgrade"];

/** Timers count from what the Cluster shows, so a rule that needs more of the call than that never begins to wait. */
function unshown(rule: RuleSpec, path: string, { capiVersion, showsVersions }: ServedHooks): Semantics {
  const { hooks, until, deadline } = rule;
  const index = hooks.findIndex((hook) => SHOWN_BY_STATUS.includes(hook));
  const hasClock = deadline !== undefined || until?.some(({ wait }) => wait !== undefined) === true;
  if (showsVersions || index < 0 || !hasClock) return NOTHING;
  const readsFrom = expressionsOf(rule, path).some(({ source, use }) =>
    compileExpression(source, use).expression?.requestFields.has("fromKubernetesVersion"),
  );
  if (!readsFrom) return NOTHING;
  const message = `Cluster API ${capiVersion} shows request.fromKubernetesVersion of ${hooks[index]} in its calls only, not on the Cluster: the rule is not evaluable in between, and its \`wait\` and \`deadline\` never begin. Put them into a rule that does not read it (--capi-version)`;
  const warning = { path: `${path}.hooks[${index}]`, id: "from-version-not-shown", message };
  return { errors: [], warnings: [warning] };
}
