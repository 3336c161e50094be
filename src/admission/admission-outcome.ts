/** The result of a review by the webhook of Clusters. */

import type { Decision } from "../policy/decision.ts";
import type { Verdict } from "./review.ts";

/** Blocked, NotEvaluable: a policy refuses it. The verdicts without a decision refuse it, too. */
export type AdmissionVerdict =
  | Extract<Decision["verdict"], "Blocked" | "NotEvaluable">
  | "Allowed"
  | "Warned"
  | "NotLoaded"
  | "NotConfirmed"
  | "TooManyCalls"
  | "TooManyVersions"
  | "InternalError";

export interface AdmissionOutcome extends Verdict {
  readonly verdict: AdmissionVerdict;
  /** Absent: nothing was decided. */
  readonly decision?: Decision;
  /** Why a decision could not be confirmed. */
  readonly reason?: string;
}
