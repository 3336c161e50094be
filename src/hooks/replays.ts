/**
 * Answers to what is asked again, which is what Cluster API does while it waits: nothing need be decided again while the
 * decision stands, and where it is asked in the very same bytes, nothing need be parsed. Only for answers that hold: a
 * go is confirmed each time.
 */

import type { AnswerVerdict } from "./answerlog.ts";
import type { ReceivedRequest } from "./codec.ts";

type Asked = Pick<ReceivedRequest, "clusterUID" | "subject">;

/** Of the request what it is about. */
export interface Replay extends Asked {
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
  readonly #byDigest = new Map<string, Replay>();
  /** The last answer about each Cluster, by uid, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  find(digest: string, now: Date): Replay | undefined {
    return this.#standing(this.#byDigest.get(digest), now);
  }

  /** In other bytes, which are those that are expected from now on. */
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

  /** To be called when another answer is given about the Cluster: only the last one is repeated. Or when it is gone. */
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
