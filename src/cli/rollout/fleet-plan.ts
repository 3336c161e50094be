/** The timeline of a rollout over the Clusters of a fleet. */

import { namespacedName } from "../../lib/keys.ts";
import type { HookRollout, HookRolloutStatus, RolloutAwaited } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { readTimestamp } from "../../policy/instant.ts";
import { wants } from "../../rollouts/health.ts";
import { type Plan, type PlanMember, planRollout, type StageProgress } from "../../rollouts/plan.ts";
import { countStage, type MemberState, type Progress } from "../../rollouts/progress.ts";
import { type CompiledRollout, type CompiledStage, compileRollout } from "../../rollouts/rollout.ts";
import { haltingStage, hasPassed } from "../../rollouts/stages.ts";
import { newestFirst } from "../../rollouts/target-shares.ts";
import { CommandError, USAGE } from "../command.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";
import { doubtsOf } from "./plan-doubts.ts";
import { holdersAt, type Parts, partsOf, planMember, withoutUnevaluable } from "./planned-member.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../terminal/counted.ts";
import { isShown, presentState } from "../fleet/rollout-state.ts";

export interface FleetWish {
  readonly from: Date;
  /** The assumed time of every operation. */
  readonly durationMs: number;
  /** As if every Cluster were asked for this version. Absent: the version that is being rolled out, as it is. */
  readonly version?: string | undefined;
}

export interface FleetPlan extends Plan {
  readonly rollout: CompiledRollout;
  /** Absent: no version is being rolled out, and the plan is about all Clusters. */
  readonly target?: string;
  /** Clusters that do not ask for the version yet: the plan takes that as done. */
  readonly unasked: readonly string[];
  readonly halted: boolean;
  /** Clusters that no rollout of the operation selects. */
  readonly outside: readonly string[];
  /** Selected Clusters without a topology: Cluster API asks nothing about them. */
  readonly withoutTopology: readonly string[];
  /** Why nothing of the plan can happen. */
  readonly impossible: readonly string[];
  /** Why the plan may not be what happens. */
  readonly doubts: readonly string[];
}

/** Whether every Cluster can begin, sooner or later. */
export function canHappen({ impossible, never }: FleetPlan): boolean {
  return impossible.length === 0 && never.length === 0;
}

/** What the plan begins with. */
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
  const { states, status } = presentState(rollout, stored, fleet, wish.from);
  const target = wish.version ?? underWay({ rollout, states });
  const start: Start = { rollout, stored, status, states: takenAsDone(states, target), wish };
  const found = target === undefined ? withoutTarget(start) : toTarget(start, target);
  const parts = new Map(
    start.states.map((state) => [
      namespacedName(state.cluster.metadata),
      partsOf(rollout, fleet, state, { version: target, from: wish.from }),
    ]),
  );
  const members = start.states.flatMap((state): PlanMember[] => {
    const is = found.stateOf(state);
    const own = parts.get(namespacedName(state.cluster.metadata));
    if (is === "Out" || own === undefined) return [];
    return [{ ...planMember(own), ...(is && { state: is }) }];
  });
  const halted = haltingStage(rollout, status) !== undefined;
  const plan = planRollout(rollout, members, { ...wish, status, halted, progress: found.progress });
  const { clusters, doubts: unevaluated } = withoutUnevaluable(plan.clusters, parts);
  const { impossible, doubts } = doubtsOf({ rollout, states, wish, target }, fleet);
  return {
    ...plan,
    clusters,
    rollout,
    halted,
    unasked: found.unasked,
    ...unplanned(rollout, fleet),
    impossible,
    doubts: [...doubts, ...unevaluated, ...closedDoubt(plan, parts)],
    ...(target !== undefined && { target }),
  };
}

/** "1 Cluster never begins, because its windows are never open together: team-a/a (…)" */
function closedDoubt({ closed, from }: Plan, parts: ReadonlyMap<string, Parts>): readonly string[] {
  const [first] = closed;
  const own = first === undefined ? undefined : parts.get(first);
  if (own === undefined) return [];
  const [verb, whose] = closed.length === 1 ? ["begins", "its"] : ["begin", "their"];
  const holders = holdersAt(own, from).replaceAll("; then ", "; ");
  return [
    `${counted(closed.length, "Cluster")} never ${verb}, because ${whose} windows are never open together: ${firstNames(closed, 5)} (${holders}).`,
  ];
}

/** A Cluster without a status that is asked for the version: whether it has the version is unknown, and nothing begins for it. */
function takenAsDone(states: readonly MemberState[], target: string | undefined): readonly MemberState[] {
  if (target === undefined) return states;
  return states.map((state) =>
    isShown(state) || !wants(state.cluster, target)
      ? state
      : { ...state, hasReached: true, health: "Healthy" },
  );
}

function unplanned(rollout: CompiledRollout, fleet: Fleet): Pick<FleetPlan, "outside" | "withoutTopology"> {
  const alike = fleet.rollouts.filter(({ compiled }) => compiled.operation === rollout.operation);
  const selected = new Set(alike.flatMap((each) => fleet.selectedBy(each)));
  const isOwn = ({ compiled }: FleetRollout): boolean => compiled.name === rollout.name;
  const own = alike.filter(isOwn).flatMap((each) => fleet.selectedBy(each));
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

interface Found {
  /** "Out": the plan is not about it. */
  readonly stateOf: (state: MemberState) => PlanMember["state"] | "Out";
  readonly progress: ReadonlyMap<string, StageProgress>;
  readonly unasked: readonly string[];
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
    newest !== undefined && hasReached && wants(cluster, newest);
  return newest === undefined || shown.every(isDone) ? undefined : newest;
}

/** Creations and deletions, and upgrades to a version that nothing shows yet: what waits, or else every Cluster. */
function withoutTarget({ rollout: { operation }, states }: Start): Found {
  const waits = ({ cluster, member }: MemberState): boolean =>
    operation === "Create"
      ? !cluster.created
      : operation === "Delete" && (cluster.metadata.deletionTimestamp !== undefined || member.marked);
  const someWait = states.some(waits);
  return {
    stateOf: (state) => (someWait && !waits(state) ? "Out" : undefined),
    progress: new Map(),
    unasked: [],
  };
}

function toTarget(start: Start, version: string): Found {
  const { rollout, stored, status, states, wish } = start;
  const slots = { running: status.running ?? [], failed: status.failed ?? [], unknown: [] };
  const all = new Map<MemberState, Progress>();
  const unasked: string[] = [];
  const progress = new Map(
    rollout.stages.map((stage): [string, StageProgress] => {
      const own = states.filter(({ member }) => member.stage === stage);
      const judged = countStage(own, slots, { version, stage, rollout, unknown: 0 });
      for (const [state, each] of judged.progress) all.set(state, each);
      const [assumed, waitsFor] = split(judged.awaited, states, wish);
      unasked.push(...assumed.map(namespacedName));
      const { needed, succeeded } = judged;
      return [
        stage.name,
        { needed, succeeded, waitsFor, ...soakOf(stage, { stored, status }, version, wish) },
      ];
    }),
  );
  const standing = new Set(progress.values().flatMap(({ waitsFor }) => waitsFor.map(namespacedName)));
  return {
    stateOf: (state) => {
      const each = all.get(state);
      if (each === "succeeded") return "Done";
      return each === "failed" || standing.has(namespacedName(state.cluster.metadata)) ? "Stands" : undefined;
    },
    progress,
    unasked,
  };
}

/** Those that the plan takes as asked, and those that it cannot. */
function split(
  awaited: readonly RolloutAwaited[],
  states: readonly MemberState[],
  { version }: FleetWish,
): readonly [assumed: readonly RolloutAwaited[], waitsFor: readonly RolloutAwaited[]] {
  const known = new Map(states.map((state) => [namespacedName(state.cluster.metadata), state]));
  const { true: assumed = [], false: waitsFor = [] } = Object.groupBy(
    awaited,
    ({ namespace, name, reason }) => {
      const state = known.get(namespacedName({ namespace, name }));
      if (state === undefined || state.cluster.paused) return "false";
      const isAssumed =
        reason === "NotAsked" ? version !== undefined : reason === "NotCalled" && !isShown(state);
      return `${isAssumed}`;
    },
  );
  return [assumed.filter(({ reason }) => reason === "NotAsked"), waitsFor];
}

function soakOf(
  stage: CompiledStage,
  { stored, status }: Pick<Start, "stored" | "status">,
  version: string,
  { from }: FleetWish,
): Pick<StageProgress, "soakingSince" | "passed"> {
  const stagesIn = ({ targets = [] }: HookRolloutStatus) =>
    targets.find((target) => target.version === version)?.stages;
  const passed = [stored, status].some((each) => hasPassed(stage, stagesIn(each), from));
  const known = stagesIn(status)?.find(({ name }) => name === stage.name);
  return { passed, soakingSince: readTimestamp(known?.soakingSince) };
}
