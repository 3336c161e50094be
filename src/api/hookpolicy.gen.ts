// Generated from crds/ by crds/generate.ts (npm run generate): change the CRDs instead.

import type {Condition, LabelSelector} from "./meta.ts";
import type {HookName} from "./runtimehooks.ts";

/**
 * Met while the Cluster or its Namespace has an annotation. Whoever may edit the Cluster may set it:
 * it is a confirmation, not an authorisation.
 */
export interface AnnotationGateSpec {
  /**
   * The annotation's key.
   */
  key: string;
  /**
   * Where the annotation is looked up, on the Cluster or on its Namespace.
   */
  from?: "Cluster" | "Namespace";
  /**
   * The annotation must have exactly this value. With neither value nor valueFrom, it is enough
   * that it is present.
   */
  value?: string;
  /**
   * The annotation must have the Cluster's name, the Cluster's UID, or the Kubernetes version
   * that the operation leads to. ClusterUID binds an approval to one Cluster, also when another
   * one gets the same name; TargetVersion binds it to one upgrade, for upgrade hooks only.
   */
  valueFrom?: "ClusterName" | "ClusterUID" | "TargetVersion";
}
/**
 * Met while the Cluster or its Namespace has a label. Whoever may edit the Cluster may set it:
 * it is a confirmation, not an authorisation.
 */
export interface LabelGateSpec {
  /**
   * The label's key.
   */
  key: string;
  /**
   * Where the label is looked up, on the Cluster or on its Namespace.
   */
  from?: "Cluster" | "Namespace";
  /**
   * The label must have exactly this value. With neither value nor valueFrom, it is enough that
   * it is present.
   */
  value?: string;
  /**
   * The label must have the Cluster's name, the Cluster's UID, or the Kubernetes version that the
   * operation leads to (upgrade hooks only). A label value cannot have the '+' of a version such
   * as v1.34.0+k3s1: it is written as '_'.
   */
  valueFrom?: "ClusterName" | "ClusterUID" | "TargetVersion";
}
/**
 * A gate, with a name and exactly one condition, annotation or label.
 */
export interface GateSpec {
  /**
   * Names the gate in messages and in the status, unique within the rule.
   */
  name: string;
  /**
   * Met while the Cluster or its Namespace has an annotation. Whoever may edit the Cluster may set it:
   * it is a confirmation, not an authorisation.
   */
  annotation?: AnnotationGateSpec;
  /**
   * Met while the Cluster or its Namespace has a label. Whoever may edit the Cluster may set it:
   * it is a confirmation, not an authorisation.
   */
  label?: LabelGateSpec;
}
/**
 * A rule holds an operation until its gates are met; without gates it only observes.
 */
export interface RuleSpec {
  /**
   * Names the rule in messages and in the status, unique within the policy.
   */
  name: string;
  /**
   * The lifecycle hooks that the rule is about. AfterControlPlaneInitialized can only be observed: Cluster
   * API does not wait there, so a rule with it has no until.
   *
   * @minItems 1
   * @maxItems 9
   */
  hooks: HookName[];
  /**
   * The gates: the operation is held until all of them are met. Absent, the rule never holds anything
   * and only records that the hook was called.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A gate, with a name and exactly one condition, annotation or label.
   */
  until?: GateSpec[];
  /**
   * Appended to the message that users read in the Cluster's conditions while the rule holds it: whom to
   * ask, for example. One line.
   */
  message?: string;
  /**
   * How long Cluster API waits before it asks again, in seconds. It also bounds how long an operation that
   * is no longer held still waits.
   */
  retryAfterSeconds?: number;
}
/**
 * What to hold, and until when.
 */
export interface HookPolicySpec {
  /**
   * Enforce holds Clusters. Audit lets every operation go on, and records in the status what Enforce would
   * have held: use it to try a policy out.
   */
  mode?: "Enforce" | "Audit";
  /**
   * What a rule does while it cannot be evaluated, for example because of an error in it: Fail holds the
   * operation, Ignore lets it go on. It concerns that rule and its hooks only, never the whole policy.
   */
  failurePolicy?: "Fail" | "Ignore";
  /**
   * Selects Clusters by their labels. Absent or empty, it selects every Cluster in reach of the policy.
   */
  clusterSelector?: LabelSelector;
  /**
   * The rules of the policy, each on its own: for every hook, all rules that name it must agree
   * before the operation goes on.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A rule holds an operation until its gates are met; without gates it only observes.
   */
  rules: RuleSpec[];
}
export interface DecisionRow {
  /**
   * The Cluster's namespace.
   */
  namespace: string;
  /**
   * The Cluster's name.
   */
  cluster: string;
  /**
   * The hook that Cluster API has called.
   */
  hook: HookName;
  /**
   * The Cluster's UID.
   */
  clusterUID: string;
  /**
   * The Kubernetes version that the operation leads to, for upgrades.
   */
  targetVersion?: string;
  /**
   * The rule that decided.
   */
  rule: string;
  /**
   * The first gate of the rule that is not met.
   */
  gate?: string;
  /**
   * Blocked: the operation is held. WouldBlock: it went on because the mode is Audit. NotEvaluable:
   * the rule could not be evaluated, and failurePolicy decided.
   */
  verdict: "Blocked" | "WouldBlock" | "NotEvaluable";
  /**
   * Why, in one CamelCase word.
   */
  reason: string;
  /**
   * What the operation waits for, and how to release it.
   */
  message: string;
  /**
   * When Cluster API first asked for the operation; for a deletion, when it was requested.
   */
  firstAsked: string;
  /**
   * Since when the verdict and the rule are these.
   */
  since: string;
  /**
   * The earliest instant at which time alone could release the operation; absent if time alone does not.
   */
  earliestRelease?: string;
}
export interface RecentResult {
  /**
   * The Cluster's namespace.
   */
  namespace: string;
  /**
   * The Cluster's name.
   */
  cluster: string;
  /**
   * The Cluster's UID.
   */
  clusterUID: string;
  /**
   * The hook that Cluster API has called.
   */
  hook: HookName;
  /**
   * The Kubernetes version that the operation leads to, for upgrades.
   */
  targetVersion?: string;
  /**
   * Allowed: the operation was let go on. Observed: only rules without gates were about it. WouldBlock:
   * it went on because the mode is Audit.
   */
  verdict: "Allowed" | "Observed" | "WouldBlock";
  /**
   * When the operation was let go on.
   */
  time: string;
}
/**
 * What the policy holds now, and why. Written by the operator.
 */
export interface HookPolicyStatus {
  /**
   * The generation of the spec that this status is about; -1 until the operator has seen the policy.
   */
  observedGeneration?: number;
  /**
   * Ready: the policy is in force (a policy that holds Clusters is Ready). Reconciling: it is not yet.
   * Stalled: it cannot be, until somebody edits it. Restrictive: no passing of time alone releases what it holds.
   *
   * @maxItems 16
   */
  conditions?: Condition[];
  /**
   * The hooks that the policy's rules are about, in the order of a Cluster's life, separated by commas.
   */
  hooks?: string;
  /**
   * The number of Clusters that the policy selects.
   */
  matchedClusters?: number;
  /**
   * The number of Clusters with an operation that Cluster API has asked for and that this policy holds now.
   */
  blocked?: number;
  /**
   * The number of Clusters with an operation that Cluster API has asked for and that this policy would
   * hold if its mode were Enforce.
   */
  wouldBlock?: number;
  /**
   * The earliest instant at which time alone changes what the policy says about any Cluster; absent if none.
   */
  nextTransitionTime?: string;
  /**
   * Operations that the policy holds, would hold in mode Enforce, or cannot judge: those with a running
   * timer first, then the oldest. At most 50; decisionsOmitted counts the others.
   *
   * @maxItems 50
   */
  decisions?: DecisionRow[];
  /**
   * The number of rows that found no place in decisions.
   */
  decisionsOmitted?: number;
  /**
   * The last results that let an operation go on, the newest first; at most 10.
   *
   * @maxItems 10
   */
  recent?: RecentResult[];
}
/**
 * What to hold, and until when.
 */
export interface ClusterHookPolicySpec {
  /**
   * Enforce holds Clusters. Audit lets every operation go on, and records in the status what Enforce would
   * have held: use it to try a policy out.
   */
  mode?: "Enforce" | "Audit";
  /**
   * What a rule does while it cannot be evaluated, for example because of an error in it: Fail holds the
   * operation, Ignore lets it go on. It concerns that rule and its hooks only, never the whole policy.
   */
  failurePolicy?: "Fail" | "Ignore";
  /**
   * Selects the namespaces whose Clusters the policy is about, by their labels. Empty, {}, it selects every
   * namespace; it cannot be left out.
   */
  namespaceSelector: LabelSelector;
  /**
   * Selects Clusters by their labels. Absent or empty, it selects every Cluster in reach of the policy.
   */
  clusterSelector?: LabelSelector;
  /**
   * The rules of the policy, each on its own: for every hook, all rules that name it must agree
   * before the operation goes on.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A rule holds an operation until its gates are met; without gates it only observes.
   */
  rules: RuleSpec[];
}
