/** Compacts the Clusters that memory keeps by the thousand: variables take most of it, and few policies look at one. */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Cluster } from "../api/meta.ts";
import { packedVariables, setPackedVariables } from "../policy/cluster.ts";

/** In characters; compressing less gains nothing. */
const MIN_LENGTH = 512;

/** The same Cluster, whose variables are unpacked on each read. */
export function compactCluster(cluster: Cluster): Cluster {
  if (cluster.topology === undefined || packedVariables(cluster.topology) !== undefined) return cluster;
  const { variables = "", ...topology } = cluster.topology;
  if (variables.length < MIN_LENGTH) return cluster;
  // A string, because the garbage collector scans all of memory once many buffers have come and gone.
  const packed = deflateRawSync(variables, { level: 1 }).toString("latin1");
  const compact = {
    ...topology,
    get variables(): string {
      return inflateRawSync(Buffer.from(packed, "latin1")).toString();
    },
  };
  // Not enumerable: a comparison of two Clusters covers the properties that both have.
  Object.defineProperty(compact, "variablesLength", { value: variables.length });
  setPackedVariables(compact, packed);
  return { ...cluster, topology: compact };
}
