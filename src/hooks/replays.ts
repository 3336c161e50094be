/**
 * Repeats answers, because Cluster API repeats its call while it waits. While a decision stands it is not computed
 * again, and a request with the very same bytes is not even parsed. Only for answers that hold: every release is
 * confirmed again.
 */

import type { AnswerVerdict } from "./answerlog.ts";
import type { ReceivedRequest } from "./codec.ts";

type Asked = Pick<ReceivedRequest, "clusterUID" | "subject">;

/** The parts of a request that identify what it is about. */
export interface Replay extends Asked {
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly stands: (now: Date) => boolean;
}

interface Kept {
  readonly replay: Replay;
  /** Digest of the last request; older ones are of no use. */
  readonly digest: string;
}

const MAX_REPLAYS = 20_000;

/** The replays of one hook. */
export class Replays {
  readonly #byDigest = new Map<string, Replay>();
  /** The last answer about each Cluster by uid, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  find(digest: string, now: Date): Replay | undefined {
    return this.#standing(this.#byDigest.get(digest), now);
  }

  /** Finds the answer to the same request in other bytes, and expects those bytes from now on. */
  findSubject({ clusterUID, subject }: Asked, digest: string, now: Date): Replay | undefined {
    const kept = this.#kept.get(clusterUID);
    if (kept?.replay.subject !== subject) return undefined;
    const replay = this.#standing(kept.replay, now);
    if (replay === undefined) return undefined;
    this.#byDigest.delete(kept.digest);
    this.#put(digest, replay);
    return replay;
  }

  keep(digest: string, replay: Replay): void {
    this.forget(replay.clusterUID);
    this.#put(digest, replay);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > MAX_REPLAYS && oldest.done !== true) this.forget(oldest.value);
  }

  /**
   * Called when another answer is given about the Cluster, because only the last one is repeated, or when it is
   * deleted.
   */
  forget(clusterUID: string): void {
    const kept = this.#kept.get(clusterUID);
    if (kept === undefined) return;
    this.#kept.delete(clusterUID);
    this.#byDigest.delete(kept.digest);
  }

  #put(digest: string, replay: Replay): void {
    this.#byDigest.set(digest, replay);
    this.#kept.set(replay.clusterUID, { replay, digest });
  }

  #standing(replay: Replay | undefined, now: Date): Replay | undefined {
    if (replay === undefined || replay.stands(now)) return replay;
    this.forget(replay.clusterUID);
    return undefined;
  }
}
