/** What objects take in memory. */

export interface MemoryUse {
  readonly bytes: number;
  /** HookPolicies: each can remember something of each Cluster of its namespace. */
  readonly policies: number;
  readonly clusters: number;
}

export const NO_MEMORY: MemoryUse = { bytes: 0, policies: 0, clusters: 0 };

const LATIN1 = /^[\0-\u00ff]*$/;

/** What V8 needs for a value of JSON, at most: measured for maps of 20,000 keys, and for long texts. */
export function sizeOf(value: unknown): number {
  let bytes = 0;
  // Not recursive: objects can nest as deeply as the API server's parser does.
  const rest = [value];
  while (rest.length > 0) {
    const each = rest.pop();
    if (typeof each === "string") bytes += 16 + each.length * (LATIN1.test(each) ? 1 : 2);
    else if (typeof each !== "object" || each === null) bytes += 8;
    else
      for (const [key, field] of Object.entries(each)) {
        bytes += Array.isArray(each) ? 24 : 64 + key.length;
        rest.push(field);
      }
  }
  return bytes;
}

/** What an object takes in addition to its contents. */
const OBJECT_BYTES = 1024;

export function memoryUseOf(object: object): MemoryUse {
  return { ...NO_MEMORY, bytes: OBJECT_BYTES + sizeOf(object) };
}
