/** What is in memory. Whoever changes something in it replaces that as a whole, so the very same values are no news. */

import type { Cluster, Namespace } from "../api/meta.ts";
import type { AskSet } from "../operations/operations.ts";
import type { ObjectReader } from "../policy/objects.ts";
import type { Asked, World } from "../policy/world.ts";
import type { OverrideSet } from "./overrideset.ts";
import type { PolicySet } from "./policyset.ts";
import type { Lister } from "./ports.ts";
import type { Schedule } from "./schedule.ts";

export interface Memory {
  readonly policies: PolicySet;
  readonly overrides: OverrideSet;
  readonly asks: AskSet;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  /** What gates look at. */
  readonly objects: ObjectReader;
}

/** With what is done to it later. */
export type ScheduledMemory = Memory & { readonly schedule: Schedule };

/** What a decision about the Cluster looks at. */
export function worldOf({ overrides, namespaces, objects }: Memory, cluster: Cluster, asked?: Asked): World {
  return {
    cluster,
    namespace: namespaces.get(cluster.metadata.namespace ?? ""),
    objects,
    overrides: overrides.ofCluster(cluster),
    ...(asked !== undefined && { asked }),
  };
}
