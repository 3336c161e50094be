/** Decides a review again while memory is behind the API server: a refusal would tell its user to do the same. */

import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionOutcome } from "./outcome.ts";

/** A watch tells of a policy some milliseconds after the API server has it, for example before a Cluster of the same apply. */
const REASONS: ReadonlySet<string | undefined> = new Set(["PolicyNotInMemory", "PoliciesChanging"]);
const PAUSES_MS = [50, 200, 500];
/** Since the review came. With the 3 s of a confirmation, below the 5 s of manifests/cluster-admission/webhook.yaml. */
const LAST_BEGIN_MS = 1500;
/** At the same time, of all namespaces: who keeps memory behind gets no more work done by asking more. */
const MAX_WAITING = 32;

export class CatchUp {
  #waiting = 0;

  /** The outcome of `decide`, or of an attempt after it; `began` as of performance.now(). */
  async decided(
    began: number,
    decide: () => AdmissionOutcome | Promise<AdmissionOutcome>,
  ): Promise<AdmissionOutcome> {
    const first = await decide();
    if (!isBehind(first) || this.#waiting >= MAX_WAITING) return first;
    this.#waiting += 1;
    try {
      return await this.#again(began, first, decide);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #again(
    began: number,
    first: AdmissionOutcome,
    decide: () => AdmissionOutcome | Promise<AdmissionOutcome>,
  ): Promise<AdmissionOutcome> {
    let outcome = first;
    for (const ms of PAUSES_MS) {
      if (!isBehind(outcome) || performance.now() - began + ms > LAST_BEGIN_MS) break;
      await sleep(ms);
      outcome = await decide();
    }
    return outcome;
  }
}

function isBehind({ verdict, reason }: AdmissionOutcome): boolean {
  return verdict === "NotConfirmed" && REASONS.has(reason);
}
