/**
 * Whose turn it is to begin, in this replica's memory. The queue can only hold: rollout-claims.ts takes slots in the API
 * server.
 */

import { entryOf } from "../lib/entry-of.ts";
import { MAX_NEXT, type RolloutCandidate } from "../api/hook-policy.ts";
import { timestamp } from "../lib/instant.ts";
import { graceOf, RENEWABLE_MS } from "./claim.ts";
import { inOrder, orderNumber, type OrderPlace, takeTurns, LastTurns } from "./order.ts";
import type { Slots } from "./slots.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import type { Member } from "./member.ts";

/** A member whose operation the API server shows to be wanted, and that every policy releases. */
export interface WaitingCluster {
  readonly member: Member & { readonly stage: CompiledStage };
  readonly target: string;
  readonly firstAsked: Date;
}

interface QueuePlace extends OrderPlace {
  readonly each: WaitingCluster;
}

export interface QueueInput {
  readonly rollout: CompiledRollout;
  /** Filled by update(). */
  readonly slots: Slots;
  /** Clusters that nothing but their turn holds. One that has a slot gives it for the new one. */
  readonly waiting: readonly WaitingCluster[];
  /** Of the status. */
  readonly turns: readonly string[] | undefined;
}

/** How long a Cluster that did not use its turn, or its slot, waits behind the others. */
const BEHIND_MS = 10 * 60_000;

/** By uid; all times are monotonic milliseconds. */
export class RolloutQueue {
  /** The last call of each. */
  readonly #asked = new Map<string, number>();
  /** Since when each Cluster that may begin has been allowed to. */
  readonly #turnSince = new Map<string, number>();
  /** When each Cluster last let its turn pass, and when it last left a slot unused. */
  readonly #passedAt = new Map<string, number>();
  readonly #unusedAt = new Map<string, number>();
  #order: readonly WaitingCluster[] = [];
  #mayBegin: ReadonlySet<string> = new Set();

  asked(uid: string, nowMs: number): void {
    this.#asked.set(uid, nowMs);
  }

  /** The Cluster does not use its turn, so others go first. */
  putBehind(uid: string, nowMs: number): void {
    this.#passedAt.set(uid, nowMs);
  }

  /** The Cluster had a slot for minutes and never began, so all others go first: also those that let a turn pass. */
  leftUnused(uid: string, nowMs: number): void {
    this.#unusedAt.set(uid, nowMs);
  }

  forget(uid: string): void {
    for (const known of [this.#asked, this.#turnSince, this.#passedAt, this.#unusedAt]) known.delete(uid);
  }

  mayBegin(uid: string): boolean {
    return this.#mayBegin.has(uid);
  }

  get order(): readonly WaitingCluster[] {
    return this.#order;
  }

  /** The first Clusters of the queue, for the status. */
  head(): RolloutCandidate[] {
    return this.#order.slice(0, MAX_NEXT).map(({ member: { metadata, stage }, target, firstAsked }) => ({
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      ...(target !== "" && { target }),
      stage: stage.name,
      since: timestamp(firstAsked),
    }));
  }

  /**
   * The first Clusters for which there is room may begin; a Cluster for which there is none does not keep back those behind
   * it.
   */
  update({ rollout, slots, waiting, turns }: QueueInput, nowMs: number): void {
    const graceMs = graceOf(rollout);
    for (const behind of [this.#passedAt, this.#unusedAt])
      for (const [uid, at] of behind) if (nowMs - at >= BEHIND_MS) behind.delete(uid);
    const sorted = this.#sort(rollout, waiting);
    // The status shows the order, so it must not depend on which replica was called.
    const ordered: WaitingCluster[] = [];
    takeTurns(sorted, new LastTurns(turns), ({ each }) => ordered.push(each) > 0);
    const mayBegin = new Set<string>();
    for (const { member } of waiting) {
      const { uid } = member.metadata;
      if (slots.has(uid) && this.isAsking(uid, nowMs - graceMs)) mayBegin.add(uid);
    }
    const begins = ({ each: { member } }: QueuePlace): boolean => {
      const { uid } = member.metadata;
      if (
        mayBegin.has(uid) ||
        slots.left === 0 ||
        this.#rests(uid, nowMs) ||
        !this.isAsking(uid, nowMs - graceMs) ||
        !slots.hasRoom(member)
      )
        return false;
      slots.take(uid, member);
      mayBegin.add(uid);
      return true;
    };
    if (slots.left > 0) takeTurns(sorted, new LastTurns(turns), begins);
    this.#watchGrace(mayBegin, graceMs, nowMs);
    this.#order = ordered;
    this.#mayBegin = mayBegin;
    this.#forgetSilent(nowMs - graceMs);
  }

  /**
   * A Cluster that left a slot unused takes none for a minute, even if no other seems to wait: Cluster API may be late to call
   * about one that does, or that one may not show it for a moment, after a failed reconcile. So does one whose task has failed
   * there: the status does not say why a slot has ended.
   */
  #rests(uid: string, nowMs: number): boolean {
    return nowMs - (this.#unusedAt.get(uid) ?? -Infinity) < RENEWABLE_MS;
  }

  /** Clusters that were put behind stay behind: another extension may make Cluster API call seldom. */
  #forgetSilent(since: number): void {
    const silent = [...this.#asked].filter(([, at]) => at < since);
    if (silent.length === 0) return;
    const waiting = new Set(this.#order.map(({ member }) => member.metadata.uid));
    for (const [uid] of silent) {
      if (waiting.has(uid)) continue;
      this.#asked.delete(uid);
      this.#turnSince.delete(uid);
    }
  }

  isAsking(uid: string, since: number): boolean {
    return (this.#asked.get(uid) ?? -Infinity) >= since;
  }

  #watchGrace(mayBegin: ReadonlySet<string>, graceMs: number, nowMs: number): void {
    for (const uid of this.#turnSince.keys()) if (!mayBegin.has(uid)) this.#turnSince.delete(uid);
    for (const uid of mayBegin) {
      const since = entryOf(this.#turnSince, uid, () => nowMs);
      if (nowMs - since < graceMs) continue;
      this.putBehind(uid, nowMs);
      this.#turnSince.delete(uid);
    }
  }

  #sort({ orderLabelKey }: CompiledRollout, waiting: readonly WaitingCluster[]): readonly QueuePlace[] {
    const places = waiting.map((each) => {
      const { uid, labels, namespace = "", name } = each.member.metadata;
      return {
        each,
        group: this.#unusedAt.has(uid) ? 2 : Number(this.#passedAt.has(uid)),
        order: orderNumber(labels, orderLabelKey),
        namespace,
        since: each.firstAsked.getTime(),
        name,
      };
    });
    return inOrder(places);
  }
}
