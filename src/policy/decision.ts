/** What decide() takes and gives: plain data, no IO. */

import type { GateResult, PolicyRef } from "./policy.ts";

/**
 * - Allowed: nothing holds the operation.
 * - Observed: nothing holds it, and a rule without `until` was there to see it.
 * - WouldBlock: only Audit policies hold it, so it goes on.
 * - Blocked: a gate of an Enforce policy does not hold yet.
 * - NotEvaluable: a rule cannot be evaluated (under failurePolicy Fail that holds the operation, too).
 */
export type Verdict = "Allowed" | "Observed" | "WouldBlock" | "Blocked" | "NotEvaluable";

export interface Decision {
  readonly verdict: Verdict;
  /** The operation may not go on. Whoever answers branches on this, never on a number. */
  readonly holds: boolean;
  /** Seconds until Cluster API should ask again; 0 when it may go on. */
  readonly retryAfterSeconds: number;
  /** For Cluster API's condition; empty when the operation goes on. */
  readonly message: string;
  /** One entry per policy that was considered, in stable order. */
  readonly trace: readonly PolicyTrace[];
}

export interface PolicyTrace {
  readonly policy: PolicyRef;
  readonly mode: "Enforce" | "Audit";
  readonly matched: boolean;
  readonly verdict: Verdict;
  /** This policy alone is enough to hold the operation. */
  readonly holds: boolean;
  /** The rules on this hook; empty when not matched. */
  readonly rules: readonly RuleTrace[];
}

export interface RuleTrace {
  readonly rule: string;
  readonly verdict: "Allowed" | "Observed" | "Blocked" | "NotEvaluable";
  /** Enough to hold the operation if the policy is enforced: blocked, or not evaluable under failurePolicy Fail. */
  readonly holds: boolean;
  readonly reason: string;
  /** One line for people: what is waited for and how to let it go. Empty when the rule does not hold anything. */
  readonly message: string;
  readonly retryAfterSeconds: number;
  readonly gates: readonly GateTrace[];
}

export interface GateTrace extends GateResult {
  readonly gate: string;
}

/** A decision against what was just read from the API server, or a word for why there is none. */
export type Confirmation =
  { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly reason: string };
