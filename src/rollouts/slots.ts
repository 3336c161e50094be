/** The slots in use, which are those of claims in the status, and of Clusters that show Cluster API's mark. */

import type { HookRolloutStatus, RolloutClaim } from "../api/hook-policy.ts";
import { readTimestamp } from "../policy/instant.ts";
import { type Limit, slotsOf } from "./limit.ts";
import type { Member, SpreadValues } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";

interface Slot {
  readonly stage: string | undefined;
  /** "Gone": the Cluster is no longer a member; "Any": its labels are unknown. */
  readonly values: SpreadValues | "Gone" | "Any";
}

/** What the limits for a Cluster that asks for a slot depend on. */
export interface Room extends Pick<Member, "values"> {
  readonly stage: CompiledStage;
}

export class Slots {
  readonly #rollout: CompiledRollout;
  readonly #members: number;
  readonly #used = new Map<string, Slot>();
  /** The slots in use by stage, and by the value of each label that they are spread over. */
  readonly #usedIn = new Tally();
  readonly #usedOf: readonly Tally[];
  /** The slots in use that count in every stage, and for every value. */
  #usedAnywhere = 0;
  /** The members by stage, and by the value of each of these labels. */
  readonly #sizes = new Tally();
  readonly #sizesOf: readonly Tally[];

  constructor(
    rollout: CompiledRollout,
    status: Pick<HookRolloutStatus, "running" | "failed">,
    members: readonly Member[],
    now: Date,
  ) {
    this.#rollout = rollout;
    this.#members = members.filter(({ mayBeIn }) => mayBeIn === undefined).length;
    this.#usedOf = rollout.spread.map(() => new Tally());
    this.#sizesOf = rollout.spread.map(() => new Tally());
    const ended = new Set((status.failed ?? []).filter(endsSlot).map(({ uid }) => uid));
    for (const claim of status.running ?? []) {
      if (isOverdue(rollout, claim, now)) ended.add(claim.uid);
      else this.#put(claim.uid, { stage: claim.stage, values: "Gone" });
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
    if (mayBeIn !== undefined) {
      if (isUsed) this.#put(uid, { stage: undefined, values: "Any" });
      return;
    }
    if (isUsed) this.#put(uid, { stage: stage?.name ?? claimed?.stage, values });
    this.#sizes.add(stage?.name, 1);
    for (const [index, sizes] of this.#sizesOf.entries()) sizes.add(values[index], 1);
  }

  has(uid: string): boolean {
    return this.#used.has(uid);
  }

  take(uid: string, { stage, values }: Room): void {
    this.#put(uid, { stage: stage.name, values });
  }

  free(uid: string): void {
    const slot = this.#used.get(uid);
    if (slot === undefined) return;
    this.#used.delete(uid);
    this.#count(slot, -1);
  }

  #put(uid: string, slot: Slot): void {
    this.free(uid);
    this.#used.set(uid, slot);
    this.#count(slot, 1);
  }

  #count({ stage, values }: Slot, by: 1 | -1): void {
    this.#usedIn.add(stage, by);
    if (values === "Any") this.#usedAnywhere += by;
    if (typeof values === "string") return;
    for (const [index, used] of this.#usedOf.entries()) used.add(values[index], by);
  }

  /** How many more Clusters may begin, whatever their stage. */
  get left(): number {
    return Math.max(0, slotsOf(this.#rollout.maxConcurrency, this.#members) - this.#used.size);
  }

  /** Whether there is a slot: of the rollout, of the stage, and for the labels. */
  hasRoom(room: Room): boolean {
    return (
      this.left > 0 &&
      this.#hasStageRoom(room.stage) &&
      this.#rollout.spread.every(({ maxConcurrency }, index) => this.#fits(maxConcurrency, index, room))
    );
  }

  #hasStageRoom({ name, maxConcurrency }: CompiledStage): boolean {
    if (maxConcurrency === undefined) return true;
    return this.#usedIn.of(name) + this.#usedAnywhere < slotsOf(maxConcurrency, this.#sizes.of(name));
  }

  #fits(maxConcurrency: Limit, index: number, { values }: Room): boolean {
    const [used, all] = [this.#usedOf, this.#sizesOf].map((each) => each[index]?.of(values[index]) ?? 0);
    return (used ?? 0) + this.#usedAnywhere < slotsOf(maxConcurrency, all ?? 0);
  }
}

/** Whether progressDeadline has passed, so that the Cluster has failed, and its slot is free. Tasks have deadlines of their own. */
export function isOverdue(
  { progressDeadlineMs }: CompiledRollout,
  { claimedAt, tasks }: Pick<RolloutClaim, "claimedAt" | "tasks">,
  now: Date,
): boolean {
  if (tasks === true) return false;
  const since = readTimestamp(claimedAt);
  return since !== undefined && now.getTime() - since.getTime() >= progressDeadlineMs;
}

/** The Cluster may still show the mark. */
export const DEADLINE_EXCEEDED = "ProgressDeadlineExceeded";
/** The Cluster shows the mark but never had a slot. It counts until the deadline, and never halts the rollout. */
export const UNCLAIMED = "UnclaimedOperation";
export const UNHEALTHY = "Unhealthy";
/** The version changed while the upgrade ran, so no slot was taken for it; the Cluster keeps its slot until it ends. */
export const VERSION_CHANGED = "VersionChanged";

function endsSlot({ reason }: { readonly reason: string }): boolean {
  return reason === DEADLINE_EXCEEDED || reason === UNCLAIMED;
}

class Tally {
  readonly #counts = new Map<string | undefined, number>();

  of(value: string | undefined): number {
    return this.#counts.get(value) ?? 0;
  }

  add(value: string | undefined, by: 1 | -1): void {
    this.#counts.set(value, this.of(value) + by);
  }
}
