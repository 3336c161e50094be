import { isDeepStrictEqual } from "node:util";
import type { HookOverride } from "../api/hookpolicy.ts";
import type { PolicyObject } from "./policyset.ts";

/** Compared as a whole: another version of the CRD can change what a generation reads like. */
export function isSameSpec<T extends PolicyObject | HookOverride>(a: T, b: T): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    isDeepStrictEqual(a.spec, b.spec)
  );
}

/** Deleted or not, and with the same finalizers. */
export function isSameLife({ metadata: a }: PolicyObject, { metadata: b }: PolicyObject): boolean {
  return a.deletionTimestamp === b.deletionTimestamp && isDeepStrictEqual(a.finalizers, b.finalizers);
}
