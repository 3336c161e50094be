/** Finds why a plan may not be what happens, although nothing fails, and what cannot be computed of it. */

import semver, { type SemVer } from "semver";
import { durationText } from "../../lib/duration.ts";
import { clusterKey } from "../../views/cluster.ts";
import { orderOf } from "../../policy/version-order.ts";
import { isShown, type MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../../lib/counted.ts";
import { emptyStages, namespaceWarning, placesIn } from "../fleet/selections.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { namespacedName } from "../../lib/keys.ts";
import { MAX_STEPS } from "../../operations/forecast.ts";
import { lacksNamespace } from "../../rollouts/member.ts";
import type { Plan } from "../../rollouts/plan.ts";
import { holdersAt, holdsAt, type Parts, pastGate } from "./planned-member.ts";

const SHOWN = 5;

export const NO_POLICY =
  "There is no policy, so the plan has only the windows and other gates of the stages.";

interface PlanAssumptions {
  readonly rollout: CompiledRollout;
  readonly states: readonly MemberState[];
  readonly wish: { readonly durationMs: number; readonly version?: string | undefined };
  readonly target: string | undefined;
}

export interface Doubts {
  readonly impossible: readonly string[];
  readonly doubts: readonly string[];
}

export function doubtsOf(assumed: PlanAssumptions, fleet: Fleet): Doubts {
  const { rollout, states, wish, target } = assumed;
  const deadlineMs = rollout.progressDeadlineMs;
  const isLate = wish.durationMs > deadlineMs;
  const all = rollout.operation === "Upgrade" && target !== undefined ? stepsTo(target, states) : [];
  const steps = wish.version === undefined ? all.filter(({ step }) => step === "Same") : all;
  const lower = told(
    steps,
    "Lower",
    (count) => `${count} would go to a lower version, which Cluster API refuses`,
  );
  const noneIsHigher = steps.length > 0 && steps.every(({ step }) => step === "Lower");
  const [nothing, emptyStage] = selectionsOf(assumed, fleet);
  const missing = namespaceWarning([fleet]);
  return {
    impossible: [
      ...nothing,
      isLate &&
        `${durationText(wish.durationMs)} is longer than progressDeadline, ${durationText(deadlineMs)}: each Cluster would count as failed before it ends.`,
      ...(noneIsHigher ? lower : []),
    ].filter((text) => text !== false),
    doubts: [
      missing !== undefined && `${missing.charAt(0).toUpperCase()}${missing.slice(1)}.`,
      ...emptyStage,
      ...(noneIsHigher ? [] : lower),
      ...stepDoubts(steps, target),
      ...statusDoubts(assumed),
      ...otherRollouts(assumed, fleet),
      fleet.policies.length === 0 && nothing.length === 0 && NO_POLICY,
    ].filter((text) => text !== false),
  };
}

function selectionsOf(
  { rollout: { name }, states }: PlanAssumptions,
  fleet: Fleet,
): readonly [nothing: readonly string[], emptyStage: readonly string[]] {
  const spec = fleet.rollouts.find(({ compiled }) => compiled.name === name)?.spec;
  const found = spec === undefined ? [] : emptyStages(spec, placesIn(fleet));
  const texts = found.map(({ path, message }) => `${path}: ${message}${message.endsWith("?") ? "" : "."}`);
  if (states.length > 0) return [[], texts];
  const reason = texts.length > 0 ? texts : ["It is about no Cluster that has spec.topology."];
  return [[`HookRollout ${name} selects nothing, so there is no plan. ${reason.join(" ")}`], []];
}

/** Cluster API proceeds once every rollout has given a slot. */
function otherRollouts({ rollout: { name, operation }, states }: PlanAssumptions, fleet: Fleet): string[] {
  const members = new Set(states.map(({ cluster }) => cluster));
  return fleet.rollouts.flatMap((each) => {
    const { compiled } = each;
    if (compiled.name === name || compiled.operation !== operation || compiled.mode === "Audit") return [];
    const shared = fleet.selectedBy(each).filter((cluster) => members.has(cluster));
    if (shared.length === 0) return [];
    const names = firstNames(shared.map(clusterKey), SHOWN);
    const paused = compiled.paused ? ", which is paused," : "";
    return `${counted(shared.length, "Cluster")} also need${shared.length === 1 ? "s" : ""} a slot of HookRollout ${compiled.name}${paused} and the plan leaves that out: ${names}.`;
  });
}

/** A Cluster in Git has no status. */
function statusDoubts({ rollout, states, target }: PlanAssumptions): string[] {
  const unshown = states.filter((state) => !isShown(state)).map(({ cluster }) => clusterKey(cluster));
  if (rollout.operation !== "Upgrade" || target !== undefined || unshown.length === 0) return [];
  return [
    `The version that ${counted(unshown.length, "Cluster")} run${unshown.length === 1 ? "s" : ""} is unknown, as there is no status, so the plan is about the next upgrade, to whatever version; --to-version plans one: ${firstNames(unshown, SHOWN)}.`,
  ];
}

/** What Cluster API's webhook refuses, or what changes nothing. */
function stepDoubts(steps: readonly PlannedStep[], version: string | undefined): string[] {
  return [
    ...told(
      steps,
      "Same",
      (count) =>
        `${version} is in spec.topology of ${count} already, without a status that shows how far that is; it counts as succeeded, so no upgrade begins there`,
    ),
    ...told(
      steps,
      "Far",
      (count) =>
        `${count} would skip a minor version, which Cluster API refuses unless the ClusterClass lists the versions between (1.12 and newer)`,
    ),
  ];
}

interface PlannedStep {
  readonly state: MemberState;
  readonly step: Step;
}

function stepsTo(version: string, states: readonly MemberState[]): readonly PlannedStep[] {
  const wanted = semver.parse(version);
  return wanted === null ? [] : states.map((state) => ({ state, step: stepTo(wanted, state) }));
}

function told(steps: readonly PlannedStep[], step: Step, text: (count: string) => string): string[] {
  const names = steps.filter((each) => each.step === step).map(({ state }) => clusterKey(state.cluster));
  if (names.length === 0) return [];
  return [`${text(counted(names.length, "Cluster"))}: ${firstNames(names, SHOWN)}.`];
}

type Step = "Lower" | "Same" | "Far" | "Near";

function stepTo(wanted: SemVer, state: MemberState): Step {
  const present = semver.parse(state.cluster.topology?.version);
  if (present === null) return "Near";
  const order = orderOf(wanted, present) ?? 1;
  if (order < 0) return "Lower";
  if (order === 0) return isShown(state) || state.hasReached ? "Near" : "Same";
  return wanted.major > present.major || wanted.minor > present.minor + 1 ? "Far" : "Near";
}

export interface KnownPlan extends Pick<Plan, "clusters" | "noStage"> {
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
  const unknown = new Set([...closed, ...stageUnknown]);
  return {
    plan: {
      clusters,
      never: plan.never.filter((each) => !unknown.has(each)),
      noStage: plan.noStage.filter((each) => !unknown.has(each)),
      past: [...past.keys()],
      closed,
      stageUnknown,
    },
    doubts: [...doubts, ...pastDoubt(past), ...closedDoubt(closed, plan.from, members)],
  };
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
  if (count === 0) return { clusters, doubts: [] };
  const [are, them] = count === 1 ? ["is", "it"] : ["are", "them"];
  const held = `${counted(count, "Cluster")} ${are} held by rules that are not evaluable`;
  const doubt = `${held}; the plan assumes that these rules, with all their windows, release ${them}: ${firstNames([...reasons], SHOWN)}.`;
  return { clusters, doubts: [doubt] };
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

/** "1 Cluster never begins, because a window does not open again: team-a/a (…)" */
function pastDoubt(gates: ReadonlyMap<string, string>): readonly string[] {
  const [first] = gates.values();
  if (first === undefined) return [];
  const begin = gates.size === 1 ? "begins" : "begin";
  const names = firstNames([...gates.keys()], SHOWN);
  return [
    `${counted(gates.size, "Cluster")} never ${begin}, because a window does not open again: ${names} (${first}).`,
  ];
}

/** Whether they ever are open together is not computed. */
function closedDoubt(closed: readonly string[], from: Date, members: Members): readonly string[] {
  const own = members.get(closed[0] ?? "");
  if (own === undefined) return [];
  const [does, whose] = closed.length === 1 ? ["does", "its"] : ["do", "their"];
  const why = `${does} not begin within the next ${MAX_STEPS} changes of ${whose} windows, which are never open together until then`;
  const holders = holdersAt(own, from).replaceAll("; then ", "; ");
  return [`${counted(closed.length, "Cluster")} ${why}: ${firstNames(closed, SHOWN)} (${holders}).`];
}
