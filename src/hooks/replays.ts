/**
 * Answers to what is asked again, which is what Cluster API does while it waits: nothing need be decided again while the
 * decision stands, and where it is asked in the very same bytes, nothing need be parsed. Only for answers that hold: a
 * go is confirmed each time.
 */

import type { AnswerVerdict } from "./answerlog.ts";

export interface Replay {
  readonly clusterUID: string;
  /** Of the request (codec.ts). */
  readonly subject: string;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly stands: (now: Date) => boolean;
}

interface Kept {
  readonly replay: Replay;
  /** Of the last request: there is no use in those before it. */
  readonly digest: string;
}

const MAX_REPLAYS = 20_000;

/** Of one hook. */
export class Replays {
  readonly #bySubject = new Map<string, Kept>();
  readonly #byDigest = new Map<string, Replay>();
  /** The subject of the last answer by uid of the Cluster, the oldest first. */
  readonly #subjects = new Map<string, string>();

  find(digest: string, now: Date): Replay | undefined {
    return this.#standing(this.#byDigest.get(digest), now);
  }

  /** In other bytes, which are those that are expected from now on. */
  findSubject(subject: string, digest: string, now: Date): Replay | undefined {
    const kept = this.#bySubject.get(subject);
    const replay = this.#standing(kept?.replay, now);
    if (kept === undefined || replay === undefined) return undefined;
    this.#byDigest.delete(kept.digest);
    this.#put(digest, replay);
    return replay;
  }

  keep(digest: string, replay: Replay): void {
    this.forget(replay.clusterUID);
    this.#put(digest, replay);
    this.#subjects.set(replay.clusterUID, replay.subject);
    const oldest = this.#subjects.keys().next();
    if (this.#subjects.size > MAX_REPLAYS && oldest.done !== true) this.forget(oldest.value);
  }

  /** To be called when another answer is given about the Cluster: only the last one is repeated. */
  forget(clusterUID: string): void {
    const subject = this.#subjects.get(clusterUID) ?? "";
    const kept = this.#bySubject.get(subject);
    if (kept === undefined) return;
    this.#subjects.delete(clusterUID);
    this.#bySubject.delete(subject);
    this.#byDigest.delete(kept.digest);
  }

  #put(digest: string, replay: Replay): void {
    this.#byDigest.set(digest, replay);
    this.#bySubject.set(replay.subject, { replay, digest });
  }

  #standing(replay: Replay | undefined, now: Date): Replay | undefined {
    if (replay === undefined || replay.stands(now)) return replay;
    this.forget(replay.clusterUID);
    return undefined;
  }
}
