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
      const key = objectKindKey(kind);
      const found = byKind.get(key);
      if (found === undefined && complete) return { ok: true, namespaced: true, objects: [] };
      if (found === undefined) {
        const message = `no ${key} is among the objects that were given`;
        return { ok: false, reason: "ObjectsNotGiven", message };
      }
      const namespaced = found.some(({ object }) => object.metadata.namespace !== undefined);
      const inReach = found.filter(({ object }) => !namespaced || object.metadata.namespace === namespace);
      return { ok: true, namespaced, objects: inReach.map(({ object }) => object) };
    },
  };
}

function watched(raw: RawObject): { readonly key: string; readonly object: WatchedObject } {
  const key = objectKindKey({ apiVersion: String(raw["apiVersion"]), kind: String(raw["kind"]) });
  return { key, object: { metadata: viewMetadata(raw["metadata"]), raw } };
}
