/** The part of the API server that rollouts need. */

import type { HookRollout, HookRolloutStatus } from "../api/hookpolicy.ts";
import type { Cluster, ObjectMeta } from "../api/meta.ts";

/** Reads are consistent (no resourceVersion); each rejects when it cannot be answered. */
export interface RolloutApi {
  /** Metadata of all HookRollouts. */
  rollouts(): Promise<readonly ObjectMeta[]>;
  /** `undefined`: there is none of this name. */
  getRollout(name: string): Promise<HookRollout | undefined>;
  /** Metadata of all Clusters. */
  members(): Promise<readonly ObjectMeta[]>;
  /** `undefined`: there is none of this name. */
  findCluster(namespace: string, name: string): Promise<Cluster | undefined>;
  /** Stores the status if the rollout is unchanged since `object` was read; rejects otherwise. */
  replaceRolloutStatus(object: HookRollout, status: HookRolloutStatus): Promise<HookRollout | undefined>;
  isConflict(error: unknown): boolean;
}
