/** Decides a review again while memory is behind the API server, instead of a refusal that asks the user to try again. */

import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionOutcome } from "./review.ts";

/** A watch reports a policy some milliseconds after the API server has stored it; a Cluster may follow at once. */
const REASONS: ReadonlySet<string | undefined> = new Set(["PolicyNotInMemory", "PoliciesChanging"]);
const PAUSES_MS = [50, 200, 500];
/** Counts from the arrival of the review. A confirmation takes up to 3 s more, and the webhook times out after 5 s. */
const LAST_BEGIN_MS = 1500;

/** The outcome of `decide`, or of an attempt after it; `began` is a value of performance.now(). */
export async function caughtUp(
  began: number,
  decide: () => Promise<AdmissionOutcome>,
): Promise<AdmissionOutcome> {
  let outcome = await decide();
  for (const ms of PAUSES_MS) {
    const isBehind = outcome.verdict === "NotConfirmed" && REASONS.has(outcome.reason);
    if (!isBehind || performance.now() - began + ms > LAST_BEGIN_MS) break;
    await sleep(ms);
    outcome = await decide();
  }
  return outcome;
}
