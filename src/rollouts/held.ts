/** The operations that a rollout holds after every policy has released them, as this replica's memory shows them. */

import { type HookRolloutStatus, MAX_HELD, MAX_ROW_MESSAGE, type RolloutHeld } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { compareText } from "../lib/compare-text.ts";
import { namespacedName } from "../lib/keys.ts";
import { printable } from "../lib/printable.ts";
import type { Decider } from "../memory/decider.ts";
import { expectedCall } from "../operations/call.ts";
import { timestamp } from "../lib/instant.ts";
import { truncate } from "../policy/message.ts";
import type { Situation } from "../policy/world.ts";
import { graceOf, whoBegins } from "./claim.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "./hold.ts";
import type { Member } from "./member.ts";
import type { CompiledRollout } from "./rollout.ts";
import type { RolloutQueue } from "./rollout-queue.ts";
import type { Slots } from "./slots.ts";

/** An operation that the Cluster shows to be wanted, without a slot that it may use. */
export interface AskedOperation {
  readonly member: Member;
  readonly cluster: Cluster;
  readonly target: string;
  readonly firstAsked: Date;
  /** Its slot was not used in time, and is free again soon. */
  readonly claimExpires: boolean;
  /** Whether it may begin once it has a slot. */
  readonly isOpen: boolean;
}

export type HeldRows = Required<Pick<HookRolloutStatus, "held" | "heldOmitted">>;

interface Entry {
  readonly rollout: CompiledRollout;
  readonly status: HookRolloutStatus | undefined;
  readonly hook: HookName;
  readonly queue: RolloutQueue;
  readonly held: readonly AskedOperation[];
}

export interface HeldWorld {
  /** What policies and memory say about operations, and what the gates of stages look at. */
  readonly decider: Pick<Decider, "firstAsked" | "policiesHold" | "worldOf">;
  readonly now: () => Date;
}

/**
 * A Cluster for which a slot is free, and about which Cluster API does not call, is not held. `slots`: with those of the
 * Clusters whose turn it is.
 */
export function isHeld(
  entry: Entry,
  known: HeldWorld,
  operation: AskedOperation,
  { slots, nowMs }: { readonly slots: Slots; readonly nowMs: number },
): boolean {
  const { rollout, hook, queue } = entry;
  const { cluster, member } = operation;
  if (known.decider.policiesHold(cluster, hook)) return false;
  const situation = situationOf(entry, known, cluster);
  if (liftingOverride(rollout, situation) !== undefined) return false;
  const { stage, values, metadata } = member;
  if (stage === undefined || !operation.isOpen) return true;
  const { uid } = metadata;
  const isAsking = queue.isAsking(uid, nowMs - graceOf(rollout));
  const mayBegin = queue.mayBegin(uid) || (!isAsking && slots.hasRoom({ stage, values }));
  return !mayBegin || closing(entry, operation, situation) !== undefined;
}

export function oldestFirst(a: AskedOperation, b: AskedOperation): number {
  const [first, second] = [a, b].map(({ cluster }) => namespacedName(cluster.metadata));
  return a.firstAsked.getTime() - b.firstAsked.getTime() || compareText(first ?? "", second ?? "");
}

/** Only those that the status has room for are explained, because gates cost steps. */
export function heldRows(entry: Entry, known: HeldWorld): HeldRows {
  const shown = entry.held.slice(0, MAX_HELD);
  return {
    held: shown.map((operation) => rowOf(entry, known, operation)),
    heldOmitted: entry.held.length - shown.length,
  };
}

function rowOf(entry: Entry, known: HeldWorld, operation: AskedOperation): RolloutHeld {
  const { member, cluster, target, firstAsked } = operation;
  const { stage } = member;
  const hold =
    closing(entry, operation, situationOf(entry, known, cluster)) ??
    holdOf(entry.rollout, {
      reason: operation.claimExpires ? "ClaimExpires" : "NoFreeSlot",
      stage: stage?.name,
    });
  return {
    ...whoBegins(member.metadata, { target, stage }),
    reason: hold.reason,
    message: truncate(printable(holdText(hold)), MAX_ROW_MESSAGE),
    since: timestamp(firstAsked),
  };
}

/** `undefined`: it may begin once it has a slot. */
function closing(
  { rollout, status }: Entry,
  { member: { stage, mayBeIn }, target }: AskedOperation,
  situation: Situation,
): Hold | undefined {
  if (mayBeIn !== undefined) return holdOf(rollout, { reason: "TooLarge" });
  return closedFor(rollout, status, { stage, target }, situation);
}

function situationOf({ hook }: Entry, { decider, now }: HeldWorld, cluster: Cluster): Situation {
  return { world: decider.worldOf(cluster), call: expectedCall(hook, cluster), now: now() };
}
