/** Decides a review again while memory is behind the API server, instead of a refusal that asks the user to try again. */

import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionOutcome } from "./review.ts";

/** A watch reports a policy some milliseconds after the API server has stored it; a Cluster may follow at once. */
const REASONS: ReadonlySet<string | undefined> = new Set(["PolicyNotInMemory", "PoliciesChanging"]);
const PAUSES_MS = [50, 200, 500];
/** Counts from the arrival of the review. A confirmation takes up to 3 s more, and the webhook times out after 5 s. */
const LAST_BEGIN_MS = 1500;
/** Limits the reviews that wait at the same time, in all namespaces together. */
const MAX_WAITING = 32;

export class CatchUp {
  #waiting = 0;

  /** The outcome of `decide`, or of an attempt after it; `began` is a value of performance.now(). */
  async decided(
    began: number,
    decide: () => AdmissionOutcome | Promise<AdmissionOutcome>,
  ): Promise<AdmissionOutcome> {
    let outcome = await decide();
    if (!isBehind(outcome) || this.#waiting >= MAX_WAITING) return outcome;
    this.#waiting += 1;
    try {
      for (const ms of PAUSES_MS) {
        if (!isBehind(outcome) || performance.now() - began + ms > LAST_BEGIN_MS) break;
        await sleep(ms);
        outcome = await decide();
      }
      return outcome;
    } finally {
      this.#waiting -= 1;
    }
  }
}

function isBehind({ verdict, reason }: AdmissionOutcome): boolean {
  return verdict === "NotConfirmed" && REASONS.has(reason);
}
