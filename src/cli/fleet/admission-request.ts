/** A user's request to the API server about a Cluster, and the answer of admission. */

import { refusedBy } from "../../admission/cluster-denial.ts";
import type { Cluster } from "../../api/meta.ts";
import { comingFrom } from "../../operations/call.ts";
import {
  type RequestedOperation,
  requestedOperation,
  type RequestedChange,
} from "../../operations/requested-operation.ts";
import { wanting } from "../../operations/operation.ts";
import { type AdmissionDecision, admit, denying, warningOnly } from "../../policy/admission.ts";
import { clusterKey } from "../../views/cluster.ts";
import { holdWarnings, matches } from "../../policy/decide.ts";
import type { Decision, PolicyTrace, Verdict } from "../../policy/decision.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { World } from "../../policy/world.ts";
import type { Fleet } from "./fleet.ts";
import type { Operation } from "../../operations/beginnings.ts";

interface Versions {
  readonly to?: string | undefined;
  /** The version that it comes from; default: the one that the Cluster shows. */
  readonly from?: string | undefined;
}

/** Why the API server sends no review; the text follows the name of the Cluster. */
interface NoReview {
  readonly why: string;
}

export function requestOf(
  name: Operation,
  cluster: Cluster,
  { to = "", from }: Versions = {},
): RequestedOperation | NoReview {
  const change = changeOf(name, cluster, to);
  const requested = requestedOperation(change);
  if (requested === undefined) return { why: whyNotReviewed(change) };
  return { ...requested, call: comingFrom(requested.call, from) };
}

function changeOf(name: Operation, cluster: Cluster, version: string): RequestedChange {
  if (name === "Delete") return { before: cluster };
  if (name === "Create") return { after: newborn(cluster) };
  return { before: cluster, after: wanting(cluster, version) };
}

/** The Cluster as the API server would store it if it were created again, with another uid and without a status. */
function newborn(cluster: Cluster): Cluster {
  const { progress: _, uidUnknown: _uid, metadata, ...rest } = cluster;
  const { deletionTimestamp: _gone, ...kept } = metadata;
  return {
    ...rest,
    metadata: { ...kept, uid: `new-uid-of-${clusterKey(cluster)}` },
    created: false,
    status: { conditions: [], initialization: {} },
  };
}

function whyNotReviewed({ before, after }: RequestedChange): string {
  const cluster = after ?? before;
  if (cluster?.metadata.deletionTimestamp !== undefined)
    return "is being deleted already, so admission is not asked again";
  if (after === undefined)
    return "is paused and has the mark of clusterctl move, which deletes what it has moved";
  if (after.paused) return "is paused: its hook is asked when it is resumed, not admission";
  if (before?.topology === undefined) return "has no spec.topology, so its version does not change there";
  return `has the version ${before.topology.version} already`;
}

export interface AdmissionAnswer {
  readonly verdict: AdmissionDecision["verdict"];
  /** The API server's refusal, or the warnings; empty if the request passes in silence. */
  readonly message: string;
  readonly decision: Decision;
}

export function admissionAnswer(requested: RequestedOperation, found: AdmissionDecision): AdmissionAnswer {
  const { verdict, denial, warning: warned } = found;
  if (verdict === "Denied")
    return { verdict, message: refusedBy(requested, denial).message, decision: atOnce(denial) };
  if (verdict === "Warned")
    return {
      verdict,
      message: holdWarnings(warned.trace).join("\n"),
      decision: { ...atOnce(warned), holds: false },
    };
  const silent = denial.verdict === "Allowed" ? warned.verdict : denial.verdict;
  const trace = [...denial.trace, ...warned.trace];
  return { verdict, message: "", decision: { ...denial, verdict: silent, trace } };
}

/** The API server does not ask again. */
function atOnce(decision: Decision): Decision {
  return { ...decision, retryAfterSeconds: 0 };
}

export function admitted(fleet: Fleet, { cluster, call }: RequestedOperation, now: Date): AdmissionDecision {
  const policies = fleet.policiesFor(cluster);
  return admit(policies, fleet.world(cluster), call, now);
}

/** Merges the traces of a policy's rules that refuse and of those that warn; the policy has the rules of the trace. */
export function traceOf(
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
  const spoken = [...denying([policy]), ...warningOnly([policy])];
  return [trace, { ...policy, rules: spoken.flatMap(({ rules }) => rules) }];
}

function verdictOf(denial: PolicyTrace | undefined, warns: PolicyTrace | undefined): Verdict {
  if (denial?.holds === true) return denial.verdict;
  if (warns?.holds === true) return "WouldBlock";
  const verdicts = [denial?.verdict, warns?.verdict];
  return verdicts.find((verdict) => verdict !== undefined && verdict !== "Allowed") ?? "Allowed";
}
