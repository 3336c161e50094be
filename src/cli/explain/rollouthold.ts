/** Explains what HookRollouts say about an operation that every policy releases, as far as their status shows it. */

import { CONDITION } from "../../api/hookpolicy.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { covers, isActive } from "../../policy/override.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import type { World } from "../../policy/world.ts";
import { refusalOf } from "../../rollouts/claim.ts";
import { holdText } from "../../rollouts/holdtext.ts";
import { BEGINS, type Member, memberOf } from "../../rollouts/member.ts";
import { openGate, promotionQueries, type Situation } from "../../rollouts/promotion.ts";
import { countingFailures, haltingStage } from "../../rollouts/stages.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";
import { type Found, passes, turnOf } from "./rolloutturn.ts";

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
  /** Further lines from the status. */
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
  return turnOf(known, { metadata: member.metadata, stage: stage.name, target, at });
}

function situationOf({ world, call, at }: Wanted): Situation {
  return { world, call, now: at };
}

function why(
  { compiled, status, pauseReason }: FleetRollout,
  { reason, stage }: { readonly reason: string; readonly stage?: string },
  target: string,
): readonly string[] {
  if (reason === "InvalidSpec") return [compiled.problem ?? ""];
  if (reason === "Paused") return pauseReason === undefined ? [] : [`it was paused because: ${pauseReason}`];
  if (reason === "Halted") return failures(compiled, status);
  if (reason === "NotReady") return unready(status);
  return reason === "StageClosed" ? progress(status, stage, target) : [];
}

function progress(
  { targets }: FleetRollout["status"],
  stage: string | undefined,
  target: string,
): readonly string[] {
  const row = targets
    ?.find(({ version = "" }) => version === target)
    ?.stages.find(({ name }) => name === stage);
  if (row === undefined) return [`the status does not say yet how far stage ${stage} is to ${target}`];
  const { members, succeeded, running, failed, notAsked, soakingSince } = row;
  return [
    `stage ${stage} to ${target}: ${succeeded} of ${members} succeeded, ${running} running, ${failed} failed, ${notAsked} not asked`,
    ...(soakingSince === undefined ? [] : [`minSuccessTime counts from ${soakingSince}`]),
  ];
}

function unready({ conditions = [] }: FleetRollout["status"]): readonly string[] {
  return conditions
    .filter(({ type, status }) => type === CONDITION.Ready && status !== "True")
    .map(({ message }) => message);
}

const SHOWN = 5;

function failures(compiled: FleetRollout["compiled"], status: FleetRollout["status"]): readonly string[] {
  const stage = haltingStage(compiled, status);
  const failed = stage === undefined ? [] : countingFailures(compiled, status.failed, stage.name);
  return failed
    .slice(0, SHOWN)
    .map(({ namespace, name, reason, time }) => `${namespace}/${name} failed at ${time} (${reason})`);
}
