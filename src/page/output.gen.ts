// Generated from schemas/output by crds/generate.ts (npm run generate): change that instead.

export interface GetJson {
  /** The oldest question first. */
  held: {
    /** namespace/name */
    cluster: string;
    clusterUID: string;
    /** The hook of Cluster API. */
    hook: string;
    /** The Kubernetes version that an upgrade leads to. */
    targetVersion?: string;
    policy: {
      kind: "HookPolicy" | "ClusterHookPolicy" | "HookRollout";
      namespace?: string;
      name: string;
    };
    /** The rule that decides; the stage of the Cluster if a HookRollout holds it. */
    rule: string;
    /** Its first gate that is not met. */
    gate?: string;
    verdict: "Blocked" | "NotEvaluable";
    /** Why, in one CamelCase word. */
    reason: string;
    /** What is waited for, at most 256 characters. */
    message: string;
    /** When Cluster API first asked; for a deletion, when it was requested. */
    firstAsked: string;
    /** Since when the verdict and the rule are these. */
    since: string;
    /** The earliest instant at which time alone releases it; absent: time alone does not. */
    earliestRelease?: string;
    /** Others than Cluster API delete what the Cluster owns, although the operation is held. */
    tornDown?: {
      reason: "ForegroundDeletion" | "OwnedObjectsDeleted";
      message: string;
    };
    /** hookpolicy approve can meet the gate. */
    approvable: boolean;
  }[];
  /** What the statuses of policies and rollouts leave out, in all namespaces. */
  omitted: {
    policy: {
      kind: "HookPolicy" | "ClusterHookPolicy" | "HookRollout";
      namespace?: string;
      name: string;
    };
    count: number;
  }[];
  /** Policies whose status the operator should have written since: their rows can be out of date. */
  overdue?: {
    policy: {
      kind: "HookPolicy" | "ClusterHookPolicy" | "HookRollout";
      namespace?: string;
      name: string;
    };
    since: string;
  }[];
  /** The operator's last sign of life, by the Lease of its leader; absent if that cannot be read. */
  operatorSeen?: string;
  /** Operations that policies and rollouts of mode Audit would hold. */
  wouldBlock: number;
}
