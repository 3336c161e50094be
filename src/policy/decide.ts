/**
 * The only place that decides whether a Cluster may proceed. Pure and total: no IO, no clock, no logger. The steps of the decision
 * that is being made are counted in a variable of the process (cel/meter.ts), which each decision sets anew.
 */

import { compareText } from "../lib/compare-text.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import { meter } from "./cel/meter.ts";
import {
  afterWords,
  type Decision,
  type PolicyTrace,
  type RuleFinding,
  type RuleTrace,
  type Verdict,
  heldRules,
  type HeldRule,
  changesAtEarliest,
} from "./decision.ts";
import { joinMessages, MAX_WARNING, ruleMessage } from "./message.ts";
import {
  canHoldAt,
  CAUSE,
  type CompiledPolicy,
  type CompiledRule,
  NAMESPACE_UNKNOWN,
  type ObjectQuery,
} from "./policy.ts";
import { labelsOfNamespace, selected, SELECTS_ALL } from "../api/selector.ts";
import { judgeRule, notEvaluable } from "./rule.ts";
import { affordRule, describeExhausted, withinBudgets } from "./budget.ts";
import { toStore } from "./tasks/after-initialized.ts";
import { BUDGET_EXHAUSTED, holdsAnyway } from "./strict-reasons.ts";
import { heldByBegun, taskFields } from "./tasks/rule-tasks.ts";
import { describeTooLarge, TOO_LARGE } from "../views/too-large.ts";
import { covers, isActive, type Override, type Situation, type World } from "./world.ts";
import { policyName } from "./policy-ref.ts";

/**
 * All policies that match must agree; the strictest verdict wins, with the shortest retry of the policies that hold.
 * `policies` must be in the stable order of PolicySet; `now` is an argument so that the server, the status, the command
 * line and the tests use the same instant.
 */
export function decide(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): Decision {
  const situation = { world, call, now };
  const overrides = world.overrides.filter((override) => isActive(override, world.cluster, call.hook, now));
  const trace = withinBudgets(policies, (policy) => judgePolicy(policy, situation, overrides));
  const holding = trace.filter(({ holds }) => holds);
  const retries = heldRules(trace).map(({ rule }) => rule.retryAfterSeconds);
  return {
    verdict: strictest(holding.length > 0 ? holding : trace),
    holds: holding.length > 0,
    retryAfterSeconds: retries.length === 0 ? 0 : Math.min(...retries),
    message: joinMessages(heldRules(trace).map((held) => ({ text: holdText(held), brief: briefText(held) }))),
    trace,
    ...(call.hook === "AfterControlPlaneInitialized"
      ? toStore(trace)
      : taskFields(trace, world.rendersTasks === true)),
  };
}

/** The objects that gates look at for one operation. `undefined`: computing their names takes more steps than the decision has. */
export function objectQueries(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): readonly ObjectQuery[] | undefined {
  const situation = { world, call, now };
  const queries = withinBudgets(policies, ({ rules }) => {
    const found = rules
      .filter(({ hooks }) => hooks.has(call.hook))
      .flatMap((rule) =>
        affordRule(rule) ? rule.gates.flatMap((gate) => gate.queries?.(situation) ?? []) : [],
      );
    return meter.exhausted ? undefined : found;
  });
  return queries.includes(undefined) ? undefined : queries.flatMap((each) => each ?? []);
}

/** Says what each rule that holds the operation waits for, as warnings of the API server. */
export function holdWarnings(trace: readonly PolicyTrace[]): string[] {
  return heldRules(trace).map(({ policy, rule }) => {
    const { message, answer = message } = rule;
    return ruleMessage(rule, answer, { max: MAX_WARNING, by: `${policyName(policy)}, ${headingOf(rule)}` });
  });
}

function holdText({ policy, rule }: HeldRule): string {
  return afterWords(rule, `${policyName(policy)}, ${describeRule(rule)}`);
}

/** The words of the rule's author, and whose they are. */
function briefText({ policy, rule }: HeldRule): string | undefined {
  return rule.said && afterWords(rule, `${policyName(policy)}, ${nameOf(rule)}`);
}

/** The strictest comes first. Blocked precedes NotEvaluable, because its message tells a user what to do. */
const STRICTNESS: readonly Verdict[] = ["Blocked", "NotEvaluable", "WouldBlock", "Observed"];

function strictest(trace: readonly PolicyTrace[]): Verdict {
  return STRICTNESS.find((verdict) => trace.some((policy) => policy.verdict === verdict)) ?? "Allowed";
}

function judgePolicy(
  policy: CompiledPolicy,
  situation: Situation,
  overrides: readonly Override[],
): PolicyTrace {
  const { ref, mode } = policy;
  const matched = matches(policy, situation.world);
  if (matched === "no") {
    return { policy: ref, mode, matched: false, verdict: "Allowed", holds: false, rules: [] };
  }
  const onHook = policy.rules.filter(({ hooks }) => hooks.has(situation.call.hook));
  const unread =
    matched === "yes" && meter.exhausted ? outOfSteps(policy, onHook, situation.call.hook) : undefined;
  if (unread !== undefined) return overridden(policy, unread, overrides);
  const rules = onHook.map((rule) => {
    const finding = tryJudge(policy, rule, situation, matched === "yes");
    return { ...finding, holds: isHeld(finding, policy, rule, situation.call.hook) };
  });
  return overridden(policy, traceOf(policy, rules), overrides);
}

function traceOf({ ref, mode }: CompiledPolicy, rules: readonly RuleTrace[]): PolicyTrace {
  const holds = mode === "Enforce" && rules.some((rule) => rule.holds);
  const changes = changesAtEarliest(rules.map(({ changesAt }) => changesAt));
  return { policy: ref, mode, matched: true, verdict: policyVerdict(mode, rules), holds, rules, ...changes };
}

/**
 * One finding for all rules of a policy that the steps do not reach: thousands of findings would take long to write.
 */
function outOfSteps(
  policy: CompiledPolicy,
  rules: readonly CompiledRule[],
  hook: HookName,
): PolicyTrace | undefined {
  const sound = rules.filter(({ problem }) => problem === undefined);
  const gated = sound.filter((rule) => canHoldAt(rule, hook));
  const those = gated.length > 0 ? gated : sound;
  const [rule] = those;
  if (rule === undefined) return undefined;
  const retries = those.map(({ retryAfterSeconds }) => retryAfterSeconds);
  const finding = {
    ...notEvaluable(rule, BUDGET_EXHAUSTED, describeExhausted(policy.ref)),
    retryAfterSeconds: Math.min(...retries),
    holds: gated.length > 0,
  };
  return { ...traceOf(policy, [finding]), unread: true };
}

/** A rule never makes decide() fail. A bug in HookPolicy makes the rule not evaluable. */
function tryJudge(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  isSelected: boolean,
): RuleFinding {
  try {
    const judged = isSelected
      ? judgeRule(policy, rule, situation)
      : notEvaluable(rule, ...unknownBecause(situation.world));
    const { hook } = situation.call;
    const isIgnored =
      judged.verdict === "NotEvaluable" && canHoldAt(rule, hook) && !isHeld(judged, policy, rule, hook);
    const finding = isIgnored ? heldByBegun(policy, rule, situation, judged) : judged;
    const isExhausted = finding.verdict === "NotEvaluable" && finding.reason === BUDGET_EXHAUSTED;
    return isExhausted ? { ...finding, message: describeExhausted(policy.ref) } : finding;
  } catch (error) {
    return { ...notEvaluable(rule, "InternalError", "the operator failed to evaluate it"), [CAUSE]: error };
  }
}

function isTooLarge({ cluster, namespace }: Pick<World, "cluster" | "namespace">): boolean {
  return cluster.tooLarge === true || namespace?.tooLarge === true;
}

function unknownBecause(world: World): [reason: string, message: string] {
  if (isTooLarge(world)) return [TOO_LARGE, describeTooLarge(world.cluster.metadata.namespace)];
  return [
    NAMESPACE_UNKNOWN,
    "the Cluster's Namespace is not known, so namespaceSelector cannot be evaluated",
  ];
}

/** The override that lasts longest applies; the first by name if several end together. */
function overridden(policy: CompiledPolicy, trace: PolicyTrace, overrides: readonly Override[]): PolicyTrace {
  if (!trace.rules.some(({ holds }) => holds)) return trace;
  const [longest] = overrides
    .filter((override) => coversAll(override, policy))
    .toSorted((a, b) => b.expiresAt.getTime() - a.expiresAt.getTime() || compareText(a.name, b.name));
  if (longest === undefined) return trace;
  return {
    ...trace,
    verdict: "Allowed",
    holds: false,
    overriddenBy: longest.name,
    ...changesAtEarliest([trace.changesAt, longest.expiresAt]),
  };
}

/** A HookPolicy that is too large represents others of its namespace, too, which the override may not name (policy-set.ts). */
function coversAll(override: Override, { ref, tooLarge }: CompiledPolicy): boolean {
  if (tooLarge === true && ref.kind === "HookPolicy" && override.policies !== undefined) return false;
  return covers(override, ref);
}

/**
 * Whether a policy applies to this Cluster; "unknown" counts as a match that is not evaluable. The labels of a Cluster that
 * is too large are unknown, and so is what gates read in a Namespace that is.
 */
export function matches(
  policy: Pick<CompiledPolicy, "ref" | "selectsCluster" | "selectsNamespace">,
  { cluster, namespace }: Pick<World, "cluster" | "namespace">,
): "yes" | "no" | "unknown" {
  const own = policy.ref.kind === "HookPolicy";
  if (own && policy.ref.namespace !== cluster.metadata.namespace) return "no";
  if (cluster.tooLarge !== true && !policy.selectsCluster(cluster.metadata.labels)) return "no";
  if (policy.selectsNamespace !== undefined && namespace === undefined) return "unknown";
  const byNamespace = selected(policy.selectsNamespace ?? SELECTS_ALL, labelsOfNamespace(namespace));
  if (byNamespace === "no") return "no";
  return isTooLarge({ cluster, namespace }) ? "unknown" : byNamespace;
}

type VerdictReason = Pick<RuleFinding, "reason"> & { readonly verdict: Verdict | RuleFinding["verdict"] };

/**
 * A rule that only observes never holds. A rule without steps, or about what is too large, holds, because any author of data
 * can use up the steps, or the share of memory; so does one with what only a newer version knows, or whose HookTasks are not
 * known.
 */
export function isHeld(
  finding: VerdictReason,
  { failurePolicy }: CompiledPolicy,
  rule: CompiledRule,
  hook: HookName,
): boolean {
  if (finding.verdict === "Blocked") return true;
  const strict = failurePolicy === "Fail" || holdsAnyway(finding.reason);
  return finding.verdict === "NotEvaluable" && strict && canHoldAt(rule, hook);
}

function policyVerdict(mode: CompiledPolicy["mode"], rules: readonly RuleTrace[]): Verdict {
  const has = (verdict: RuleTrace["verdict"]): boolean => rules.some((rule) => rule.verdict === verdict);
  if (mode === "Audit" && rules.some(({ holds }) => holds)) return "WouldBlock";
  if (has("Blocked")) return "Blocked";
  if (has("NotEvaluable")) return "NotEvaluable";
  return has("Observed") && !has("Allowed") ? "Observed" : "Allowed";
}

function describeRule(finding: RuleTrace): string {
  const { message, answer = message } = finding;
  return `${headingOf(finding)}${answer}`;
}

function headingOf(finding: RuleTrace): string {
  return `${nameOf(finding)}${finding.verdict === "NotEvaluable" ? " is not evaluable" : ""}: `;
}

function nameOf({ rule }: RuleTrace): string {
  return rule === "" ? "spec" : `rule ${rule}`;
}
