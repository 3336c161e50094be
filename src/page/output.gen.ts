// Generated from schemas/output by crds/generate.ts (npm run generate): change that instead.

export interface ExplainJson {
  cluster: {
    namespace: string;
    name: string;
    uid: string;
  };
  /** The instant that is explained. */
  at: string;
  /** Why Cluster API itself holds the upgrade, without asking; absent: it does not. */
  ownHold?: string;
  /** Others than Cluster API delete what the Cluster owns, or will; absent: nothing shows that. */
  tornDown?: {
    reason: "ForegroundDeletion" | "OwnedObjectsDeleted";
    message: string;
    /** Otherwise only the next deletion of the Cluster would tear it down. */
    isUnderWay: boolean;
    steps: {
      command: string;
      wanted: string;
    }[];
  };
  /** What matters besides the policies: why no hook is called, what may not be read. */
  notes: string[];
  /** Without --hook and --admission, those that wait now. */
  operations: {
    /** Such as BeforeClusterDelete. */
    hook: string;
    /**
     * A request at admission (--admission), about which rules on this hook say something; absent: a call of the hook.
     */
    request?: "Create" | "Upgrade" | "Delete";
    /**
     * What admission answers: to the request, or to the one by which the hook would be called. Absent: no rule says anything about it, or policies that may not be read could refuse it.
     */
    admission?: "Denied" | "Warned" | "Passed";
    /** The version that the call is about. */
    targetVersion?: string;
    /** Absent: Cluster API does not ask now. */
    firstAsked?: string;
    /** The Cluster shows that it has passed this hook. */
    passed: boolean;
    /** Of a request that is only warned of: WouldBlock. */
    verdict: "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";
    /** The operation is held, or the request is refused. Absent: policies that may not be read could hold it. */
    holds?: boolean;
    /** When Cluster API asks again; 0 when the operation proceeds. */
    retryAfterSeconds: number;
    /** As Cluster API tells it; of a request, as the API server does. */
    message: string;
    /**
     * When time alone releases it at the earliest; Unknown: it can, at a time that cannot be computed; absent: never, or nothing is held.
     */
    earliestRelease?: string | "Unknown";
    /** All that releases the operation, together. */
    steps: {
      policy: {
        kind: "HookPolicy" | "ClusterHookPolicy";
        /** Absent for a ClusterHookPolicy. */
        namespace?: string;
        name: string;
      };
      rule: string;
      gate?: string;
      /** The task that the rule waits for. */
      task?: string;
      /** What is waited for; of what cannot be evaluated, why. */
      wanted: string;
      evaluable: boolean;
      /** What meets the gate: one of them is enough. None: no command does. */
      commands: string[];
      /** When time alone meets the gate, or changes what it says. */
      earliestRelease?: string | "Unknown";
      /** What the policy's author says besides. */
      message?: string;
    }[];
    policies: {
      policy: {
        kind: "HookPolicy" | "ClusterHookPolicy";
        /** Absent for a ClusterHookPolicy. */
        namespace?: string;
        name: string;
      };
      mode: "Enforce" | "Audit";
      /** It speaks about this Cluster. */
      matched: boolean;
      /** Of a policy that does not: the parts of its selectors that are not fulfilled. */
      mismatch?: string[];
      verdict: "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";
      /** Alone enough to hold the operation. */
      holds: boolean;
      /** The HookOverride that keeps it from holding the operation. */
      overriddenBy?: string;
      /**
       * When time alone releases it at the earliest; Unknown: it can, at a time that cannot be computed; absent: never, or nothing is held.
       */
      earliestRelease?: string | "Unknown";
      /** Those on this hook. */
      rules: {
        /** Empty: the whole spec is not valid. */
        rule: string;
        verdict: "Allowed" | "Observed" | "Blocked" | "NotEvaluable" | "Skipped";
        /** Enough to hold the operation, if the policy is enforced. */
        holds: boolean;
        reason: string;
        /** Of a rule that is skipped: the match condition that is false. */
        condition?: string;
        message: string;
        retryAfterSeconds: number;
        /** What the rule does at admission; absent: nothing. */
        admission?: "Warn" | "Deny";
        deadlineAt?: string;
        /** The deadline releases the operation. */
        deadlineReleases?: boolean;
        /**
         * When time alone releases it at the earliest; Unknown: it can, at a time that cannot be computed; absent: never, or nothing is held.
         */
        earliestRelease?: string | "Unknown";
        gates: {
          gate: string;
          /** Absent: it cannot be evaluated. */
          holds?: boolean;
          /** A CamelCase constant. */
          reason: string;
          /** What it waits for. */
          wanted: string;
          /** What was found; of a gate that cannot be evaluated, why. */
          observed: string;
          /** The command that meets it. */
          remedy?: string;
          /** Why no command sets the mark. */
          withheld?: string;
          /** When time alone changes it; absent: never. */
          changesAt?: string | "Unknown";
          /** Of a gate of several, one of which is enough: what each of them says. */
          members?: {
            gate: string;
            /** Absent: it cannot be evaluated. */
            holds?: boolean;
            /** A CamelCase constant. */
            reason: string;
            /** What it waits for. */
            wanted: string;
            /** What was found; of a gate that cannot be evaluated, why. */
            observed: string;
            /** The command that meets it. */
            remedy?: string;
            /** Why no command sets the mark. */
            withheld?: string;
            /** When time alone changes it; absent: never. */
            changesAt?: string | "Unknown";
          }[];
        }[];
        /** In their order; absent: the rule has none. */
        tasks?: {
          task: string;
          state:
            | "NotNeeded"
            | "Waiting"
            | "Due"
            | "Pending"
            | "Running"
            | "Retrying"
            | "Succeeded"
            | "Failed"
            | "Proceeded"
            | "Altered"
            | "NotEvaluable";
          /** A CamelCase constant. */
          reason: string;
          /** What it waits for, or why it holds; empty: it holds nothing. */
          message: string;
          begins: "Last" | "First";
          /** The HookTask that counts. */
          hookTask?: {
            namespace: string;
            name: string;
          };
          /** What the HookTask says. */
          observed?: string;
          /** How many have begun. */
          attempts?: number;
          /** What it waits for, because the last attempt has failed; only while it is Retrying. */
          nextAttempt?: {
            /** It does not begin before. */
            at: string;
            number: number;
            /** How many may begin. */
            of: number;
          };
          /** When its success no longer counts. */
          validUntil?: string;
          /** Show the HookTask and, if it has failed, try it again. */
          commands: string[];
        }[];
      }[];
      /** What the policy's status says beside this; absent: nothing was to be compared. */
      status?: {
        /** The row of status.decisions about this operation; absent: there is none. */
        row?: {};
        /** In words; none: the status says the same. */
        differences: string[];
        /** Why they may differ. */
        because?: string;
      };
    }[];
    /**
     * The HookRollouts that select the Cluster for this operation, as they are now. They are asked after every policy has released it.
     */
    rollouts: {
      rollout: string;
      mode: "Enforce" | "Audit";
      holds: boolean;
      /** CamelCase, such as NoFreeSlot. */
      reason: string;
      /** The stage of the Cluster; absent: none selects it. */
      stage?: string;
      retryAfterSeconds: number;
      /** As Cluster API shows it; empty: it does not hold. */
      message: string;
      /** What has to happen before it releases the Cluster, continuing 'released'; absent: it does not hold it. */
      released?: string;
      /** What the rollout's status says besides. */
      because: string[];
    }[];
  }[];
}
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
export interface RolloutPlanJson {
  /** The name of the HookRollout. */
  rollout: string;
  /** The version of the plan. Absent: none is being rolled out, and the plan is about all Clusters. */
  target?: string;
  /** The time from which the plan is made. */
  from: string;
  /** In their order. */
  stages: {
    name: string;
    /** How many it has. */
    clusters: number;
    /** How many of them have succeeded already. */
    succeeded: number;
    /** It has passed already; then passes is absent. */
    passed: boolean;
    /** Absent: none of its Clusters runs, or begins at a time that is known. */
    begins?: string;
    /** When the last of them ends. Absent as begins. */
    ends?: string;
    /** When the next stage may begin. Absent: it has passed, or does so never or at no time that is known. */
    passes?: string;
    /** The Clusters without which it does not pass, and that waiting alone does not bring there. */
    waitsFor: {
      namespace: string;
      name: string;
      /** Failed, Unhealthy, WorkersPinned, NotCalled or NotAsked, as in status.targets of a HookRollout. */
      reason: string;
      /** What the reason means for this Cluster; absent: the reason says it. */
      message?: string;
    }[];
  }[];
  /** Those that run or begin, in the order in which they begin. */
  clusters: {
    namespace: string;
    name: string;
    stage: string;
    begins: string;
    ends: string;
    /** A user has to act first; the plan assumes that this is done. */
    needsAction: boolean;
    /** It runs already. */
    runs: boolean;
  }[];
  /**
   * Clusters that wait for those that a stage waits for, for a stage that may never pass, or for the end of a halt (namespace/name).
   */
  later: string[];
  /** Clusters that are known never to begin. */
  never: string[];
  /** Those of them that no stage selects. */
  noStage: string[];
  /** Those of them of which a window does not open again. */
  past: string[];
  /** Clusters whose windows are not found open together. */
  closed: string[];
  /** Clusters whose stage is unknown, because their Namespaces are. */
  stageUnknown: string[];
  /** Clusters that the plan leaves out, because they failed, are unhealthy or paused. */
  stand: string[];
  /** Times in which Clusters with a free slot wait for windows or clocks. */
  pauses: {
    from: string;
    to: string;
    /** The windows and other gates that hold them. */
    by: string;
    /** How many of them wait for its end. */
    clusters: number;
  }[];
  /** Clusters that do not ask for the version yet; the plan assumes that they do. */
  unasked: string[];
  /** The rollout is halted: nothing begins. */
  halted: boolean;
  /** Clusters that no rollout of the operation selects. */
  outside: string[];
  /** Selected Clusters without spec.topology, about which Cluster API asks nothing. */
  withoutTopology: string[];
  /** Why nothing of the plan can happen. */
  impossible: string[];
  /** Why the plan may not be what happens. */
  doubts: string[];
}
