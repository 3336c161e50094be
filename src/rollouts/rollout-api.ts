import type { HookRollout, HookRolloutStatus } from "../api/hook-policy.ts";
import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { ServerTime } from "../lib/clock-skew.ts";

/** The part of the API server that rollouts need. Quorum reads; each rejects when it cannot be answered. */
export interface RolloutApi extends ServerTime {
  /** `undefined`: there is none of this name. */
  getRollout(name: string): Promise<HookRollout | undefined>;
  /** Metadata of all Clusters. */
  members(): Promise<readonly ObjectMeta[]>;
  /** All of them. */
  namespaces(): Promise<readonly Namespace[]>;
  /** `undefined`: there is none of this name. */
  findCluster(namespace: string, name: string): Promise<Cluster | undefined>;
  /** Stores the status if the rollout is unchanged since `object` was read; rejects otherwise. */
  replaceRolloutStatus(object: HookRollout, status: HookRolloutStatus): Promise<HookRollout | undefined>;
  isConflict(error: unknown): boolean;
}
