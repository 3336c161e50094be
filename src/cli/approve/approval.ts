/**
 * Plans the approval of an operation: which annotations and labels its gates wait for, and what still holds it then.
 */

import type { Cluster, Namespace, ObjectMeta } from "../../api/meta.ts";
import { HOOK_NAMES, type HookCall, type HookName } from "../../api/runtime-hooks.ts";
import { hasEnded, newOperation, type PendingOperation } from "../../operations/operation.ts";
import type { ServedHooks } from "../../api/hook-catalog.ts";
import { decide } from "../../policy/decide.ts";
import { type Decision, heldRules, type RuleTrace, unmetGates } from "../../policy/decision.ts";
import { forecast } from "../../operations/forecast.ts";
import { marksOf } from "../../policy/gates/gates.ts";
import { type CompiledPolicy, NAMESPACE_UNKNOWN, wantedInMessage } from "../../policy/policy.ts";
import { lookup } from "../../api/selector.ts";
import { type Mark, type MarkReaders, namedBy, placeOf, whyNotSettable } from "../../policy/mark.ts";
import type { World } from "../../policy/world.ts";
import { whyNotCalled, omittedRows } from "../fleet/caveats.ts";
import { expectedCall } from "../../operations/call.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { gateOf } from "../fleet/held.ts";
import type { HolderRef, PolicyRef } from "../../policy/policy-ref.ts";
import { explainRollouts } from "../fleet/rollout-hold.ts";

export interface ApprovedMark extends Mark {
  /** A different value that the key has now. */
  readonly replaces?: string;
}

export interface GateRef {
  readonly policy: PolicyRef;
  readonly rule: string;
  /** Absent: the whole rule. */
  readonly gate?: string;
}

export interface Approval extends GateRef {
  readonly mark: ApprovedMark;
}

/** A gate, rule or rollout that holds the operation despite the approval. */
export interface Obstacle extends Omit<GateRef, "policy"> {
  /** The rule of a rollout is the stage of the Cluster. */
  readonly policy: HolderRef;
  /** Says what the gate waits for, or why that is unknown. */
  readonly text: string;
  /** When time alone releases what the policy holds. */
  readonly release?: Date;
  /** The user may not read what the gate depends on; the operator may. */
  readonly unknown: boolean;
  /** Why what the gate waits for is not set. */
  readonly withheld?: string;
}

export interface OperationPlan extends ApprovableOperation {
  readonly approvals: readonly Approval[];
  readonly obstacles: readonly Obstacle[];
  /** When it proceeds by time alone after the approval; absent: never. */
  readonly releasedAt?: Date;
  /** How long Cluster API waits until its next call. */
  readonly retryAfterSeconds: number;
}

export interface ApprovalPlan {
  readonly cluster: Cluster;
  readonly namespace: Namespace | undefined;
  readonly served: ServedHooks;
  /** The held operations. */
  readonly operations: readonly OperationPlan[];
  readonly marks: readonly ApprovedMark[];
  /** Other operations that the same marks release, now or when Cluster API calls. */
  readonly alsoReleases: readonly ApprovableOperation[];
  /** Why Cluster API calls no extension for the Cluster. */
  readonly notCalled?: string | undefined;
  /** Why further operations may wait without a status row. */
  readonly omitted?: string | undefined;
}

export interface ApprovableOperation {
  readonly call: HookCall;
  /** Absent: no call by Cluster API is known. */
  readonly pending?: PendingOperation;
}

/** What an approval may set, and about what it is. */
export interface ApprovalScope {
  /** Only the operation at that hook, even before Cluster API has asked about it. */
  readonly hook?: HookName | undefined;
  /** "key=value": marks on the Namespace that the user names. */
  readonly namespaceMarks: readonly string[];
  /** Whether nothing is asked, so that only marks on the Cluster and those that are named are set. */
  readonly unattended: boolean;
  /** Everything that reads marks. */
  readonly readers: MarkReaders;
}

interface Scene extends Omit<ApprovalScope, "hook"> {
  readonly fleet: Fleet;
  readonly policies: readonly CompiledPolicy[];
  readonly cluster: Cluster;
  readonly namespace: Namespace | undefined;
  readonly now: Date;
}

export function planApproval(
  fleet: Fleet,
  cluster: Cluster,
  { hook, ...may }: ApprovalScope,
  now: Date,
): ApprovalPlan {
  const [policies, namespace] = [fleet.policiesFor(cluster), fleet.namespaceOf(cluster)];
  const scene: Scene = { fleet, policies, cluster, namespace, now, ...may };
  const known = fleet.pendingOperations(cluster).map((pending) => ({ call: pending.call, pending }));
  const chosen = hook === undefined ? known : known.filter(({ call }) => call.hook === hook);
  const operations: readonly ApprovableOperation[] =
    hook !== undefined && chosen.length === 0 ? [{ call: expectedCall(hook, cluster) }] : chosen;
  const held = operations.flatMap((operation) => heldOperation(scene, operation));
  const wanted = held.flatMap(({ approvals }) => approvals.map(({ mark }) => mark));
  // If two gates want different values of one key, the first one gets its value, and the other stays an obstacle.
  const marks = [...Map.groupBy(wanted, placeOf).values()].flatMap(([first]) => first ?? []);
  const marked = withMarks(scene, marks);
  return {
    cluster,
    namespace,
    served: fleet.served,
    operations: held.map((operation) => ({ ...operation, ...prospects(scene, operation, marked) })),
    marks,
    alsoReleases: otherOperations(scene, known, operations).filter((other) =>
      isReleased(scene, other, marked),
    ),
    notCalled: whyNotCalled(cluster),
    omitted: hook === undefined ? omittedRows(fleet, cluster) : undefined,
  };
}

function heldOperation(scene: Scene, operation: ApprovableOperation): Omit<OperationPlan, "obstacles">[] {
  const decision = judge(scene, operation);
  if (!decision.holds && rolloutObstacles(scene, operation).length === 0) return [];
  const { retryAfterSeconds } = decision;
  return [{ ...operation, approvals: approvalsOf(scene, operation.call, decision), retryAfterSeconds }];
}

/** Other pending operations, and future ones: a mark that is set now can release them, too. */
function otherOperations(
  { fleet, cluster, now }: Scene,
  pending: readonly ApprovableOperation[],
  chosen: readonly ApprovableOperation[],
): readonly ApprovableOperation[] {
  const hooks = new Set([...chosen, ...pending].map(({ call }) => call.hook));
  const future = HOOK_NAMES.filter((hook) => !hooks.has(hook))
    .map((hook): ApprovableOperation => ({ call: expectedCall(hook, cluster) }))
    .filter(({ call }) => !hasEnded(newOperation(call, cluster, now, undefined), cluster, fleet.served));
  return [...pending.filter((each) => !chosen.includes(each)), ...future];
}

/** Whether time alone releases the operation earlier with the marks than without them. */
function isReleased(scene: Scene, operation: ApprovableOperation, marked: MarkedObjects): boolean {
  const release = (marks?: MarkedObjects): number =>
    forecast(scene.policies, worldOf(scene, operation, marks), operation.call, scene.now)?.getTime() ??
    Infinity;
  return release(marked) < release();
}

/** The state with the marks applied. */
type MarkedObjects = Pick<World, "cluster" | "namespace">;

function worldOf(
  { fleet, cluster, now }: Scene,
  { call, pending = newOperation(call, cluster, now, undefined) }: ApprovableOperation,
  marked: MarkedObjects | undefined,
): World {
  const world = fleet.world(marked?.cluster ?? cluster, pending);
  return marked === undefined ? world : { ...world, namespace: marked.namespace };
}

function judge(scene: Scene, operation: ApprovableOperation, marked?: MarkedObjects): Decision {
  return decide(scene.policies, worldOf(scene, operation, marked), operation.call, scene.now);
}

function approvalsOf(scene: Scene, call: HookCall, { trace }: Decision): Approval[] {
  return heldRules(trace).flatMap(({ policy, rule: { rule, gates } }) =>
    unmetGates({ gates }).flatMap(({ gate }) => {
      const of = { policy, rule, gate };
      const marks = marksFor(scene, of, call).filter((mark) => whyWithheld(scene, mark, of) === undefined);
      // A mark on the Namespace affects every Cluster in it.
      const mark = marks.find(({ on }) => on === "Cluster") ?? marks[0];
      return mark === undefined ? [] : [{ ...of, mark }];
    }),
  );
}

function marksFor(
  { fleet, cluster, namespace }: Scene,
  { policy, rule, gate }: GateRef,
  call: HookCall,
): ApprovedMark[] {
  const raw = fleet.policies.find(({ compiled }) => compiled.ref === policy)?.raw;
  return marksOf(gateOf(raw?.["spec"], { rule, gate }), cluster, call).flatMap((mark) => {
    const target = mark.on === "Cluster" ? cluster : namespace;
    if (target === undefined) return [];
    const present = lookup(target.metadata[FIELDS[mark.field]], mark.key);
    return [{ ...mark, ...(present !== undefined && { replaces: present }) }];
  });
}

function whyWithheld(
  { readers, namespaceMarks, unattended }: Scene,
  mark: ApprovedMark,
  { policy }: GateRef,
): string | undefined {
  const isNamed = mark.on === "Namespace" && namespaceMarks.includes(`${mark.key}=${mark.value}`);
  const refusal = whyNotSettable(mark, policy.kind, readers);
  if (refusal !== undefined && !(isNamed && refusal.unlessNamed)) return refusal.why;
  if (policy.kind === "HookPolicy" && mark.field === "label" && !readers.complete) return UNKNOWN_SELECTORS;
  if (mark.on === "Cluster" || isNamed || !unattended) return undefined;
  return `it reaches every Cluster there, so --yes does not cover it: ${namedBy(mark)}`;
}

const UNKNOWN_SELECTORS =
  "it is not known which selectors read this label, because you may not list ClusterHookPolicies, HookRollouts or ExtensionConfigs";

export const FIELDS = { annotation: "annotations", label: "labels" } as const;

function withMarks({ cluster, namespace }: Scene, marks: readonly ApprovedMark[]): MarkedObjects {
  return {
    cluster: marks.filter(({ on }) => on === "Cluster").reduce(withMark, cluster),
    namespace: namespace && marks.filter(({ on }) => on === "Namespace").reduce(withMark, namespace),
  };
}

function withMark<T extends { readonly metadata: ObjectMeta }>(
  object: T,
  { field, key, value }: ApprovedMark,
): T {
  const { metadata } = object;
  const name = FIELDS[field];
  return { ...object, metadata: { ...metadata, [name]: { ...metadata[name], [key]: value } } };
}

function prospects(
  scene: Scene,
  operation: ApprovableOperation,
  marks: MarkedObjects,
): Pick<OperationPlan, "obstacles" | "releasedAt"> {
  const world = worldOf(scene, operation, marks);
  const { trace } = judge(scene, operation, marks);
  const releasedAt = forecast(scene.policies, world, operation.call, scene.now);
  const ofPolicies = trace.flatMap(({ policy, holds, rules }, index) => {
    const compiled = scene.policies[index];
    if (!holds || compiled === undefined) return [];
    const release = forecast([compiled], world, operation.call, scene.now);
    const held = rules.filter((rule) => rule.holds);
    return held.flatMap((rule) =>
      reasonsOf(rule).map((reason): Obstacle => {
        const withheld = whyNotSet(scene, { policy, rule: rule.rule, ...reason }, operation.call);
        return {
          policy,
          rule: rule.rule,
          ...reason,
          ...(release !== undefined && { release }),
          ...(withheld !== "" && { withheld }),
        };
      }),
    );
  });
  const ofRollouts = rolloutObstacles(scene, operation);
  return {
    obstacles: [...ofPolicies, ...ofRollouts],
    ...(releasedAt !== undefined && ofRollouts.length === 0 && { releasedAt }),
  };
}

/** The rollouts that hold the operation as it is now, because no mark gives it a slot. */
function rolloutObstacles(scene: Scene, operation: ApprovableOperation): readonly Obstacle[] {
  const world = worldOf(scene, operation, undefined);
  return explainRollouts(scene.fleet, { world, call: operation.call, now: scene.now }, { live: true })
    .filter(({ holds }) => holds)
    .map(({ rollout: name, stage = "", message }) => ({
      policy: { kind: "HookRollout", name },
      rule: stage,
      text: message,
      unknown: false,
    }));
}

/** Empty: no mark meets the gate, or it is set. */
function whyNotSet(scene: Scene, gate: GateRef, call: HookCall): string {
  const reasons = marksFor(scene, gate, call).flatMap((mark) => whyWithheld(scene, mark, gate) ?? []);
  return [...new Set(reasons)].join("; or ");
}

/** Reasons of gates and rules whose objects the user may not read. */
const UNREADABLE: ReadonlySet<string> = new Set(["ObjectsForbidden", NAMESPACE_UNKNOWN]);

function reasonsOf(rule: RuleTrace): Pick<Obstacle, "gate" | "text" | "unknown">[] {
  const unmet = unmetGates(rule);
  if (unmet.length === 0) return [{ text: rule.message, unknown: UNREADABLE.has(rule.reason) }];
  return unmet.map(({ gate, met, reason, observed, ...result }) => ({
    gate,
    text: met === undefined ? `cannot be evaluated: ${observed}` : `waits for ${wantedInMessage(result)}`,
    unknown: met === undefined && UNREADABLE.has(reason),
  }));
}
