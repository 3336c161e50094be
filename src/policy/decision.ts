/** What decide() takes and gives: plain data, no IO. */

import type { CompiledPolicy, GateResult } from "./policy.ts";
import type { RuleTimers, World } from "./world.ts";
import type { PolicyRef } from "./policyref.ts";

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
  /** Where someone has to prove the decision later. */
  readonly basis?: Basis;
}

/** What a decision was made from. */
export interface Basis {
  /** ApiServer: read from it after the call; what memory had learnt since agreed. */
  readonly source: "Memory" | "ApiServer";
  readonly world: World;
  /** The Cluster is not in memory: what is known of it is what the caller says. */
  readonly fromRequest?: true;
  /** As the trace has them. */
  readonly policies: readonly CompiledPolicy[];
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
  /** No steps were left for it: one rule stands for all, and what the others remember goes on. */
  readonly unread?: true;
  /** The HookOverride that keeps the policy from holding the operation; its rules say what they would do. */
  readonly overriddenBy?: string;
  /** The earliest instant at which time alone changes what the policy says; absent: never. */
  readonly changesAt?: Date | "Unknown";
}

export interface RuleTrace {
  readonly rule: string;
  /** Skipped: a match condition is false, so the rule says nothing about the operation. */
  readonly verdict: "Allowed" | "Observed" | "Blocked" | "NotEvaluable" | "Skipped";
  /** Enough to hold the operation if the policy is enforced: blocked, or not evaluable under failurePolicy Fail. */
  readonly holds: boolean;
  readonly reason: string;
  /** Of a rule that is skipped: the match condition that is false. */
  readonly condition?: string;
  /** One line for people: what is waited for and how to let it go. Empty when the rule does not hold anything. */
  readonly message: string;
  /** What a caller is told instead: objects that a gate looks at are not for everybody who can reach the port. */
  readonly answer?: string;
  readonly retryAfterSeconds: number;
  readonly gates: readonly GateTrace[];
  /** To be remembered, and given to the next decision about the same operation. */
  readonly timers?: RuleTimers;
  /** When the deadline passes, or has passed; absent until the rule has held the operation. */
  readonly deadlineAt?: Date;
  /** The deadline lets the operation go on (onExpiry Allow), unless the rule is not evaluable. */
  readonly deadlineReleases?: boolean;
  readonly changesAt?: Date | "Unknown";
}

export interface GateTrace extends GateResult {
  readonly gate: string;
}

/** The policy has something to say about the operation: more than that its rules do not apply. */
export function speaks({ rules }: PolicyTrace): boolean {
  return rules.some(({ verdict }) => verdict !== "Skipped");
}

/** A decision against what was just read from the API server, or a word for why there is none. */
export type Confirmation =
  { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly reason: string };
