/** The kinds of group hookpolicy.dev. The types of spec and status, and their limits, are generated from the CRDs. */

import type {
  AnnotationGateSpec,
  ClusterHookPolicySpec,
  HookOverrideSpec,
  HookOverrideStatus,
  HookPolicySpec,
  HookPolicyStatus,
  HookRolloutSpec,
  HookRolloutStatus,
  HookTaskSpec,
  HookTaskStatus,
  LabelGateSpec,
} from "./hook-policy.gen.ts";
import type { TooLargeMark, ObjectMeta } from "./meta.ts";

export * from "./hook-policy.gen.ts";

/** Annotation and label gates differ only in the values that they allow. */
export type MetadataGateSpec = AnnotationGateSpec | LabelGateSpec;

export const GROUP = "hookpolicy.dev";
export const CRD_VERSION = "v1alpha1";

/** Set on HookPolicies that can hold the deletion of a Cluster: see status/finalizer.ts. */
export const FINALIZER = "hookpolicy.dev/hold-clusters";

/** Condition types (kstatus). */
export const CONDITION = {
  /** The policy is in force; one that blocks is Ready. */
  Ready: "Ready",
  /** A dependency that recovers without an edit is missing; absent otherwise. */
  Reconciling: "Reconciling",
  /** A user must edit the policy; absent otherwise. */
  Stalled: "Stalled",
  /** Time alone will never release what the policy holds. */
  Restrictive: "Restrictive",
  /** Cluster API does not call, or not for every hook; absent when it does. */
  NotCalled: "NotCalled",
  /** Others delete what Clusters own that the policy holds; absent when the operator sees none of that. */
  TornDown: "TornDown",
  /** The override is in force. */
  Active: "Active",
  /** Too many Clusters of a rollout have failed: no further operation begins. */
  Halted: "Halted",
} as const;

/** Condition reasons. */
export const REASON = {
  /** Ready: the policy is in force. */
  Loaded: "Loaded",
  /** Ready True, of a rollout: it, or one of its stages, selects no Cluster. */
  SelectsNothing: "SelectsNothing",
  /** Ready False, Stalled: the spec is not valid, and the message says where. */
  InvalidSpec: "InvalidSpec",
  /**
   * Ready or Active False, Stalled: the namespace is beyond its share of the operator's memory. Ready True, of a rollout: the
   * namespaces of Clusters that it may select are.
   */
  TooLarge: "TooLarge",
  NamespaceUnknown: "NamespaceUnknown",
  /** Ready False, Stalled: a rule names a hook that is not called, or cannot be held, at `--capi-version`. */
  HookNotEnforceable: "HookNotEnforceable",
  /** Ready False, Reconciling: the API server does not serve Clusters. */
  ClusterAPINotInstalled: "ClusterAPINotInstalled",
  /** Ready False, Reconciling: the operator may not read Clusters. */
  ClustersForbidden: "ClustersForbidden",
  /** Ready False, Reconciling, of a policy with tasks: the API server does not serve HookTasks. */
  HookTasksNotInstalled: "HookTasksNotInstalled",
  /** Ready False, Reconciling, of a policy with tasks: the operator may not read HookTasks. */
  HookTasksForbidden: "HookTasksForbidden",
  /** Ready or Active Unknown: `prepare-uninstall` has stopped the operator. */
  OperatorGone: "OperatorGone",
  /** Restrictive: a user must act before the held operations are released. */
  ActionRequired: "ActionRequired",
  /** Not Restrictive: time alone can release the held operations. */
  OpensByTime: "OpensByTime",
  /** Not Restrictive: no rule holds anything. */
  NothingToWaitFor: "NothingToWaitFor",
  /** NotCalled: the API server does not serve ExtensionConfigs. */
  RuntimeSDKNotInstalled: "RuntimeSDKNotInstalled",
  /** NotCalled: no ExtensionConfig points to the operator. */
  NotRegistered: "NotRegistered",
  /** NotCalled: Cluster API has never discovered the extension of the ExtensionConfig. */
  NotDiscovered: "NotDiscovered",
  /** NotCalled: the ExtensionConfig's namespaceSelector excludes the policy's namespace. */
  NamespaceNotSelected: "NamespaceNotSelected",
  /** NotCalled: Cluster API has discovered handlers, but none for a hook of the policy. */
  HookNotRegistered: "HookNotRegistered",
  /** Halted: more Clusters of a stage have failed than maxFailures. */
  TooManyFailures: "TooManyFailures",
  /** Not Halted: no Cluster has failed, or not too many. */
  NoFailures: "NoFailures",
  /** The rollout's spec.paused is true. */
  Paused: "Paused",
  /** The rollout's status does not show what runs, and the operator reads it from the Clusters first. */
  StatusLost: "StatusLost",
} as const;

interface StoredObject<Kind extends string, Spec, Status> extends TooLargeMark {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
}

export type HookPolicy = StoredObject<"HookPolicy", HookPolicySpec, HookPolicyStatus>;
export type ClusterHookPolicy = StoredObject<"ClusterHookPolicy", ClusterHookPolicySpec, HookPolicyStatus>;
export type HookOverride = StoredObject<"HookOverride", HookOverrideSpec, HookOverrideStatus>;
export type HookRollout = StoredObject<"HookRollout", HookRolloutSpec, HookRolloutStatus>;
export type HookTask = StoredObject<"HookTask", HookTaskSpec, HookTaskStatus>;
