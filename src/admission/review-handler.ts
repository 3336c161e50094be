/**
 * The validating webhook of policies, a service to their authors: they learn of problems when they apply, and the
 * operator decides the same without it. A review that cannot be judged in time is refused: an admitted change is never
 * checked again, and the API server would admit a review without an answer.
 */

import type { Logger } from "../lib/logger.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { FieldError } from "../policy/validation/schema.ts";
import type { UndecodableReason } from "../server/hook-server.ts";
import { type AccessFinding, reviewAccess } from "./access.ts";
import { type Denial, denialOf, describe, type Subject, TOO_SLOW, tooBusy, UNREAD } from "./denial.ts";
import { examine, type Examination, type Settings } from "./examine.ts";
import { surroundOverride } from "./override-review.ts";
import { selectsNothing } from "./policy-review.ts";
import { ADMITTED, encodeVerdict, MAX_REVIEW_BYTES, NOT_REVIEWED, readHead, type Verdict } from "./review.ts";
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
    if (body.length > MAX_REVIEW_BYTES) return encodeVerdict(head.uid, { denial: UNREAD });
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const examined = await turns.run(head.share, () => examine(body, deps.settings, deps.now()));
    if ("refused" in examined) {
      return encodeVerdict(head.uid, { denial: examined.refused === "TooMany" ? tooBusy() : TOO_SLOW });
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
  const ownNamespaceOnly = subject.kind === "HookPolicy";
  const request = { gates, user, ownNamespaceOnly, ...(account !== undefined && { account }) };
  const found = await reviewAccess(request, reviewer, signal);
  const refused = errorsOf(found, "forbidden");
  if (refused.length > 0) return refuse(subject, denialOf(subject, "forbidden", refused), deps);
  const first = found.find(({ unknown }) => unknown !== undefined);
  if (first !== undefined) {
    const what =
      first.path === account?.path
        ? "as whom the author of a policy may act"
        : "what the author of a policy may read";
    deps.log.warn(`Failed to check ${what}`, { error: first.failure });
    return { denial: denialOf(subject, "unavailable", errorsOf(found, "unknown")) };
  }
  if (world === undefined) return { warnings: warnings.map(describe) };
  const nothing = selection === undefined ? [] : await selectsNothing(selection, world);
  return { warnings: [...warnings, ...nothing, ...errorsOf(found, "warning")].map(describe) };
}

function errorsOf(found: readonly AccessFinding[], what: "forbidden" | "unknown" | "warning"): FieldError[] {
  return found.flatMap(({ path, [what]: message }) => (message === undefined ? [] : [{ path, message }]));
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

const DENIALS: Readonly<Partial<Record<UndecodableReason, Denial>>> = {
  "too-large": UNREAD,
  "no-room": tooBusy("large objects"),
  internal: TOO_SLOW,
};

/**
 * Refuses a review that was not read; `head` is the beginning of its body, which has the uid. An answer without the uid
 * would be a failed call, after which the API server stores the policy unreviewed: a reason to make a policy too large.
 */
export function refuseUnread(_path: string, reason: UndecodableReason, head: Buffer): string {
  const uid = readHead(head)?.uid;
  const denial = DENIALS[reason];
  return uid === undefined || denial === undefined ? NOT_REVIEWED : encodeVerdict(uid, { denial });
}
