// Generated from src/cli/suite/suite-schema.ts by crds/generate.ts (npm run generate): change that instead.

import type {RawObject} from "../fleet/kinds.ts";
import type {CallSpec, RequestSpec, Sources} from "./spec.ts";

export interface TimersSpec {
  /**
   * A policy of this suite: its name, or "HookPolicy team-a/protect", "ClusterHookPolicy freeze", "ClusterHookPolicy/freeze"
   */
  policy: string;
  /** A rule of the policy */
  rule: string;
  /** Its deadline counts from here (RFC 3339: "2026-11-21T12:00:00Z") */
  blockedSince?: string;
  /** Its wait counts from here (RFC 3339: "2026-11-21T12:00:00Z") */
  gatesMetSince?: string;
}
export interface AskedSpec {
  /** The hook that Cluster API calls */
  hook:
    | "BeforeClusterCreate"
    | "AfterControlPlaneInitialized"
    | "BeforeClusterUpgrade"
    | "BeforeControlPlaneUpgrade"
    | "AfterControlPlaneUpgrade"
    | "BeforeWorkersUpgrade"
    | "AfterWorkersUpgrade"
    | "AfterClusterUpgrade"
    | "BeforeClusterDelete";
  /** namespace/name of a Cluster of this suite */
  cluster: string;
  /** For hooks before an upgrade; default: the version that the Cluster shows, otherwise it is unknown */
  fromKubernetesVersion?: string;
  /**
   * For hooks before an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of BeforeClusterUpgrade, another version becomes its spec.topology.version
   */
  toKubernetesVersion?: string;
  /**
   * For hooks after an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of AfterClusterUpgrade, another version becomes its spec.topology.version
   */
  kubernetesVersion?: string;
  /** spec.settings of the ExtensionConfig */
  settings?: {
    [k: string]: string;
  };
  /** When Cluster API asked for the first time (RFC 3339: "2026-11-21T12:00:00Z") */
  firstAsked: string;
  /** Timers of rules with a deadline or a wait, as in status.decisions[].timers */
  timers?: TimersSpec[];
}
export interface ObjectRefSpec {
  /** As in the object */
  apiVersion?: string;
  /** As in the object */
  kind: string;
  /** As in the object; needed only where the name alone is ambiguous */
  namespace?: string;
  /** As in the object */
  name: string;
}
export interface ExpectSpec {
  /** The verdict of all policies together; for a request at admission: Denied, Warned, Passed */
  verdict?:
    "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable" | "Denied" | "Warned" | "Passed";
  /**
   * A policy of this suite: its name, or "HookPolicy team-a/protect", "ClusterHookPolicy freeze", "ClusterHookPolicy/freeze"
   */
  policy?: string;
  /** The rule that decides */
  rule?: string;
  /** The gate that is not met; in an answer that releases, a gate that is met */
  gate?: string;
  /** The task that the rule waits for */
  task?: string;
  /** The HookRollout that holds the Cluster after every policy has released it */
  rollout?: string;
  /** The Cluster's stage of the HookRollout, or the stage that it waits for */
  stage?: string;
  /** The gate's or the task's reason if that is set, otherwise the rule's; under a HookRollout, why it holds */
  reason?: string;
  /** 0: it proceeds */
  retryAfterSeconds?: number;
  /** Regular expression (RE2) that the message matches; for a request, the refusal or the warnings */
  message?: string;
  /** When time alone changes what a policy says: an instant, "Never" or "Unknown" */
  nextChange?: string;
}
export interface EventSpec {
  /** If a reason is named, all of its Events must be listed */
  reason:
    | "Held"
    | "Released"
    | "WouldBlock"
    | "NotEvaluable"
    | "NotAsked"
    | "DeadlineApproaching"
    | "DeadlinePassed"
    | "OverrideUsed"
    | "WindowOpened"
    | "WindowClosed"
    | "StageOpened"
    | "StagePassed"
    | "Halted"
    | "Resumed"
    | "TaskStarted"
    | "TaskSucceeded"
    | "TaskFailed"
    | "TaskNotBegun";
  /**
   * "Cluster team-a/prod-1", "HookPolicy team-a/protect", "ClusterHookPolicy freeze" or "HookRollout upgrades"
   */
  about?: string;
  /** Regular expression (RE2) that the Event's note matches */
  message?: string;
}
export interface MetricSpec {
  /** The name under which the operator exports it */
  name:
    | "hookpolicy_held_clusters"
    | "hookpolicy_policy_decisions"
    | "hookpolicy_deadlines"
    | "hookpolicy_window_open"
    | "hookpolicy_overrides"
    | "hookpolicy_rollout_clusters"
    | "hookpolicy_rollout_halted"
    | "hookpolicy_tasks";
  /** Labels of the series to add up; absent: all series of the metric */
  labels?: {
    [k: string]: string;
  };
  /** The sum of these series */
  value: number;
}
export interface RolloutExpectSpec {
  /** A HookRollout of this suite */
  name: string;
  /** The version that Clusters are upgraded to */
  target?: string;
  /** The first stage that has not passed */
  stage?: string;
  /** Whether it is halted */
  halted?: boolean;
  /**
   * All that have a slot, in any order
   *
   * Items: namespace/name of a Cluster of this suite
   */
  running?: string[];
  /**
   * The queue, in its order, of at most ten Clusters
   *
   * Items: namespace/name of a Cluster of this suite
   */
  next?: string[];
  /**
   * All that have failed, in any order
   *
   * Items: namespace/name of a Cluster of this suite
   */
  failed?: string[];
}
export interface TaskExpectSpec {
  /** A task of a policy of this suite */
  name: string;
  /** namespace/name of a Cluster of this suite */
  cluster?: string;
  /**
   * None: it has not begun for the operation that is pending, or was last; Retrying: an attempt has failed, and another follows
   */
  phase?: "None" | "Pending" | "Running" | "Retrying" | "Succeeded" | "Failed" | "Cancelled";
  /** How many have begun */
  attempts?: number;
  /** Fields of the object of its last attempt; without one, of what the task does */
  object?: RawObject;
}
export interface SpanSpec {
  /** If a verdict is named, all of its spans must be listed */
  verdict: "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";
  /** Default: the clock of this step (RFC 3339: "2026-11-21T12:00:00Z") */
  from?: string;
  /** Default: the end of the timeline (RFC 3339: "2026-11-21T12:00:00Z") */
  to?: string;
}
/** The answers from the clock to an instant, if nothing but time passes */
export interface TimelineSpec {
  /** The hook that Cluster API calls */
  hook:
    | "BeforeClusterCreate"
    | "AfterControlPlaneInitialized"
    | "BeforeClusterUpgrade"
    | "BeforeControlPlaneUpgrade"
    | "AfterControlPlaneUpgrade"
    | "BeforeWorkersUpgrade"
    | "AfterWorkersUpgrade"
    | "AfterClusterUpgrade"
    | "BeforeClusterDelete";
  /** namespace/name of a Cluster of this suite */
  cluster: string;
  /** For hooks before an upgrade; default: the version that the Cluster shows, otherwise it is unknown */
  fromKubernetesVersion?: string;
  /**
   * For hooks before an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of BeforeClusterUpgrade, another version becomes its spec.topology.version
   */
  toKubernetesVersion?: string;
  /**
   * For hooks after an upgrade; default: the version that the Cluster shows, otherwise its spec.topology.version. In a call of AfterClusterUpgrade, another version becomes its spec.topology.version
   */
  kubernetesVersion?: string;
  /** spec.settings of the ExtensionConfig */
  settings?: {
    [k: string]: string;
  };
  /** The end (RFC 3339: "2026-11-21T12:00:00Z") */
  to: string;
  /**
   * The expected verdicts, and when they apply
   *
   * @minItems 1
   */
  expect: SpanSpec[];
}
export interface StepSpec {
  /** Shown in reports */
  name?: string;
  /** Moves the clock, never backwards (RFC 3339: "2026-11-21T12:00:00Z") */
  at?: string;
  /** Moves the clock ("90s", "1h30m") */
  advance?: string;
  /** Objects to create: files, folders and globs, relative to this file, or objects */
  create?: Sources;
  /**
   * JSON merge patches: objects with kind and metadata.name, and the fields that change
   *
   * @minItems 1
   */
  patch?: RawObject[];
  /**
   * Objects to delete
   *
   * @minItems 1
   */
  delete?: ObjectRefSpec[];
  /**
   * Clusters whose operation, which a HookRollout has released, succeeds
   *
   * @minItems 1
   *
   * Items: namespace/name of a Cluster of this suite
   */
  completed?: string[];
  /**
   * Clusters whose upgrade ends, and that are unhealthy for the 30 s that this step takes
   *
   * @minItems 1
   *
   * Items: namespace/name of a Cluster of this suite
   */
  failed?: string[];
  /**
   * Tasks that have failed and that a person tries again
   *
   * @minItems 1
   *
   * Items: A task
   */
  retry?: string[];
  /** A call by Cluster API, or a request to the API server that is not stored yet */
  call?: CallSpec | RequestSpec;
  expect?: ExpectSpec;
  /** The Events that the operator writes in this step; []: none */
  events?: EventSpec[];
  /**
   * The metrics that the operator exports after this step
   *
   * @minItems 1
   */
  metrics?: MetricSpec[];
  /**
   * The statuses of HookRollouts after this step
   *
   * @minItems 1
   */
  rollouts?: RolloutExpectSpec[];
  /**
   * What tasks have done after this step
   *
   * @minItems 1
   */
  tasks?: TaskExpectSpec[];
  /** The answers from the clock to an instant, if nothing but time passes */
  timeline?: TimelineSpec;
}
export interface SuiteSpec {
  /** Cluster API version that calls (default: 1.14) */
  capiVersion?: string;
  /** The clock when the first step begins (RFC 3339: "2026-11-21T12:00:00Z") */
  at: string;
  /** HookPolicies and ClusterHookPolicies: files, folders and globs, relative to this file, or objects */
  policies?: Sources;
  /** HookRollouts: files, folders and globs, relative to this file, or objects */
  rollouts?: Sources;
  /** Clusters: files, folders and globs, relative to this file, or objects */
  clusters: Sources;
  /** Namespaces: files, folders and globs, relative to this file, or objects */
  namespaces?: Sources;
  /** The objects that object gates look at: files, folders and globs, relative to this file, or objects */
  objects?: Sources;
  /** HookOverrides: files, folders and globs, relative to this file, or objects */
  overrides?: Sources;
  /** Calls that Cluster API has made before */
  asked?: AskedSpec[];
  /**
   * In this order
   *
   * @minItems 1
   */
  steps: StepSpec[];
}
/** A test of HookPolicies and HookRollouts: run by `hookpolicy test` */
export interface HookPolicyTest {
  apiVersion: "cli.hookpolicy.dev/v1alpha1";
  kind: "HookPolicyTest";
  metadata: {
    /** Shown in reports */
    name: string;
  };
  spec: SuiteSpec;
}
