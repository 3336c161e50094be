// Generated from schemas/output by crds/generate.ts (npm run generate): change that instead.

export interface AuditLine {
  apiVersion: "audit.hookpolicy.dev/v1alpha1";
  /** Answer: to a call of Cluster API. Refusal: of a request to the API server, at admission. */
  kind: "Answer" | "Refusal";
  /** When it was answered, by the replica's clock. */
  time: string;
  /** Host name of the replica: the name of its Pod. */
  instance: string;
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
  /** The Kubernetes version that the call is about. */
  targetVersion?: string;
  cluster: {
    namespace: string;
    name: string;
    uid: string;
  };
  /**
   * The verdict of this replica's last line about the same Cluster, hook and target version; absent: there is none that it remembers.
   */
  before?:
    | "Allowed"
    | "Observed"
    | "WouldBlock"
    | "Blocked"
    | "NotEvaluable"
    | "NotLoaded"
    | "NotConfirmed"
    | "InternalError";
  /** Of a Refusal: who sent the request, as the API server says. */
  user?: string;
  /** Of a Refusal: whether the API server would have stored nothing anyway. */
  dryRun?: boolean;
  verdict:
    | "Allowed"
    | "Observed"
    | "WouldBlock"
    | "Blocked"
    | "NotEvaluable"
    | "NotLoaded"
    | "NotConfirmed"
    | "TooManyCalls"
    | "TooManyVersions"
    | "InternalError";
  /** Of an Answer: what Cluster API was told. */
  answer?: {
    status: "Success" | "Failure";
    /** 0: go on. */
    retryAfterSeconds: number;
    /** At most 1 KiB, as Cluster API shows it to users. */
    message: string;
  };
  /** Of a Refusal: what the user was told, at most 2 KiB. */
  message?: string;
  /** Absent where nothing was decided. */
  decision?: {
    /** ApiServer: confirmed by reads of the API server that began after the call. */
    source: "Memory" | "ApiServer";
    /**
     * Since when the operation is asked for. A deadline counts from the first block, a wait from when the other gates are met.
     */
    firstAsked?: string;
    inputs: {
      /**
       * The newer of the copy in the request and the one that was known; with source ApiServer, the one that was read, or a newer one.
       */
      cluster: {
        resourceVersion: string;
      };
      /** Absent: not known. */
      namespace?: {
        uid: string;
        resourceVersion: string;
      };
      /** Every HookOverride of the Cluster, in force or not. */
      overrides: {
        name: string;
        uid: string;
        generation: number;
      }[];
      /**
       * What object gates looked at.
       *
       * @maxItems 32
       */
      objects: {
        apiVersion: string;
        kind: string;
        namespace?: string;
        name: string;
        uid: string;
        resourceVersion: string;
      }[];
      objectsOmitted: number;
    };
    /**
     * The HookRollouts that an override keeps from holding what every policy releases; absent: none.
     *
     * @minItems 1
     */
    overriddenRollouts?: {
      name: string;
      /** The HookOverride. */
      overriddenBy: string;
    }[];
    /** Those that match the Cluster, the ones that hold it first. */
    policies: {
      kind: "HookPolicy" | "ClusterHookPolicy";
      namespace?: string;
      name: string;
      uid?: string;
      generation?: number;
      /** The ServiceAccount as which its tasks act; absent: it has none. */
      account?: {
        namespace: string;
        name: string;
      };
      mode: "Enforce" | "Audit";
      verdict: "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";
      /** This policy alone is enough to hold the operation. */
      holds: boolean;
      /** The HookOverride that keeps the policy from holding the operation. */
      overriddenBy?: string;
      /** Those on this hook. */
      rules: {
        rule: string;
        verdict: "Allowed" | "Observed" | "Blocked" | "NotEvaluable" | "Skipped";
        /** Enough to hold the operation if the policy is enforced. */
        holds: boolean;
        /** A CamelCase constant. */
        reason: string;
        /** What is waited for, cut to 256 characters. */
        message?: string;
        deadlineAt?: string;
        /** Its tasks, in their order; absent: it has none. */
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
          /** The HookTask that counts. */
          hookTask?: {
            namespace: string;
            name: string;
          };
        }[];
        gates: {
          gate: string;
          /** Whether it is met; null: not evaluable. */
          holds: boolean | null;
          reason: string;
        }[];
      }[];
    }[];
    /** Matching policies for which the line had no room. */
    policiesOmitted: number;
    /** The HookRollout that holds what every policy releases; absent: none does. */
    rollout?: {
      name: string;
      reason: string;
      /** The stage of the Cluster or, if that is closed, the one that it waits for. */
      stage?: string;
    };
  };
}
