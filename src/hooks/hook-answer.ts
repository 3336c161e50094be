/** What a call gets as its answer, with a decision or without one. */

import type { HookAnswer } from "../extension/codec.ts";
import type { Decision } from "../policy/decision.ts";
import type { ValidityCheck } from "../policy/validity.ts";

/** The verdict in logs and metrics: of the decision, or why there was none. */
export type AnswerVerdict =
  Decision["verdict"] | "NotLoaded" | "NotConfirmed" | "InternalError" | "Undecodable" | "Unauthenticated";

export interface Outcome {
  readonly verdict: AnswerVerdict;
  readonly answer: HookAnswer;
  readonly decision?: Decision;
  /** Whether the same request would get the same answer; absent: unknown. */
  readonly isValid?: ValidityCheck | undefined;
}

/** Short, because the reason passes by itself, and Cluster API does not call earlier. */
const SOON_SECONDS = 5;

const TEXT = {
  NotLoaded: "HookPolicy is still loading policies and holds every Cluster until it has finished",
  NotConfirmed: "HookPolicy could not confirm the decision with the API server, so the Cluster stays held",
  TooManyCalls:
    "too many calls about this Cluster wait for a decision of HookPolicy, so the Cluster stays held",
  InternalError: "HookPolicy could not decide because of an internal error (see the operator's log)",
} as const;

const GO: HookAnswer = { status: "Success", retryAfterSeconds: 0, message: "" };

export function decided(decision: Decision): Outcome {
  const { verdict, holds, retryAfterSeconds, message } = decision;
  const wait: HookAnswer = { status: "Success", retryAfterSeconds: Math.max(1, retryAfterSeconds), message };
  return { verdict, decision, answer: holds ? wait : GO };
}

/** For a hook that cannot hold: at any other answer, Cluster API would stop the whole reconcile. */
export function observed(decision: Decision): Outcome {
  return { verdict: decision.verdict, decision, answer: GO };
}

/** Where Cluster API does not wait, only a Failure makes it call again. The text is constant, because it becomes a condition. */
export function notStored(verdict: "NotLoaded" | "NotConfirmed"): Outcome {
  const message = "HookPolicy could not store the tasks of this Cluster yet (see the operator's log)";
  return { verdict, answer: { status: "Failure", retryAfterSeconds: 0, message } };
}

/** Without a decision the answer is to hold, if the hook can hold. */
export function undecided(why: keyof typeof TEXT, waits: boolean): Outcome {
  const wait: HookAnswer = { status: "Success", retryAfterSeconds: SOON_SECONDS, message: TEXT[why] };
  return { verdict: why === "TooManyCalls" ? "NotConfirmed" : why, answer: waits ? wait : GO };
}
