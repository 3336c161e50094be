/**
 * Answers to calls that are repeated byte for byte, which is what Cluster API does while it waits: nothing need be
 * parsed or decided again while the decision stands. Only for answers that hold: a go is confirmed each time.
 */

import { hash } from "node:crypto";
import type { AnswerVerdict } from "./answerlog.ts";

export interface Replay {
  readonly clusterUID: string;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly stands: (now: Date) => boolean;
}

const MAX_REPLAYS = 20_000;

/** Of one hook. */
export class Replays {
  readonly #byDigest = new Map<string, Replay>();
  /** Of the last request by uid of the Cluster, the oldest first: there is no use in those before it. */
  readonly #digests = new Map<string, string>();

  find(digest: string, now: Date): Replay | undefined {
    const replay = this.#byDigest.get(digest);
    if (replay === undefined || replay.stands(now)) return replay;
    this.forget(replay.clusterUID);
    return undefined;
  }

  keep(digest: string, replay: Replay): void {
    this.forget(replay.clusterUID);
    this.#byDigest.set(digest, replay);
    this.#digests.set(replay.clusterUID, digest);
    const oldest = this.#digests.keys().next();
    if (this.#digests.size > MAX_REPLAYS && oldest.done !== true) this.forget(oldest.value);
  }

  /** To be called when another answer is given about the Cluster: only the last one is repeated. */
  forget(clusterUID: string): void {
    const digest = this.#digests.get(clusterUID);
    if (digest === undefined) return;
    this.#digests.delete(clusterUID);
    this.#byDigest.delete(digest);
  }
}

/** Whoever reaches the port chooses the bytes: nobody can find two bodies of one digest. */
export function digestOf(body: Buffer): string {
  return hash("sha256", body, "base64");
}
