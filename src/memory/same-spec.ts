import { isDeepStrictEqual } from "node:util";
import type { HookOverride, HookRollout } from "../api/hook-policy.ts";
import type { PolicyObject } from "./policy-set.ts";

/** Compares the whole spec: another version of the CRD can change how a generation reads. */
export function isSameSpec<T extends PolicyObject | HookOverride | HookRollout>(a: T, b: T): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    isDeepStrictEqual(a.spec, b.spec)
  );
}

/** Whether both are deleted or neither is, with the same finalizers. */
export function isSameLife({ metadata: a }: PolicyObject, { metadata: b }: PolicyObject): boolean {
  return a.deletionTimestamp === b.deletionTimestamp && isDeepStrictEqual(a.finalizers, b.finalizers);
}
