/** The one place where it is decided whether a Cluster may go on. Pure and total: no IO, no clock, no logger. */

import type { HookCall } from "../api/runtimehooks.ts";
import type { Decision, GateTrace, PolicyTrace, RuleTrace, Verdict } from "./decision.ts";
import type { World } from "./world.ts";
import { joinMessages } from "./message.ts";
import { type CompiledGate, type CompiledPolicy, type CompiledRule, policyName } from "./policy.ts";

/**
 * All policies that match must agree; the strictest wins, and the shortest retry of those that hold.
 * `policies` must be in the stable order of PolicySet; `now` is an argument so that the server, the
 * status, the command line and the tests see the same instant.
 */
export function decide(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): Decision {
  const trace = policies.map((policy) => judgePolicy(policy, world, call, now));
  const holding = trace.filter(({ holds }) => holds);
  const held = holding.flatMap(({ policy, rules }) =>
    rules.filter(({ holds }) => holds).map((rule) => ({ policy, rule })),
  );
  return {
    verdict: strictest(holding.length > 0 ? holding : trace),
    holds: holding.length > 0,
    retryAfterSeconds: held.length === 0 ? 0 : Math.min(...held.map(({ rule }) => rule.retryAfterSeconds)),
    message: joinMessages(held.map(({ policy, rule }) => `${policyName(policy)}, ${describeRule(rule)}`)),
    trace,
  };
}

/** Strictest first. Blocked before NotEvaluable: it tells what a person can do. */
const STRICTNESS: readonly Verdict[] = ["Blocked", "NotEvaluable", "WouldBlock", "Observed"];

function strictest(trace: readonly PolicyTrace[]): Verdict {
  return STRICTNESS.find((verdict) => trace.some((policy) => policy.verdict === verdict)) ?? "Allowed";
}

function judgePolicy(policy: CompiledPolicy, world: World, call: HookCall, now: Date): PolicyTrace {
  const { ref, mode } = policy;
  const matched = matches(policy, world);
  if (matched === "no") {
    return { policy: ref, mode, matched: false, verdict: "Allowed", holds: false, rules: [] };
  }
  const judge = (rule: CompiledRule): RuleFinding =>
    matched === "unknown"
      ? notEvaluable(rule, "NamespaceUnknown", NO_NAMESPACE)
      : judgeRule(rule, world, call, now);
  const rules = policy.rules
    .filter(({ hooks }) => hooks.has(call.hook))
    .map((rule) => {
      const finding = judge(rule);
      return { ...finding, holds: isHeld(finding, policy) };
    });
  const holds = mode === "Enforce" && rules.some((rule) => rule.holds);
  return { policy: ref, mode, matched: true, verdict: policyVerdict(mode, rules), holds, rules };
}

const NO_NAMESPACE = "the Cluster's Namespace is not known, so namespaceSelector cannot be evaluated";

/** Whether a policy speaks about this Cluster; "unknown" counts as yes, and not evaluable. */
export function matches(policy: CompiledPolicy, { cluster, namespace }: World): "yes" | "no" | "unknown" {
  const own = policy.ref.kind === "HookPolicy";
  if (own && policy.ref.namespace !== cluster.metadata.namespace) return "no";
  if (!policy.selectsCluster(cluster.metadata.labels)) return "no";
  if (policy.selectsNamespace === undefined) return "yes";
  if (namespace === undefined) return "unknown";
  return policy.selectsNamespace(namespace.metadata.labels) ? "yes" : "no";
}

/** What judgeRule finds; whether it holds the Cluster depends on the policy's failurePolicy, too. */
type RuleFinding = Omit<RuleTrace, "holds">;

function isHeld({ verdict }: RuleFinding, { failurePolicy }: CompiledPolicy): boolean {
  return verdict === "Blocked" || (verdict === "NotEvaluable" && failurePolicy === "Fail");
}

function policyVerdict(mode: CompiledPolicy["mode"], rules: readonly RuleTrace[]): Verdict {
  const has = (verdict: RuleTrace["verdict"]): boolean => rules.some((rule) => rule.verdict === verdict);
  if (mode === "Audit" && rules.some(({ holds }) => holds)) return "WouldBlock";
  if (has("Blocked")) return "Blocked";
  if (has("NotEvaluable")) return "NotEvaluable";
  return has("Observed") && !has("Allowed") ? "Observed" : "Allowed";
}

function judgeRule(rule: CompiledRule, world: World, call: HookCall, now: Date): RuleFinding {
  if (rule.problem !== undefined) return notEvaluable(rule, "InvalidSpec", rule.problem);
  const { name, retryAfterSeconds } = rule;
  const gates = rule.gates.map((gate) => judgeGate(gate, world, call, now));
  if (gates.length === 0) {
    return { rule: name, verdict: "Observed", reason: "Observed", message: "", retryAfterSeconds, gates };
  }
  const open = gates.filter(({ holds }) => holds !== true);
  if (open.length === 0) {
    return { rule: name, verdict: "Allowed", reason: "GatesHold", message: "", retryAfterSeconds, gates };
  }
  // All gates must hold: one that does not decides, whatever the ones that cannot be evaluated would say.
  const waiting = open.find(({ holds }) => holds === false);
  return {
    rule: name,
    verdict: waiting === undefined ? "NotEvaluable" : "Blocked",
    reason: (waiting ?? open[0])?.reason ?? "",
    message: [...open.map(describeGate), ...(rule.message === undefined ? [] : [rule.message])].join(", "),
    retryAfterSeconds: soonest(retryAfterSeconds, open, now),
    gates,
  };
}

function notEvaluable(
  { name, retryAfterSeconds }: CompiledRule,
  reason: string,
  message: string,
): RuleFinding {
  return { rule: name, verdict: "NotEvaluable", reason, message, retryAfterSeconds, gates: [] };
}

/** A gate never takes decide() down: whatever it throws makes its rule not evaluable. */
function judgeGate(gate: CompiledGate, world: World, call: HookCall, now: Date): GateTrace {
  try {
    return { gate: gate.name, ...gate.evaluate(world, call, now) };
  } catch {
    return {
      gate: gate.name,
      holds: undefined,
      reason: "InternalError",
      wanted: "an evaluation without an internal error",
      observed: "the gate threw an error",
    };
  }
}

function describeGate({ gate, holds, wanted, observed, remedy }: GateTrace): string {
  if (holds === undefined) return `gate ${gate} cannot be evaluated (${observed})`;
  return `gate ${gate} waits for ${wanted}${remedy === undefined ? "" : ` (${remedy})`}`;
}

function describeRule({ rule, verdict, message }: RuleTrace): string {
  const name = rule === "" ? "spec" : `rule ${rule}`;
  return verdict === "NotEvaluable" ? `${name} is not evaluable: ${message}` : `${name}: ${message}`;
}

/** The rule's own retry, or less where time alone changes a gate before: ceil(next edge − now), 1..300. */
function soonest(retryAfterSeconds: number, open: readonly GateTrace[], now: Date): number {
  const edges = open.map(({ changesAt }) => changesAt?.getTime() ?? NaN).filter(Number.isFinite);
  const untilEdge = Math.ceil((Math.min(...edges) - now.getTime()) / 1000);
  return Math.min(Math.max(Math.min(retryAfterSeconds, untilEdge), 1), 300);
}
