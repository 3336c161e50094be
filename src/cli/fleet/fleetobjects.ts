/** Finds the objects of a fleet that object gates look at. */

import { viewMetadata } from "../../policy/cluster.ts";
import {
  type FoundObjects,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../../policy/objects.ts";
import type { RawObject } from "./kinds.ts";

/** `complete`: a kind without objects has none; otherwise it is unknown. */
export function objectReader(objects: readonly RawObject[], complete: boolean): ObjectReader {
  const byKind = Map.groupBy(objects.map(watched), ({ key }) => key);
  return {
    find: (kind, namespace): FoundObjects => {
      const found = byKind.get(objectKindKey(kind));
      if (found === undefined) return complete ? NONE : unknown(objectKindKey(kind));
      const namespaced = found.some(({ object }) => object.metadata.namespace !== undefined);
      const inReach = found.filter(({ object }) => !namespaced || object.metadata.namespace === namespace);
      return { ok: true, namespaced, objects: inReach.map(({ object }) => object) };
    },
  };
}

const NONE: FoundObjects = { ok: true, namespaced: true, objects: [] };

function unknown(kind: string): FoundObjects {
  return { ok: false, reason: "ObjectsNotGiven", message: `no ${kind} is among the objects that were given` };
}

function watched(raw: RawObject): { readonly key: string; readonly object: WatchedObject } {
  const key = objectKindKey({ apiVersion: String(raw["apiVersion"]), kind: String(raw["kind"]) });
  return { key, object: { metadata: viewMetadata(raw["metadata"]), raw } };
}
