/** Lists what policies and rollouts hold, from their statuses: the one notion of "held" of every command. */

import { byText } from "../../lib/compare-text.ts";
import { type Fields, fieldsOf, isFields, named } from "../../lib/fields.ts";
import {
  CONDITION,
  type DecisionRow,
  type HookRollout,
  REASON,
  type RolloutHeld,
} from "../../api/hook-policy.ts";
import { conditionOf, type Condition } from "../../api/meta.ts";
import { forbiddenKind } from "../../objects/object-refusal.ts";
import { holdsAnyway } from "../../policy/strict-reasons.ts";
import { placesOf } from "../../policy/gates/gates.ts";
import { type MarkPlace, type MarkReaders, whyNotSettable } from "../../policy/mark.ts";
import { markReaders } from "../../policy/mark-readers.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { holderRef, platformIn, type RawObject, viewPolicy, viewRollout } from "./kinds.ts";

export interface HeldOperation {
  readonly policy: HolderRef;
  /** A rollout's row has the stage of the Cluster as its rule. */
  readonly row: DecisionRow & { readonly verdict: "Blocked" | "NotEvaluable" };
  /** Whether `hookpolicy approve` can meet the gate. */
  readonly approvable: boolean;
  /** The kind that the operator may not read for the gate: its name in RBAC. */
  readonly forbidden: string | undefined;
}

export interface HeldFleet {
  /** Absent: Clusters of all namespaces. */
  readonly namespace?: string;
  /** The operation that waits longest comes first. */
  readonly held: readonly HeldOperation[];
  /** Held operations beyond the rows of a status. */
  readonly omitted: readonly { readonly policy: HolderRef; readonly count: number }[];
  /** What Audit policies and rollouts would hold, counted once for each of them. */
  readonly wouldBlock: number;
  /** One of them would hold more: its status leaves out rows. */
  readonly wouldBlockMore: boolean;
  /** Those whose operator prepare-uninstall has stopped: they hold nothing, whatever the rows of their statuses say. */
  readonly gone: readonly HolderRef[];
  /** Policies of which Cluster API does not call the hooks, with the reason. */
  readonly notCalled: readonly { readonly policy: HolderRef; readonly reason: string }[];
  /** Policies whose status the operator has to write again, with the instant. */
  readonly due: readonly Due[];
  /** When the operator last showed that it runs; absent: unknown. */
  readonly operatorSeen?: Date;
  /** Why that is unknown: "you may not list leases.coordination.k8s.io". */
  readonly operatorUnread?: string;
}

export interface Due {
  readonly policy: HolderRef;
  readonly since: string;
}

/** `namespace`: only its Clusters; operations that a status leaves out are counted for every namespace. */
export function heldBy(objects: readonly RawObject[], namespace?: string): HeldFleet {
  const all = objects.flatMap(holderOf);
  const policies = all.filter((each) => !isGone(each));
  const readers = markReaders(platformIn(objects));
  const short = policies.filter(({ omitted }) => omitted > 0);
  return {
    ...(namespace !== undefined && { namespace }),
    held: policies.flatMap((policy) => heldOf(policy, namespace, readers)).toSorted(byText(sortKey)),
    omitted: short
      .filter((policy) => !isAudit(policy))
      .map(({ ref, omitted }) => ({ policy: ref, count: omitted })),
    wouldBlock: policies.reduce((sum, policy) => sum + wouldBlockOf(policy, namespace), 0),
    wouldBlockMore: short.some(isAudit),
    gone: all.filter(isGone).map(({ ref }) => ref),
    notCalled: policies.flatMap(({ ref, notCalled }) =>
      notCalled?.status === "True" ? [{ policy: ref, reason: notCalled.reason }] : [],
    ),
    due: policies.flatMap(({ ref, due }) => (due === undefined ? [] : [{ policy: ref, since: due }])),
  };
}

interface Holder {
  readonly ref: HolderRef;
  readonly spec: unknown;
  readonly rows: readonly DecisionRow[];
  readonly omitted: number;
  /** How much it would hold, with what the rows leave out. */
  readonly wouldBlock: number;
  readonly due: string | undefined;
  readonly ready: Condition | undefined;
  readonly notCalled?: Condition | undefined;
}

function holderOf(raw: RawObject): Holder[] {
  const ref = holderRef(raw);
  if (ref === undefined) return [];
  const { kind } = ref;
  if (kind === "HookRollout")
    return isFields(raw["spec"]) ? [{ ref, ...holderOfRollout(viewRollout(raw)) }] : [];
  const { spec, status = {} } = viewPolicy(kind, raw);
  const { decisions, decisionsOmitted: omitted = 0, wouldBlock = 0, nextTransitionTime: due } = status;
  const rows = Array.isArray(decisions) ? decisions : [];
  const [ready, notCalled] = [CONDITION.Ready, CONDITION.NotCalled].map((type) =>
    conditionOf({ status }, type),
  );
  return [{ ref, spec, rows, omitted, wouldBlock, due, ready, notCalled }];
}

function holderOfRollout({ spec, status = {} }: HookRollout): Omit<Holder, "ref"> {
  const hook = BEGINS[spec.operation];
  const verdict = spec.mode === "Audit" ? "WouldBlock" : "Blocked";
  const { held, heldOmitted = 0 } = status;
  const rows = (Array.isArray(held) ? held : []).map((row: RolloutHeld): DecisionRow => {
    const { uid, name: cluster, target, stage = "", since, ...rest } = row;
    const shown = { ...rest, cluster, clusterUID: uid, hook, rule: stage, verdict } as const;
    return { ...shown, ...(target !== undefined && { targetVersion: target }), firstAsked: since, since };
  });
  const wouldBlock = verdict === "Blocked" ? 0 : rows.length + heldOmitted;
  const ready = conditionOf({ status }, CONDITION.Ready);
  return { spec, rows, omitted: heldOmitted, wouldBlock, due: undefined, ready };
}

/** An operator that runs again writes another condition. */
function isGone({ ready }: Holder): boolean {
  return ready?.reason === REASON.OperatorGone;
}

function isAudit({ spec }: Holder): boolean {
  return fieldsOf(spec)["mode"] === "Audit";
}

/** What the rows of a policy of all namespaces leave out can be of any. */
function wouldBlockOf({ ref, rows, wouldBlock }: Holder, namespace: string | undefined): number {
  const shown = rows.filter((row) => row.verdict === "WouldBlock" && isIn(row, namespace)).length;
  return namespace === undefined || namespace === ref.namespace ? Math.max(shown, wouldBlock) : shown;
}

function heldOf(
  { ref, spec, rows, ready }: Holder,
  namespace: string | undefined,
  readers: MarkReaders,
): HeldOperation[] {
  return rows
    .filter((row) => isIn(row, namespace))
    .filter((row) => holds(row, spec))
    .map((row) => ({
      policy: ref,
      row,
      approvable: placesOf(gateOf(spec, row)).some((place) => isSettable(place, ref, readers)),
      forbidden: forbiddenOf(row, ready?.message),
    }));
}

/** Approve looks at what else selects by labels. */
function isSettable(place: MarkPlace, { kind }: HolderRef, readers: MarkReaders): boolean {
  return kind !== "HookRollout" && whyNotSettable({ ...place, value: "" }, kind, readers) === undefined;
}

/** The condition, unlike the row, has no words of the policy's author. */
function forbiddenOf({ reason, message }: DecisionRow, problem = ""): string | undefined {
  const kind = reason === "ObjectsForbidden" ? forbiddenKind(problem) : undefined;
  return kind !== undefined && message.includes(` ${kind}: `) ? kind : undefined;
}

/**
 * A row of an Audit policy is WouldBlock, or belongs to a rule that would not hold in mode Enforce either. What uses up the
 * steps or the memory holds whatever the failurePolicy (decide.ts, isHeld).
 */
function holds(row: DecisionRow, spec: unknown): row is HeldOperation["row"] {
  const { verdict, reason } = row;
  if (verdict === "Blocked") return true;
  const { mode, failurePolicy } = fieldsOf(spec);
  const isStrict = failurePolicy !== "Ignore" || holdsAnyway(reason);
  return verdict === "NotEvaluable" && mode !== "Audit" && isStrict;
}

function isIn(row: DecisionRow, namespace: string | undefined): boolean {
  return namespace === undefined || row.namespace === namespace;
}

export function gateOf(
  spec: unknown,
  { rule, gate }: { readonly rule: string; readonly gate?: string | undefined },
): Fields {
  return named(named(fieldsOf(spec)["rules"], rule)["until"], gate);
}

/** The oldest comes first. */
function sortKey({ policy, row: { firstAsked, namespace, cluster, hook } }: HeldOperation): string {
  return [firstAsked, namespace, cluster, hook, policyName(policy)].join(" ");
}

/** Identifies a row of a policy, also after it has changed. */
export function heldKey({ policy, row: { clusterUID, hook } }: HeldOperation): string {
  return [policyName(policy), clusterUID, hook].join(" ");
}
