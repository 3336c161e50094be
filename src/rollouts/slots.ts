/** The slots in use: claims in the status, and Clusters that show Cluster API's mark. */

import type { HookRolloutStatus, RolloutClaim } from "../api/hookpolicy.ts";
import { readTimestamp } from "../policy/instant.ts";
import { type Labels, lookup } from "../policy/selector.ts";
import { slotsOf } from "./limit.ts";
import type { Member } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";

/** One Cluster in operation. */
interface Slot {
  readonly stage: string | undefined;
  /** "Gone": the Cluster is no member any more. */
  readonly labels: Labels | "Gone";
}

/** Who asks for a slot. */
export interface Room {
  readonly stage: CompiledStage;
  readonly labels: Labels;
}

export class Slots {
  readonly #rollout: CompiledRollout;
  readonly #members: number;
  readonly #used = new Map<string, Slot>();
  readonly #sizes = new Map<string, number>();
  /** Members by the value of a label that they are spread over. */
  readonly #values = new Map<string, Map<string | undefined, number>>();

  /** `members`: as they are at one instant; `except`: the Cluster that asks does not count. */
  constructor(
    rollout: CompiledRollout,
    status: Pick<HookRolloutStatus, "running" | "failed">,
    members: readonly Member[],
    now: Date,
  ) {
    this.#rollout = rollout;
    this.#members = members.length;
    const ended = new Set((status.failed ?? []).filter(endsSlot).map(({ uid }) => uid));
    const byUID = new Map(members.map((member) => [member.metadata.uid, member]));
    for (const claim of status.running ?? []) {
      if (isOverdue(rollout, claim, now)) ended.add(claim.uid);
      else this.#used.set(claim.uid, slotOf(byUID.get(claim.uid), claim.stage));
    }
    for (const member of members) {
      const { uid } = member.metadata;
      if (member.marked && !ended.has(uid)) this.#used.set(uid, slotOf(member, undefined));
      const { name = "" } = member.stage ?? {};
      this.#sizes.set(name, (this.#sizes.get(name) ?? 0) + 1);
      for (const { labelKey } of rollout.spread)
        this.#countValue(labelKey, lookup(member.metadata.labels, labelKey));
    }
  }

  get used(): number {
    return this.#used.size;
  }

  has(uid: string): boolean {
    return this.#used.has(uid);
  }

  take(uid: string, { stage, labels }: Room): void {
    this.#used.set(uid, { stage: stage.name, labels });
  }

  free(uid: string): void {
    this.#used.delete(uid);
  }

  /** How many more may begin, whatever their stage. */
  get left(): number {
    return Math.max(0, slotsOf(this.#rollout.maxConcurrency, this.#members) - this.#used.size);
  }

  /** Whether one more fits in total, in its stage, and for its labels. */
  hasRoom(room: Room): boolean {
    return (
      this.left > 0 &&
      this.#hasStageRoom(room.stage) &&
      this.#rollout.spread.every((spread) => this.#fits(spread, room))
    );
  }

  #hasStageRoom({ name, maxConcurrency }: CompiledStage): boolean {
    if (maxConcurrency === undefined) return true;
    const used = count(this.#used.values(), ({ stage }) => stage === name);
    return used < slotsOf(maxConcurrency, this.#sizes.get(name) ?? 0);
  }

  /** A missing label is a value of its own. */
  #fits({ labelKey, maxConcurrency }: CompiledRollout["spread"][number], { labels }: Room): boolean {
    const value = lookup(labels, labelKey);
    const used = count(
      this.#used.values(),
      (slot) => slot.labels !== "Gone" && lookup(slot.labels, labelKey) === value,
    );
    return used < slotsOf(maxConcurrency, this.#values.get(labelKey)?.get(value) ?? 0);
  }

  #countValue(labelKey: string, value: string | undefined): void {
    const counts = this.#values.get(labelKey) ?? new Map<string | undefined, number>();
    this.#values.set(labelKey, counts.set(value, (counts.get(value) ?? 0) + 1));
  }
}

/** Whether the deadline has passed: the Cluster has failed, and its slot is free. */
export function isOverdue(
  { progressDeadlineMs }: CompiledRollout,
  { claimedAt }: Pick<RolloutClaim, "claimedAt">,
  now: Date,
): boolean {
  const since = readTimestamp(claimedAt);
  return since !== undefined && now.getTime() - since.getTime() >= progressDeadlineMs;
}

/** The failures of Clusters that may still show the mark. */
export const DEADLINE_EXCEEDED = "ProgressDeadlineExceeded";
/** The mark of a Cluster that never had a slot: it counts until the deadline, and never halts the rollout. */
export const UNCLAIMED = "UnclaimedOperation";
export const UNHEALTHY = "Unhealthy";

function endsSlot({ reason }: { readonly reason: string }): boolean {
  return reason === DEADLINE_EXCEEDED || reason === UNCLAIMED;
}

function slotOf(member: Member | undefined, claimed: string | undefined): Slot {
  return {
    stage: member?.stage?.name ?? claimed,
    labels: member === undefined ? "Gone" : member.metadata.labels,
  };
}

function count<T>(all: Iterable<T>, isOne: (one: T) => boolean): number {
  let found = 0;
  for (const one of all) if (isOne(one)) found += 1;
  return found;
}
