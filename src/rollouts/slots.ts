/** The slots in use, which are those of claims in the status, and of Clusters that show Cluster API's mark. */

import type { HookRolloutStatus, RolloutClaim } from "../api/hook-policy.ts";
import { after, readTimestamp } from "../lib/instant.ts";
import { slotsOf } from "./limit.ts";
import type { Member } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";

/** What the limits for a Cluster that asks for a slot depend on. */
export interface Room extends Pick<Member, "values"> {
  readonly stage: CompiledStage;
}

/** The stage, and the values of the labels that slots are spread over, as far as they are known. */
type Places = readonly (string | undefined)[];

/** Of a Cluster whose labels are unknown: it counts in every stage, and for every value. */
const ANYWHERE: Places = [];

export class Slots {
  readonly #rollout: CompiledRollout;
  readonly #members: number;
  readonly #used = new Map<string, Places>();
  readonly #usedIn = new Tally();
  #usedAnywhere = 0;
  readonly #sizes = new Tally();

  constructor(
    rollout: CompiledRollout,
    status: Pick<HookRolloutStatus, "running" | "failed">,
    members: readonly Member[],
    now: Date,
  ) {
    this.#rollout = rollout;
    this.#members = members.filter(({ mayBeIn }) => mayBeIn === undefined).length;
    const ended = new Set((status.failed ?? []).filter(endsSlot).map(({ uid }) => uid));
    for (const claim of status.running ?? []) {
      if (isOverdue(rollout, claim, now)) ended.add(claim.uid);
      else this.#put(claim.uid, [claim.stage]);
    }
    for (const member of members) this.#countMember(member, ended);
  }

  /** A Cluster that may be a member uses slots, and adds none to a percentage. */
  #countMember(
    { metadata: { uid }, stage, mayBeIn, marked, values }: Member,
    ended: ReadonlySet<string>,
  ): void {
    const claimed = this.#used.get(uid);
    const isUsed = claimed !== undefined || (marked && !ended.has(uid));
    const places = mayBeIn !== undefined ? ANYWHERE : [stage?.name ?? claimed?.[0], ...values];
    if (isUsed) this.#put(uid, places);
    if (mayBeIn === undefined) this.#sizes.add([stage?.name, ...values], 1);
  }

  has(uid: string): boolean {
    return this.#used.has(uid);
  }

  take(uid: string, { stage, values }: Room): void {
    this.#put(uid, [stage.name, ...values]);
  }

  /** Takes a slot in place of the one that the Cluster may have; without room, it keeps that one, and this returns false. */
  exchange(uid: string, room: Room): boolean {
    const before = this.#used.get(uid);
    this.free(uid);
    const hasRoom = this.hasRoom(room);
    if (hasRoom) this.take(uid, room);
    else if (before !== undefined) this.#put(uid, before);
    return hasRoom;
  }

  free(uid: string): void {
    const places = this.#used.get(uid);
    if (places !== undefined) this.#count(places, -1);
    this.#used.delete(uid);
  }

  #put(uid: string, places: Places): void {
    this.free(uid);
    this.#used.set(uid, places);
    this.#count(places, 1);
  }

  #count(places: Places, by: 1 | -1): void {
    if (places === ANYWHERE) this.#usedAnywhere += by;
    this.#usedIn.add(places, by);
  }

  /** How many more Clusters may begin, whatever their stage. */
  get left(): number {
    return Math.max(0, slotsOf(this.#rollout.maxConcurrency, this.#members) - this.#used.size);
  }

  /** Whether there is a slot: of the rollout, of the stage, and for the labels. */
  hasRoom({ stage, values }: Room): boolean {
    if (this.left === 0) return false;
    const limits = [stage, ...this.#rollout.spread].map(({ maxConcurrency }) => maxConcurrency);
    return [stage.name, ...values].every((value, place) => {
      const limit = limits[place];
      const used = this.#usedIn.of(place, value) + this.#usedAnywhere;
      return limit === undefined || used < slotsOf(limit, this.#sizes.of(place, value));
    });
  }
}

type TimedClaim = Pick<RolloutClaim, "claimedAt" | "tasks">;

/** When progressDeadline passes, so that the Cluster has failed, and its slot is free. Tasks have deadlines of their own. */
export function deadlineOf(
  { progressDeadlineMs }: CompiledRollout,
  { claimedAt, tasks }: TimedClaim,
): Date | undefined {
  const since = tasks === true ? undefined : readTimestamp(claimedAt);
  return since && after(since, progressDeadlineMs);
}

export function isOverdue(rollout: CompiledRollout, claim: TimedClaim, now: Date): boolean {
  const deadline = deadlineOf(rollout, claim);
  return deadline !== undefined && deadline <= now;
}

/** The Cluster may still show the mark. */
export const DEADLINE_EXCEEDED = "ProgressDeadlineExceeded";
/**
 * The Cluster shows the mark but never had a slot, or is asked about another version (up to Cluster API 1.11) for which it has
 * none. It counts until the deadline, and never halts the rollout.
 */
export const UNCLAIMED = "UnclaimedOperation";
export const UNHEALTHY = "Unhealthy";
/** The version changed while the upgrade ran, so no slot was taken for it; the Cluster keeps its slot until it ends. */
export const VERSION_CHANGED = "VersionChanged";

/** The Cluster may show the mark without a slot. */
export function endsSlot({ reason }: { readonly reason: string }): boolean {
  return reason === DEADLINE_EXCEEDED || reason === UNCLAIMED;
}

class Tally {
  readonly #counts: Map<string | undefined, number>[] = [];

  of(place: number, value: string | undefined): number {
    return this.#counts[place]?.get(value) ?? 0;
  }

  add(places: Places, by: 1 | -1): void {
    for (const [place, value] of places.entries())
      (this.#counts[place] ??= new Map()).set(value, this.of(place, value) + by);
  }
}
