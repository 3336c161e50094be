/** Finds out from a rollout's status whether it has a free slot, and whether it is the Cluster's turn. */

import { firstNames } from "../../lib/first-names.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { RolloutCandidate, RolloutClaim } from "../../api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../api/meta.ts";
import { type Hold, holdOf } from "../../rollouts/hold.ts";
import { slotsOf } from "../../rollouts/limit.ts";
import { isOverdue } from "../../rollouts/slots.ts";
import type { FleetRollout } from "../fleet/fleet.ts";

export type RolloutAnswer = { readonly because: readonly string[] } & (
  | { readonly holds: false; readonly reason: string }
  /** `hasNoSlots`: its limit is no slot at all. `lacksNamespace`: a namespaceSelector of a stage may select it. */
  | {
      readonly holds: true;
      readonly hold: Hold;
      readonly hasNoSlots?: boolean;
      readonly lacksNamespace?: boolean;
    }
);

export const passes = (reason: string, ...because: string[]): RolloutAnswer => ({
  holds: false,
  reason,
  because,
});

interface Turn {
  readonly metadata: ObjectMeta;
  readonly stage: string;
  readonly target: string;
  readonly at: Date;
}

export function turnOf(known: FleetRollout, turn: Turn): RolloutAnswer {
  const { compiled, status } = known;
  const { metadata, stage, target, at } = turn;
  const claims = (status.running ?? []).filter((claim) => !isOverdue(compiled, claim, at));
  if (claims.some(({ uid, target: its = "" }) => uid === metadata.uid && its === target))
    return passes("HasSlot", "it has a slot, and may begin when Cluster API asks again");
  const queue = status.next ?? [];
  const place = queue.findIndex((each) => isOf(each, { metadata }));
  const line =
    place < 0 ? "it is not among the first of the queue" : `it is number ${place + 1} of the queue`;
  const limits = limitsOf(known, claims, turn);
  const full = limits.find(({ used, limit }) => used.length >= limit);
  if (full !== undefined)
    return {
      holds: true,
      hold: holdOf(compiled, { reason: "NoFreeSlot", stage }),
      hasNoSlots: full.limit === 0,
      because: [inUse(full), line],
    };
  const free = Math.min(...limits.map(({ used, limit }) => limit - used.length));
  const isFirst = place < 0 ? queue.length === 0 : place < free;
  if (isFirst && compiled.spread.length === 0) return passes("SlotFree", "a slot is free for it");
  const because = [`${free} free, and ${line}`, ...spreadNote(compiled)];
  return { holds: true, hold: holdOf(compiled, { reason: "NotItsTurn", stage }), because };
}

interface UsedLimit {
  readonly used: readonly RolloutClaim[];
  readonly limit: number;
  readonly what: string;
}

/** The limits of the rollout and of the stage. The limits of a spread are unknown, because the status has no labels. */
function limitsOf(
  { compiled, status }: FleetRollout,
  claims: readonly RolloutClaim[],
  { stage, target }: Turn,
): readonly UsedLimit[] {
  const rows = status.targets?.find(({ version = "" }) => version === target)?.stages ?? [];
  const all = rows.reduce((sum, { members }) => sum + members, 0);
  const total = { used: claims, limit: slotsOf(compiled.maxConcurrency, all), what: "all slots" };
  const own = compiled.stages.find(({ name }) => name === stage)?.maxConcurrency;
  if (own === undefined) return [total];
  const members = rows.find(({ name }) => name === stage)?.members ?? 0;
  const used = claims.filter((claim) => claim.stage === stage);
  return [total, { used, limit: slotsOf(own, members), what: `all slots of stage ${stage}` }];
}

/** The queue names Clusters without their uid. */
function isOf(
  { namespace, name }: Pick<RolloutCandidate, "namespace" | "name">,
  { metadata }: Pick<Cluster, "metadata">,
): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}

function spreadNote({ spread }: FleetRollout["compiled"]): string[] {
  const keys = spread
    .map(({ labelKey, from }) => (from === "Namespace" ? `${labelKey} of the Namespace` : labelKey))
    .join(", ");
  return spread.length === 0 ? [] : [`only so many Clusters with the same value of ${keys} run at once`];
}

const SHOWN = 5;

function inUse({ used, limit, what }: UsedLimit): string {
  if (limit === 0) return "maxConcurrency is 0, so nothing begins";
  return `${what} (${limit}) are in use, by ${firstNames(used.map(namespacedName), SHOWN)}`;
}
