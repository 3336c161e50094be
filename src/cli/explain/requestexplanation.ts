/** Explains what admission answers to a request about a Cluster. */

import type { Attempt } from "../../operations/attempt.ts";
import { newOperation } from "../../operations/operation.ts";
import { type Admitted, denying, warning } from "../../policy/admission.ts";
import { matches } from "../../policy/decide.ts";
import type { PolicyTrace, Verdict } from "../../policy/decision.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policyref.ts";
import type { World } from "../../policy/world.ts";
import { admitted, answerOf } from "../fleet/admissionrequest.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { type ExplainedPolicy, explainPolicy } from "./policyexplanation.ts";
import { wayOut, type WayOut } from "./wayout.ts";

interface ExplainedAnswer extends WayOut {
  readonly admission: Admitted["verdict"];
  /** WouldBlock: policies only warn. */
  readonly verdict: Verdict;
  readonly message: string;
  /** The rules of each policy that speak at admission. */
  readonly policies: readonly ExplainedPolicy[];
}

export function explainRequest(fleet: Fleet, attempt: Attempt, at: Date): ExplainedAnswer {
  const { cluster, call } = attempt;
  const all = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const found = admitted(fleet, attempt, at);
  const { verdict: admission, message, decision } = answerOf(attempt, found);
  const world = fleet.world(cluster);
  const [refusing, warned] = [denying(all), warning(all)];
  const policies = admission === "Denied" ? refusing : warned;
  const situation = { fleet, world, call, at, policies, before: newOperation(call, cluster, at, undefined) };
  const denials = saidBy(refusing, found.denial.trace);
  const warnings = saidBy(warned, found.warning.trace);
  return {
    admission,
    verdict: admission === "Warned" ? "WouldBlock" : decision.verdict,
    message,
    ...wayOut(decision, situation),
    policies: all.map((policy) => {
      const name = policyName(policy.ref);
      const said = together(policy, world, [denials.get(name), warnings.get(name)]);
      return explainPolicy(said.trace, said.policy, situation);
    }),
  };
}

/** Admission's answer; `undefined`: no rule speaks about the request. */
export function verdictAt(fleet: Fleet, attempt: Attempt, at: Date): Admitted["verdict"] | undefined {
  const { verdict, denial, warning: warned } = admitted(fleet, attempt, at);
  const speak = [...denial.trace, ...warned.trace].some(({ rules }) => rules.length > 0);
  return speak ? verdict : undefined;
}

/** The messages of the rules of a policy that refuse, or of those that warn. */
interface Said {
  readonly rules: CompiledPolicy["rules"];
  readonly trace: PolicyTrace;
}

function saidBy(
  policies: readonly CompiledPolicy[],
  traces: readonly PolicyTrace[],
): ReadonlyMap<string, Said> {
  const said = policies.flatMap(({ ref, rules }, index): [string, Said][] => {
    const trace = traces[index];
    return trace === undefined ? [] : [[policyName(ref), { rules, trace }]];
  });
  return new Map(said);
}

/** As what one policy says. */
function together(
  policy: CompiledPolicy,
  world: World,
  said: readonly [denial: Said | undefined, warning: Said | undefined],
): { readonly trace: PolicyTrace; readonly policy: CompiledPolicy } {
  const { ref, mode } = policy;
  const spoken = said.filter((each) => each !== undefined);
  const overriddenBy = spoken.find(({ trace }) => trace.overriddenBy !== undefined)?.trace.overriddenBy;
  const trace: PolicyTrace = {
    policy: ref,
    mode,
    matched: matches(policy, world) !== "no",
    verdict: verdictOf(said[0]?.trace, said[1]?.trace),
    holds: said[0]?.trace.holds === true,
    rules: spoken.flatMap((each) => each.trace.rules),
    ...(overriddenBy !== undefined && { overriddenBy }),
  };
  return { trace, policy: { ...policy, rules: spoken.flatMap(({ rules }) => rules) } };
}

function verdictOf(denial: PolicyTrace | undefined, warns: PolicyTrace | undefined): Verdict {
  if (denial?.holds === true) return denial.verdict;
  if (warns?.holds === true) return "WouldBlock";
  const verdicts = [denial?.verdict, warns?.verdict];
  return verdicts.find((verdict) => verdict !== undefined && verdict !== "Allowed") ?? "Allowed";
}
