/** The state in memory. A change replaces a value as a whole, so an identical value has not changed. */

import type { Cluster, Namespace } from "../api/meta.ts";
import type { PendingOperations } from "../operations/operations.ts";
import type { ObjectReader } from "../policy/objects.ts";
import type { OperationState, World } from "../policy/world.ts";
import type { OverrideSet } from "./override-set.ts";
import type { PolicySet } from "./policy-set.ts";
import type { Lister } from "./ports.ts";
import type { Schedule } from "./work-schedule.ts";

export interface Memory {
  readonly policies: PolicySet;
  readonly overrides: OverrideSet;
  readonly operations: PendingOperations;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  /** The objects that gates look at. */
  readonly objects: ObjectReader;
}

/** The inputs of a decision about any Cluster. */
export interface Surroundings extends Pick<Memory, "policies" | "overrides" | "objects"> {
  readonly namespaces: Pick<Lister<Namespace>, "get" | "list">;
}

/** Memory with the schedule of the work on it. */
export type ScheduledMemory = Memory & { readonly schedule: Schedule };

/** The inputs of a decision about the Cluster. */
export function worldOf(
  { policies, overrides, namespaces, objects }: Surroundings,
  cluster: Cluster,
  state?: OperationState,
): World {
  return {
    cluster,
    namespace: namespaces.get(cluster.metadata.namespace ?? ""),
    namespaces: () => namespaces.list(),
    objects,
    overrides: overrides.ofCluster(cluster),
    readers: policies.readers,
    ...(state !== undefined && { state }),
  };
}
