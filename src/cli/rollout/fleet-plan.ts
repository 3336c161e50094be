/** The timeline of a rollout over the Clusters of a fleet. */

import { namespacedName } from "../../lib/keys.ts";
import type {
  HookRollout,
  HookRolloutStatus,
  RolloutAwaited,
  RolloutFailure,
} from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import { hasWorkersBehind } from "../../operations/workers-behind.ts";
import { clusterKey } from "../../views/cluster.ts";
import { readTimestamp } from "../../lib/instant.ts";
import { wants } from "../../rollouts/health.ts";
import { type Plan, type PlanMember, planRollout, type StageProgress } from "../../rollouts/plan.ts";
import {
  asSucceeded,
  countStage,
  isShown,
  type MemberState,
  pinsText,
  type MemberProgress,
} from "../../rollouts/rollout-progress.ts";
import { type CompiledRollout, type CompiledStage, compileRollout } from "../../rollouts/rollout.ts";
import { UNHEALTHY } from "../../rollouts/slots.ts";
import { countingFailures, haltingStage, hasPassed } from "../../rollouts/stages.ts";
import { newestFirst } from "../../rollouts/target-shares.ts";
import { CommandError, USAGE } from "../command.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { asKnown, type Doubts, doubtsOf, type KnownPlan } from "./plan-doubts.ts";
import { type Parts, partsOf, planMember } from "./planned-member.ts";
import { presentStatus, statesOf } from "../fleet/rollout-state.ts";

export interface FleetWish {
  readonly from: Date;
  readonly durationMs: number;
  /** As if every Cluster were asked for this version. Absent: the version that is being rolled out, as it is. */
  readonly version?: string | undefined;
}

export interface FleetPlan extends Plan, KnownPlan, Doubts {
  readonly rollout: CompiledRollout;
  /** Absent: no version is being rolled out, and the plan is about all Clusters. */
  readonly target: string | undefined;
  /** Clusters that do not ask for the version yet: the plan assumes that they do. */
  readonly unasked: readonly string[];
  readonly halted: boolean;
  readonly outside: readonly string[];
  /** Selected Clusters without a topology: Cluster API asks nothing about them. */
  readonly withoutTopology: readonly string[];
}

/** Whether every Cluster can begin, sooner or later. */
export function canHappen({ impossible, never, closed, stageUnknown }: FleetPlan): boolean {
  return [impossible, never, closed, stageUnknown].every(({ length }) => length === 0);
}

interface Start {
  readonly rollout: CompiledRollout;
  readonly stored: HookRolloutStatus;
  readonly status: HookRolloutStatus;
  readonly states: readonly MemberState[];
  readonly wish: FleetWish;
}

/** Throws a CommandError if the rollout is not valid. */
export function planFleet(object: HookRollout, fleet: Fleet, wish: FleetWish): FleetPlan {
  const rollout = compileRollout(object);
  const { name, problem } = rollout;
  if (problem !== undefined) throw new CommandError(USAGE, `HookRollout ${name} is not valid: ${problem}`);
  const stored = object.status ?? {};
  const states = statesOf(rollout, fleet, wish.from);
  const target = wish.version ?? underWay({ rollout, states });
  const given = { compiled: rollout, status: stored };
  const status = presentStatus(given, fleet, states, { at: wish.from, version: target });
  const start: Start = {
    rollout,
    stored,
    status,
    states: target === undefined ? states : states.map(asSucceeded),
    wish,
  };
  const found = target === undefined ? withoutTarget(start) : toTarget(start, target);
  const parts = new Map<string, Parts>();
  const members = start.states.flatMap((state): PlanMember[] => {
    const key = namespacedName(state.cluster.metadata);
    const own = partsOf(rollout, fleet, state, { version: target, from: wish.from });
    parts.set(key, own);
    const is = found.stateOf(state);
    if (is === "Out") return [];
    const staysBehind = found.pinned.has(key);
    return [{ ...planMember(own), ...(is && { state: is }), ...(staysBehind && { staysBehind }) }];
  });
  const halting = haltingStage(rollout, status);
  const failures = halting === undefined ? [] : newFailures(start, halting);
  const halted = halting !== undefined;
  const all = states.map(({ member }) => member);
  const plan = planRollout(rollout, members, { ...wish, status, all, halted, progress: found.progress });
  const known = asKnown(plan, parts);
  const stages = known.plan.stageUnknown.length > 0 ? [] : plan.stages;
  const { impossible, doubts } = doubtsOf({ rollout, states, wish, target, stages, failures }, fleet);
  return {
    ...plan,
    ...known.plan,
    rollout,
    halted: halted && failures.length === 0,
    unasked: found.unasked,
    ...unplanned(rollout, fleet),
    impossible,
    doubts: [...doubts, ...known.doubts],
    target,
  };
}

/** The unhealthy Clusters of the stage without whose failures the rollout is not halted. */
function newFailures(
  { rollout, stored, status }: Pick<Start, "rollout" | "stored" | "status">,
  { name }: CompiledStage,
): readonly RolloutFailure[] {
  const known = new Set(stored.failed?.map(({ uid }) => uid));
  const isNew = ({ uid, reason }: RolloutFailure): boolean => reason === UNHEALTHY && !known.has(uid);
  const others = (status.failed ?? []).filter((failure) => !isNew(failure));
  if (haltingStage(rollout, { ...status, failed: others }) !== undefined) return [];
  return countingFailures(rollout, status.failed, name);
}

function unplanned(rollout: CompiledRollout, fleet: Fleet): Pick<FleetPlan, "outside" | "withoutTopology"> {
  const alike = fleet.rollouts.filter(({ compiled }) => compiled.operation === rollout.operation);
  const selected = new Set(alike.flatMap((each) => fleet.selectedBy(each)));
  const own = alike
    .filter(({ compiled }) => compiled.name === rollout.name)
    .flatMap((each) => fleet.selectedBy(each));
  // One that is being deleted begins nothing else.
  const begins = ({ metadata: { deletionTimestamp } }: Cluster): boolean =>
    rollout.operation === "Delete" || deletionTimestamp === undefined;
  return {
    outside: fleet
      .clusters()
      .filter((cluster) => !selected.has(cluster) && begins(cluster))
      .map(clusterKey),
    withoutTopology: own.filter(({ topology }) => topology === undefined).map(clusterKey),
  };
}

interface FleetState {
  /** "Out": the plan is not about it. */
  readonly stateOf: (state: MemberState) => PlanMember["state"] | "Out";
  readonly progress: ReadonlyMap<string, StageProgress>;
  readonly unasked: readonly string[];
  /** Clusters that begin and do not succeed: their workers are pinned to an older version. */
  readonly pinned: ReadonlySet<string>;
}

/** The newest version that one Cluster has or asks for, and another does not have. A file may have no status: it tells neither. */
function underWay({ rollout, states }: Pick<Start, "rollout" | "states">): string | undefined {
  if (rollout.operation !== "Upgrade") return undefined;
  const shown = states.filter(isShown);
  const versions = [...new Set(shown.flatMap(({ cluster }) => cluster.topology?.version ?? []))].toSorted(
    newestFirst,
  );
  const [newest] = versions;
  const isDone = ({ cluster, hasReached }: MemberState): boolean =>
    newest !== undefined && hasReached && wants(cluster, newest) && !hasWorkersBehind(cluster, newest);
  return newest === undefined || shown.every(isDone) ? undefined : newest;
}

/** Creations and deletions, and upgrades to a version that nothing shows yet: what waits, or else every Cluster. */
function withoutTarget({ rollout: { operation }, states }: Start): FleetState {
  const waits = ({ cluster, member }: MemberState): boolean =>
    operation === "Create"
      ? !cluster.created
      : operation === "Delete" && (cluster.metadata.deletionTimestamp !== undefined || member.marked);
  const someWait = states.some(waits);
  return {
    stateOf: (state) => (someWait && !waits(state) ? "Out" : undefined),
    progress: new Map(),
    unasked: [],
    pinned: new Set(),
  };
}

function toTarget(start: Start, version: string): FleetState {
  const { rollout, stored, status, states, wish } = start;
  const slots = { running: status.running ?? [], failed: status.failed ?? [], unknown: [] };
  const all = new Map<MemberState, MemberProgress>();
  const unasked: string[] = [];
  const pinned = new Set<string>();
  const standing = new Set<string>();
  const progress = new Map(
    rollout.stages.map((stage): [string, StageProgress] => {
      const own = states.filter(({ member }) => member.stage === stage);
      const judged = countStage(own, slots, { version, stage, rollout, unknown: 0 });
      for (const [state, each] of judged.progress) all.set(state, each);
      const [assumed, stands] = split(judged.awaited(), states, wish);
      unasked.push(...assumed.map(namespacedName));
      for (const each of stands) standing.add(namespacedName(each));
      const ahead = pinnedAhead(judged.progress, version).filter(
        (each) => !standing.has(namespacedName(each)),
      );
      for (const each of ahead) pinned.add(namespacedName(each));
      const waitsFor = [...stands, ...ahead];
      const { needed, counts } = judged;
      return [
        stage.name,
        {
          needed,
          succeeded: counts.succeeded,
          waitsFor,
          ...soakOf(stage, { stored, status }, version, wish),
        },
      ];
    }),
  );
  return {
    stateOf: (state) => {
      const each = all.get(state);
      if (each === "succeeded") return "Done";
      return each === "failed" || standing.has(namespacedName(state.cluster.metadata)) ? "Stands" : undefined;
    },
    progress,
    unasked,
    pinned,
  };
}

function pinnedAhead(
  progress: ReadonlyMap<MemberState, MemberProgress>,
  version: string,
): readonly RolloutAwaited[] {
  return [...progress].flatMap(([state, each]) => {
    const message = each === "succeeded" || each === "failed" ? undefined : pinsText(state, version);
    const { namespace = "", name } = state.cluster.metadata;
    return message === undefined ? [] : [{ namespace, name, reason: "WorkersPinned", message }];
  });
}

/** Those that the plan takes as asked, and those that it cannot. */
function split(
  awaited: readonly RolloutAwaited[],
  states: readonly MemberState[],
  { version }: FleetWish,
): readonly [assumed: readonly RolloutAwaited[], waitsFor: readonly RolloutAwaited[]] {
  const known = new Map(states.map((state) => [namespacedName(state.cluster.metadata), state]));
  const isAssumed = (each: RolloutAwaited): boolean => {
    const state = known.get(namespacedName(each));
    if (state === undefined || state.cluster.paused) return false;
    return each.reason === "NotAsked"
      ? version !== undefined
      : each.reason === "NotCalled" && !isShown(state);
  };
  const assumed = awaited.filter((each) => each.reason === "NotAsked" && isAssumed(each));
  return [assumed, awaited.filter((each) => !isAssumed(each))];
}

function soakOf(
  stage: CompiledStage,
  { stored, status }: Pick<Start, "stored" | "status">,
  version: string,
  { from }: FleetWish,
): Pick<StageProgress, "soakingSince" | "closed" | "passed"> {
  const stagesIn = ({ targets = [] }: HookRolloutStatus) =>
    targets.find((target) => target.version === version)?.stages;
  const passed = [stored, status].some((each) => hasPassed(stage, stagesIn(each), from));
  const known = stagesIn(status)?.find(({ name }) => name === stage.name);
  return { passed, closed: known?.closed, soakingSince: readTimestamp(known?.soakingSince) };
}
