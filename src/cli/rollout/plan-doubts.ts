/** Finds why a plan may not be what happens, although nothing fails. */

import semver, { type SemVer } from "semver";
import { durationText } from "../../policy/duration.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { orderOf } from "../../policy/version-order.ts";
import { isShown, type MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../../lib/counted.ts";
import { emptyStages, placesIn } from "../fleet/empty-selections.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { namespaceWarning } from "../fleet/missing-namespaces.ts";

const SHOWN = 5;

export const NO_POLICY =
  "There is no policy, so the plan has only the windows and other gates of the stages.";

interface PlanAssumptions {
  readonly rollout: CompiledRollout;
  readonly states: readonly MemberState[];
  readonly wish: { readonly durationMs: number; readonly version?: string | undefined };
  /** The version that the plan is about. */
  readonly target: string | undefined;
}

export interface Doubts {
  /** Why nothing of the plan can happen. */
  readonly impossible: readonly string[];
  /** Why the plan may not be what happens. */
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
      ...(isLate
        ? [
            `${durationText(wish.durationMs)} is longer than progressDeadline, ${durationText(deadlineMs)}: each Cluster would count as failed before it ends.`,
          ]
        : []),
      ...(noneIsHigher ? lower : []),
    ],
    doubts: [
      ...(missing === undefined ? [] : [`${missing.charAt(0).toUpperCase()}${missing.slice(1)}.`]),
      ...emptyStage,
      ...(noneIsHigher ? [] : lower),
      ...stepDoubts(steps, target),
      ...statusDoubts(assumed),
      ...otherRollouts(assumed, fleet),
      ...(fleet.policies.length === 0 && nothing.length === 0 ? [NO_POLICY] : []),
    ],
  };
}

/** Why the rollout selects nothing, or which stage does not. */
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
