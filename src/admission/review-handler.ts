/**
 * The validating webhook of policies, a service to their authors: they learn of problems when they apply, and the
 * operator decides the same without it. A review that cannot be judged in time is refused: an admitted change is never
 * checked again, and the API server would admit a review without an answer.
 */

import { isDeepStrictEqual } from "node:util";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { withoutNulls } from "../lib/fields.ts";
import type { Logger } from "../lib/logger.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { FieldError } from "../policy/validation/schema.ts";
import { sizeErrors } from "../policy/validation/spec-size.ts";
import type { UndecodableReason } from "../server/hook-server.ts";
import { Turns } from "../turns/turns.ts";
import { type AccessFinding, type AccessRequest, reviewAccess } from "./access.ts";
import {
  type Denial,
  denialOf,
  describe,
  type ReviewedObject,
  TOO_SLOW,
  tooBusy,
  UNANSWERED,
} from "./denial.ts";
import { neededAccount, type GatedObject, newGates } from "./needed-rights.ts";
import { reviewOverride } from "./override-review.ts";
import { checkPolicy, type PolicyFindings, selectsNothing } from "./policy-review.ts";
import {
  ADMITTED,
  decodeReview,
  encodeVerdict,
  NOT_REVIEWED,
  readHead,
  type Review,
  type ReviewVerdict,
  WAITING_OF_ONE,
} from "./review.ts";
import type { AccessReviewer, AdmissionWorld } from "./review-world.ts";

export const ADMISSION_PATH = "/validate-hookpolicy-dev-v1alpha1";

export interface ReviewSettings {
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
}

export interface AdmissionDeps {
  readonly settings: ReviewSettings;
  /** Absent if any client may call. The answer then reveals only the sent object and whether its author may read. */
  readonly world?: AdmissionWorld;
  readonly reviewer: AccessReviewer;
  readonly log: Logger;
  readonly now: () => Date;
}

/** Below the webhook's timeoutSeconds, 5. */
const DEADLINE_MS = 3500;

export function createAdmissionHandler(deps: AdmissionDeps): (body: Buffer) => Promise<string> {
  const turns = new Turns({ places: 1, waitingOfOne: WAITING_OF_ONE, waitMs: DEADLINE_MS, rests: true });
  return async (body) => {
    const head = readHead(body);
    if (head === undefined) {
      deps.log.debug("Not an AdmissionReview", { bytes: body.length });
      return NOT_REVIEWED;
    }
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const examined = await turns.run(head.share, () => examine(body, deps));
    if ("refused" in examined) {
      return encodeVerdict(head.uid, { denial: examined.refused === "TooMany" ? tooBusy() : TOO_SLOW });
    }
    const { result } = examined;
    const verdict = typeof result === "function" ? await result(signal) : result;
    return verdict === undefined ? NOT_REVIEWED : encodeVerdict(head.uid, verdict);
  };
}

/** The object is valid; whether its author has the rights that it needs is not checked yet. */
type Question = (signal: AbortSignal) => Promise<ReviewVerdict>;

/** Without any IO, which is the part that takes time. `undefined`: not a review. Never throws for any bytes. */
function examine(body: Buffer, deps: AdmissionDeps): ReviewVerdict | Question | undefined {
  const decoded = decodeReview(body);
  if (decoded === undefined) return undefined;
  return decoded.review === undefined ? ADMITTED : examineReview(decoded.review, deps);
}

function examineReview({ object: sent, old, user }: Review, deps: AdmissionDeps): ReviewVerdict | Question {
  // Finalizers must be removable and labels changeable, whatever is wrong with the spec.
  if (old !== undefined && isDeepStrictEqual(sent.spec, old.spec)) return ADMITTED;
  const size = sizeErrors(sent.spec);
  if (size.length > 0) return refuse(sent, denialOf(sent, "invalid", size), deps);
  const object = asStored(sent);
  if (object.kind === "HookOverride") {
    const around = { ...deps.settings, world: deps.world, now: deps.now() };
    return { warnings: reviewOverride(object, old !== undefined, around).map(describe) };
  }
  const known = hasGates(old) && sizeErrors(old.spec).length === 0 ? asStored(old) : undefined;
  const found = checkPolicy(object, known, deps.settings.served);
  if (found.errors.length > 0) return refuse(object, denialOf(object, "invalid", found.errors), deps);
  const account = neededAccount(object, hasGates(old) ? old : undefined);
  const needs: AccessRequest = {
    gates: newGates(object, known),
    ...(account !== undefined && { account }),
    user,
    ownNamespaceOnly: object.kind === "HookPolicy",
  };
  return questionAbout(subjectOf(object), needs, found, deps);
}

function subjectOf({ kind, metadata: { namespace, name } }: ReviewedObject): ReviewedObject {
  return { kind, metadata: { name, ...(namespace !== undefined && { namespace }) } };
}

/** Other parts are not checked as closely and may be of any size. */
function asStored<T extends Review["object"]>(object: T): T {
  return { ...object, spec: withoutNulls(object.spec) };
}

function hasGates(object: Review["object"] | undefined): object is GatedObject {
  return object !== undefined && object.kind !== "HookOverride";
}

/** Keeps nothing else of the review, which may be large, while the API server is asked. */
function questionAbout(
  subject: ReviewedObject,
  needs: AccessRequest,
  { warnings, selection }: PolicyFindings,
  { world, reviewer, ...deps }: AdmissionDeps,
): Question {
  return async (signal) => {
    const found = await reviewAccess(needs, reviewer, signal);
    const refused = errorsOf(found, "forbidden");
    if (refused.length > 0) return refuse(subject, denialOf(subject, "forbidden", refused), deps);
    const first = found.find(({ unknown }) => unknown !== undefined);
    if (first !== undefined) {
      const what =
        first.path === needs.account?.path
          ? "as whom the author of a policy may act"
          : "what the author of a policy may read";
      deps.log.warn(`Failed to check ${what}`, { error: first.failure });
      return { denial: denialOf(subject, "unavailable", errorsOf(found, "unknown")) };
    }
    if (world === undefined) return { warnings: warnings.map(describe) };
    const nothing = selection === undefined ? [] : await selectsNothing(selection, world);
    return { warnings: [...warnings, ...nothing, ...errorsOf(found, "warning")].map(describe) };
  };
}

function errorsOf(found: readonly AccessFinding[], what: "forbidden" | "unknown" | "warning"): FieldError[] {
  return found.flatMap(({ path, [what]: message }) => (message === undefined ? [] : [{ path, message }]));
}

/** Logs at debug only, because any client can have any number of reviews refused. */
function refuse(subject: ReviewedObject, denial: Denial, { log }: Pick<AdmissionDeps, "log">): ReviewVerdict {
  log.debug("Refused a policy", { policy: nameOf(subject), reason: denial.reason });
  return { denial };
}

function nameOf({ kind, metadata: { namespace, name } }: ReviewedObject): string {
  return kind === "HookOverride" || kind === "HookRollout"
    ? name
    : policyName({ kind, name, ...(namespace !== undefined && { namespace }) });
}

/**
 * Refuses a review that was not read, or not answered; `head` is the beginning of its body, which has the uid. An answer
 * without the uid would be a failed call, after which the API server stores the policy unreviewed: a reason to make a policy
 * too large.
 */
export function refuseUnread(_path: string, reason: UndecodableReason, head: Buffer): string {
  const uid = readHead(head)?.uid;
  const denial = UNANSWERED[reason];
  return uid === undefined || denial === undefined ? NOT_REVIEWED : encodeVerdict(uid, { denial });
}
