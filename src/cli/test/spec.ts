/** The fields of a HookPolicyTest; suiteschema.ts describes them. */

import type { HookCall } from "../../api/runtimehooks.ts";
import type { ADMISSION_VERDICTS } from "../../policy/admission.ts";
import type { Verdict } from "../../policy/decision.ts";
import type { RequestName } from "../fleet/requestnames.ts";
import type { RawObject } from "../fleet/kinds.ts";

export const SECTIONS = ["policies", "rollouts", "clusters", "namespaces", "objects", "overrides"] as const;
export type Section = (typeof SECTIONS)[number];
/** Paths and inline objects. */
export type Sources = readonly (string | RawObject)[];

export interface SuiteObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: SuiteSpec;
}

export interface SuiteSpec extends Readonly<Partial<Record<Exclude<Section, "clusters">, Sources>>> {
  readonly capiVersion?: string;
  readonly at: string;
  readonly clusters: Sources;
  readonly asked?: readonly AskedSpec[];
  readonly steps: readonly StepSpec[];
}

export interface CallSpec extends HookCall {
  /** "namespace/name" */
  readonly cluster: string;
}

/** A request to the API server, about which admission is asked. */
export interface RequestSpec extends Omit<HookCall, "hook"> {
  readonly admission: RequestName;
  /** "namespace/name" */
  readonly cluster: string;
}

export interface AskedSpec extends CallSpec {
  readonly firstAsked: string;
  readonly timers?: readonly TimersSpec[];
}

export interface TimersSpec {
  readonly policy: string;
  readonly rule: string;
  readonly blockedSince?: string;
  readonly gatesMetSince?: string;
}

export interface StepSpec {
  readonly name?: string;
  readonly at?: string;
  readonly advance?: string;
  readonly create?: Sources;
  readonly patch?: readonly RawObject[];
  readonly delete?: readonly ObjectRefSpec[];
  /** "namespace/name" of Clusters whose operations end. */
  readonly completed?: readonly string[];
  /** "namespace/name" of Clusters whose upgrades end unhealthy. */
  readonly failed?: readonly string[];
  readonly call?: CallSpec | RequestSpec;
  readonly expect?: ExpectSpec;
  readonly events?: readonly EventSpec[];
  readonly metrics?: readonly MetricSpec[];
  readonly rollouts?: readonly RolloutExpectSpec[];
  readonly timeline?: TimelineSpec;
}

export interface ObjectRefSpec {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface ExpectSpec {
  readonly verdict?: Verdict | (typeof ADMISSION_VERDICTS)[number];
  readonly policy?: string;
  readonly rule?: string;
  readonly gate?: string;
  readonly rollout?: string;
  readonly stage?: string;
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
  readonly message?: string;
  readonly nextChange?: string;
}

/** The expected status of a rollout; Clusters as "namespace/name". */
export interface RolloutExpectSpec {
  readonly name: string;
  readonly target?: string;
  readonly stage?: string;
  readonly halted?: boolean;
  readonly running?: readonly string[];
  readonly next?: readonly string[];
  readonly failed?: readonly string[];
}

/** The Events that a suite can cause. */
export const EVENT_REASONS = [
  "Held",
  "Released",
  "WouldBlock",
  "NotEvaluable",
  "DeadlineApproaching",
  "DeadlinePassed",
  "OverrideUsed",
  "WindowOpened",
  "WindowClosed",
  "StageOpened",
  "StagePassed",
  "Halted",
  "Resumed",
] as const;

export interface EventSpec {
  readonly reason: (typeof EVENT_REASONS)[number];
  /** "Cluster team-a/prod-1", "HookPolicy team-a/protect", "ClusterHookPolicy freeze", "HookRollout upgrades" */
  readonly about?: string;
  readonly message?: string;
}

const OF_POLICY = ["kind", "namespace", "policy"];

/** The metrics that a suite can compute, and their labels. */
export const METRIC_LABELS = {
  hookpolicy_held_clusters: ["hook"],
  hookpolicy_policy_decisions: [...OF_POLICY, "hook", "verdict"],
  hookpolicy_deadlines: [...OF_POLICY, "passed"],
  hookpolicy_window_open: [...OF_POLICY, "rule", "gate"],
  hookpolicy_overrides: ["state"],
  hookpolicy_rollout_clusters: ["rollout", "stage", "state"],
  hookpolicy_rollout_halted: ["rollout"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type MetricName = keyof typeof METRIC_LABELS;

export interface MetricSpec {
  readonly name: MetricName;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface TimelineSpec extends CallSpec {
  readonly to: string;
  readonly expect: readonly SpanSpec[];
}

export interface SpanSpec {
  readonly verdict: Verdict;
  readonly from?: string;
  readonly to?: string;
}
