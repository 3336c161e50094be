/**
 * Keeps the last answers, because Cluster API repeats its call while it waits. A decision that is still valid is not computed
 * again, and if it depends on nothing else in a call, the call is not even parsed. Only answers that hold are kept, because
 * every release is confirmed again.
 */

import type { ValidityCheck } from "../policy/validity.ts";
import type { AnswerVerdict } from "./hook-answer.ts";
import type { Subject } from "./subject.ts";

export interface LastAnswer {
  readonly subject: Subject;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly isValid: ValidityCheck;
}

const MAX_ANSWERS = 20_000;

/** The last answers at one hook. */
export class LastAnswers {
  /** By uid of the Cluster, the oldest first. */
  readonly #last = new Map<string, LastAnswer>();

  /** The answer to a request about the subject, if its decision is still valid; otherwise it is forgotten. */
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
    if (this.#last.size > MAX_ANSWERS && oldest.done !== true) this.forget(oldest.value);
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
