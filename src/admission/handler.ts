/**
 * The validating webhook of policies, a service to their authors: what it says is said when they apply, and the
 * operator decides the same without it. What it cannot judge is left to the webhook's failurePolicy.
 */

import { isDeepStrictEqual } from "node:util";
import { withoutNulls } from "../api/fields.ts";
import type { Logger } from "../api/logger.ts";
import type { ServedHooks } from "../policy/compile.ts";
import { policyName } from "../policy/policy.ts";
import { reviewAccess } from "./access.ts";
import { forbidden, invalid, tooLarge, unavailable } from "./denial.ts";
import { newGates } from "./objectgates.ts";
import { checkOverride } from "./overrides.ts";
import { checkPolicy, type Policy } from "./policies.ts";
import { decodeReview, encodeVerdict, NOT_REVIEWED, type Review, type Verdict } from "./review.ts";
import { isTooLarge, MAX_REVIEW_BYTES } from "./size.ts";
import { describe } from "./text.ts";
import type { AccessReviewer, AdmissionWorld } from "./world.ts";

export const ADMISSION_PATH = "/validate-hookpolicy-dev-v1alpha1";

export interface AdmissionDeps {
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  readonly world: AdmissionWorld;
  readonly reviewer: AccessReviewer;
  readonly log: Logger;
  readonly now: () => Date;
}

/** Below the webhook's timeoutSeconds, 5. */
const DEADLINE_MS = 3500;

const ADMITTED: Verdict = { warnings: [] };

export function createAdmissionHandler(deps: AdmissionDeps): (body: Buffer) => Promise<string> {
  return async (body) => {
    const decoded = body.length > MAX_REVIEW_BYTES ? undefined : decodeReview(body);
    if (decoded === undefined) {
      deps.log.debug("Not an AdmissionReview", { bytes: body.length });
      return NOT_REVIEWED;
    }
    const { uid, review } = decoded;
    return encodeVerdict(uid, review === undefined ? ADMITTED : await judge(review, deps));
  };
}

async function judge(review: Review, deps: AdmissionDeps): Promise<Verdict> {
  const { old } = review;
  // Finalizers must go and labels may change, whatever is wrong with the spec.
  if (old !== undefined && isDeepStrictEqual(review.object.spec, old.spec)) return ADMITTED;
  if (isBeingDeleted(review.object)) return ADMITTED;
  if (isTooLarge(review.object.spec)) return { denial: tooLarge(review.object), warnings: [] };
  const object = asStored(review.object);
  if (object.kind === "HookOverride") {
    return { warnings: checkOverride(object, { ...deps, now: deps.now() }).map(describe) };
  }
  const known = isPolicy(old) && !isTooLarge(old.spec) ? asStored(old) : undefined;
  const verdict = await judgePolicy(object, known, review, deps);
  if (verdict.denial !== undefined) {
    deps.log.info("Refused a policy", { policy: nameOf(object), reason: verdict.denial.reason });
  }
  return verdict;
}

async function judgePolicy(
  policy: Policy,
  old: Policy | undefined,
  { user }: Review,
  deps: AdmissionDeps,
): Promise<Verdict> {
  const { errors, warnings } = checkPolicy(policy, old, deps);
  if (errors.length > 0) return { denial: invalid(policy, errors), warnings: [] };
  const request = { gates: newGates(policy, old), user, ownNamespaceOnly: policy.kind === "HookPolicy" };
  const access = await reviewAccess(request, deps.reviewer, AbortSignal.timeout(DEADLINE_MS));
  if (access.forbidden.length > 0) return { denial: forbidden(policy, access.forbidden), warnings: [] };
  if (access.unknown.length > 0) {
    deps.log.warn("Failed to check what the author of a policy may read", { error: access.failure });
    return { denial: unavailable(policy, access.unknown), warnings: [] };
  }
  return { warnings: [...warnings, ...access.warnings].map(describe) };
}

function nameOf({ kind, metadata: { namespace, name } }: Policy): string {
  return policyName({ kind, name, ...(namespace !== undefined && { namespace }) });
}

/** The other parts of it are not looked at that closely, and may be of any size. */
function asStored<T extends Review["object"]>(object: T): T {
  return { ...object, spec: withoutNulls(object.spec) };
}

function isBeingDeleted({ metadata }: Review["object"]): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isPolicy(object: Review["object"] | undefined): object is Policy {
  return object !== undefined && object.kind !== "HookOverride";
}
