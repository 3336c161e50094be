/** Builds and creates a HookOverride for one Cluster, and computes what it lifts. */

import { CONDITION, GROUP, type HookOverride, type PolicyRefSpec, VERSION } from "../../api/hook-policy.ts";
import type { Cluster, Condition } from "../../api/meta.ts";
import type { HookCall, HookName } from "../../api/runtime-hooks.ts";
import { viewOverride } from "../../memory/stored-views.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { OVERRIDES } from "../../kube/resources.ts";
import { decide, matches } from "../../policy/decide.ts";
import { after, timestamp, wholeSecond } from "../../policy/instant.ts";
import { policyName, type PolicyRef } from "../../policy/policy-ref.ts";
import { UsageError } from "../../operator/options.ts";
import { nearest } from "../../policy/validation/field-message.ts";
import { validatePolicy } from "../../policy/validation/schema.ts";
import { expectedCall } from "../../operations/call.ts";
import { newOperation } from "../../operations/operation.ts";
import { meantText } from "../command.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { followUntil } from "../fleet/follow.ts";
import { conditionOf } from "../fleet/kinds.ts";

export type NewOverride = Pick<HookOverride, "apiVersion" | "kind" | "spec"> & {
  readonly metadata: { readonly name: string };
};

export interface OverrideWish {
  readonly hooks: readonly HookName[];
  readonly reason: string;
  readonly forMs: number;
  /** Absent: every policy. */
  readonly policies?: readonly PolicyRef[] | undefined;
}

const MAX_NAME = 63;

/** Contains the uid of the Cluster, so that it does not affect a later Cluster of the same name. */
export function newOverride(cluster: Cluster, wish: OverrideWish, now: Date): NewOverride {
  const { namespace = "", name, uid } = cluster.metadata;
  const stamp = timestamp(now).toLowerCase().replaceAll(/[-:]/g, "");
  const policyRefs = wish.policies?.map(refOf);
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: "HookOverride",
    metadata: { name: [cut(`${namespace}-${name}`, MAX_NAME - stamp.length - 1), stamp].join("-") },
    spec: {
      clusterRef: { namespace, name, uid },
      hooks: [...wish.hooks],
      ...(policyRefs !== undefined && { policyRefs }),
      reason: wish.reason,
      expiresAt: timestamp(wholeSecond(after(now, wish.forMs))),
    },
  };
}

function cut(name: string, max: number): string {
  return name.slice(0, max).replace(/[-.]+$/, "");
}

function refOf({ kind, namespace, name }: PolicyRef): PolicyRefSpec {
  return { kind, ...(namespace !== undefined && { namespace }), name };
}

/** The errors that the API server would report. */
export function overrideProblems(override: NewOverride): readonly string[] {
  return validatePolicy("HookOverride", override).map(({ path, message }) => `${path}: ${message}`);
}

/** Returns the operator's condition Active; `undefined`: none in time. */
export async function createOverride(
  client: KubeClient,
  override: NewOverride,
  timeoutMs: number,
): Promise<Condition | undefined> {
  await client.create(OVERRIDES, override);
  let active: Condition | undefined;
  const scope = { resource: OVERRIDES, name: override.metadata.name };
  const isAnswered = (object: KubeObject | undefined): boolean => {
    active = object && conditionOf(viewOverride(object), CONDITION.Active);
    return active !== undefined;
  };
  // The right to create does not imply list and watch, so a failed read is not an error.
  await followUntil(client, scope, isAnswered, { timeoutMs, onLost: () => undefined }).catch(() => undefined);
  return active;
}

/** The effect of an override at one hook. */
export interface OverrideEffect {
  readonly call: HookCall;
  /** Whether Cluster API is known to have called. */
  readonly asked: boolean;
  /** The rules that it removes from the decision now. */
  readonly lifts: readonly { readonly policy: PolicyRef; readonly rule: string; readonly message: string }[];
  /** Policies that still hold. */
  readonly stays: readonly PolicyRef[];
  readonly retryAfterSeconds: number;
}

export function liftedBy(
  fleet: Fleet,
  cluster: Cluster,
  wish: OverrideWish,
  now: Date,
): readonly OverrideEffect[] {
  const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const named = wish.policies === undefined ? undefined : new Set(wish.policies.map(policyName));
  const operations = fleet.pendingOperations(cluster);
  const covered = (policy: PolicyRef): boolean => named?.has(policyName(policy)) ?? true;
  return wish.hooks.map((hook) => {
    const pending = operations.find(({ call }) => call.hook === hook);
    const operation = pending ?? newOperation(expectedCall(hook, cluster), cluster, now, undefined);
    const { call } = operation;
    const { trace, retryAfterSeconds } = decide(policies, fleet.world(cluster, operation), call, now);
    const holding = trace.filter(({ holds }) => holds);
    return {
      call,
      asked: pending !== undefined,
      lifts: holding
        .filter(({ policy }) => covered(policy))
        .flatMap(({ policy, rules }) =>
          rules.filter(({ holds }) => holds).map(({ rule, message }) => ({ policy, rule, message })),
        ),
      stays: holding.map(({ policy }) => policy).filter((policy) => !covered(policy)),
      retryAfterSeconds,
    };
  });
}

/** Finds "freeze", "HookPolicy/freeze" or "ClusterHookPolicy/freeze" among the policies that apply to the Cluster. */
export function findPolicy(fleet: Fleet, cluster: Cluster, text: string): PolicyRef {
  const known = fleet
    .policiesFor(cluster.metadata.namespace ?? "")
    .filter((policy) => matches(policy, fleet.world(cluster)) !== "no")
    .map(({ ref }) => ({ ref, long: `${ref.kind}/${ref.name}` }));
  const [found, ...others] = known.filter(({ ref, long }) => ref.name === text || long === text);
  if (found === undefined) {
    const meant = nearest(text, [...known.map(({ long }) => long), ...known.map(({ ref }) => ref.name)]);
    const problem = `no policy that speaks about the Cluster is named ${JSON.stringify(text)}`;
    throw new UsageError(`--policy: ${problem}${meantText(meant)}`);
  }
  if (others.length === 0) return found.ref;
  const names = [found, ...others].map(({ long }) => long).join(" or ");
  throw new UsageError(`--policy: ${JSON.stringify(text)} can be ${names}`);
}
