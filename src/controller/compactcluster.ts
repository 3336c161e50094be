/** Clusters as they are kept by the thousand: variables take most of the memory, and few policies look at one. */

import { deflateRawSync, inflateRawSync } from "node:zlib";

import type { Cluster } from "../api/meta.ts";
import { packedVariables, setPackedVariables } from "../policy/cluster.ts";

/** Characters; less gains nothing. */
const MIN_LENGTH = 512;

/** The same Cluster. Its variables are unpacked each time that somebody reads them. */
export function compactCluster(cluster: Cluster): Cluster {
  if (cluster.topology === undefined || packedVariables(cluster.topology) !== undefined) return cluster;
  const { variables = "", ...topology } = cluster.topology;
  if (variables.length < MIN_LENGTH) return cluster;
  // Text, because the garbage collector looks at all of memory once many buffers have come and gone.
  const packed = deflateRawSync(variables, { level: 1 }).toString("latin1");
  const compact = {
    ...topology,
    get variables(): string {
      return inflateRawSync(Buffer.from(packed, "latin1")).toString();
    },
  };
  // Not enumerable: two Clusters are compared by what both have.
  Object.defineProperty(compact, "variablesLength", { value: variables.length });
  setPackedVariables(compact, packed);
  return { ...cluster, topology: compact };
}
