/** The objects of any kind that gates name. */

import type { CommandLine } from "../lib/shell-quote.ts";
import type { TooLargeMark, ObjectMeta } from "../api/meta.ts";

export interface ObjectKind {
  /** "velero.io/v1", or "v1" for the core group. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** Limits the kinds that policies can make the operator watch. */
export const MAX_KINDS = 50;

/** "velero.io/v1 Backup" */
export function objectKindKey({ apiVersion, kind }: ObjectKind): string {
  return `${apiVersion} ${kind}`;
}

/** "velero.io"; "" for the core group. */
export function apiGroup(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

export interface WatchedObject extends TooLargeMark {
  readonly metadata: ObjectMeta;
  /** The whole object as stored, without managedFields; absent when only metadata is watched. */
  readonly raw?: Readonly<Record<string, unknown>>;
}

/** `ok` without objects: none exists. Not `ok`: the objects are unknown. */
export type FoundObjects =
  | { readonly ok: true; readonly namespaced: boolean; readonly objects: readonly WatchedObject[] }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly message: string;
      /** What lets the operator read them: for the trace only. */
      readonly grant?: CommandLine;
    };

/** The reason while a kind is read for the first time. */
export const OBJECTS_NOT_LOADED = "ObjectsNotLoaded";

/** What a gate would learn from the objects. */
export interface ObjectLook {
  /** Whether the object counts for the gate. */
  readonly wants: (metadata: ObjectMeta) => boolean;
  /** Of the one object that it wants; `undefined`: of any name. */
  readonly name: string | undefined;
  /** Whether it reads more than their metadata. */
  readonly whole: boolean;
  /** As the gate names it. */
  readonly namespace?: string | undefined;
  /** Whether it looks into all namespaces that a selector selects, and missing objects can meet it. */
  readonly missesInNamespaces: boolean;
}

export interface ObjectReader {
  /**
   * Finds the objects of one kind in one namespace (all objects of a cluster-scoped kind; `namespace` is ignored). `look`: for
   * readers that know which objects there are only for some gates.
   */
  find(kind: ObjectKind, namespace: string, look?: ObjectLook): FoundObjects;
}

/** Objects that a confirmation has not read. */
export const NOT_READ: FoundObjects = {
  ok: false,
  reason: "ObjectsNotRead",
  message: "the objects were not read",
};
export const NOTHING_READ: ObjectReader = { find: () => NOT_READ };
