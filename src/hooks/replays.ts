/**
 * Repeats answers, because Cluster API repeats its call while it waits. While a decision stands it is not computed
 * again, and a request with the very same bytes is not even parsed. Only for answers that hold: every release is
 * confirmed again.
 */

import type { Standing } from "../policy/standing.ts";
import type { WholeBody } from "../server/wholebody.ts";
import type { AnswerVerdict } from "./answerlog.ts";
import type { Subject } from "./codec.ts";

export interface Replay {
  readonly subject: Subject;
  readonly verdict: AnswerVerdict;
  /** The JSON text of the answer. */
  readonly text: string;
  readonly stands: Standing;
}

interface Kept {
  readonly replay: Replay;
  /** The print of the last request; older ones are useless. */
  readonly print: number | undefined;
  /** The beginning of its body, with the uid of the Cluster. */
  readonly head: string;
}

const MAX_REPLAYS = 20_000;
/** In bytes. Cluster API sends the settings and the uid first. */
const MAX_HEAD = 2 * 1024;

/** The replays of one hook. */
export class Replays {
  readonly #byPrint = new Map<number, Kept>();
  /** The last answer about each Cluster by uid, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  /**
   * Bytes of the same print may differ, by chance or because a client wants it. Those with the same head are about the
   * same Cluster nevertheless, and an answer is found here only if it would be the same for every call about it.
   */
  find(body: WholeBody, now: Date): Replay | undefined {
    const print = body.print();
    const kept = print === undefined ? undefined : this.#byPrint.get(print);
    return kept !== undefined && body.startsWith(kept.head) ? this.#standing(kept.replay, now) : undefined;
  }

  /** Finds the answer to a request in other bytes, and expects those bytes from now on. */
  findSubject(subject: Subject, body: WholeBody, now: Date): Replay | undefined {
    const kept = this.#kept.get(subject.clusterUID);
    if (kept === undefined || !isAbout(kept.replay, subject)) return undefined;
    const replay = this.#standing(kept.replay, now);
    if (replay === undefined) return undefined;
    this.#drop(kept);
    this.#put(body, replay);
    return replay;
  }

  keep(body: WholeBody, replay: Replay): void {
    this.forget(replay.subject.clusterUID);
    this.#put(body, replay);
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
    this.#drop(kept);
  }

  #put(body: WholeBody, replay: Replay): void {
    const { clusterUID } = replay.subject;
    const head = replay.stands.forAnyCall ? headOf(clusterUID, body) : undefined;
    const kept = { replay, print: head === undefined ? undefined : body.print(), head: head ?? "" };
    if (kept.print !== undefined) this.#byPrint.set(kept.print, kept);
    this.#kept.set(clusterUID, kept);
  }

  /** Another Cluster may have taken over the print. */
  #drop(kept: Kept): void {
    if (kept.print !== undefined && this.#byPrint.get(kept.print) === kept) this.#byPrint.delete(kept.print);
  }

  #standing(replay: Replay, now: Date): Replay | undefined {
    if (replay.stands(now)) return replay;
    this.forget(replay.subject.clusterUID);
    return undefined;
  }
}

/** Whether a request about the subject gets the same answer while that stands. */
function isAbout({ subject: { operation, settings }, stands }: Replay, subject: Subject): boolean {
  return operation === subject.operation && (stands.forAnyCall || settings === subject.settings);
}

const UID = '"uid":"';

/**
 * The body up to the first uid in it, which is that of the Cluster in all that Cluster API sends: quotes in names and
 * values are escaped there. `undefined`: this uid is another one, or comes late.
 */
function headOf(clusterUID: string, body: WholeBody): string | undefined {
  return body.headWith(UID, `${clusterUID}"`, MAX_HEAD);
}
