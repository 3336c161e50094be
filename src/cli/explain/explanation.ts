/** Explains why a Cluster is held or may proceed: what every policy says about an operation, and how to release it. */

import { CONDITION, REASON } from "../../api/hook-policy.ts";
import { conditionOf, type Cluster, OK_TO_DELETE_ANNOTATION } from "../../api/meta.ts";
import { bypassesOf } from "../../operations/bypasses.ts";
import { HOOK_NAMES, type HookCall, type HookName } from "../../api/runtime-hooks.ts";
import { hasEnded, newOperation, type PendingOperation } from "../../operations/operation.ts";
import { targetVersion } from "../../api/target-version.ts";
import { clusterKey } from "../../views/cluster.ts";
import { approveCommand } from "../../policy/mark.ts";
import type { RequestedOperation } from "../../operations/requested-operation.ts";
import { type AdmissionDecision, denying, warningOnly } from "../../policy/admission.ts";
import type { Decision, Verdict } from "../../policy/decision.ts";
import { type CompiledPolicy, type ObjectQuery, windowsOf } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { admitted, admissionAnswer, requestOf, traceOf } from "../fleet/admission-request.ts";
import { type Operation, operationOf } from "../../operations/beginnings.ts";
import {
  heldByClusterAPI,
  kubectl,
  MINOR_STEPS,
  whyNotCalled,
  omittedRows,
  resumeCommand,
} from "../fleet/caveats.ts";
import { comingFrom, expectedCall, skipsMinor } from "../../operations/call.ts";
import { type ExplainedPolicy, explainPolicy, type PolicySituation } from "./policy-explanation.ts";
import {
  type ExplainedRollout,
  explainRollouts,
  gateQueries,
  type StatusTime,
} from "../fleet/rollout-hold.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";
import { type Release, wayOut, type WayOut } from "./way-out.ts";
import { type Fleet, nameOf } from "../fleet/fleet.ts";
import { namespaceWarning } from "../fleet/selections.ts";
import { findTearDowns, type TearDown } from "../fleet/teardown.ts";
import { meets } from "../windows/openings.ts";
import { lookAt, remembered } from "../../operations/timeline.ts";

export interface ExplainWish {
  /** Absent, like `request`: the operations that wait now. */
  readonly hook?: HookName | undefined;
  /** The request that a user would send to the API server. */
  readonly request?: Operation | undefined;
  readonly at?: Date | undefined;
  readonly toVersion?: string | undefined;
  readonly fromVersion?: string | undefined;
}

export interface ExplainOptions extends ExplainWish {
  readonly cluster: Cluster;
  readonly now: Date;
  /** What the operator can read and the user cannot; `policies`: of what could hold the Cluster although others release it. */
  readonly unread: readonly { readonly text: string; readonly policies: boolean }[];
  /** Whether the policies come from an API server, so that their statuses are the operator's. */
  readonly live: boolean;
  /** That Cluster API's calls fail, that the operator does not answer them, or that it could not confirm a release. */
  readonly lastCall?: Advice | undefined;
  /** Whether Cluster API's last call has failed. */
  readonly callsFail?: boolean;
}

export interface Explanation {
  readonly cluster: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly at: Date;
  /** Others delete what the Cluster owns, or will. */
  readonly tornDown: TearDown | undefined;
  /** Why Cluster API holds the upgrade without asking. */
  readonly ownHold: Advice | undefined;
  readonly callsFail: boolean;
  /** The command after which Cluster API calls hooks again. */
  readonly resume: string | undefined;
  /** Notes besides the policies: why no hook is called, what could not be read, and what is left out. */
  readonly notes: readonly Advice[];
  readonly operations: readonly ExplainedOperation[];
}

export interface ExplainedOperation extends WayOut {
  readonly hook: HookName;
  /** A request to the API server; absent: a call of the hook. */
  readonly request?: Operation | undefined;
  /** Admission's answer to the request that would begin the operation; absent: no rule speaks there. */
  readonly admission?: AdmissionDecision["verdict"] | undefined;
  readonly targetVersion: string | undefined;
  /** Absent: Cluster API is not calling now. */
  readonly firstAsked?: Date | undefined;
  readonly passed: boolean;
  readonly verdict: Verdict;
  /** Absent: policies that the user may not read could hold it. */
  readonly holds?: boolean;
  readonly retryAfterSeconds: number;
  /** The message as Cluster API shows it. */
  readonly message: string;
  readonly policies: readonly ExplainedPolicy[];
  /** The rollouts that select the Cluster for this operation, as they are now. */
  readonly rollouts: readonly ExplainedRollout[];
  /** When every policy releases it; absent: no policy holds it, or never by time alone. */
  readonly byPolicies: Release;
  /** The rollouts that still hold it then, or now if that instant is not known. */
  readonly next: readonly ExplainedRollout[];
}

const UPGRADE = "BeforeClusterUpgrade" satisfies HookName;

export function explain(fleet: Fleet, options: ExplainOptions): Explanation {
  const { cluster, at, now } = options;
  const { namespace = "", name, uid } = cluster.metadata;
  const found = subjects(fleet, options);
  const ownHold = ownHoldOf(fleet, options);
  const operations = found.map(({ requested, ...subject }) =>
    requested === undefined
      ? explainOperation(fleet, subject, options)
      : explainRequested(fleet, { ...subject, requested }, options),
  );
  return {
    cluster: { namespace, name, uid },
    at: at ?? now,
    tornDown: findTearDowns(fleet)(cluster),
    ownHold: ownHold?.isNow === true ? ownHold.text : undefined,
    callsFail: options.callsFail === true,
    resume: resumeCommand(cluster),
    notes: [
      options.lastCall,
      operations.map((each) => heldInVain(each, fleet, options)).find((note) => note !== undefined),
      ...notesOf(fleet, options),
      ownHold?.isNow === false ? ownHold.text : undefined,
      found.some(({ call }) => skipsMinor(call)) ? MINOR_STEPS : undefined,
      ...operations.map((each) => windowsApart(each, fleet.policiesFor(cluster), at ?? now)),
    ].filter((note) => note !== undefined),
    operations,
  };
}

/** Why nothing is held although policies say so: Cluster API would not ask them. */
function heldInVain(
  { hook, request, holds, firstAsked }: ExplainedOperation,
  { policies }: Fleet,
  { cluster, live }: ExplainOptions,
): Advice | undefined {
  if (holds !== true || request !== undefined) return undefined;
  if (hook === "BeforeClusterDelete" && bypassesOf(cluster).includes("ok-to-delete"))
    return advice`nothing is held in fact: annotation ${OK_TO_DELETE_ANNOTATION} is set ahead, so Cluster API deletes the Cluster without asking; to remove it: ${run(kubectl("annotate", cluster.metadata, `${OK_TO_DELETE_ANNOTATION}-`))}`;
  if (!live || firstAsked !== undefined) return undefined;
  const found = policies.flatMap((policy) => {
    const said = conditionOf(policy, CONDITION.NotCalled);
    const isAbout = said?.reason !== REASON.HookNotRegistered || said.message.includes(hook);
    return said?.status === "True" && isAbout ? [`${said.message} (NotCalled of ${nameOf(policy)})`] : [];
  });
  return found[0] && `nothing is held in fact, because Cluster API does not ask: ${found[0]}`;
}

/** Names the windows that keep time alone from releasing the operation. */
function windowsApart(
  { byPolicies, policies }: ExplainedOperation,
  compiled: readonly CompiledPolicy[],
  at: Date,
): string | undefined {
  if (byPolicies !== "Unknown") return undefined;
  const windows = policies.flatMap(({ policy, matched, mode, overriddenBy, rules }, index) => {
    const own = compiled[index];
    if (own === undefined || !matched || mode === "Audit" || overriddenBy !== undefined) return [];
    const speak = new Set(rules.filter(({ condition }) => condition === undefined).map(({ rule }) => rule));
    return windowsOf(own)
      .filter(({ alone, rule }) => alone && speak.has(rule))
      .map(({ gate, rule, window }) => ({ window, name: `${gate} (${policyName(policy)}, rule ${rule})` }));
  });
  const found = meets(
    windows.map(({ window }) => window),
    at,
  );
  if (windows.length < 2 || found !== false) return undefined;
  return `these windows are never open at the same time in the next two years: ${windows.map(({ name }) => name).join(", ")}`;
}

function notesOf(fleet: Fleet, options: ExplainOptions): readonly (string | undefined)[] {
  const { cluster, hook, request, unread } = options;
  const requested = requestedBy(options);
  return [
    options.live ? undefined : namespaceWarning([fleet], cluster.metadata.namespace),
    requested && "why" in requested ? `Cluster ${clusterKey(cluster)} ${requested.why}` : undefined,
    whyNotCalled(cluster),
    ...unread.map(({ text }) => text),
    hook === undefined && request === undefined ? omittedRows(fleet, cluster) : undefined,
  ];
}

/** `isNow`: otherwise it would hold the upgrade that is asked about. */
function ownHoldOf(
  { served }: Fleet,
  { cluster, hook, request }: ExplainOptions,
): { readonly text: Advice; readonly isNow: boolean } | undefined {
  if (request !== undefined || (hook ?? UPGRADE) !== UPGRADE) return undefined;
  const text = heldByClusterAPI(cluster, served, hook === UPGRADE);
  return text === undefined ? undefined : { text, isNow: cluster.progress?.heldAt === UPGRADE };
}

export function queriesFor(fleet: Fleet, options: ExplainOptions): readonly ObjectQuery[] {
  const { cluster, now, at = now } = options;
  return subjects(fleet, options).flatMap(({ requested, call, state }) => {
    const world = requested === undefined ? fleet.world(cluster, state) : fleet.world(requested.cluster);
    return gateQueries(fleet, { world, call, now: at });
  });
}

interface Subject {
  readonly requested?: RequestedOperation;
  readonly call: HookCall;
  readonly state: PendingOperation;
  /** Whether Cluster API is waiting for the answer. */
  readonly isPending: boolean;
}

/** What is explained: the request, the call of the hook, or what waits now. */
export function subjects(fleet: Fleet, options: ExplainOptions): readonly Subject[] {
  const { cluster, hook, now, at = now } = options;
  const requested = requestedBy(options);
  if (requested !== undefined) {
    if ("why" in requested) return [];
    const { call } = requested;
    return [
      { requested, call, state: newOperation(call, requested.cluster, at, undefined), isPending: false },
    ];
  }
  const pending = fleet.pendingOperations(cluster);
  if (hook === undefined) {
    return pending
      .toSorted((a, b) => HOOK_NAMES.indexOf(a.call.hook) - HOOK_NAMES.indexOf(b.call.hook))
      .map((state) => ({ call: comingFrom(state.call, options.fromVersion), state, isPending: true }));
  }
  const known = pending.find(({ call }) => call.hook === hook);
  const call =
    known === undefined || options.toVersion !== undefined
      ? expectedCall(hook, cluster, options.toVersion)
      : known.call;
  const state = newOperation(comingFrom(call, options.fromVersion), cluster, at, known);
  const isPending = known !== undefined && targetVersion(known.call) === targetVersion(call);
  return [{ call: state.call, state, isPending }];
}

function requestedBy({
  request,
  cluster,
  toVersion: to,
  fromVersion: from,
}: ExplainOptions): ReturnType<typeof requestOf> | undefined {
  return request && requestOf(request, cluster, { to, from });
}

function explainOperation(fleet: Fleet, subject: Subject, options: ExplainOptions): ExplainedOperation {
  const { call, state: before, isPending } = subject;
  const { cluster, now, at = now } = options;
  const policies = fleet.policiesFor(cluster);
  const operation = { policies, world: fleet.world(cluster, before), call, state: before };
  // With the timers that the operator will have then.
  const then = isPending && at > now ? remembered(operation, now, at) : before;
  const { decision, state } = lookAt({ ...operation, state: then }, at);
  const world = fleet.world(cluster, state);
  const ofOperator = options.live ? whereOperatorRuns(options, call, isPending ? state : undefined) : {};
  const situation = { fleet, world, call, now: at, policies, before, ...ofOperator };
  const rollouts = explainRollouts(fleet, situation, statusTime(options));
  const { steps, release: byPolicies } = wayOut(decision, situation);
  const released = byPolicies instanceof Date ? { ...situation, now: byPolicies } : situation;
  const next = explainRollouts(fleet, released, statusTime(options)).filter(({ holds }) => holds);
  return {
    hook: call.hook,
    targetVersion: targetVersion(call),
    firstAsked: isPending && isStored(options) ? before.firstAsked : undefined,
    passed: !isPending && options.toVersion === undefined && hasEnded(before, cluster, fleet.served),
    ...outcomeOf(decision, rollouts, options),
    steps,
    byPolicies,
    release: afterRollouts(byPolicies, decision, next),
    policies: decision.trace.map((trace, index) => explainPolicy(trace, policies[index], situation)),
    rollouts,
    next,
    admission: admissionOf(fleet, subject, options),
  };
}

/** Files have no Cluster that a command could mark, and no status; that of the operator is about the present. */
function whereOperatorRuns(
  { at, cluster, unread }: ExplainOptions,
  { hook }: HookCall,
  pending: PendingOperation | undefined,
): Pick<PolicySituation, "approve" | "status"> {
  const approve = approveCommand(clusterKey(cluster), hook);
  return at === undefined ? { approve, status: { pending, isPartial: unread.length > 0 } } : { approve };
}

/** Cluster API asks nothing yet about a manifest that no API server has stored. */
function isStored({ live, cluster: { metadata, progress } }: ExplainOptions): boolean {
  const { creationTimestamp, deletionTimestamp } = metadata;
  return live || [creationTimestamp, deletionTimestamp, progress].some((each) => each !== undefined);
}

function explainRequested(
  fleet: Fleet,
  { requested, state: before }: Subject & { readonly requested: RequestedOperation },
  options: ExplainOptions,
): ExplainedOperation {
  const { cluster, call } = requested;
  const { now, at = now, request } = options;
  const all = fleet.policiesFor(cluster);
  const found = admitted(fleet, requested, at);
  const { verdict: admission, message, decision } = admissionAnswer(requested, found);
  const world = fleet.world(cluster);
  const policies = admission === "Denied" ? denying(all) : warningOnly(all);
  const situation = { fleet, world, call, now: at, policies, before };
  const { steps, release } = wayOut(decision, situation);
  const isUnknown = admission !== "Denied" && lacksPolicies(options);
  // Policies only warn.
  const verdict = admission === "Warned" ? "WouldBlock" : decision.verdict;
  return {
    hook: call.hook,
    request,
    targetVersion: targetVersion(call),
    passed: false,
    retryAfterSeconds: 0,
    message,
    ...(isUnknown ? { verdict: "NotEvaluable" } : { verdict, admission, holds: admission === "Denied" }),
    steps,
    release,
    policies: all.map((each) => explainPolicy(...traceOf(each, world, found), situation)),
    rollouts: [],
    byPolicies: release,
    next: [],
  };
}

/** No time alone releases what waits for a user. Slots and stages depend on other Clusters. */
function afterRollouts(
  byPolicies: Release,
  { holds }: Pick<Decision, "holds">,
  next: readonly ExplainedRollout[],
): Release {
  if (next.length === 0) return byPolicies;
  const isStuck = next.some(({ needsUser }) => needsUser) || (holds && byPolicies === undefined);
  return isStuck ? undefined : "Unknown";
}

/** Admission's answer to the request that leads to the hook's call; not for a creation, because it gets another uid. */
function admissionOf(
  fleet: Fleet,
  { call, isPending }: Subject,
  options: ExplainOptions,
): AdmissionDecision["verdict"] | undefined {
  const { cluster, now, at = now, fromVersion: from } = options;
  const request = operationOf(call.hook);
  if (isPending || request === undefined || request === "Create" || lacksPolicies(options)) return undefined;
  const requested = requestOf(request, cluster, { to: targetVersion(call), from });
  if ("why" in requested) return undefined;
  const { verdict, denial, warning: warned } = admitted(fleet, requested, at);
  const speak = [...denial.trace, ...warned.trace].some(({ rules }) => rules.length > 0);
  return speak ? verdict : undefined;
}

/** Files that are explained for a chosen time are about an earlier one. */
function statusTime({ live, at, now }: ExplainOptions): StatusTime {
  return { asOf: live || at === undefined ? now : new Date(0), live };
}

function outcomeOf(
  { verdict, holds, retryAfterSeconds, message }: Decision,
  rollouts: readonly ExplainedRollout[],
  options: ExplainOptions,
): Pick<ExplainedOperation, "verdict" | "holds" | "retryAfterSeconds" | "message"> {
  // Cluster API shows what policies say first.
  const rollout = holds ? undefined : rollouts.find((each) => each.holds);
  if (rollout !== undefined)
    return {
      verdict: "Blocked",
      holds: true,
      retryAfterSeconds: rollout.retryAfterSeconds,
      message: rollout.message,
    };
  const isUnknown = !holds && lacksPolicies(options);
  return { ...(isUnknown ? { verdict: "NotEvaluable" } : { verdict, holds }), retryAfterSeconds, message };
}

/** Whether a policy that the user may not read could hold the Cluster. */
function lacksPolicies({ unread }: ExplainOptions): boolean {
  return unread.some(({ policies }) => policies);
}
