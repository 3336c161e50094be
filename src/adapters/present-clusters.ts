/**
 * Finds the metadata of all Clusters as they are at an instant after the call. Listing thousands takes seconds, so memory
 * is used if it is proven to be as new: a read of one object shows the present resourceVersion, and memory is the state
 * at that version or a later one.
 */

import type { Cluster, ObjectMeta } from "../api/meta.ts";
import { pause } from "../lib/signals.ts";
import type { Informer } from "../kube/informer.ts";
import { compareResourceVersions } from "../views/versions.ts";

type ClusterMemory = Pick<Informer<Cluster>, "version" | "moved" | "list">;

export interface PresentClustersOptions {
  /** The informer of Clusters; called when it is needed. */
  readonly memory: () => ClusterMemory;
  /** Consistent: the resourceVersion that Clusters have now. */
  readonly version: () => Promise<string>;
  /** Consistent: the metadata of all Clusters. */
  readonly list: (signal: AbortSignal) => Promise<readonly ObjectMeta[]>;
  /** How long memory may take to catch up before Clusters are listed, too; 0: no time. Only tests set it. */
  readonly patienceMs?: number;
}

/** While Clusters are upgraded, some Cluster changes several times a second, and memory advances with each change. */
const PATIENCE_MS = 400;

/** Rejects if the API server does not answer. */
export async function presentMetadata({
  memory: memoryOf,
  version,
  list,
  patienceMs = PATIENCE_MS,
}: PresentClustersOptions): Promise<readonly ObjectMeta[]> {
  const memory = memoryOf();
  const before = memory.version;
  const present = await version();
  const over = new AbortController();
  try {
    // A restored etcd counts from an earlier version: memory then shows the state before the restore.
    if (before === undefined || !isAsNew(present, before)) return await list(over.signal);
    if (isAsNew(memory.version, present)) return metadataIn(memory);
    if (patienceMs === 0) return await list(over.signal);
    const listed = pause(patienceMs, over.signal).then(async () => await list(over.signal));
    return await Promise.race([caughtUp(memory, present, over.signal), listed]);
  } finally {
    over.abort();
  }
}

/** The first result counts, so this ends with the next change at the latest. */
async function caughtUp(
  memory: ClusterMemory,
  present: string,
  over: AbortSignal,
): Promise<readonly ObjectMeta[]> {
  while (!over.aborted && !isAsNew(memory.version, present)) await memory.moved();
  return metadataIn(memory);
}

/** Versions that cannot be compared prove nothing. */
function isAsNew(version: string | undefined, as: string): boolean {
  return version !== undefined && (compareResourceVersions(version, as) ?? -1) >= 0;
}

function metadataIn(memory: ClusterMemory): readonly ObjectMeta[] {
  return memory.list().map(({ metadata }) => metadata);
}
