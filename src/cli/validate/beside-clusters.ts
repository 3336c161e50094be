/** Finds policies and rollouts that select none of the Clusters beside them. */

import type { LoadedFiles, SourceObject } from "../files/load.ts";
import { clusterProblems, isPlace } from "../fleet/cluster-files.ts";
import { emptySelections, placesIn } from "../fleet/empty-selections.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { isCluster } from "../fleet/kinds.ts";
import type { Beside } from "./beside-rollouts.ts";

type Given = Pick<LoadedFiles, "kustomizations"> & FleetOptions;

/** `sound`: without errors. Nothing is said where a Cluster is not as a cluster would have it. */
export function besideClusters(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  { kustomizations = [], ...options }: Given,
): readonly Beside[] {
  const placed = sources.filter(({ object }) => isPlace(object));
  if (!placed.some(({ object }) => isCluster(object))) return [];
  if (clusterProblems(placed, kustomizations).size > 0) return [];
  const places = placesIn(
    new Fleet(
      placed.map(({ object }) => object),
      options,
    ),
  );
  return sound.flatMap((source) =>
    emptySelections(source.object, places).map((each) => ({ source, ...each })),
  );
}
