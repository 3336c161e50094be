/** Finds policies and rollouts that select none of the Clusters beside them, or of which that is unknown. */

import type { SourceObject } from "../files/load.ts";
import { clusterProblems } from "../fleet/cluster-files.ts";
import { isPlace, type Unbuilt } from "../fleet/unbuilt.ts";
import { emptySelections, placesIn } from "../fleet/empty-selections.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { isCluster } from "../fleet/kinds.ts";
import { missingNamespaces, unknownSelection } from "../fleet/missing-namespaces.ts";
import type { Beside } from "./beside-rollouts.ts";

/** `sound`: without errors. Nothing is said where a Cluster is not as a cluster would have it. */
export function besideClusters(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  { unbuilt, ...options }: FleetOptions & { readonly unbuilt: Unbuilt },
): readonly Beside[] {
  const placed = sources.filter(({ object }) => isPlace(object));
  if (!placed.some(({ object }) => isCluster(object))) return [];
  if (placed.some((source) => unbuilt.changed.has(source))) return [];
  if (clusterProblems(placed, unbuilt).size > 0) return [];
  const fleet = new Fleet(
    placed.map(({ object }) => object),
    options,
  );
  const [places, missing] = [placesIn(fleet), missingNamespaces(fleet)];
  return sound.flatMap((source) => {
    const found = emptySelections(source.object, places);
    return (found.length > 0 ? found : unknownSelection(source.object, missing)).map((each) => ({
      source,
      ...each,
    }));
  });
}
