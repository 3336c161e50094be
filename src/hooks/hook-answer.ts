/**
 * What a call gets as its answer, with a decision or without one, and the last answers, which are kept because Cluster API
 * repeats its call while it waits. A decision that is still valid is not computed again, and if it depends on nothing else in
 * a call, the call is not even parsed. Only answers that hold are kept, because every release is confirmed again.
 */

import type { HookAnswer } from "../extension/codec.ts";
import type { Decision, ValidityCheck } from "../policy/decision.ts";
import { SOON_SECONDS } from "../policy/policy.ts";
import type { Subject } from "./hook-request.ts";
import { LARGEST_FLEET } from "../lib/kept.ts";

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

export const TEXT = {
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

export type Undecided = keyof typeof TEXT;

/** Without a decision the answer is to hold, if the hook can hold. */
export function undecided(why: Undecided, waits: boolean): Outcome {
  const wait: HookAnswer = { status: "Success", retryAfterSeconds: SOON_SECONDS, message: TEXT[why] };
  return { verdict: why === "TooManyCalls" ? "NotConfirmed" : why, answer: waits ? wait : GO };
}

/** Where Cluster API does not wait, only a Failure makes it call again. The text is constant, because it becomes a condition. */
export function notStored(why: Undecided): Outcome {
  const message = "HookPolicy could not store the tasks of this Cluster yet (see the operator's log)";
  return { ...undecided(why, false), answer: { status: "Failure", retryAfterSeconds: 0, message } };
}

export interface LastAnswer {
  readonly subject: Subject;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly isValid: ValidityCheck;
}

/** The last answers at one hook. */
export class LastAnswers {
  /** By uid of the Cluster, the oldest first. */
  readonly #last = new Map<string, LastAnswer>();

  /** The answer to a request about the subject, if its decision is still valid; one that is not is forgotten. */
  current(asked: Subject, now: Date): LastAnswer | undefined {
    const answer = this.#last.get(asked.clusterUID);
    if (answer === undefined || !isAbout(answer, asked)) return undefined;
    if (answer.isValid(now)) return answer;
    this.forget(asked.clusterUID);
    return undefined;
  }

  keep(answer: LastAnswer): void {
    const { clusterUID } = answer.subject;
    this.forget(clusterUID);
    this.#last.set(clusterUID, answer);
    const oldest = this.#last.keys().next();
    if (this.#last.size > 2 * LARGEST_FLEET && oldest.done !== true) this.forget(oldest.value);
  }

  /** Another answer was given about the Cluster, or the Cluster is deleted. */
  forget(clusterUID: string): void {
    this.#last.delete(clusterUID);
  }
}

/** Whether a request about the subject gets the same answer while the decision is valid. */
function isAbout({ subject, isValid }: LastAnswer, asked: Subject): boolean {
  return subject.operation === asked.operation && (isValid.forAnyCall || subject.settings === asked.settings);
}
