/** Break-glass: while a HookOverride is active, the policies that it names do not hold its Cluster. */

import { withoutNulls } from "../lib/fields.ts";
import type { HookOverride } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { after } from "./instant.ts";
import { describeErrors } from "./message.ts";
import { type HolderRef, policyName } from "./policy-ref.ts";
import { describeTooLarge, TOO_LARGE } from "./too-large.ts";
import { type FieldError, validatePolicy } from "./validation/schema.ts";

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

/** Total: an invalid override has no effect. `maxMs` counts from its creation. */
export function compileOverride(object: HookOverride, maxMs: number): Override {
  const { name, uid, generation = 0, creationTimestamp } = object.metadata;
  const identity = { name, uid, generation };
  if (object.tooLarge === true)
    return { ...identity, ...NOWHERE, problem: { reason: TOO_LARGE, message: describeTooLarge(undefined) } };
  const errors = validatePolicy("HookOverride", object).filter(({ path }) => path.startsWith("spec"));
  if (errors.length > 0) return { ...identity, ...NOWHERE, problem: invalid(errors) };
  const { clusterRef, hooks, policyRefs, expiresAt: until } = withoutNulls(object.spec);
  const expiresAt = new Date(until);
  const created = new Date(creationTimestamp ?? NaN);
  return {
    ...identity,
    clusterRef,
    hooks: new Set(hooks),
    ...(policyRefs !== undefined && { policies: new Set(policyRefs.map(policyName)) }),
    expiresAt,
    ...(!(expiresAt <= after(created, maxMs)) && { problem: tooLong(maxMs) }),
  };
}

const NOWHERE = {
  clusterRef: { namespace: "", name: "" },
  hooks: new Set<HookName>(),
  expiresAt: new Date(0),
};

function invalid(errors: readonly FieldError[]): OverrideProblem {
  return { reason: "InvalidSpec", message: describeErrors(errors) };
}

function tooLong(maxMs: number): OverrideProblem {
  const hours = Math.floor(maxMs / 3_600_000);
  const message = `lasts longer than ${hours}h from its creation (--max-override-duration), so it has no effect: set an earlier expiresAt`;
  return { reason: "TooLong", message };
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
