/** What HookRollouts say about an operation that every policy releases, as far as their stored status tells. */

import type { RolloutCandidate, RolloutClaim } from "../../api/hookpolicy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { covers, isActive } from "../../policy/override.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import type { World } from "../../policy/world.ts";
import { refusalOf } from "../../rollouts/claim.ts";
import { type Hold, holdText } from "../../rollouts/holdtext.ts";
import { slotsOf } from "../../rollouts/limit.ts";
import { BEGINS, type Member, memberOf } from "../../rollouts/member.ts";
import { openGate, promotionQueries, type Situation } from "../../rollouts/promotion.ts";
import { isOverdue } from "../../rollouts/slots.ts";
import { countingFailures, haltingStage } from "../../rollouts/stages.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";

export interface ExplainedRollout {
  readonly rollout: string;
  readonly mode: "Enforce" | "Audit";
  readonly holds: boolean;
  /** CamelCase constant. */
  readonly reason: string;
  /** The stage of the Cluster or, if that is closed, the one that it waits for. */
  readonly stage?: string;
  readonly retryAfterSeconds: number;
  /** If it holds: as Cluster API shows it. */
  readonly message: string;
  /** What the status says besides. */
  readonly because: readonly string[];
}

/** Whether an operation is one that rollouts hold, and the state of the Cluster. */
export interface Wanted {
  readonly world: World;
  readonly call: HookCall;
  readonly at: Date;
}

/** In the order in which the operator asks them. */
export function explainRollouts(fleet: Fleet, wanted: Wanted): readonly ExplainedRollout[] {
  return asking(fleet, wanted).map(({ known, member }) => explainRollout(known, member, wanted));
}

/** The objects that the gates of stages look at for this Cluster. */
export function rolloutQueries(fleet: Fleet, wanted: Wanted): readonly ObjectQuery[] {
  return asking(fleet, wanted).flatMap(({ member: { stage } }) =>
    stage === undefined ? [] : promotionQueries(stage, situationOf(wanted)),
  );
}

/** The rollouts that select the Cluster for this operation. */
function asking(
  { rollouts }: Fleet,
  { world, call }: Wanted,
): readonly { readonly known: FleetRollout; readonly member: Member }[] {
  const { cluster, namespace } = world;
  if (cluster.topology === undefined) return [];
  return rollouts.flatMap((known) => {
    if (BEGINS[known.compiled.operation] !== call.hook) return [];
    const member = memberOf(known.compiled, cluster.metadata, namespace);
    return member === undefined ? [] : [{ known, member }];
  });
}

interface Passing {
  readonly holds: false;
  readonly reason: string;
  readonly because: readonly string[];
}

interface Holding {
  readonly holds: true;
  readonly reason: Hold["reason"];
  readonly because: readonly string[];
  readonly stage?: string | undefined;
  /** What a gate of the stage waits for. */
  readonly wanted?: string;
}

type Found = Passing | Holding;

function explainRollout(known: FleetRollout, member: Member, wanted: Wanted): ExplainedRollout {
  const { compiled } = known;
  const { name, mode, retryAfterSeconds } = compiled;
  const found = findingOf(known, member, wanted);
  if (!found.holds) return { rollout: name, mode, ...found, retryAfterSeconds: 0, message: "" };
  const { stage, wanted: text = "", reason, because } = found;
  const hold = { rollout: name, reason, ...(stage !== undefined && { stage }), retryAfterSeconds };
  const holds = mode === "Enforce";
  return {
    ...hold,
    mode,
    holds,
    because,
    retryAfterSeconds: holds ? retryAfterSeconds : 0,
    message: holdText({ ...hold, wanted: text }),
  };
}

const passes = (reason: string, ...because: string[]): Passing => ({ holds: false, reason, because });

function findingOf(known: FleetRollout, member: Member, wanted: Wanted): Found {
  const { compiled, status } = known;
  const { world, call, at } = wanted;
  const lifting = world.overrides.find(
    (override) =>
      isActive(override, world.cluster, call.hook, at) &&
      covers(override, { kind: "HookRollout", name: compiled.name }),
  );
  if (lifting !== undefined) return passes("Overridden", `overridden by HookOverride ${lifting.name}`);
  if (member.marked) return passes("Running", "its operation runs already");
  const target = compiled.operation === "Upgrade" ? (targetVersion(call) ?? "") : "";
  const refusal = refusalOf(compiled, status, { stage: member.stage, target }, at);
  if (refusal !== undefined)
    return {
      holds: true,
      reason: refusal.reason,
      stage: refusal.stage ?? member.stage?.name,
      because: why(known, refusal, target),
    };
  const { stage } = member;
  if (stage === undefined) return { holds: true, reason: "NoStage", because: [] };
  const open = openGate(stage, situationOf(wanted));
  if (open !== undefined) {
    const text = `gate ${open.gate} waits for ${open.wanted}`;
    return { holds: true, reason: "GateOpen", stage: stage.name, wanted: text, because: [] };
  }
  return turnOf(known, { member, stage: stage.name, target, at });
}

function situationOf({ world, call, at }: Wanted): Situation {
  return { world, call, now: at };
}

interface Turn {
  readonly member: Member;
  readonly stage: string;
  readonly target: string;
  readonly at: Date;
}

/** Spread limits are only seen in the queue: the status has no labels. */
function turnOf({ compiled, status }: FleetRollout, { member, stage, target, at }: Turn): Found {
  const { uid } = member.metadata;
  const claims = (status.running ?? []).filter((claim) => !isOverdue(compiled, claim, at));
  if (claims.some((claim) => claim.uid === uid && (claim.target ?? "") === target))
    return passes("HasSlot", "it has a slot, and may begin when Cluster API asks again");
  const stages = status.targets?.find(({ version = "" }) => version === target)?.stages ?? [];
  const sizes = new Map(stages.map(({ name, members }) => [name, members]));
  const all = [...sizes.values()].reduce((sum, members) => sum + members, 0);
  const limit = slotsOf(compiled.maxConcurrency, all);
  const inStage = claims.filter((claim) => claim.stage === stage);
  const own = compiled.stages.find(({ name }) => name === stage)?.maxConcurrency;
  const stageLimit = own === undefined ? Infinity : slotsOf(own, sizes.get(stage) ?? 0);
  const queue = status.next ?? [];
  const place = queue.findIndex((each) => isOf(each, { metadata: member.metadata }));
  const line =
    place < 0 ? "it is not among the first of the queue" : `it is number ${place + 1} of the queue`;
  const holds = { holds: true, stage } as const;
  if (claims.length >= limit)
    return { ...holds, reason: "NoFreeSlot", because: [inUse(claims, limit, "all slots"), line] };
  if (inStage.length >= stageLimit)
    return {
      ...holds,
      reason: "NoFreeSlot",
      because: [inUse(inStage, stageLimit, `all slots of stage ${stage}`), line],
    };
  const free = Math.min(limit - claims.length, stageLimit - inStage.length);
  if (place < 0 && queue.length > 0) return { ...holds, reason: "NotItsTurn", because: [line] };
  if (place >= free || compiled.spread.length > 0)
    return {
      ...holds,
      reason: "NotItsTurn",
      because: [`${free} free, and ${line}`, ...spreadNote(compiled)],
    };
  return passes(
    "SlotFree",
    `a slot is free, and ${place < 0 ? "no Cluster" : "none before it"} waits for it`,
  );
}

/** The queue names Clusters without their uid. */
export function isOf(
  { namespace, name }: Pick<RolloutCandidate, "namespace" | "name">,
  { metadata }: Pick<Cluster, "metadata">,
): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}

function spreadNote({ spread }: FleetRollout["compiled"]): string[] {
  const keys = spread.map(({ labelKey }) => labelKey).join(", ");
  return spread.length === 0 ? [] : [`only so many Clusters with the same value of ${keys} run at once`];
}

const SHOWN = 5;

function inUse(claims: readonly RolloutClaim[], limit: number, what: string): string {
  if (limit === 0) return "maxConcurrency is 0, so nothing begins";
  const names = claims.slice(0, SHOWN).map(({ namespace, name }) => `${namespace}/${name}`);
  const more = claims.length > SHOWN ? ` and ${claims.length - SHOWN} more` : "";
  return `${what} (${limit}) are in use, by ${names.join(", ")}${more}`;
}

function why(
  { compiled, status, pauseReason }: FleetRollout,
  { reason, stage }: { readonly reason: string; readonly stage?: string },
  target: string,
): readonly string[] {
  if (reason === "InvalidSpec") return [compiled.problem ?? ""];
  if (reason === "Paused") return pauseReason === undefined ? [] : [`it was paused because: ${pauseReason}`];
  if (reason === "Halted") return failures(compiled, status);
  if (reason === "NotReady")
    return (status.conditions ?? [])
      .filter((each) => each.type === "Ready" && each.status !== "True")
      .map(({ message }) => message);
  if (reason !== "StageClosed") return [];
  const row = status.targets
    ?.find(({ version = "" }) => version === target)
    ?.stages.find(({ name }) => name === stage);
  if (row === undefined) return [`the status does not say yet how far stage ${stage} is to ${target}`];
  const { members, succeeded, running, failed, notAsked, soakingSince } = row;
  return [
    `stage ${stage} to ${target}: ${succeeded} of ${members} succeeded, ${running} running, ${failed} failed, ${notAsked} not asked`,
    ...(soakingSince === undefined ? [] : [`minSuccessTime counts from ${soakingSince}`]),
  ];
}

function failures(compiled: FleetRollout["compiled"], status: FleetRollout["status"]): readonly string[] {
  const stage = haltingStage(compiled, status);
  const failed = stage === undefined ? [] : countingFailures(compiled, status.failed, stage.name);
  return failed
    .slice(0, SHOWN)
    .map(({ namespace, name, reason, time }) => `${namespace}/${name} failed at ${time} (${reason})`);
}
