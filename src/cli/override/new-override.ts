/** Builds and creates a HookOverride for one Cluster, and computes what it lifts. */

import { heldRules } from "../../policy/decision.ts";
import {
  CONDITION,
  GROUP,
  type HookOverride,
  type PolicyRefSpec,
  CRD_VERSION,
} from "../../api/hook-policy.ts";
import { conditionOf, type Cluster, type Condition } from "../../api/meta.ts";
import type { HookCall, HookName } from "../../api/runtime-hooks.ts";
import { storedOverride } from "../../memory/stored-views.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { OVERRIDES } from "../../kube/resources.ts";
import { decide, matches } from "../../policy/decide.ts";
import { LABEL_LETTERS } from "../../lib/dns-names.ts";
import { after, timestamp, wholeSecond } from "../../lib/instant.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { memberOf } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import { UsageError } from "../../lib/thrown.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import { validatePolicy } from "../../policy/validation/schema.ts";
import { targetVersion } from "../../api/target-version.ts";
import { expectedCall } from "../../operations/call.ts";
import { newOperation, type PendingOperation } from "../../operations/operation.ts";
import { meantText } from "../command.ts";
import { explainRollouts } from "../fleet/rollout-hold.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { followAnswer } from "../fleet/follow.ts";

export type NewOverride = Pick<HookOverride, "apiVersion" | "kind" | "spec"> & {
  readonly metadata: { readonly name: string };
};

export interface OverrideWish {
  readonly hooks: readonly HookName[];
  readonly reason: string;
  readonly forMs: number;
  /** Absent: every policy and rollout. */
  readonly policies?: readonly HolderRef[] | undefined;
}

/** Contains the uid of the Cluster, so that it does not affect a later Cluster of the same name. */
export function newOverride(
  cluster: { readonly metadata: Pick<Cluster["metadata"], "namespace" | "name" | "uid"> },
  wish: OverrideWish,
  now: Date,
): NewOverride {
  const { namespace = "", name, uid } = cluster.metadata;
  const stamp = timestamp(now).toLowerCase().replaceAll(/[-:]/g, "");
  const prefix = `${namespace}-${name}`.slice(0, LABEL_LETTERS - stamp.length - 1).replace(/[-.]+$/, "");
  const policyRefs = wish.policies?.map((ref): PolicyRefSpec => ({
    kind: ref.kind,
    ...(ref.namespace !== undefined && { namespace: ref.namespace }),
    name: ref.name,
  }));
  return {
    apiVersion: `${GROUP}/${CRD_VERSION}`,
    kind: "HookOverride",
    metadata: { name: `${prefix}-${stamp}` },
    spec: {
      clusterRef: { namespace, name, uid },
      hooks: [...wish.hooks],
      ...(policyRefs !== undefined && { policyRefs }),
      reason: wish.reason,
      expiresAt: timestamp(wholeSecond(after(now, wish.forMs))),
    },
  };
}

/** The errors that the API server would report. */
export function overrideProblems(override: NewOverride): readonly string[] {
  return validatePolicy("HookOverride", override).map(({ path, message }) => `${path}: ${message}`);
}

/** Returns the operator's condition Active; `undefined`: none in time. */
export async function createOverride(
  client: KubeClient,
  override: NewOverride,
): Promise<Condition | undefined> {
  await client.create(OVERRIDES, override);
  let active: Condition | undefined;
  const scope = { resource: OVERRIDES, name: override.metadata.name };
  const isAnswered = (object: KubeObject | undefined): boolean => {
    active = object && conditionOf(storedOverride(object), CONDITION.Active);
    return active !== undefined;
  };
  await followAnswer(client, scope, isAnswered);
  return active;
}

/** A rule of a policy, or the stage of a rollout, that holds. */
interface HoldSource {
  readonly policy: HolderRef;
  readonly rule: string;
  readonly message: string;
}

export interface OverrideEffect {
  readonly call: HookCall;
  /** Whether Cluster API is known to have called. */
  readonly asked: boolean;
  /** What it removes from the decision now. */
  readonly lifts: readonly HoldSource[];
  /** Policies and rollouts that still hold. */
  readonly stays: readonly HolderRef[];
}

export interface OverridePlan {
  readonly made: NewOverride;
  readonly lifted: readonly OverrideEffect[];
}

/** Whether `seen` releases nothing beyond `shown`. */
export function releasesNoMore(seen: OverridePlan, shown: OverridePlan): boolean {
  const known = new Set(shown.lifted.flatMap(partsOf));
  return (
    seen.made.spec.clusterRef.uid === shown.made.spec.clusterRef.uid &&
    seen.lifted.flatMap(partsOf).every((part) => known.has(part))
  );
}

function partsOf({ call, lifts }: OverrideEffect): readonly string[] {
  const operation = [call.hook, targetVersion(call)].join(" ");
  return [operation, ...lifts.map(({ policy, rule }) => [operation, policyName(policy), rule].join(" "))];
}

export function liftedBy(
  fleet: Fleet,
  cluster: Cluster,
  wish: OverrideWish,
  now: Date,
): readonly OverrideEffect[] {
  const named = wish.policies === undefined ? undefined : new Set(wish.policies.map(policyName));
  const operations = fleet.pendingOperations(cluster);
  const covered = ({ policy }: HoldSource): boolean => named?.has(policyName(policy)) ?? true;
  return wish.hooks.map((hook) => {
    const pending = operations.find(({ call }) => call.hook === hook);
    const operation = pending ?? newOperation(expectedCall(hook, cluster), cluster, now, undefined);
    const holding = holdingOf(fleet, cluster, operation, now);
    const stays = holding.filter((each) => !covered(each)).map(({ policy }) => policy);
    return {
      call: operation.call,
      asked: pending !== undefined,
      lifts: holding.filter(covered),
      stays: [...new Map(stays.map((policy) => [policyName(policy), policy])).values()],
    };
  });
}

/** Also the rollouts that hold the operation once every policy has released it. */
function holdingOf(
  fleet: Fleet,
  cluster: Cluster,
  operation: PendingOperation,
  now: Date,
): readonly HoldSource[] {
  const { call } = operation;
  const world = fleet.world(cluster, operation);
  const { trace } = decide(fleet.policiesFor(cluster), world, call, now);
  const rules = heldRules(trace).map(({ policy, rule: { rule, message } }) => ({ policy, rule, message }));
  const rollouts = explainRollouts(fleet, { world, call, now }, { live: true }).filter(
    (rollout) => rollout.holds,
  );
  const stages = rollouts.map(({ rollout, stage = WHOLE, message }): HoldSource => {
    return { policy: { kind: "HookRollout", name: rollout }, rule: stage, message };
  });
  return [...rules, ...stages];
}

/** Finds "freeze" or "HookRollout/freeze" among the policies and rollouts that can hold the Cluster at these hooks. */
export function findHolder(
  fleet: Fleet,
  cluster: Cluster,
  text: string,
  hooks: readonly HookName[],
): HolderRef {
  const known = holdersOf(fleet, cluster, hooks).map((ref) => ({ ref, long: `${ref.kind}/${ref.name}` }));
  const [found, ...others] = known.filter(({ ref, long }) => ref.name === text || long === text);
  if (found === undefined) {
    const meant = nearest(text, [...known.map(({ long }) => long), ...known.map(({ ref }) => ref.name)]);
    const problem = `no policy or HookRollout that speaks about the Cluster at ${hooks.join(", ")} is named ${JSON.stringify(text)}`;
    throw new UsageError(`--policy: ${problem}${meantText(meant)}`);
  }
  if (others.length === 0) return found.ref;
  const names = [found, ...others].map(({ long }) => long).join(" or ");
  throw new UsageError(`--policy: ${JSON.stringify(text)} can be ${names}`);
}

function holdersOf(fleet: Fleet, cluster: Cluster, hooks: readonly HookName[]): readonly HolderRef[] {
  const policies = fleet
    .policiesFor(cluster)
    .filter(({ rules }) => rules.some((rule) => hooks.some((hook) => rule.hooks.has(hook))))
    .filter((policy) => matches(policy, fleet.world(cluster)) !== "no")
    .map(({ ref }) => ref);
  const rollouts = fleet.rollouts
    .filter(({ compiled }) => hooks.includes(BEGINS[compiled.operation]))
    .filter(({ compiled }) => memberOf(compiled, cluster, fleet.namespaceOf(cluster)) !== undefined)
    .map(({ compiled: { name } }): HolderRef => ({ kind: "HookRollout", name }));
  return [...policies, ...rollouts];
}
