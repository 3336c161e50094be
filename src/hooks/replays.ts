/**
 * Repeats answers, because Cluster API repeats its call while it waits. A decision that still stands is not computed again,
 * and if it depends on nothing else in a call, the call is not even parsed. Only for answers that hold: every release is
 * confirmed again.
 */

import type { Standing } from "../policy/standing.ts";
import type { AnswerVerdict } from "./outcome.ts";
import type { Subject } from "./subject.ts";

export interface Replay {
  readonly subject: Subject;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly stands: Standing;
}

const MAX_REPLAYS = 20_000;

/** The replays of one hook. */
export class Replays {
  /** The last answer about each Cluster by uid, the oldest first. */
  readonly #last = new Map<string, Replay>();

  find(asked: Subject, now: Date): Replay | undefined {
    const replay = this.#last.get(asked.clusterUID);
    if (replay === undefined || !isAbout(replay, asked)) return undefined;
    if (replay.stands(now)) return replay;
    this.forget(asked.clusterUID);
    return undefined;
  }

  keep(replay: Replay): void {
    const { clusterUID } = replay.subject;
    this.forget(clusterUID);
    this.#last.set(clusterUID, replay);
    const oldest = this.#last.keys().next();
    if (this.#last.size > MAX_REPLAYS && oldest.done !== true) this.forget(oldest.value);
  }

  /** Another answer was given about the Cluster, or the Cluster is deleted. */
  forget(clusterUID: string): void {
    this.#last.delete(clusterUID);
  }
}

/** Whether a request about the subject gets the same answer while the decision stands. */
function isAbout({ subject, stands }: Replay, asked: Subject): boolean {
  return subject.operation === asked.operation && (stands.forAnyCall || subject.settings === asked.settings);
}
