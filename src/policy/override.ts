/** Break-glass: while a HookOverride is active, the policies that it names do not hold its Cluster. */

import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { type HolderRef, policyName } from "./policy-ref.ts";

export interface Override {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly clusterRef: { readonly namespace: string; readonly name: string; readonly uid?: string };
  readonly hooks: ReadonlySet<HookName>;
  /** policyName() of each policy; absent: all policies. */
  readonly policies?: ReadonlySet<string>;
  readonly expiresAt: Date;
  /** Why the override never has an effect. */
  readonly problem?: OverrideProblem;
}

export interface OverrideProblem {
  readonly reason: "InvalidSpec" | "TooLong" | "TooLarge";
  readonly message: string;
}

export function isActive(override: Override, cluster: Cluster, hook: HookName, now: Date): boolean {
  const { clusterRef, problem, expiresAt, hooks } = override;
  const { namespace, name, uid } = cluster.metadata;
  return (
    problem === undefined &&
    clusterRef.namespace === namespace &&
    clusterRef.name === name &&
    (clusterRef.uid === undefined || clusterRef.uid === uid) &&
    hooks.has(hook) &&
    now < expiresAt
  );
}

export function covers({ policies }: Override, holder: HolderRef): boolean {
  return policies === undefined || policies.has(policyName(holder));
}
