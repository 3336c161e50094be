/** The status of a policy as a pure function of what this replica knows, the stored status, and the time. */

import { firstNames } from "../lib/first-names.ts";
import { compareText } from "../lib/compare-text.ts";
import {
  CONDITION,
  type HookPolicyStatus,
  MAX_DECISIONS,
  MAX_RECENT,
  REASON,
  type RecentResult,
} from "../api/hook-policy.ts";
import { HOOK_NAMES } from "../api/runtime-hooks.ts";
import { describeErrors } from "../policy/message.ts";
import { describeTooLarge } from "../views/too-large.ts";
import { OBJECTS_NOT_LOADED } from "../policy/watched-objects.ts";
import { type CompiledPolicy, type CompiledRule, isGated, windowsOf } from "../policy/policy.ts";
import { earliest, timestamp, wholeSecond } from "../lib/instant.ts";
import { calls, failing, type ConditionFinding, withTransitions } from "./conditions.ts";
import { clusterOfRow, type PolicyRow, resultKey, storedRow } from "../operations/rows.ts";
import { TORN_DOWN_REASONS } from "../operations/torn-down.ts";
import { type RowSets, rowSetsOf } from "../memory/policy-entry.ts";
import type { Unavailable, NotCalled } from "../memory/memory.ts";

export interface StatusInput {
  readonly policy: CompiledPolicy;
  readonly stored: HookPolicyStatus | undefined;
  readonly matchedClusters: number;
  readonly held: readonly PolicyRow[];
  /** What this replica knew when it last computed the status: see mayHideRows(). */
  readonly before: RowSets;
  readonly recent: readonly RecentResult[];
  /** Another policy that is too large knows what this one holds (policy-set.ts). */
  readonly isRepresented?: boolean;
  /** Why Clusters cannot be read; absent: they can. */
  readonly clustersUnavailable?: Unavailable | undefined;
  /** Why HookTasks cannot be read; absent: they can, or the policy has no tasks. */
  readonly tasksUnavailable?: Unavailable | undefined;
  /** Why objects that gates look at cannot be read; absent: they can. */
  readonly objectsUnavailable?: Unavailable | undefined;
  readonly notCalled?: NotCalled;
}

/** `known`: of `input.held`; passed by a caller that has computed it already. */
export function computeStatus(
  input: StatusInput,
  now: Date,
  known: RowSets = rowSetsOf(input.held),
): HookPolicyStatus {
  const { policy, stored, clustersUnavailable } = input;
  const counts = clustersUnavailable === undefined ? count(input, known) : storedCounts(stored);
  const isCounted = input.isRepresented !== true;
  const recent = mergeRecent(stored?.recent ?? [], input.recent);
  const found = [...findings(input, now), ...calls(input.notCalled, stored?.conditions), ...torn(input)];
  return {
    observedGeneration: policy.generation,
    conditions: withTransitions(found, stored?.conditions, policy.generation, now),
    mode: modeOf(policy),
    hooks: hooksText(policy),
    ...(isCounted && counts),
    ...nextTransition(input, now),
    ...(recent.length > 0 && { recent }),
  };
}

type Counts = Pick<
  HookPolicyStatus,
  "matchedClusters" | "blocked" | "wouldBlock" | "decisions" | "decisionsOmitted"
>;

function count({ policy, held, before, stored, matchedClusters }: StatusInput, now: RowSets): Counts {
  // A stub remembers one row of its stored status (stored-views.ts).
  const shown = held
    .toSorted(compareRows)
    .slice(0, policy.tooLarge === true ? 1 : MAX_DECISIONS)
    .map(storedRow);
  const unseen = (total: number | undefined, what: keyof RowSets): number =>
    mayHideRows(stored) ? Math.max(0, (total ?? 0) - sizeOfUnion(before[what], now[what])) : 0;
  const clusters = (what: "blocked" | "wouldBlock"): number => {
    const { size } = now[what];
    return size + Math.min(unseen(stored?.[what], what), Math.max(0, matchedClusters - size));
  };
  const storedRows = (stored?.decisions?.length ?? 0) + (stored?.decisionsOmitted ?? 0);
  const mostRows = matchedClusters * HOOK_NAMES.length;
  const omitted =
    Math.min(held.length + unseen(storedRows, "rows"), Math.max(held.length, mostRows)) - shown.length;
  return {
    matchedClusters,
    blocked: clusters("blocked"),
    wouldBlock: clusters("wouldBlock"),
    ...(shown.length > 0 && { decisions: shown }),
    ...(omitted > 0 && { decisionsOmitted: omitted }),
  };
}

/** Builds no union, which for ten thousand Clusters would take longer than everything else. */
function sizeOfUnion(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let size = a.size;
  for (const each of b) if (!a.has(each)) size += 1;
  return size;
}

/**
 * Whether the stored list may leave out Clusters that this replica does not know: only a full list can. These Clusters stay
 * counted, or two replicas with different knowledge would correct each other forever.
 */
function mayHideRows(stored: HookPolicyStatus | undefined): boolean {
  return (stored?.decisionsOmitted ?? 0) > 0 && (stored?.decisions?.length ?? 0) >= MAX_DECISIONS;
}

/**
 * The next edge of the policy's windows, or of a rule for a Cluster that it holds. If this replica may not know all of
 * these Clusters, the instant that another replica wrote is kept until it has come.
 */
function nextTransition(
  { policy, held, stored }: StatusInput,
  now: Date,
): Pick<HookPolicyStatus, "nextTransitionTime"> {
  const edges = [
    ...windowsOf(policy)
      .map(({ window }) => window.at(now))
      .map(({ changesAt, isSearchEnd }) => (isSearchEnd ? undefined : changesAt)),
    ...held.map(({ changesAt }) => changesAt),
  ];
  const known = mayHideRows(stored) ? new Date(stored?.nextTransitionTime ?? NaN) : undefined;
  const next = earliest([...edges, known].filter((edge) => edge !== undefined && edge > now));
  return next === undefined ? {} : { nextTransitionTime: timestamp(wholeSecond(next)) };
}

/** While Clusters cannot be read, the stored counts are kept. */
function storedCounts(stored: HookPolicyStatus | undefined): Counts {
  const { matchedClusters = 0, blocked = 0, wouldBlock = 0, decisions, decisionsOmitted } = stored ?? {};
  return {
    matchedClusters,
    blocked,
    wouldBlock,
    ...(decisions !== undefined && { decisions }),
    ...(decisionsOmitted !== undefined && { decisionsOmitted }),
  };
}

/**
 * Rows of Clusters that are torn down come first, then those that time alone releases, the soonest of them first; then
 * those of the oldest operations.
 */
function compareRows(a: PolicyRow, b: PolicyRow): number {
  return (
    Number(b.tornDown !== undefined) - Number(a.tornDown !== undefined) ||
    compareText(releaseOf(a), releaseOf(b)) ||
    compareText(a.firstAsked, b.firstAsked) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.cluster, b.cluster) ||
    compareText(a.hook, b.hook)
  );
}

function releaseOf({ timers, earliestRelease }: PolicyRow): string {
  return earliestRelease ?? (timers === undefined ? "9999" : "9998");
}

/** Adds only results that no replica has stored yet. */
function mergeRecent(stored: readonly RecentResult[], learnt: readonly RecentResult[]): RecentResult[] {
  const known = new Set(stored.map(resultKey));
  const merged = [...stored, ...learnt.filter((result) => !known.has(resultKey(result)))];
  return merged
    .toSorted((a, b) => compareText(b.time, a.time) || compareText(resultKey(a), resultKey(b)))
    .slice(0, MAX_RECENT);
}

/** Of a policy with errors or one that is too large, not every rule is known. */
function modeOf({ mode, rules, errors, tooLarge }: CompiledPolicy): "Enforce" | "Audit" | "Observe" {
  const isKnown = errors.length === 0 && tooLarge !== true;
  return isKnown && !rules.some(isGated) ? "Observe" : mode;
}

/** For the column HOOKS, because kubectl prints lists badly. */
function hooksText({ rules }: CompiledPolicy): string {
  return HOOK_NAMES.filter((hook) => rules.some(({ hooks }) => hooks.has(hook))).join(",");
}

function findings(
  { policy, stored, isRepresented, clustersUnavailable, tasksUnavailable, objectsUnavailable }: StatusInput,
  now: Date,
): readonly ConditionFinding[] {
  const stalled = stalledBy(policy, isRepresented);
  if (stalled !== undefined) return failing(CONDITION.Ready, CONDITION.Stalled, stalled);
  const unavailable = clustersUnavailable ?? tasksUnavailable ?? objectsUnavailable;
  if (unavailable !== undefined) {
    const said = unavailable.reason === OBJECTS_NOT_LOADED ? saidOf(policy, stored) : [];
    return said.length > 0 ? said : failing(CONDITION.Ready, CONDITION.Reconciling, unavailable);
  }
  return [
    { type: CONDITION.Ready, status: "True", reason: REASON.Loaded, message: "The policy is in force" },
    restrictive(policy, now),
  ];
}

/** Keeps the stored findings about this generation, because other replicas may have read the objects already. */
function saidOf(
  { generation }: CompiledPolicy,
  stored: HookPolicyStatus | undefined,
): readonly ConditionFinding[] {
  const said =
    stored?.conditions?.filter(({ observedGeneration }) => observedGeneration === generation) ?? [];
  if (said.some(({ type, reason }) => type === CONDITION.Stalled || reason === REASON.OperatorGone))
    return [];
  return said.filter(({ type }) => type !== CONDITION.NotCalled && type !== CONDITION.TornDown);
}

/** While Clusters cannot be read, what is stored is kept. */
function torn({ held, stored, clustersUnavailable }: StatusInput): ConditionFinding[] {
  const type = CONDITION.TornDown;
  if (clustersUnavailable !== undefined)
    return stored?.conditions?.filter((condition) => condition.type === type) ?? [];
  const rows = held
    .filter(({ tornDown }) => tornDown !== undefined)
    .toSorted((a, b) => compareText(a.firstAsked, b.firstAsked) || compareText(a.clusterUID, b.clusterUID));
  const reason = TORN_DOWN_REASONS.find((each) => rows.some(({ tornDown }) => tornDown?.reason === each));
  if (reason === undefined) return [];
  const names = [...new Set(rows.map(clusterOfRow))];
  const message = `Others delete what held Clusters own: ${firstNames(names)}. Run hookpolicy explain for each`;
  return [{ type, status: "True", reason, message }];
}

/** Only an edit of the policy, or another `--capi-version`, helps. */
function stalledBy(policy: CompiledPolicy, isRepresented = false): Unavailable | undefined {
  if (policy.tooLarge === true) {
    const says =
      policy.mode === "Audit"
        ? "It holds nothing, and what it would hold is unknown"
        : "Every Cluster that it could select is held";
    const where = isRepresented ? "; another HookPolicy that is too large counts and lists them" : "";
    const message = `${says}: ${describeTooLarge(policy.ref.namespace)}${where}`;
    return { reason: REASON.TooLarge, message };
  }
  if (policy.errors.length > 0) return { reason: REASON.InvalidSpec, message: describeErrors(policy.errors) };
  if (policy.notEnforceable.length === 0) return undefined;
  return { reason: REASON.HookNotEnforceable, message: describeErrors(policy.notEnforceable) };
}

/** Whether some rule can hold an operation that time alone never releases, whatever the Cluster. */
function restrictive({ rules }: CompiledPolicy, now: Date): ConditionFinding {
  const holding = rules.filter(isGated);
  const type = CONDITION.Restrictive;
  if (holding.length === 0) {
    return { type, status: "False", reason: REASON.NothingToWaitFor, message: "No rule holds anything" };
  }
  const stuck = holding.filter((rule) => !opensByTime(rule, now)).map(({ name }) => name);
  if (stuck.length === 0) {
    // Windows may never meet, and an expression may never become true.
    const message =
      "Time alone can release what its rules hold: hookpolicy explain says when, if that is known";
    return { type, status: "False", reason: REASON.OpensByTime, message };
  }
  const message = `Time alone never releases what these rules hold: ${stuck.join(", ")}`;
  return { type, status: "True", reason: REASON.ActionRequired, message };
}

function opensByTime({ gates, tasks, deadline, problem }: CompiledRule, now: Date): boolean {
  if (problem !== undefined || tasks.length > 0) return false;
  if (deadline?.onExpiry === "Allow") return true;
  const openings = gates.map((gate) => gate.opensAt?.(now));
  return openings.every((at) => at !== undefined && at !== "Never");
}
