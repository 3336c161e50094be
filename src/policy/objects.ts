/** The objects that gates name, of any kind. */

import type { ObjectMeta } from "../api/meta.ts";

export interface ObjectKind {
  /** "velero.io/v1", or "v1" for the core group. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** "velero.io/v1 Backup" */
export function objectKindKey({ apiVersion, kind }: ObjectKind): string {
  return `${apiVersion} ${kind}`;
}

export interface WatchedObject {
  readonly metadata: ObjectMeta;
  /** The whole object as stored, without managedFields; absent when only metadata is watched. */
  readonly raw?: Readonly<Record<string, unknown>>;
}

/** Not found is `ok` without objects; whatever keeps them from being known is not. */
export type FoundObjects =
  | { readonly ok: true; readonly namespaced: boolean; readonly objects: readonly WatchedObject[] }
  | { readonly ok: false; readonly reason: string; readonly message: string };

/** The reason while a kind is being read for the first time. */
export const OBJECTS_NOT_LOADED = "ObjectsNotLoaded";

export interface ObjectReader {
  /** The objects of one kind in one namespace (all, for a cluster-scoped kind, where `namespace` is ignored). */
  find(kind: ObjectKind, namespace: string): FoundObjects;
}
