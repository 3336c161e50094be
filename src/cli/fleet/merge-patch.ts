/** Applies JSON merge patches (RFC 7386) to objects of files. */

import { isDeepStrictEqual } from "node:util";
import { isFields } from "../../lib/fields.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { isCluster, type RawObject } from "./kinds.ts";

/** The API server counts the changes of a Cluster's spec in its generation, to which conditions refer. */
export function edited(object: RawObject, patch: RawObject): RawObject {
  const result = merged(object, patch);
  const { generation } = viewMetadata(object["metadata"]);
  const isSame =
    generation === undefined || !isCluster(object) || isDeepStrictEqual(object["spec"], result["spec"]);
  if (isSame || viewMetadata(patch["metadata"]).generation !== undefined) return result;
  return merged(result, { metadata: { generation: generation + 1 } });
}

export function merged(target: unknown, patch: RawObject): RawObject {
  const result = new Map(Object.entries(isFields(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, isFields(value) ? merged(result.get(key), value) : value);
  }
  return Object.fromEntries(result);
}
