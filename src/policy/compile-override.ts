/** Compiles HookOverrides. */

import type { HookOverride } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { HOUR_MS } from "../lib/duration.ts";
import { withoutNulls } from "../lib/fields.ts";
import { after, earliest, readTimestamp } from "../lib/instant.ts";
import { describeErrors } from "./message.ts";
import type { Override, OverrideProblem } from "./world.ts";
import { policyName } from "./policy-ref.ts";
import { describeTooLarge, TOO_LARGE } from "../views/too-large.ts";
import { validatePolicy } from "./validation/schema.ts";

/**
 * Total: an invalid override has no effect. `maxMs` counts from its creation. Who deletes one ends it, although finalizers
 * may keep the object.
 */
export function compileOverride(object: HookOverride, maxMs: number): Override {
  const { name, uid, generation = 0, creationTimestamp, deletionTimestamp } = object.metadata;
  const identity = { name, uid, generation };
  const idle = (reason: OverrideProblem["reason"], message: string): Override => {
    return { ...identity, ...NOWHERE, problem: { reason, message } };
  };
  if (object.tooLarge === true) return idle(TOO_LARGE, describeTooLarge(undefined));
  const errors = validatePolicy("HookOverride", object).filter(({ path }) => path.startsWith("spec"));
  if (errors.length > 0) return idle("InvalidSpec", describeErrors(errors));
  const { clusterRef, hooks, policyRefs, expiresAt: until } = withoutNulls(object.spec);
  const wanted = new Date(until);
  const created = new Date(creationTimestamp ?? NaN);
  return {
    ...identity,
    clusterRef,
    hooks: new Set(hooks),
    ...(policyRefs !== undefined && { policies: new Set(policyRefs.map(policyName)) }),
    expiresAt: earliest([wanted, readTimestamp(deletionTimestamp)]) ?? wanted,
    ...(!(wanted <= after(created, maxMs)) && { problem: { reason: "TooLong", message: tooLong(maxMs) } }),
  };
}

const NOWHERE = {
  clusterRef: { namespace: "", name: "" },
  hooks: new Set<HookName>(),
  expiresAt: new Date(0),
};

function tooLong(maxMs: number): string {
  return `lasts longer than ${Math.floor(maxMs / HOUR_MS)}h from its creation (--max-override-duration), so it has no effect: set an earlier expiresAt`;
}
