/** Compresses the variables of the Clusters in memory. They take most of it, and few policies look at one. */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Cluster } from "../api/meta.ts";
import { packedVariables, setPackedVariables } from "../views/cluster.ts";

/** In characters; compressing less gains nothing. */
const MIN_LENGTH = 512;
/** One buffer for all Clusters. Thousands of short-lived ones would leave holes that the C library does not give back. */
const gathered = Buffer.allocUnsafeSlow(192 * 1024);
/** Enough for most Clusters; by default each takes 16 KiB for a moment. */
const PACKED_BYTES = 4096;
/**
 * A compression needs 96 KiB with this window (16 KiB) and this memory level, and 256 KiB by default, which take longer to get
 * from the kernel than the compression of 26 KB itself: twice as fast so, and no larger.
 */
const OPTIONS = { level: 1, windowBits: 14, memLevel: 6, chunkSize: PACKED_BYTES };

/** The same Cluster, whose variables are unpacked on each read. */
export function compactCluster(cluster: Cluster): Cluster {
  if (cluster.topology === undefined || packedVariables(cluster.topology) !== undefined) return cluster;
  const { variables = "", ...topology } = cluster.topology;
  if (variables.length < MIN_LENGTH) return cluster;
  // A string, because the garbage collector scans all of memory once many buffers have come and gone.
  const packed = deflateRawSync(utf8(variables), OPTIONS).toString("latin1");
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

/** Valid until the next call. A character takes three bytes at most. */
function utf8(text: string): Buffer {
  if (3 * text.length > gathered.length) return Buffer.from(text);
  return gathered.subarray(0, gathered.write(text));
}
