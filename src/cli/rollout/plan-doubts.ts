/** Finds why a plan may not be what happens, although nothing fails, and what cannot be computed of it. */

import semver, { type SemVer } from "semver";
import type { RolloutFailure } from "../../api/hook-policy.ts";
import { durationText } from "../../lib/duration.ts";
import { clusterKey } from "../../views/cluster.ts";
import { orderOf } from "../../policy/version-order.ts";
import { isShown, type MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../../lib/counted.ts";
import { emptyStages, namespaceWarning, clusterPlaces } from "../fleet/selections.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { namespacedName } from "../../lib/keys.ts";
import { MAX_LOOKS_AHEAD } from "../../operations/forecast.ts";
import { lacksNamespace } from "../../rollouts/member.ts";
import type { Plan } from "../../rollouts/plan.ts";
import { holdersAt, holdsAt, type Parts, pastGate } from "./planned-member.ts";

const NO_POLICY = "There is no policy, so the plan has only the windows and other gates of the stages.";
const AUDIT = "The rollout is of mode Audit and holds nothing: this is what it would do in mode Enforce.";

interface PlanAssumptions {
  readonly rollout: CompiledRollout;
  readonly states: readonly MemberState[];
  readonly wish: { readonly durationMs: number; readonly version?: string | undefined };
  readonly target: string | undefined;
  /** As planned; none where it is unknown in which of them a Cluster is. */
  readonly stages: Plan["stages"];
  /** That halt it before anything begins. */
  readonly failures: readonly RolloutFailure[];
}

export interface Doubts {
  readonly impossible: readonly string[];
  readonly doubts: readonly string[];
}

export function doubtsOf(assumed: PlanAssumptions, fleet: Fleet): Doubts {
  const { rollout, states, wish, target, failures } = assumed;
  const deadlineMs = rollout.progressDeadlineMs;
  const steps = stepsOf(assumed);
  const lower = listed("Cluster API refuses to go to a lower version", steps.Lower);
  const [refused, lowered] = steps.Lower?.length === states.length ? [lower, []] : [[], lower];
  const found = emptySelections(rollout, fleet);
  const empty = found.map(({ path, message }) => `${path}: ${message}`);
  const isEmpty = states.length === 0;
  const [why, emptyStage] = isEmpty ? [empty, []] : [[], empty];
  const missing = namespaceWarning([fleet]);
  return {
    impossible: [
      isEmpty && `HookRollout ${rollout.name} selects no Cluster with spec.topology, so there is no plan.`,
      ...why,
      wish.durationMs > deadlineMs &&
        `${durationText(wish.durationMs)} is longer than progressDeadline, ${durationText(deadlineMs)}: each Cluster would count as failed before it ends.`,
      ...refused,
      ...listed(
        `More Clusters of stage ${failures[0]?.stage} are unhealthy at their version than its maxFailures, so the rollout halts`,
        failures.map(namespacedName),
      ),
    ].filter((text) => text !== false),
    doubts: [
      rollout.mode === "Audit" && AUDIT,
      missing !== undefined && `${missing.charAt(0).toUpperCase()}${missing.slice(1)}.`,
      ...emptyStage,
      ...stageWithoutClusters(assumed, found),
      ...lowered,
      ...listed(
        `${target} is in spec.topology already, without a status that shows how far that is, so no upgrade begins there and these count as succeeded`,
        steps.Same,
      ),
      ...listed(
        "Cluster API refuses to skip a minor version, unless the ClusterClass lists the versions between (1.12 and newer)",
        steps.Far,
      ),
      ...statusDoubts(assumed),
      ...otherRollouts(assumed, fleet),
      fleet.policies.length === 0 && !isEmpty && NO_POLICY,
    ].filter((text) => text !== false),
  };
}

/** "Cluster API refuses to go to a lower version: team-a/a, team-a/b." */
function listed(what: string, names: readonly string[] = [], why = ""): string[] {
  return names.length === 0 ? [] : [`${what}: ${firstNames(names)}${why}.`];
}

/** Of the rollout, or of its stages. */
function emptySelections({ name }: CompiledRollout, fleet: Fleet): ReturnType<typeof emptyStages> {
  const spec = fleet.rollouts.find(({ compiled }) => compiled.name === name)?.spec;
  return spec === undefined ? [] : emptyStages(spec, clusterPlaces(fleet));
}

/** All that it selects are in earlier stages, or have no topology: emptyStages() does not look at either. */
function stageWithoutClusters(
  { states, stages }: PlanAssumptions,
  told: ReturnType<typeof emptyStages>,
): string[] {
  const end = stages.findIndex(({ passed, passes }) => !passed && passes === undefined);
  const stage = stages[end];
  if (stage === undefined || stage.clusters > 0 || end === stages.length - 1 || states.length === 0)
    return [];
  if (told.some(({ path }) => path.startsWith(`spec.stages[${end}]`))) return [];
  return [
    `Stage ${stage.name} has no Cluster, so the next one never begins: label Clusters for it, or set its minSucceeded to 0 and its minSuccessTime to 0s.`,
  ];
}

/** Cluster API proceeds once every rollout has given a slot. */
function otherRollouts({ rollout: { name, operation }, states }: PlanAssumptions, fleet: Fleet): string[] {
  const members = new Set(states.map(({ cluster }) => cluster));
  return fleet.rollouts.flatMap((each) => {
    const { compiled } = each;
    if (compiled.name === name || compiled.operation !== operation || compiled.mode === "Audit") return [];
    const shared = fleet.selectedBy(each).filter((cluster) => members.has(cluster));
    const paused = compiled.paused ? " (paused)" : "";
    const what = `The plan leaves out that HookRollout ${compiled.name}${paused} must give a slot, too`;
    return listed(what, shared.map(clusterKey));
  });
}

/** A Cluster in Git has no status. */
function statusDoubts({ rollout, states, target }: PlanAssumptions): string[] {
  if (rollout.operation !== "Upgrade" || target !== undefined) return [];
  const unshown = states.filter((state) => !isShown(state)).map(({ cluster }) => clusterKey(cluster));
  return listed(
    "The plan is about the next upgrade, to whatever version (--to-version plans one), because no status shows what these run",
    unshown,
  );
}

type Step = "Lower" | "Same" | "Far" | "Near";

/** The Clusters by what Cluster API's webhook refuses, or what changes nothing; most of it only for a version that is given. */
function stepsOf({ rollout, states, wish, target }: PlanAssumptions): Partial<Record<Step, string[]>> {
  const wanted = rollout.operation === "Upgrade" ? semver.parse(target) : null;
  if (wanted === null) return {};
  const steps: Partial<Record<Step, string[]>> = {};
  for (const state of states) (steps[stepTo(wanted, state)] ??= []).push(clusterKey(state.cluster));
  return wish.version === undefined ? { Same: steps.Same ?? [] } : steps;
}

function stepTo(wanted: SemVer, state: MemberState): Step {
  const present = semver.parse(state.cluster.topology?.version);
  if (present === null) return "Near";
  const order = orderOf(wanted, present) ?? 1;
  if (order < 0) return "Lower";
  if (order === 0) return isShown(state) || state.hasReached ? "Near" : "Same";
  return wanted.major > present.major || wanted.minor > present.minor + 1 ? "Far" : "Near";
}

export interface KnownPlan extends Pick<Plan, "clusters" | "noStage" | "later"> {
  readonly never: readonly string[];
  /** Those of them of which a window does not open again. */
  readonly past: readonly string[];
  /** Members whose windows are not found open together. */
  readonly closed: readonly string[];
  /** Members of which it is unknown in which stage they are, because their Namespaces are not known. */
  readonly stageUnknown: readonly string[];
}

/** By namespacedName() of the Cluster. */
type Members = ReadonlyMap<string, Parts>;

export function asKnown(
  plan: Plan,
  members: Members,
): { readonly plan: KnownPlan; readonly doubts: readonly string[] } {
  const { clusters, doubts } = withoutUnevaluable(plan, members);
  const past = pastGates(plan, members);
  const closed = plan.closed.filter((each) => !past.has(each));
  const stageUnknown = [...members].flatMap(([name, { rollout, member, world }]) =>
    lacksNamespace(rollout, member, world.namespace) ? [name] : [],
  );
  const behind = behindUnknown(plan, members, { closed, stageUnknown });
  const unknown = new Set([...closed, ...stageUnknown, ...behind]);
  return {
    plan: {
      clusters,
      later: [...plan.later, ...behind],
      never: plan.never.filter((each) => !unknown.has(each)),
      noStage: plan.noStage.filter((each) => !unknown.has(each)),
      past: [...past.keys()],
      closed,
      stageUnknown,
    },
    doubts: [...doubts, ...pastDoubt(past), ...closedDoubt(closed, plan.from, members)],
  };
}

/** Members of the stages behind one of which it is unknown whether it passes. */
function behindUnknown(
  { stages, never }: Plan,
  members: Members,
  { closed, stageUnknown }: Pick<KnownPlan, "closed" | "stageUnknown">,
): readonly string[] {
  const end = stages.findIndex(({ passed, passes }) => !passed && passes === undefined);
  const stageOf = (each: string): number =>
    stages.findIndex(({ name }) => name === members.get(each)?.member.stage?.name);
  const isUnknown = stageUnknown.length > 0 || closed.some((each) => stageOf(each) === end);
  return end >= 0 && isUnknown ? never.filter((each) => stageOf(each) > end) : [];
}

/** A rule that is not evaluable is no action that a user could take: it is a doubt. */
function withoutUnevaluable(
  plan: Plan,
  members: Members,
): { readonly clusters: Plan["clusters"]; readonly doubts: readonly string[] } {
  const reasons = new Set<string>();
  let count = 0;
  const clusters = plan.clusters.map((cluster) => {
    const own = cluster.needsAction ? members.get(namespacedName(cluster)) : undefined;
    if (own === undefined) return cluster;
    const { unevaluable, needsAction } = holdsAt(own, cluster.begins);
    for (const reason of unevaluable) reasons.add(reason);
    count += Math.min(1, unevaluable.length);
    return { ...cluster, needsAction };
  });
  const what = `The plan assumes that rules which are not evaluable, with all their windows, release ${counted(count, "Cluster")}`;
  return { clusters, doubts: listed(what, [...reasons]) };
}

function pastGates({ closed, from }: Plan, members: Members): ReadonlyMap<string, string> {
  return new Map(
    closed.flatMap((each) => {
      const own = members.get(each);
      const gate = own && pastGate(own, from);
      return gate === undefined ? [] : [[each, gate] as const];
    }),
  );
}

function pastDoubt(gates: ReadonlyMap<string, string>): readonly string[] {
  const [first] = gates.values();
  return listed("Never begun, because a window does not open again", [...gates.keys()], ` (${first})`);
}

/** Whether they ever are open together is not computed. */
function closedDoubt(closed: readonly string[], from: Date, members: Members): readonly string[] {
  const own = members.get(closed[0] ?? "");
  if (own === undefined) return [];
  const what = `Not begun within the next ${MAX_LOOKS_AHEAD} changes of windows, which are never open together until then`;
  return listed(what, closed, ` (${holdersAt(own, from).replaceAll("; then ", "; ")})`);
}
