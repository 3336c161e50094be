/** Finds policies whose spec differs from before: some of their clocks restart. */

import type { HookPolicySpec } from "../../api/hookpolicy.ts";
import type { FleetPolicy } from "./fleet.ts";
import { viewPolicy } from "./kinds.ts";

export interface PolicyEdit {
  readonly uid: string;
  readonly before: HookPolicySpec;
  readonly after: HookPolicySpec;
}

export function editsBetween(before: readonly FleetPolicy[], after: readonly FleetPolicy[]): PolicyEdit[] {
  return before.flatMap((old) => {
    const { uid } = old.compiled;
    const now = after.find(({ compiled }) => compiled.uid === uid);
    const edit = now && { uid, before: specOf(old), after: specOf(now) };
    return edit === undefined || JSON.stringify(edit.before) === JSON.stringify(edit.after) ? [] : [edit];
  });
}

/** The spec with the API server's default of the field that decides about clocks. */
function specOf({ compiled: { ref, mode }, raw }: FleetPolicy): HookPolicySpec {
  return { ...viewPolicy(ref.kind, raw).spec, mode };
}
