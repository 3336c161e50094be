/** Explains what admission answers to a request about a Cluster. */

import type { Attempt } from "../../operations/attempt.ts";
import { newOperation } from "../../operations/operation.ts";
import { type AdmissionDecision, denying, warning } from "../../policy/admission.ts";
import { matches } from "../../policy/decide.ts";
import type { PolicyTrace, Verdict } from "../../policy/decision.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { World } from "../../policy/world.ts";
import { admitted, answerOf } from "../fleet/admission-request.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { type ExplainedPolicy, explainPolicy } from "./policy-explanation.ts";
import { wayOut, type WayOut } from "./way-out.ts";

interface ExplainedAnswer extends WayOut {
  readonly admission: AdmissionDecision["verdict"];
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
  const policies = admission === "Denied" ? denying(all) : warning(all);
  const situation = {
    fleet,
    world,
    call,
    now: at,
    policies,
    before: newOperation(call, cluster, at, undefined),
  };
  return {
    admission,
    verdict: admission === "Warned" ? "WouldBlock" : decision.verdict,
    message,
    ...wayOut(decision, situation),
    policies: all.map((each) => explainPolicy(...together(each, world, found), situation)),
  };
}

/** Admission's answer; `undefined`: no rule speaks about the request. */
export function verdictAt(
  fleet: Fleet,
  attempt: Attempt,
  at: Date,
): AdmissionDecision["verdict"] | undefined {
  const { verdict, denial, warning: warned } = admitted(fleet, attempt, at);
  const speak = [...denial.trace, ...warned.trace].some(({ rules }) => rules.length > 0);
  return speak ? verdict : undefined;
}

/** Merges the traces of a policy's rules that refuse and of those that warn; the policy has the rules of the trace. */
function together(
  policy: CompiledPolicy,
  world: World,
  { denial, warning: warned }: AdmissionDecision,
): readonly [PolicyTrace, CompiledPolicy] {
  const { ref, mode } = policy;
  const name = policyName(ref);
  const refusal = denial.trace.find((each) => policyName(each.policy) === name);
  const warns = warned.trace.find((each) => policyName(each.policy) === name);
  const traces = [refusal, warns].filter((each) => each !== undefined);
  const overriddenBy = traces.find((each) => each.overriddenBy !== undefined)?.overriddenBy;
  const trace: PolicyTrace = {
    policy: ref,
    mode,
    matched: matches(policy, world) !== "no",
    verdict: verdictOf(refusal, warns),
    holds: refusal?.holds === true,
    rules: traces.flatMap(({ rules }) => rules),
    ...(overriddenBy !== undefined && { overriddenBy }),
  };
  const spoken = [...denying([policy]), ...warning([policy])];
  return [trace, { ...policy, rules: spoken.flatMap(({ rules }) => rules) }];
}

function verdictOf(denial: PolicyTrace | undefined, warns: PolicyTrace | undefined): Verdict {
  if (denial?.holds === true) return denial.verdict;
  if (warns?.holds === true) return "WouldBlock";
  const verdicts = [denial?.verdict, warns?.verdict];
  return verdicts.find((verdict) => verdict !== undefined && verdict !== "Allowed") ?? "Allowed";
}
