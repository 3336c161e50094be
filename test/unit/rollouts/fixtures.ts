/** Rollouts, members and statuses for tests. */

import {
  CONDITION,
  type HookRollout,
  type HookRolloutSpec,
  type HookRolloutStatus,
  type RolloutClaim,
  type RolloutFailure,
  type RolloutStageStatus,
} from "../../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { Candidate } from "../../../src/rollouts/claim.ts";
import { type Member, memberOf } from "../../../src/rollouts/member.ts";
import { type CompiledRollout, compileRollout } from "../../../src/rollouts/rollout.ts";

export const NOW = new Date("2026-11-23T12:00:00Z");
export const TARGET = "v1.35.1";

export function hookRollout(spec: Partial<HookRolloutSpec> = {}, status?: HookRolloutStatus): HookRollout {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: {
      name: "upgrades",
      uid: "rollout",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-11-23T11:00:00Z",
    },
    spec: { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "1h", ...spec },
    ...(status !== undefined && { status }),
  };
}

export function rolloutOf(spec: Partial<HookRolloutSpec> = {}): CompiledRollout {
  return compileRollout(hookRollout(spec));
}

const READY = {
  type: CONDITION.Ready,
  status: "True",
  reason: "Loaded",
  message: "",
  lastTransitionTime: "2026-11-23T11:00:00Z",
} as const;

/** The operator has seen the spec, and nothing runs. */
export function readyStatus(status: Partial<HookRolloutStatus> = {}): HookRolloutStatus {
  return { observedGeneration: 1, conditions: [READY], ...status };
}

export function clusterMeta(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  marked = false,
): ObjectMeta {
  return {
    name,
    namespace: "fleet",
    uid: `uid-${name}`,
    resourceVersion: "1",
    labels,
    ...(marked && { annotations: { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" } }),
  };
}

export function waitingCluster(name: string, over: Partial<Cluster> = {}, labels = {}): Cluster {
  return {
    metadata: clusterMeta(name, labels),
    paused: false,
    created: true,
    topology: { className: "lab", version: TARGET },
    progress: { heldAt: "BeforeClusterUpgrade" },
    ...over,
  };
}

export function member(rollout: CompiledRollout, metadata: ObjectMeta): Member {
  const found = memberOf(rollout, { metadata: metadata }, undefined);
  if (found === undefined) throw new Error(`${metadata.name} is no member`);
  return found;
}

export function candidate(rollout: CompiledRollout, metadata: ObjectMeta, target = TARGET): Candidate {
  const { marked, ...found } = member(rollout, metadata);
  return { ...found, stage: found.stage, target, begun: marked };
}

/** A slot of stage "all" that this Cluster got a minute before NOW, and whose mark was not seen yet. */
export function claimOf(name: string, over: Partial<RolloutClaim> = {}): RolloutClaim {
  return {
    namespace: "fleet",
    name,
    uid: `uid-${name}`,
    target: TARGET,
    stage: "all",
    claimed: true,
    claimedAt: "2026-11-23T11:59:00Z",
    renewedAt: "2026-11-23T11:59:00Z",
    attempts: 1,
    ...over,
  };
}

/** A stage of one Cluster, which was not asked for, and has not passed; `over` also says where it is. */
export function stageOf(name: string, over: Partial<RolloutStageStatus> = {}): RolloutStageStatus {
  const none = { notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
  return { name, members: 1, ...none, passed: false, ...over };
}

/** This Cluster of stage "canary" was unhealthy an hour before NOW. */
export function failureOf(name: string, over: Partial<RolloutFailure> = {}): RolloutFailure {
  return {
    namespace: "fleet",
    name,
    uid: `uid-${name}`,
    target: TARGET,
    stage: "canary",
    reason: "Unhealthy",
    time: "2026-11-23T11:00:00Z",
    message: "",
    ...over,
  };
}
