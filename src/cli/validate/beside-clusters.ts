/**
 * Finds policies and rollouts that select none of the Clusters beside them, or of which that is unknown, and Clusters that are
 * not as a cluster would have them.
 */

import type { FieldError } from "../../policy/validation/schema.ts";
import type { SourceObject } from "../files/load.ts";
import { clusterProblems } from "../fleet/cluster-files.ts";
import { isPlace, type Unbuilt } from "../fleet/unbuilt.ts";
import { emptySelections, placesIn } from "../fleet/empty-selections.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { isCluster, ownKind, policyKind } from "../fleet/kinds.ts";
import { missingNamespaces, unknownSelection } from "../fleet/missing-namespaces.ts";
import type { Beside } from "./beside-rollouts.ts";

/** `sound`: without errors. Nothing is said of selectors where a Cluster is not as a cluster would have it. */
export function besideClusters(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  { unbuilt, ...options }: FleetOptions & { readonly unbuilt: Unbuilt },
): readonly Beside[] {
  const placed = sources.filter(({ object }) => isPlace(object));
  if (!placed.some(({ object }) => isCluster(object))) return [];
  const unclear = clusterProblems(placed, unbuilt);
  if (unclear.size > 0) return sound.some(selects) ? unclearAmong(sound, unclear) : [];
  if (placed.some((source) => unbuilt.changed.has(source))) return [];
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

function selects({ object }: SourceObject): boolean {
  return policyKind(object) !== undefined || ownKind(object) === "HookRollout";
}

function unclearAmong(
  sources: readonly SourceObject[],
  problems: ReadonlyMap<SourceObject, FieldError>,
): readonly Beside[] {
  return sources.flatMap((source) => {
    const problem = problems.get(source);
    return problem === undefined ? [] : [{ source, ...problem, id: "unclear-cluster" }];
  });
}
