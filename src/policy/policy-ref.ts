/** References to policies and rollouts, and their names in messages and logs. */

import { namespacedName } from "../lib/keys.ts";

export type PolicyKind = "HookPolicy" | "ClusterHookPolicy";

export interface PolicyRef extends HolderRef {
  readonly kind: PolicyKind;
}

/** An object that can hold a Cluster. */
export interface HolderRef {
  readonly kind: PolicyKind | "HookRollout";
  /** Absent for a cluster-scoped kind. */
  readonly namespace?: string;
  readonly name: string;
}

/** "HookPolicy team-a/protect-production": how messages and logs name a policy. */
export function policyName(ref: HolderRef): string {
  return `${ref.kind} ${namespacedName(ref)}`;
}
