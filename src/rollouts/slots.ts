/** The slots in use: those of claims in the status, and of Clusters that show Cluster API's mark. */

import type { HookRolloutStatus, RolloutClaim } from "../api/hookpolicy.ts";
import { readTimestamp } from "../policy/instant.ts";
import { type Labels, lookup } from "../policy/selector.ts";
import { slotsOf } from "./limit.ts";
import type { Member } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";

interface Slot {
  readonly stage: string | undefined;
  /** "Gone": the Cluster is no member any more. */
  readonly labels: Labels | "Gone";
}

/** The stage and labels of a Cluster that asks for a slot. */
export interface Room {
  readonly stage: CompiledStage;
  readonly labels: Labels;
}

export class Slots {
  readonly #rollout: CompiledRollout;
  readonly #members: number;
  readonly #used = new Map<string, Slot>();
  /** The slots in use by stage, and by the value of each label that they are spread over. */
  readonly #usedIn = new Tally();
  readonly #usedOf = new Map<string, Tally>();
  /** The members by stage, and by the value of each of these labels. */
  readonly #sizes = new Tally();
  readonly #values = new Map<string, Tally>();

  constructor(
    rollout: CompiledRollout,
    status: Pick<HookRolloutStatus, "running" | "failed">,
    members: readonly Member[],
    now: Date,
  ) {
    this.#rollout = rollout;
    this.#members = members.length;
    for (const { labelKey } of rollout.spread) {
      this.#usedOf.set(labelKey, new Tally());
      this.#values.set(labelKey, new Tally());
    }
    const ended = new Set((status.failed ?? []).filter(endsSlot).map(({ uid }) => uid));
    for (const claim of status.running ?? []) {
      if (isOverdue(rollout, claim, now)) ended.add(claim.uid);
      else this.#put(claim.uid, { stage: claim.stage, labels: "Gone" });
    }
    for (const member of members) this.#countMember(member, ended);
  }

  #countMember({ metadata: { uid, labels }, stage, marked }: Member, ended: ReadonlySet<string>): void {
    const claimed = this.#used.get(uid);
    if (claimed !== undefined || (marked && !ended.has(uid)))
      this.#put(uid, { stage: stage?.name ?? claimed?.stage, labels });
    this.#sizes.add(stage?.name, 1);
    for (const [labelKey, values] of this.#values) values.add(lookup(labels, labelKey), 1);
  }

  has(uid: string): boolean {
    return this.#used.has(uid);
  }

  take(uid: string, { stage, labels }: Room): void {
    this.#put(uid, { stage: stage.name, labels });
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

  #count({ stage, labels }: Slot, by: 1 | -1): void {
    this.#usedIn.add(stage, by);
    if (labels === "Gone") return;
    for (const [labelKey, values] of this.#usedOf) values.add(lookup(labels, labelKey), by);
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
      this.#rollout.spread.every((spread) => this.#fits(spread, room))
    );
  }

  #hasStageRoom({ name, maxConcurrency }: CompiledStage): boolean {
    if (maxConcurrency === undefined) return true;
    return this.#usedIn.of(name) < slotsOf(maxConcurrency, this.#sizes.of(name));
  }

  /** A missing label is a value of its own. */
  #fits({ labelKey, maxConcurrency }: CompiledRollout["spread"][number], { labels }: Room): boolean {
    const value = lookup(labels, labelKey);
    const [used, all] = [this.#usedOf.get(labelKey)?.of(value), this.#values.get(labelKey)?.of(value)];
    return (used ?? 0) < slotsOf(maxConcurrency, all ?? 0);
  }
}

/** Whether progressDeadline has passed: the Cluster has failed, and its slot is free. */
export function isOverdue(
  { progressDeadlineMs }: CompiledRollout,
  { claimedAt }: Pick<RolloutClaim, "claimedAt">,
  now: Date,
): boolean {
  const since = readTimestamp(claimedAt);
  return since !== undefined && now.getTime() - since.getTime() >= progressDeadlineMs;
}

/** The Cluster may still show the mark. */
export const DEADLINE_EXCEEDED = "ProgressDeadlineExceeded";
/** The Cluster shows the mark and never had a slot: it counts until the deadline, and never halts the rollout. */
export const UNCLAIMED = "UnclaimedOperation";
export const UNHEALTHY = "Unhealthy";

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
