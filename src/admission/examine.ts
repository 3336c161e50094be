/** Examines a review without any IO, which is the part that takes time. */

import { isDeepStrictEqual } from "node:util";
import { withoutNulls } from "../lib/fields.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { FieldError } from "../policy/validation/schema.ts";
import { type Denial, denialOf, type Subject } from "./denial.ts";
import { accountOf, type GatedObject, newGates, type ObjectGate, type TaskAccount } from "./needed-rights.ts";
import { checkOverride, type OverrideFindings } from "./override-review.ts";
import { checkNewRollout, checkPolicy, type PolicyFindings } from "./policy-review.ts";
import { decodeReview, type Review } from "./review.ts";
import type { UserInfo } from "./review-validators.ts";
import { sizeErrors } from "../policy/validation/spec-size.ts";
import type { Selection } from "./review-world.ts";

export interface Settings {
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
}

export type Examination =
  | { readonly is: "NoReview" }
  /** There is nothing to report. */
  | { readonly is: "Admitted" }
  | { readonly is: "Denied"; readonly subject: Subject; readonly denial: Denial }
  /** Valid by itself; its author's right to read the objects of its gates, and to act as the
   * ServiceAccount of its tasks, is still to be checked. */
  | {
      readonly is: "Policy";
      readonly subject: Subject;
      readonly user: UserInfo;
      readonly gates: readonly ObjectGate[];
      /** Absent: the policy has no tasks. */
      readonly account?: TaskAccount;
      readonly warnings: readonly FieldError[];
      readonly selection?: Selection;
    }
  | ({ readonly is: "Override" } & OverrideFindings);

/** Never throws for any bytes. */
export function examine(body: Uint8Array, settings: Settings, now: Date): Examination {
  const decoded = decodeReview(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  if (decoded === undefined) return { is: "NoReview" };
  return decoded.review === undefined ? { is: "Admitted" } : examineReview(decoded.review, settings, now);
}

function examineReview(review: Review, settings: Settings, now: Date): Examination {
  const { old, user } = review;
  // Finalizers must be removable and labels changeable, whatever is wrong with the spec.
  if (old !== undefined && isDeepStrictEqual(review.object.spec, old.spec)) return { is: "Admitted" };
  const size = sizeErrors(review.object.spec);
  if (size.length > 0) return denied(review.object, size);
  const object = asStored(review.object);
  if (object.kind === "HookOverride") return examineOverride(checkOverride(object, settings, now), old);
  const known = hasGates(old) && sizeErrors(old.spec).length === 0 ? asStored(old) : undefined;
  const { errors, warnings, selection } = findingsOf(object, known, settings);
  if (errors.length > 0) return denied(object, errors);
  const gates = newGates(object, known);
  const account = accountOf(object, hasGates(old) ? old : undefined);
  return {
    is: "Policy",
    subject: subjectOf(object),
    user,
    gates,
    ...(account !== undefined && { account }),
    warnings,
    ...(selection !== undefined && { selection }),
  };
}

/** An update can only shorten an override, so its creation has already given every warning. */
function examineOverride(found: OverrideFindings, old: Review["old"]): Examination {
  const works = found.override !== undefined && found.override.problem === undefined;
  return old !== undefined && works ? { is: "Admitted" } : { is: "Override", ...found };
}

function denied(object: Subject, errors: readonly FieldError[]): Examination {
  return { is: "Denied", subject: subjectOf(object), denial: denialOf(object, "invalid", errors) };
}

function subjectOf({ kind, metadata: { namespace, name } }: Subject): Subject {
  return { kind, metadata: { name, ...(namespace !== undefined && { namespace }) } };
}

/** Other parts are not checked as closely and may be of any size. */
function asStored<T extends Review["object"]>(object: T): T {
  return { ...object, spec: withoutNulls(object.spec) };
}

function findingsOf(object: GatedObject, old: GatedObject | undefined, { served }: Settings): PolicyFindings {
  return object.kind === "HookRollout"
    ? checkNewRollout(object, old?.kind === "HookRollout" ? old : undefined)
    : checkPolicy(object, old?.kind === "HookRollout" ? undefined : old, served);
}

function hasGates(object: Review["object"] | undefined): object is GatedObject {
  return object !== undefined && object.kind !== "HookOverride";
}
