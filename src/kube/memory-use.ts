/** What objects take in memory. */

import { sizeOf } from "../lib/json-size.ts";

export interface MemoryUse {
  readonly bytes: number;
  /** HookPolicies: each can remember something of each Cluster of its namespace. */
  readonly policies: number;
  readonly clusters: number;
}

export const NO_MEMORY: MemoryUse = { bytes: 0, policies: 0, clusters: 0 };

/** What an object takes in addition to its contents. */
const OBJECT_BYTES = 1024;

export function memoryUseOf(object: object): MemoryUse {
  return { ...NO_MEMORY, bytes: OBJECT_BYTES + sizeOf(object) };
}
