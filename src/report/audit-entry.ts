/**
 * The audit entry of one answer or refusal (schemas/output/audit.json): its inputs and the reasons for the verdict. It
 * contains only constants, names and versions, nothing that a gate has observed, and at most some 64 KiB.
 */

import type { RequestRefusal } from "../admission/cluster-handler.ts";
import type { AdmissionVerdict } from "../admission/review.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import { targetVersion } from "../api/target-version.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { objectQueries } from "../policy/decide.ts";
import { type ObjectKind, objectKindKey } from "../policy/watched-objects.ts";
import {
  afterWords,
  type Decision,
  type PolicyTrace,
  type RolloutHold,
  type RuleTrace,
} from "../policy/decision.ts";
import { truncate } from "../lib/truncate.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { ClusterCall, World } from "../policy/world.ts";
import type { AnswerVerdict, Outcome } from "../hooks/hook-answer.ts";
import type { AuditLine } from "./audit.gen.ts";

type Line<Kind, Verdict, Field extends keyof AuditLine> = Omit<AuditLine, "kind" | "verdict" | "before"> &
  Required<Pick<AuditLine, Field>> & { kind: Kind; verdict: Verdict; before?: Verdict };

export type AuditEntry = Line<"Answer", AnswerVerdict, "answer">;
/** A request to the API server that was refused at admission. */
export type AuditRefusal = Line<"Refusal", AdmissionVerdict, "user" | "dryRun" | "message">;

type AuditSubject = Pick<AuditLine, "time" | "instance" | "hook" | "targetVersion" | "cluster">;
type AuditDecision = NonNullable<AuditLine["decision"]>;
type AuditInputs = AuditDecision["inputs"];
type AuditPolicy = AuditDecision["policies"][number];

const API_VERSION = "audit.hookpolicy.dev/v1alpha1";
/** Characters of JSON; a policy with every rule and gate that the CRD allows fits. */
const MAX_TRACE = 64 * 1024;
const MAX_OBJECTS = 32;
const MAX_MESSAGE = 256;

export interface AuditContext {
  readonly now: Date;
  /** Name of this replica. */
  readonly instance: string;
  readonly before?: AnswerVerdict | undefined;
}

export function auditEntry(
  { call, cluster }: ClusterCall,
  { verdict, answer, decision }: Outcome,
  context: AuditContext,
): AuditEntry {
  return {
    apiVersion: API_VERSION,
    kind: "Answer",
    ...subject({ call, cluster }, context),
    ...(context.before !== undefined && { before: context.before }),
    verdict,
    answer,
    ...described(decision, call, context.now),
  };
}

export function auditRefusal(
  { review, requested, outcome: { verdict, denial, decision } }: RequestRefusal,
  context: AuditContext,
): AuditRefusal {
  return {
    apiVersion: API_VERSION,
    kind: "Refusal",
    ...subject(requested, context),
    user: truncate(review.username, MAX_MESSAGE),
    dryRun: review.dryRun,
    verdict,
    message: denial.message,
    ...described(decision, requested.call, context.now),
  };
}

function subject({ call, cluster }: ClusterCall, { now, instance }: AuditContext): AuditSubject {
  const { namespace = "", name, uid } = cluster.metadata;
  const version = targetVersion(call);
  return {
    time: now.toISOString(),
    instance,
    hook: call.hook,
    ...(version !== undefined && { targetVersion: version }),
    cluster: { namespace, name, uid },
  };
}

type MatchedPolicies = readonly {
  readonly trace: PolicyTrace;
  readonly compiled: CompiledPolicy | undefined;
}[];

function described(
  decision: Decision | undefined,
  call: HookCall,
  now: Date,
): { readonly decision?: AuditDecision } {
  if (decision?.basis === undefined) return {};
  const { source, world, policies: all } = decision.basis;
  const { overriddenRollouts } = decision;
  const { cluster, namespace, overrides, state } = world;
  const matched = decision.trace
    .map((trace, index) => ({ trace, compiled: all[index] }))
    .filter(({ trace }) => trace.matched);
  const policies = bounded(matched);
  return {
    decision: {
      source,
      ...(state !== undefined && { firstAsked: state.firstAsked.toISOString() }),
      inputs: {
        cluster: { resourceVersion: cluster.metadata.resourceVersion },
        ...(namespace !== undefined && {
          namespace: { uid: namespace.metadata.uid, resourceVersion: namespace.metadata.resourceVersion },
        }),
        overrides: overrides.map(({ name, uid, generation }) => ({ name, uid, generation })),
        ...objectsOf(matched, world, call, now),
      },
      ...(overriddenRollouts !== undefined && {
        overriddenRollouts: overriddenRollouts.map(({ rollout: name, overriddenBy }) => ({
          name,
          overriddenBy,
        })),
      }),
      policies,
      policiesOmitted: matched.length - policies.length,
      ...(decision.rollout !== undefined && { rollout: describeRollout(decision.rollout) }),
    },
  };
}

/** The objects that the gates on this hook look at; each kind is read once in each namespace. */
function objectsOf(
  matched: MatchedPolicies,
  world: World,
  call: HookCall,
  now: Date,
): Pick<AuditInputs, "objects" | "objectsOmitted"> {
  const policies = matched.flatMap(({ compiled }) => compiled ?? []);
  const objects: AuditInputs["objects"] = [];
  const seen = new Set<string>();
  const queries = objectQueries(policies, world, call, now) ?? [];
  const places = Map.groupBy(queries, ({ kind, namespace }) => `${objectKindKey(kind)} ${namespace}`);
  for (const asked of places.values()) {
    const [first] = asked;
    if (first === undefined) continue;
    const { kind, namespace } = first;
    const found = world.objects.find(kind, namespace);
    if (!found.ok) continue;
    const names = new Set(asked.map(({ name }) => name)); // `undefined` means all names
    for (const { metadata } of found.objects) {
      if (!names.has(undefined) && !names.has(metadata.name)) continue;
      const key = `${metadata.uid} ${kind.kind}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (objects.length < MAX_OBJECTS) objects.push(describeObject(kind, metadata));
    }
  }
  return { objects, objectsOmitted: seen.size - objects.length };
}

function describeObject(
  { apiVersion, kind }: ObjectKind,
  metadata: ObjectMeta,
): AuditInputs["objects"][number] {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid, resourceVersion };
}

/** Policies that hold come first; the caller counts those that do not fit. */
function bounded(matched: MatchedPolicies): AuditPolicy[] {
  const holdingFirst = matched.toSorted((a, b) => Number(b.trace.holds) - Number(a.trace.holds));
  const kept: AuditPolicy[] = [];
  let size = 0;
  for (const { trace, compiled } of holdingFirst) {
    const policy = describePolicy(trace, compiled);
    size += JSON.stringify(policy).length;
    if (size > MAX_TRACE && kept.length > 0) break;
    kept.push(policy);
  }
  return kept;
}

function describeRollout({ rollout: name, reason, stage }: RolloutHold): AuditDecision["rollout"] & object {
  return { name, reason, ...(stage !== undefined && { stage }) };
}

function describePolicy(trace: PolicyTrace, compiled: CompiledPolicy | undefined): AuditPolicy {
  const { policy, mode, verdict, holds, overriddenBy, rules } = trace;
  return {
    ...policy,
    ...(compiled !== undefined && { uid: compiled.uid, generation: compiled.generation }),
    ...(compiled?.account !== undefined && { account: compiled.account }),
    mode,
    verdict,
    holds,
    ...(overriddenBy !== undefined && { overriddenBy }),
    rules: rules.map(describeRule),
  };
}

function describeRule(finding: RuleTrace): AuditPolicy["rules"][number] {
  const { rule, verdict, holds, reason, message, deadlineAt, tasks, gates } = finding;
  return {
    rule: truncate(rule, MAX_MESSAGE),
    verdict,
    holds,
    reason,
    ...(message !== "" && { message: truncate(afterWords(finding, message), MAX_MESSAGE) }),
    ...(deadlineAt !== undefined && { deadlineAt: deadlineAt.toISOString() }),
    ...(tasks !== undefined && {
      tasks: tasks.map(({ task, state, hookTask }) => ({
        task,
        state,
        ...(hookTask !== undefined && { hookTask }),
      })),
    }),
    gates: gates.map(({ gate, met, reason: why }) => ({
      gate: truncate(gate, MAX_MESSAGE),
      holds: met ?? null,
      reason: why,
    })),
  };
}
