/** The inputs of a decision about a call: gates that look at Clusters see its Cluster as Cluster API calls about it, too. */

import type { Cluster } from "../../api/meta.ts";
import { type WorldSources, worldOf } from "../../memory/memory.ts";
import { asCalled, type PendingOperation } from "../../operations/operation.ts";
import type { ObjectReader } from "../../policy/watched-objects.ts";
import type { World } from "../../policy/world.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { isCluster, type RawObject } from "./kinds.ts";
import { edited } from "./merge-patch.ts";

/** Without an operation, about the Cluster as it is. */
export function worldOfCall(sources: WorldSources, cluster: Cluster, operation?: PendingOperation): World {
  const called = operation === undefined ? cluster : asCalled(cluster, operation);
  const world = worldOf(sources, called, operation);
  return called === cluster ? world : { ...world, objects: showing(sources.objects, called) };
}

function showing(objects: ObjectReader, { metadata, topology }: Cluster): ObjectReader {
  const { deletionTimestamp, namespace, name } = metadata;
  const patch = {
    ...(deletionTimestamp !== undefined && { metadata: { deletionTimestamp } }),
    ...(topology !== undefined && { spec: { topology: { version: topology.version } } }),
  };
  return {
    find: (kind, place, look) => {
      const found = objects.find(kind, place, look);
      if (!found.ok || place !== namespace || !isCluster(kind)) return found;
      const changed = found.objects.map((each) => {
        if (each.metadata.name !== name || each.raw === undefined) return each;
        const raw: RawObject = edited(each.raw, patch);
        return { metadata: viewMetadata(raw["metadata"]), raw };
      });
      return { ...found, objects: changed };
    },
  };
}
