/** Selects the Clusters of a rollout from a fleet, with or without a topology. */

import type { Cluster } from "../../api/meta.ts";
import { memberOf } from "../../rollouts/member.ts";
import type { Fleet, FleetRollout } from "./fleet.ts";

export function selectedBy(fleet: Fleet, { compiled }: FleetRollout): readonly Cluster[] {
  return fleet
    .clusters()
    .filter(
      ({ metadata }) => memberOf(compiled, metadata, fleet.namespace(metadata.namespace ?? "")) !== undefined,
    );
}
