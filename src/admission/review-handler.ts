/**
 * The validating webhook of policies, a service to their authors: they learn of problems when they apply, and the
 * operator decides the same without it. A review that cannot be judged in time is refused: an admitted change is never
 * checked again, and the API server would admit a review without an answer.
 */

import type { Logger } from "../lib/logger.ts";
import { policyName } from "../policy/policy-ref.ts";
import { reviewAccess } from "./access.ts";
import { type Denial, forbidden, type Subject, tooBusy, tooSlow, unavailable, unread } from "./denial.ts";
import { examine, type Examination, type Settings } from "./examine.ts";
import { surroundOverride } from "./override-review.ts";
import { selectsNothing } from "./policy-review.ts";
import { ADMITTED, encodeVerdict, MAX_REVIEW_BYTES, NOT_REVIEWED, readHead, type Verdict } from "./review.ts";
import { describe } from "./review-text.ts";
import { reviewAccount } from "./task-account.ts";
import { Turns } from "../turns/turns.ts";
import type { AccessReviewer, AdmissionWorld } from "./review-world.ts";

export const ADMISSION_PATH = "/validate-hookpolicy-dev-v1alpha1";

export interface AdmissionDeps {
  readonly settings: Settings;
  /** Absent if any client may call. The answer then reveals only the sent object and whether its author may read. */
  readonly world?: AdmissionWorld;
  readonly reviewer: AccessReviewer;
  readonly log: Logger;
  readonly now: () => Date;
}

/** Below the webhook's timeoutSeconds, 5. */
const DEADLINE_MS = 3500;
const WAITING_OF_ONE = 16;

export function createAdmissionHandler(deps: AdmissionDeps): (body: Buffer) => Promise<string> {
  const turns = new Turns({ places: 1, waitingOfOne: WAITING_OF_ONE, waitMs: DEADLINE_MS, rests: true });
  return async (body) => {
    const head = readHead(body);
    if (head === undefined) {
      deps.log.debug("Not an AdmissionReview", { bytes: body.length });
      return NOT_REVIEWED;
    }
    if (body.length > MAX_REVIEW_BYTES) return encodeVerdict(head.uid, { denial: unread() });
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const examined = await turns.run(head.share, () => examine(body, deps.settings, deps.now()));
    if ("refused" in examined) {
      return encodeVerdict(head.uid, { denial: examined.refused === "TooMany" ? tooBusy() : tooSlow() });
    }
    const verdict = await judge(examined.result, deps, signal);
    return verdict === undefined ? NOT_REVIEWED : encodeVerdict(head.uid, verdict);
  };
}

/** `undefined`: not a review. */
async function judge(
  examined: Examination,
  deps: AdmissionDeps,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  switch (examined.is) {
    case "NoReview":
      return undefined;
    case "Admitted":
      return ADMITTED;
    case "Denied":
      return refuse(examined.subject, examined.denial, deps);
    case "Override":
      return { warnings: surroundOverride(examined, deps.world, deps.now()).map(describe) };
    case "Policy":
      return await judgePolicy(examined, deps, signal);
  }
}

async function judgePolicy(
  { subject, user, gates, account, warnings, selection }: Extract<Examination, { is: "Policy" }>,
  { world, reviewer, ...deps }: AdmissionDeps,
  signal: AbortSignal,
): Promise<Verdict> {
  const request = { gates, user, ownNamespaceOnly: subject.kind === "HookPolicy" };
  const [access, acting] = await Promise.all([
    reviewAccess(request, reviewer, signal),
    reviewAccount(account, user, reviewer, signal),
  ]);
  const refused = [...acting.forbidden, ...access.forbidden];
  if (refused.length > 0) return refuse(subject, forbidden(subject, refused), deps);
  const unknown = [...acting.unknown, ...access.unknown];
  if (unknown.length > 0) {
    const acts = acting.unknown.length > 0;
    deps.log.warn(
      `Failed to check ${acts ? "as whom" : "what"} the author of a policy may ${acts ? "act" : "read"}`,
      {
        error: acts ? acting.failure : access.failure,
      },
    );
    return { denial: unavailable(subject, unknown) };
  }
  if (world === undefined) return { warnings: warnings.map(describe) };
  const nothing = selection === undefined ? [] : await selectsNothing(selection, world);
  return { warnings: [...warnings, ...nothing, ...access.warnings].map(describe) };
}

/** Logs at debug only, because any client can have any number of reviews refused. */
function refuse(subject: Subject, denial: Denial, { log }: Pick<AdmissionDeps, "log">): Verdict {
  log.debug("Refused a policy", { policy: nameOf(subject), reason: denial.reason });
  return { denial };
}

function nameOf({ kind, metadata: { namespace, name } }: Subject): string {
  return kind === "HookOverride" || kind === "HookRollout"
    ? name
    : policyName({ kind, name, ...(namespace !== undefined && { namespace }) });
}
