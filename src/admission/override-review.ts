/** Warns of everything that keeps a HookOverride from having an effect. It is for emergencies, so it is never refused. */

import type { HookOverride } from "../api/hook-policy.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { compileOverride } from "../policy/compile-override.ts";
import type { Override } from "../policy/world.ts";
import { missingTargets } from "../policy/override-targets.ts";
import type { FieldError } from "../policy/validation/schema.ts";
import type { AdmissionWorld } from "./review-world.ts";

export interface OverrideSurroundings {
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  /** Absent: its content may not be revealed. */
  readonly world: AdmissionWorld | undefined;
  readonly now: Date;
}

/** `isUpdate`: it can only shorten an override, so its creation has already given every warning. */
export function reviewOverride(
  object: HookOverride,
  isUpdate: boolean,
  { served, maxOverrideMs, world, now }: OverrideSurroundings,
): FieldError[] {
  const override = compileOverride(withCreation(object, now), maxOverrideMs);
  const { problem, clusterRef } = override;
  if (problem?.reason === "InvalidSpec") return [{ path: "", message: problem.message }];
  if (isUpdate && problem === undefined) return [];
  const warnings = unservedHooks(object, served);
  if (world?.loaded() !== true) return [...warnings, ...lifetime(override, now)];
  const { policyRefs = [] } = object.spec;
  return [
    ...warnings,
    ...missingTargets(
      { clusterRef, policyRefs },
      {
        cluster: (namespace, name) => world.cluster(namespace, name),
        has: ({ kind, namespace, name }) =>
          kind === "HookRollout" ? world.hasRollout(name) : world.policy(kind, namespace, name) !== undefined,
      },
    ),
    ...lifetime(override, now),
  ];
}

/** The API server may not have set the creationTimestamp yet. */
function withCreation(object: HookOverride, now: Date): HookOverride {
  const { creationTimestamp = now.toISOString() } = object.metadata;
  return { ...object, metadata: { ...object.metadata, creationTimestamp } };
}

function unservedHooks({ spec }: HookOverride, { blocking, capiVersion }: ServedHooks): FieldError[] {
  return spec.hooks.flatMap((hook, index) => {
    if (blocking.has(hook)) return [];
    const message = `Cluster API ${capiVersion} does not wait for ${hook} (--capi-version), so that there is nothing to override`;
    return [{ path: `spec.hooks[${index}]`, message }];
  });
}

function lifetime({ problem, expiresAt }: Override, now: Date): FieldError[] {
  const path = "spec.expiresAt";
  if (problem !== undefined) return [{ path, message: problem.message }];
  return expiresAt <= now
    ? [{ path, message: "has passed already, so that the override has no effect" }]
    : [];
}
