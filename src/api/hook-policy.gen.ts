// Generated from crds/source/crds.yaml by crds/generate.ts (npm run generate): change that instead.

import type {Condition, LabelSelector} from "./meta.ts";
import type {HookName} from "./runtime-hooks.ts";

/**
 * The ServiceAccount as which the policy's tasks act. Who writes the policy must be allowed to impersonate it, and so
 * must the operator.
 */
export interface TaskAccount {
  /** The ServiceAccount's namespace, where HookTasks are, and created objects without a namespace. */
  namespace: string;
  /** The ServiceAccount's name. */
  name: string;
}
/** A condition that must be true, or the rule does not apply. */
export interface MatchCondition {
  /** Names the condition in messages, unique within the rule. */
  name: string;
  /** The condition, a CEL expression that is true or false. */
  expression: string;
}
/**
 * Met while the Cluster or its Namespace has an annotation. Everyone who can edit the Cluster can set it:
 * it is a confirmation, not an authorisation.
 */
export interface AnnotationGateSpec {
  /** The annotation's key. */
  key: string;
  /** Where the annotation is looked up, on the Cluster (the default) or on its Namespace. */
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
 * Met while the Cluster or its Namespace has a label. Everyone who can edit the Cluster can set it:
 * it is a confirmation, not an authorisation.
 */
export interface LabelGateSpec {
  /** The label's key. */
  key: string;
  /** Where the label is looked up, on the Cluster (the default) or on its Namespace. */
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
/** A time that recurs, as schedule and duration, or a single one, as from and to. */
export interface WindowEntry {
  /**
   * When it starts, in cron's five fields: minute, hour, day of month, month, day of week; on the clock of
   * timeZone.
   */
  schedule?: string;
  /** How long it lasts, in hours, minutes and seconds, such as 8h or 1h30m. */
  duration?: string;
  /**
   * The first instant, such as 2026-12-20T00:00:00Z, or a time or date of timeZone, such as 2026-12-20T18:00 or
   * 2026-12-20, which is its first instant.
   */
  from?: string;
  /**
   * The end, the first instant that no longer belongs to it, written like from: with 2026-12-21, the 20th is the
   * last day.
   */
  to?: string;
}
/**
 * Met inside of an allow entry and outside of every deny entry. Without allow, met outside of every deny entry.
 */
export interface WindowGateSpec {
  /**
   * The time zone of the schedules, and of dates and times without an offset, by its IANA name, such as
   * Europe/Berlin or UTC; needed when there is one of them.
   */
  timeZone?: string;
  /**
   * The times at which operations may proceed.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A time that recurs, as schedule and duration, or a single one, as from and to.
   */
  allow?: WindowEntry[];
  /**
   * The times at which no operation proceeds, whatever allow says.
   *
   * @minItems 1
   * @maxItems 32
   *
   * Items: A time that recurs, as schedule and duration, or a single one, as from and to.
   */
  deny?: WindowEntry[];
}
/** Met while the Kubernetes version that the call is about lies in a range. For upgrade hooks only. */
export interface VersionGateSpec {
  /** A semver range as npm writes it, such as >=1.34.0 <1.36.0 or 1.34.x || 1.35.x. A space means and. */
  range: string;
}
/**
 * Met while objects of some kind exist, and expression is true for them; or, with absent, while none does. They are
 * looked for in the Cluster's namespace. The operator needs the right to read the kind, which a ClusterRole with the
 * label hookpolicy.dev/aggregate-to-operator gives it. Secrets are never read.
 */
export interface ObjectGateSpec {
  /** The objects' group and version, such as velero.io/v1, or v1 for the core group. */
  apiVersion: string;
  /** The objects' kind, such as Backup. */
  kind: string;
  /** The namespace in which the objects are looked for. Absent, it is the Cluster's. */
  namespace?: string;
  /**
   * Selects the namespaces in which the objects are looked for, by their labels; at most 100. Empty, {}, it selects
   * every namespace.
   */
  namespaceSelector?: LabelSelector;
  /** The name of the object. */
  name?: string;
  /** A CEL expression over cluster, namespaceObject and request that gives the name of the object. */
  nameExpression?: string;
  /** Selects the objects by their labels. Empty, {}, it selects every object of the kind. */
  selector?: LabelSelector;
  /** A CEL expression over object, cluster, request and now: only objects for which it is true count. */
  expression?: string;
  /** The smallest number of objects. Absent, it is 1, or 0 if maxCount is set. */
  minCount?: number;
  /** The largest number of objects, including those that are being deleted. */
  maxCount?: number;
  /**
   * Met while there is no such object, or none for which expression is true. Like maxCount, it is not met in the
   * Cluster's own namespace, or in selected ones, while one of them is being deleted.
   */
  absent?: true;
}
/**
 * Met when some time has passed since all other gates of the rule are met; since the operation was first asked
 * for, if there are none.
 */
export interface WaitGateSpec {
  /** How long, in hours, minutes and seconds, such as 24h or 1h30m. */
  duration: string;
}
/** A gate of anyOf, with a name and exactly one condition. */
export interface AnyOfGateSpec {
  /** Names the gate in messages and in the status, unique within anyOf. */
  name: string;
  /**
   * What messages say that the gate waits for, in the place of the operator's own words: what is missing, and who
   * can help, for example. One line.
   */
  message?: string;
  /**
   * Met while the Cluster or its Namespace has an annotation. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  annotation?: AnnotationGateSpec;
  /**
   * Met while the Cluster or its Namespace has a label. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  label?: LabelGateSpec;
  /**
   * Met while this CEL expression is true. It can use cluster (metadata, topology, status), namespaceObject (metadata),
   * request (hook, versions, settings) and now.
   */
  expression?: string;
  /**
   * Met inside of an allow entry and outside of every deny entry. Without allow, met outside of every deny entry.
   */
  window?: WindowGateSpec;
  /** Met while the Kubernetes version that the call is about lies in a range. For upgrade hooks only. */
  version?: VersionGateSpec;
  /**
   * Met while objects of some kind exist, and expression is true for them; or, with absent, while none does. They are
   * looked for in the Cluster's namespace. The operator needs the right to read the kind, which a ClusterRole with the
   * label hookpolicy.dev/aggregate-to-operator gives it. Secrets are never read.
   */
  object?: ObjectGateSpec;
}
/** A gate, with a name and exactly one condition. */
export interface GateSpec {
  /** Names the gate in messages and in the status, unique within the rule. */
  name: string;
  /**
   * What messages say that the gate waits for, in the place of the operator's own words: what is missing, and who
   * can help, for example. One line.
   */
  message?: string;
  /**
   * Met while the Cluster or its Namespace has an annotation. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  annotation?: AnnotationGateSpec;
  /**
   * Met while the Cluster or its Namespace has a label. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  label?: LabelGateSpec;
  /**
   * Met while this CEL expression is true. It can use cluster (metadata, topology, status), namespaceObject (metadata),
   * request (hook, versions, settings) and now.
   */
  expression?: string;
  /**
   * Met inside of an allow entry and outside of every deny entry. Without allow, met outside of every deny entry.
   */
  window?: WindowGateSpec;
  /** Met while the Kubernetes version that the call is about lies in a range. For upgrade hooks only. */
  version?: VersionGateSpec;
  /**
   * Met while objects of some kind exist, and expression is true for them; or, with absent, while none does. They are
   * looked for in the Cluster's namespace. The operator needs the right to read the kind, which a ClusterRole with the
   * label hookpolicy.dev/aggregate-to-operator gives it. Secrets are never read.
   */
  object?: ObjectGateSpec;
  /**
   * Met when some time has passed since all other gates of the rule are met; since the operation was first asked
   * for, if there are none.
   */
  wait?: WaitGateSpec;
  /**
   * Met while at least one of these gates is met.
   *
   * @minItems 2
   * @maxItems 8
   *
   * Items: A gate of anyOf, with a name and exactly one condition.
   */
  anyOf?: AnyOfGateSpec[];
}
/**
 * A new object for each attempt; metadata.name, the task's name by default, is a prefix. `<< … >>` in a string value
 * is CEL over cluster, namespaceObject and request.
 */
export interface TaskTemplate {
  /** The object's group and version, such as batch/v1, or v1 for the core group. Without expressions. */
  apiVersion: string;
  /** The object's kind, such as Job. Without expressions. */
  kind: string;
  [k: string]: unknown;
}
/** Selects the objects by their labels. Values take expressions, and at least one must read cluster. */
export interface TaskSelector {
  /** Labels that must all be present with exactly these values. */
  matchLabels: {
    [k: string]: string;
  };
}
/** Objects that are deleted, each as it was found at the beginning; the task is done when those are gone. */
export interface TaskDeleteSpec {
  /** The object's group and version, such as batch/v1, or v1 for the core group. Without expressions. */
  apiVersion: string;
  /** The object's kind, such as Job. Without expressions. */
  kind: string;
  /** Where the objects are. Absent, in the namespace of the ServiceAccount. It takes expressions. */
  namespace?: string;
  /** The name of the object. It takes expressions. */
  name?: string;
  /** Selects the objects by their labels. Values take expressions, and at least one must read cluster. */
  selector?: TaskSelector;
}
/** A task does one thing as the policy's ServiceAccount, and holds the operation until that is done. */
export interface TaskSpec {
  /** Names the task in messages and in HookTasks, unique within the rule. */
  name: string;
  /**
   * The task is needed only while this CEL expression over cluster, namespaceObject and request is true. A task that
   * has begun counts whatever it says later.
   */
  when?: string;
  /**
   * Last, the default: when nothing but tasks holds the operation. First: as soon as the operation is pending and the
   * rule applies to it, so that people approve after they have seen the result.
   */
  begins?: "Last" | "First";
  /**
   * A new object for each attempt; metadata.name, the task's name by default, is a prefix. `<< … >>` in a string value
   * is CEL over cluster, namespaceObject and request.
   */
  create?: TaskTemplate;
  /**
   * An object that is applied (server-side, without force) and stays. `<< … >>` in a string value is CEL over cluster,
   * namespaceObject and request.
   */
  apply?: TaskTemplate;
  /** Objects that are deleted, each as it was found at the beginning; the task is done when those are gone. */
  delete?: TaskDeleteSpec;
  /**
   * Whether the Cluster owns the object that is applied, so that it is deleted with the Cluster. Both must be in one
   * namespace.
   */
  ownedByCluster?: boolean;
  /**
   * The task is done when this CEL expression over object, cluster and request is true. Of a Job and a Pod it is known;
   * for other kinds it is needed: "true" says that the object only has to exist.
   */
  succeeded?: string;
  /**
   * The attempt has failed when this CEL expression over object, cluster and request is true. It is judged before
   * succeeded.
   */
  failed?: string;
  /** How long an attempt may take, such as 15m; 1h by default. */
  timeout?: string;
  /** How many attempts follow one that failed, after 30 seconds, 1 and 2 minutes; none by default. */
  retries?: number;
  /**
   * After the last attempt has failed: Hold, the default, holds the operation until a person retries the task; Proceed
   * proceeds without it, and records that.
   */
  onFailure?: "Hold" | "Proceed";
  /**
   * For how long a success counts; after that, it needs another run. Once a later task of the rule that begins last
   * has begun, it counts until that one has succeeded, and for as long again after that. 24h by default for create;
   * apply and delete count for the whole operation.
   */
  validFor?: string;
  /** How long a created object stays after its success; 24h by default. */
  keep?: string;
}
/** The longest time that the rule holds an operation. It never releases a rule that cannot be evaluated. */
export interface DeadlineSpec {
  /** The time since the rule first held the operation, in hours, minutes and seconds, such as 72h or 1h30m. */
  after: string;
  /**
   * Allow releases the operation when the time is up, whatever the gates say; tasks begin then. KeepBlocking
   * continues to hold it, and Events and metrics report it.
   */
  onExpiry: "Allow" | "KeepBlocking";
  /**
   * How long before the deadline an Event and the metric hookpolicy_deadlines warn of it, such as 4h. Absent, they
   * do after 50 and 80 % of its time.
   */
  warnBefore?: string;
}
/**
 * A rule holds an operation until its gates are met and its tasks are done; without either it only observes.
 */
export interface RuleSpec {
  /** Names the rule in messages and in the status, unique within the policy. */
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
   * Whether the rule also speaks at admission, before the API server stores a deletion (BeforeClusterDelete), another
   * spec.topology.version (BeforeClusterUpgrade) or a new Cluster (BeforeClusterCreate): Warn has the API server print
   * a warning, and Deny has it refuse the request, while the gates are not met. None, the default, leaves it to the
   * hook. It needs the webhook for Clusters, which is installed separately. wait and deadline do not count there.
   */
  admission?: "None" | "Warn" | "Deny";
  /**
   * Conditions in CEL, over cluster, namespaceObject, request and now: all must be true, or the rule does not apply.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A condition that must be true, or the rule does not apply.
   */
  matchConditions?: MatchCondition[];
  /**
   * The gates: the operation is held until all of them are met. Without gates and tasks, the rule never holds
   * anything and only records that the hook was called.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A gate, with a name and exactly one condition.
   */
  until?: GateSpec[];
  /**
   * What the operator does, one task after the other, as the ServiceAccount that the policy names: the operation is
   * also held until all of them are done.
   *
   * @minItems 1
   * @maxItems 4
   *
   * Items: A task does one thing as the policy's ServiceAccount, and holds the operation until that is done.
   */
  tasks?: TaskSpec[];
  /** The longest time that the rule holds an operation. It never releases a rule that cannot be evaluated. */
  deadline?: DeadlineSpec;
  /**
   * The first words of the message that users read in the Cluster's conditions while the rule holds it: whom to
   * ask, for example. One line.
   */
  message?: string;
  /**
   * How long Cluster API waits before it asks again, in seconds; 10 by default. It also bounds how long an
   * operation that is no longer held still waits.
   */
  retryAfterSeconds?: number;
}
/** What to hold, and until when. */
export interface ClusterHookPolicySpec {
  /**
   * Enforce holds Clusters. Audit releases every operation, and records in the status what Enforce would
   * have held: use it to try a policy out.
   */
  mode?: "Enforce" | "Audit";
  /**
   * What a rule does while it cannot be evaluated, for example because of an error in it: Fail holds the
   * operation, Ignore releases it, except when the steps are used up (BudgetExhausted), the memory is (TooLarge), the
   * operator does not know a field or value (UnknownField), the HookTasks cannot be read (TasksUnknown), or a task of
   * the rule has begun and not ended well: then the rule always holds. It concerns that rule and its hooks only,
   * never the whole policy.
   */
  failurePolicy?: "Fail" | "Ignore";
  /**
   * Selects the namespaces whose Clusters the policy is about, by their labels. Empty, {}, it selects every
   * namespace; it cannot be left out.
   */
  namespaceSelector: LabelSelector;
  /** Selects Clusters by their labels. Absent or empty, it selects every Cluster in reach of the policy. */
  clusterSelector?: LabelSelector;
  /**
   * The ServiceAccount as which the policy's tasks act. Who writes the policy must be allowed to impersonate it, and so
   * must the operator.
   */
  serviceAccount?: TaskAccount;
  /**
   * The rules of the policy: for every hook, all rules that name it must agree before the operation
   * proceeds.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A rule holds an operation until its gates are met and its tasks are done; without either it only observes.
   */
  rules: RuleSpec[];
}
/**
 * Others than Cluster API delete what the Cluster owns, although the operation is held. Absent: the
 * operator sees nothing of that kind.
 */
export interface TornDown {
  /**
   * ForegroundDeletion: the Cluster has the finalizer foregroundDeletion, with which the garbage
   * collector deletes what it owns. OwnedObjectsDeleted: its control plane or its infrastructure is
   * being deleted, or is gone.
   */
  reason: "ForegroundDeletion" | "OwnedObjectsDeleted";
  /** What is deleted, and by whom as far as that is known. */
  message: string;
}
export interface StoredTimers {
  /** The rule. */
  rule: string;
  /** When the rule first held the operation; its deadline counts from here. */
  blockedSince?: string;
  /** Since when the rule's other gates are met; its wait counts from here. */
  gatesMetSince?: string;
}
export interface DecisionRow {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  cluster: string;
  /** The hook that Cluster API has called. */
  hook: HookName;
  /** The Cluster's UID. */
  clusterUID: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  targetVersion?: string;
  /** The rule that decided. */
  rule: string;
  /** The first gate of the rule that is not met. */
  gate?: string;
  /**
   * Blocked: the operation is held. WouldBlock: it proceeded because the mode is Audit. NotEvaluable:
   * the rule could not be evaluated, and failurePolicy decided. Allowed: the rule's deadline releases it,
   * and Cluster API has not asked again yet.
   */
  verdict: "Blocked" | "WouldBlock" | "NotEvaluable" | "Allowed";
  /** Why, in one CamelCase word. */
  reason: string;
  /** What the operation waits for, and how to release it. */
  message: string;
  /** When Cluster API first asked for the operation; for a deletion, when it was requested. */
  firstAsked: string;
  /** When the verdict or the rule last changed. */
  since: string;
  /** The earliest instant at which time alone could release the operation; absent if time alone does not. */
  earliestRelease?: string;
  /**
   * Others than Cluster API delete what the Cluster owns, although the operation is held. Absent: the
   * operator sees nothing of that kind.
   */
  tornDown?: TornDown;
  /**
   * Since when each rule with a deadline or a wait has held the operation, and since when its other gates are
   * met.
   *
   * @maxItems 16
   */
  timers?: StoredTimers[];
}
export interface RecentResult {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  cluster: string;
  /** The Cluster's UID. */
  clusterUID: string;
  /** The hook that Cluster API has called. */
  hook: HookName;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  targetVersion?: string;
  /**
   * Allowed: the operation was released. Observed: only rules without gates were about it. WouldBlock:
   * it proceeded because the mode is Audit. NotEvaluable: it proceeded although a rule could not be evaluated,
   * because failurePolicy is Ignore. Refused: the API server was told to refuse the request for it; the first
   * such request for the Cluster and the rule. NotAsked: the policy holds an upgrade to this version, but the
   * version changed while another upgrade ran, so Cluster API did not ask about it and proceeds.
   */
  verdict: "Allowed" | "Observed" | "WouldBlock" | "NotEvaluable" | "Refused" | "NotAsked";
  /**
   * The rule that would have held the operation, that refused the request, that could not be evaluated, or
   * whose deadline released it; absent if no single rule decided.
   */
  rule?: string;
  /** The first gate of the rule that was not met. */
  gate?: string;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** What the rule waited for. */
  message?: string;
  /** The HookOverride that released the operation, if one did. */
  override?: string;
  /** When the operation was released, or the request refused. */
  time: string;
}
/** What the policy holds now, and why. Written by the operator. */
export interface HookPolicyStatus {
  /** The generation of the spec that this status is about; -1 until the operator has seen the policy. */
  observedGeneration?: number;
  /**
   * Ready: the policy is in force (a policy that holds Clusters is Ready). Reconciling: it is not yet.
   * Stalled: it cannot be, until a user edits it. Restrictive: time alone does not release what it holds.
   * NotCalled: Cluster API does not call its hooks, so that it holds nothing. TornDown: others delete what Clusters own
   * that the policy holds.
   *
   * @maxItems 16
   */
  conditions?: Condition[];
  /**
   * What the policy does: Enforce or Audit, as its spec says, or Observe, because no rule has `until`, or `tasks` at a
   * hook that Cluster API waits for, so that it never holds anything.
   */
  mode?: "Enforce" | "Audit" | "Observe";
  /** The hooks that the policy's rules are about, in the order of a Cluster's life, separated by commas. */
  hooks?: string;
  /** The number of Clusters that the policy selects. */
  matchedClusters?: number;
  /** The number of Clusters with an operation that Cluster API has asked for and that this policy holds now. */
  blocked?: number;
  /**
   * The number of Clusters with an operation that Cluster API has asked for and that this policy would
   * hold if its mode were Enforce.
   */
  wouldBlock?: number;
  /** The earliest instant at which time alone changes what the policy says about any Cluster; absent if none. */
  nextTransitionTime?: string;
  /**
   * Operations that the policy holds, would hold in mode Enforce, or cannot evaluate: those of Clusters that
   * are torn down first, then those that time alone releases, the soonest first, then those with a running timer, then
   * the oldest. At most 50; decisionsOmitted counts the others.
   *
   * @maxItems 50
   */
  decisions?: DecisionRow[];
  /** The number of rows that decisions leaves out. */
  decisionsOmitted?: number;
  /**
   * The last results, the newest first; at most 10: operations that proceeded, and requests that were refused at
   * admission.
   *
   * @maxItems 10
   */
  recent?: RecentResult[];
}
/** What to hold, and until when. */
export interface HookPolicySpec {
  /**
   * Enforce holds Clusters. Audit releases every operation, and records in the status what Enforce would
   * have held: use it to try a policy out.
   */
  mode?: "Enforce" | "Audit";
  /**
   * What a rule does while it cannot be evaluated, for example because of an error in it: Fail holds the
   * operation, Ignore releases it, except when the steps are used up (BudgetExhausted), the memory is (TooLarge), the
   * operator does not know a field or value (UnknownField), the HookTasks cannot be read (TasksUnknown), or a task of
   * the rule has begun and not ended well: then the rule always holds. It concerns that rule and its hooks only,
   * never the whole policy.
   */
  failurePolicy?: "Fail" | "Ignore";
  /** Selects Clusters by their labels. Absent or empty, it selects every Cluster in reach of the policy. */
  clusterSelector?: LabelSelector;
  /**
   * The ServiceAccount of the policy's namespace as which its tasks act. Who writes the policy must be allowed to
   * impersonate it, and so must the operator.
   */
  serviceAccountName?: string;
  /**
   * The rules of the policy: for every hook, all rules that name it must agree before the operation
   * proceeds.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A rule holds an operation until its gates are met and its tasks are done; without either it only observes.
   */
  rules: RuleSpec[];
}
/** The Cluster. */
export interface ClusterRefSpec {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Cluster's UID. Absent, the override also concerns a later Cluster with the same name. */
  uid?: string;
}
/** A policy. */
export interface PolicyRefSpec {
  /** The policy's kind. */
  kind: "HookPolicy" | "ClusterHookPolicy" | "HookRollout";
  /** The policy's name. */
  name: string;
  /** The policy's namespace; for a HookPolicy only. */
  namespace?: string;
}
/**
 * Which operations are released, why and until when. It cannot be changed, except for an earlier expiresAt.
 */
export interface HookOverrideSpec {
  /** The Cluster. */
  clusterRef: ClusterRefSpec;
  /**
   * The hooks at which the Cluster is no longer held.
   *
   * @minItems 1
   * @maxItems 9
   */
  hooks: HookName[];
  /**
   * The policies and HookRollouts that no longer hold the Cluster. Absent, none of them holds it.
   *
   * @minItems 1
   * @maxItems 32
   *
   * Items: A policy.
   */
  policyRefs?: PolicyRefSpec[];
  /** The reason, for people who review it later. One line. */
  reason: string;
  /** When the override ends, such as 2026-11-27T21:00:00Z. It stays as a record. */
  expiresAt: string;
}
export interface OverrideUse {
  /** The hook that Cluster API has called. */
  hook: HookName;
  /** The Cluster's UID. */
  clusterUID: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  targetVersion?: string;
  /** When the operation was released. */
  time: string;
  /**
   * The policies that would have held it, such as HookPolicy team-a/protect; at most 10.
   *
   * @maxItems 10
   */
  policies: string[];
}
/** Whether the override is in force, and what it was used for. Written by the operator. */
export interface HookOverrideStatus {
  /** The generation of the spec that this status is about; -1 until the operator has seen the override. */
  observedGeneration?: number;
  /**
   * Active: the override is in force.
   *
   * @maxItems 16
   */
  conditions?: Condition[];
  /**
   * The last operations that proceeded because of the override, the newest first; at most 20.
   *
   * @maxItems 20
   */
  used?: OverrideUse[];
  /** How many operations proceeded because of the override. */
  usedCount?: number;
}
/** A limit for the Clusters that have the same value of a label. */
export interface RolloutSpreadSpec {
  /** The label's key. The Clusters without the label count as Clusters of one value. */
  labelKey: string;
  /**
   * Where the label is looked up, on the Cluster (the default) or on its Namespace. The key
   * kubernetes.io/metadata.name, from the Namespace, makes a limit for each namespace.
   */
  from?: "Cluster" | "Namespace";
  /**
   * How many Clusters with the same value may be in operation at the same time: a number, or a percentage of
   * the rollout's Clusters with this value, rounded down but at least 1. With 0 or 0%, none begins.
   */
  maxConcurrency: number | string;
}
/** A condition that must be true, or the Cluster is not healthy. */
export interface RolloutHealthCheck {
  /** Names the condition in messages, unique within the rollout. */
  name: string;
  /** The condition, a CEL expression that is true or false. */
  expression: string;
}
/** A gate of a stage, with a name and exactly one condition. */
export interface StageGateSpec {
  /** Names the gate in messages and in the status, unique within the stage. */
  name: string;
  /**
   * What messages say that the gate waits for, in the place of the operator's own words: what is missing, and who
   * can help, for example. One line.
   */
  message?: string;
  /**
   * Met while the Cluster or its Namespace has an annotation. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  annotation?: AnnotationGateSpec;
  /**
   * Met while the Cluster or its Namespace has a label. Everyone who can edit the Cluster can set it:
   * it is a confirmation, not an authorisation.
   */
  label?: LabelGateSpec;
  /**
   * Met while this CEL expression is true. It can use cluster (metadata, topology, status), namespaceObject (metadata),
   * request (hook, versions, settings) and now.
   */
  expression?: string;
  /**
   * Met inside of an allow entry and outside of every deny entry. Without allow, met outside of every deny entry.
   */
  window?: WindowGateSpec;
  /** Met while the Kubernetes version that the call is about lies in a range. For upgrade hooks only. */
  version?: VersionGateSpec;
  /**
   * Met while objects of some kind exist, and expression is true for them; or, with absent, while none does. They are
   * looked for in the Cluster's namespace. The operator needs the right to read the kind, which a ClusterRole with the
   * label hookpolicy.dev/aggregate-to-operator gives it. Secrets are never read.
   */
  object?: ObjectGateSpec;
  /**
   * Met while at least one of these gates is met.
   *
   * @minItems 2
   * @maxItems 8
   *
   * Items: A gate of anyOf, with a name and exactly one condition.
   */
  anyOf?: AnyOfGateSpec[];
}
/**
 * A part of the Clusters, which must have succeeded before the next stage begins. A Cluster belongs to the first stage
 * that selects it.
 */
export interface RolloutStageSpec {
  /** Names the stage in messages and in the status, unique within the rollout. */
  name: string;
  /**
   * Selects Clusters by their labels. A stage without any selector takes every Cluster that the earlier ones do not
   * select, and must be the last one.
   */
  clusterSelector?: LabelSelector;
  /** Selects the namespaces of the Clusters by their labels. */
  namespaceSelector?: LabelSelector;
  /**
   * How many Clusters of the stage may be in operation at the same time: a number, or a percentage of the stage's
   * Clusters, rounded down but at least 1. With 0 or 0%, none begins. Absent, only the rollout's own maxConcurrency
   * limits the stage.
   */
  maxConcurrency?: number | string;
  /**
   * How many Clusters of the stage must have succeeded before the next stage begins: a number, or a percentage of
   * the stage's Clusters, rounded up.
   */
  minSucceeded?: number | string;
  /**
   * How long the stage must have stayed at minSucceeded before the next stage begins, in hours, minutes and seconds,
   * such as 24h or 1h30m.
   */
  minSuccessTime?: string;
  /**
   * How many Clusters of the stage may fail: a number, or a percentage of the stage's Clusters, rounded down and at
   * most 50. With more, the rollout is halted.
   */
  maxFailures?: number | string;
  /**
   * Gates for the Clusters of the stage: each Cluster is held until all of them are met for it.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A gate of a stage, with a name and exactly one condition.
   */
  until?: StageGateSpec[];
}
/** Which operations begin, in which order, and how many at the same time. */
export interface HookRolloutSpec {
  /** The operation that the rollout is about. It cannot be changed. */
  operation: "Create" | "Upgrade" | "Delete";
  /** Enforce holds Clusters. Audit holds none, and records in the status what Enforce would do. */
  mode?: "Enforce" | "Audit";
  /** While true, no further operation begins. Those that run proceed. */
  paused?: boolean;
  /**
   * Selects the namespaces whose Clusters the rollout is about, by their labels. Empty, {}, it selects every
   * namespace; it cannot be left out.
   */
  namespaceSelector: LabelSelector;
  /** Selects Clusters by their labels. Absent or empty, it selects every Cluster of the selected namespaces. */
  clusterSelector?: LabelSelector;
  /**
   * How many Clusters may be in operation at the same time, in all stages together: a number, or a percentage of all
   * Clusters of the rollout, rounded down but at least 1 and at most 200. With 0 or 0%, none begins.
   */
  maxConcurrency?: number | string;
  /**
   * Further limits, each for the Clusters that have the same value of a label of their own or of their Namespace.
   *
   * @maxItems 8
   *
   * Items: A limit for the Clusters that have the same value of a label.
   */
  spread?: RolloutSpreadSpec[];
  /**
   * The key of a label with an integer: Clusters with a smaller one begin first. Then, and without this field,
   * namespaces take turns, and the Cluster of the namespace that was asked about first begins first.
   */
  orderLabelKey?: string;
  /**
   * How long Cluster API waits before it asks again, in seconds; 10 by default. It also bounds how long an
   * operation that is no longer held still waits.
   */
  retryAfterSeconds?: number;
  /**
   * How long an operation may take, in hours, minutes and seconds, such as 6h or 1h30m. A Cluster that needs longer
   * has failed, and no longer counts as one in operation.
   */
  progressDeadline: string;
  /**
   * Conditions in CEL, over cluster: a Cluster has succeeded while all of them are true. Absent, the Cluster's
   * condition Available must be True.
   *
   * @minItems 1
   * @maxItems 16
   *
   * Items: A condition that must be true, or the Cluster is not healthy.
   */
  healthyWhen?: RolloutHealthCheck[];
  /** Failures before this instant, such as 2026-11-27T21:00:00Z, no longer halt the rollout. */
  ignoreFailuresBefore?: string;
  /**
   * The parts of the rollout, one after the other; for upgrades only. Absent, all Clusters are one stage. A Cluster
   * that is in none of the stages is held.
   *
   * @maxItems 16
   *
   * Items: A part of the Clusters, which must have succeeded before the next stage begins. A Cluster belongs to the first stage
   * that selects it.
   */
  stages?: RolloutStageSpec[];
}
/** The numbers of Clusters, of all stages of the target together. */
export interface RolloutSummary {
  /** The Clusters in operation. */
  running: number;
  /** The Clusters whose operation has ended and that are healthy. */
  succeeded: number;
  /** The Clusters that have failed. */
  failed: number;
  /** The Clusters with an operation that Cluster API has asked for and that is held. */
  waiting: number;
}
export interface RolloutClaim {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Cluster's UID. */
  uid: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  target?: string;
  /** The name of the stage. */
  stage?: string;
  /** When the operator first granted the operation, or first saw it without having granted it. */
  claimedAt: string;
  /** When the operator last granted the operation. */
  renewedAt: string;
  /** How often the operator has granted the operation. */
  attempts: number;
  /** When the operator first saw that the operation had begun. */
  markedAt?: string;
  /** Whether the operator gave the operation its slot; false if it began without one. */
  claimed: boolean;
  /** Whether tasks of policies run before the operation, which then begins without another turn. */
  tasks?: boolean;
  /**
   * Up to Cluster API 1.11: whether the Cluster showed no upgrade when the operator granted this one. Otherwise what it
   * shows is not yet this one.
   */
  unmarked?: boolean;
}
export interface RolloutAwaited {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** Why, in one CamelCase word. */
  reason: string;
  /** Which workers are pinned, and to which version. */
  message?: string;
}
export interface RolloutStageStatus {
  /** The name of the stage. */
  name: string;
  /** The Clusters of the stage. */
  members: number;
  /** The Clusters without an operation to this target that Cluster API has asked for. */
  notAsked: number;
  /** The Clusters with an operation that Cluster API has asked for and that is held. */
  waiting: number;
  /** The Clusters in operation. */
  running: number;
  /** The Clusters whose operation has ended and that are healthy. */
  succeeded: number;
  /** The Clusters that have failed. */
  failed: number;
  /**
   * In the first stage that has not passed: Clusters without which it does not pass and that waiting
   * alone does not bring there; at most 10. The reason is Failed, Unhealthy, WorkersPinned (it is upgraded,
   * but for workers that are pinned to an older version), NotCalled (Cluster API asks nothing about
   * the Cluster at present), or NotAsked (it has another version in its spec).
   *
   * @maxItems 10
   */
  waitsFor?: RolloutAwaited[];
  /** Since when the operator has seen minSucceeded reached; minSuccessTime counts from here. */
  soakingSince?: string;
  /**
   * Whether it had passed and minSucceeded is no longer reached. It passes again as soon as it is, without another
   * minSuccessTime.
   */
  closed?: boolean;
  /** Whether the next stage may begin. */
  passed: boolean;
}
export interface RolloutTarget {
  /** The Kubernetes version that the operation leads to, for upgrades. */
  version?: string;
  /**
   * The stages in their order; without stages a single one, all.
   *
   * @maxItems 16
   */
  stages: RolloutStageStatus[];
}
export interface RolloutFailure {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Cluster's UID. */
  uid: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  target?: string;
  /** The name of the stage. */
  stage?: string;
  /** Why, in one CamelCase word. */
  reason: string;
  /** When the operator saw the failure. */
  time: string;
  /** Why the Cluster counts as failed. */
  message: string;
}
export interface RolloutHeld {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Cluster's UID. */
  uid: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  target?: string;
  /** The name of the stage. */
  stage?: string;
  /** Why, in one CamelCase word. */
  reason: string;
  /** What the Cluster waits for. */
  message: string;
  /** Since when the Cluster has shown that it waits. */
  since: string;
}
export interface RolloutCandidate {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  target?: string;
  /** The name of the stage. */
  stage?: string;
  /** Since when the Cluster has waited. */
  since: string;
  /** Why, in one CamelCase word. */
  reason?: string;
}
/** Which Clusters are in operation, and how far each stage is. Written by the operator. */
export interface HookRolloutStatus {
  /** The generation of the spec that this status is about; -1 until the operator has seen the rollout. */
  observedGeneration?: number;
  /**
   * Ready: the rollout is in force. Reconciling: it is not yet. Stalled: it cannot be, until a user edits it.
   * Halted: too many Clusters have failed, so no further operation begins.
   * NotCalled: Cluster API does not call its hook, so that it holds nothing.
   *
   * @maxItems 16
   */
  conditions?: Condition[];
  /** The newest Kubernetes version for which Clusters wait or run, or else the newest; for upgrades. */
  target?: string;
  /** The name of the stage. */
  stage?: string;
  /** Tells which mode and selectors the status is about; the operator compares it. */
  scope?: string;
  /** The numbers of Clusters, of all stages of the target together. */
  summary?: RolloutSummary;
  /**
   * The Clusters that are in operation; at most 200.
   *
   * @maxItems 200
   */
  running?: RolloutClaim[];
  /**
   * How far each Kubernetes version is, the newest first; at most 16. For creations and deletions a single entry.
   *
   * @maxItems 16
   */
  targets?: RolloutTarget[];
  /**
   * The Clusters that have failed, the newest first; at most 50.
   *
   * @maxItems 50
   */
  failed?: RolloutFailure[];
  /**
   * Operations that every policy releases, but for tasks that have not failed, and that the rollout holds, or
   * would hold in mode Enforce: the oldest first. At most 50; heldOmitted counts the others.
   *
   * @maxItems 50
   */
  held?: RolloutHeld[];
  /** The number of operations that held leaves out. */
  heldOmitted?: number;
  /**
   * The namespaces in the order in which a Cluster of theirs was last granted an operation, the latest last; at most
   * 200. Those that are not named come first.
   *
   * @maxItems 200
   *
   * Items: The Cluster's namespace.
   */
  turns?: string[];
  /**
   * The Clusters that begin next, in their order; at most 10.
   *
   * @maxItems 10
   */
  next?: RolloutCandidate[];
}
/** The policy. */
export interface TaskPolicyRef {
  /** The policy's kind. */
  kind: "HookPolicy" | "ClusterHookPolicy";
  /** The policy's namespace; for a HookPolicy only. */
  namespace?: string;
  /** The policy's name. */
  name: string;
  /** The policy's UID. */
  uid: string;
}
/** The Cluster. */
export interface TaskClusterRef {
  /** The Cluster's namespace. */
  namespace: string;
  /** The Cluster's name. */
  name: string;
  /** The Cluster's UID. */
  uid: string;
}
/** The call of the hook, for expressions. */
export interface TaskRequest {
  /** The Kubernetes version that the upgrade leads from. */
  fromKubernetesVersion?: string;
  /** The Kubernetes version that the upgrade leads to. */
  toKubernetesVersion?: string;
  /** The Kubernetes version of the Cluster. */
  kubernetesVersion?: string;
}
/** Selects the objects by their labels. */
export interface TaskDeletionSelector {
  /** Labels that must all be present with exactly these values. */
  matchLabels: {
    [k: string]: string;
  };
}
/** Objects that are deleted. */
export interface TaskDeletion {
  /** The object's group and version, such as batch/v1, or v1 for the core group. Without expressions. */
  apiVersion: string;
  /** The object's kind, such as Job. Without expressions. */
  kind: string;
  /** Where the objects are; absent for a cluster-scoped kind. */
  namespace?: string;
  /** The name of the object. */
  name?: string;
  /** Selects the objects by their labels. */
  selector?: TaskDeletionSelector;
}
/** What to do, without expressions; exactly one of create, apply and delete. */
export interface TaskAction {
  /** A new object for each attempt; metadata.name is a prefix. */
  create?: TaskTemplate;
  /** An object that is applied and stays. */
  apply?: TaskTemplate;
  /** Objects that are deleted. */
  delete?: TaskDeletion;
  /** Whether the Cluster owns the object that is applied. */
  ownedByCluster?: boolean;
}
/** What to do, for which operation. Written by the operator once, and never changed. */
export interface HookTaskSpec {
  /** The policy. */
  policyRef: TaskPolicyRef;
  /** The rule of the policy. */
  rule: string;
  /** The task of the rule. */
  task: string;
  /** The Cluster. */
  clusterRef: TaskClusterRef;
  /** The hook of the operation. */
  hook: HookName;
  /** The Kubernetes version that the operation leads to, for upgrades. */
  version?: string;
  /** The step of an upgrade, for hooks that Cluster API calls for each. */
  step?: string;
  /** 1, and one more for each run after one that no longer counts. */
  run: number;
  /** Tells which template and ServiceAccount the task had; another one is another task. */
  actionHash: string;
  /** The ServiceAccount of this namespace as which the operator acts. */
  serviceAccountName: string;
  /** The call of the hook, for expressions. */
  request?: TaskRequest;
  /** What to do, without expressions; exactly one of create, apply and delete. */
  action: TaskAction;
  /**
   * The SHA-256 of action. Without it, what action says could be replaced. An action that has another is not done.
   */
  renderedHash: string;
  /** The CEL expression that is true when the task is done; absent, the default of the kind. */
  succeeded?: string;
  /** The CEL expression that is true when the attempt has failed; absent, the default of the kind. */
  failed?: string;
  /** How long an attempt may take. */
  timeout: string;
  /** How many attempts follow one that failed. */
  retries: number;
  /** The HookTask that must have ended well before this one begins, at AfterControlPlaneInitialized. */
  after?: string;
}
export interface TaskTarget {
  /** The name of the object. */
  name: string;
  /** The UID of the object. */
  uid: string;
}
export interface TaskAttempt {
  /** The name of the attempt's object, or of the attempt if it deletes. */
  name: string;
  /** The namespace of the object; absent for a cluster-scoped kind. */
  namespace?: string;
  /** The UID of the object; absent until it exists. */
  uid?: string;
  /** When the operator decided to begin. */
  startedAt: string;
  /**
   * When its object was created or applied, or what it deletes was found; before that, when the operator first asked for
   * it. The time-out counts from here.
   */
  askedAt?: string;
  /** When the attempt ended. */
  endedAt?: string;
  /** How it ended. */
  outcome?: "Succeeded" | "Failed" | "TimedOut" | "Vanished" | "Refused" | "Conflict" | "Cancelled";
  /** What the attempt waits for, or why it ended as it did. */
  message?: string;
  /**
   * What a delete found at its beginning and has to be gone; at most 100.
   *
   * @maxItems 100
   */
  targets?: TaskTarget[];
}
/** How far the task is. Written by the operator. */
export interface HookTaskStatus {
  /**
   * Pending: an attempt is to begin; if something keeps it from that, message says what. Running: what an attempt does
   * exists, or another attempt follows one that failed. Succeeded, Failed: the task has ended.
   * Cancelled: no further attempt begins, because it is no longer wanted.
   */
  phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Cancelled";
  /** Since when the operation has ended or is no longer wanted, so that the task no longer counts. */
  over?: string;
  /**
   * Since when the operator knows that action is not what it has stored. It is not done, and no result counts. Delete the
   * HookTask, and the task begins again.
   */
  altered?: string;
  /** How many attempts have begun. */
  begun?: number;
  /** How many attempts may begin, those that people asked for included. */
  allowed?: number;
  /** The value of the annotation hookpolicy.dev/retry that the operator has acted upon. */
  retriedFor?: string;
  /** When the first attempt began. */
  startedAt?: string;
  /** When the task ended, in one of the phases Succeeded, Failed and Cancelled. */
  endedAt?: string;
  /** The object of the last attempt, as kind/name; absent until it exists. */
  object?: string;
  /** What the task waits for, or why it ended as it did. */
  message?: string;
  /**
   * The attempts, the newest last; at most 16.
   *
   * @maxItems 16
   */
  attempts?: TaskAttempt[];
}

export const MAX_TASKS = 4;
export const MAX_DECISIONS = 50;
export const MAX_ROW_MESSAGE = 256;
export const MAX_TIMERS = 16;
export const MAX_RECENT = 10;
export const MAX_CONDITION_MESSAGE = 1024;
export const MAX_USED = 20;
export const MAX_USED_POLICIES = 10;
export const MAX_RUNNING = 200;
export const MAX_TARGETS = 16;
export const MAX_AWAITED = 10;
export const MAX_FAILED = 50;
export const MAX_NEXT = 10;
export const MAX_HELD = 50;
export const MAX_ATTEMPTS = 16;
export const MAX_TASK_TARGETS = 100;
export const MAX_TASK_MESSAGE = 1024;
export const MAX_TASK_OBJECT = 317;
export const MAX_RETRY = 64;
