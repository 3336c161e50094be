/** Finds why a plan may not be what happens, although nothing fails. */

import semver, { type SemVer } from "semver";
import { durationText } from "../../policy/duration.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { orderOf } from "../../policy/version-order.ts";
import type { MemberState } from "../../rollouts/progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../terminal/counted.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { isShown } from "../fleet/rollout-state.ts";

const SHOWN = 5;

interface Assumed {
  readonly rollout: CompiledRollout;
  readonly states: readonly MemberState[];
  readonly wish: { readonly durationMs: number; readonly version?: string | undefined };
}

export function doubtsOf({ rollout, states, wish }: Assumed, fleet: Fleet): string[] {
  const { durationMs, version } = wish;
  const deadlineMs = rollout.progressDeadlineMs;
  return [
    ...(fleet.policies.length === 0
      ? ["There is no policy, so the plan has only the windows and other gates of the stages."]
      : []),
    ...(durationMs > deadlineMs
      ? [
          `${durationText(durationMs)} is longer than progressDeadline, ${durationText(deadlineMs)}: each Cluster would count as failed before it ends.`,
        ]
      : []),
    ...(version === undefined || rollout.operation !== "Upgrade" ? [] : versionDoubts(states, version)),
  ];
}

/** What Cluster API's webhook refuses, or what changes nothing. */
function versionDoubts(states: readonly MemberState[], version: string): string[] {
  const wanted = semver.parse(version);
  if (wanted === null) return [];
  const steps = states.map((state) => ({ state, step: stepTo(wanted, state) }));
  const named = (step: Step): string[] =>
    steps.filter((each) => each.step === step).map(({ state }) => clusterKey(state.cluster));
  const told = (step: Step, text: (count: string) => string): string[] => {
    const names = named(step);
    return names.length === 0
      ? []
      : [`${text(counted(names.length, "Cluster"))}: ${firstNames(names, SHOWN)}.`];
  };
  return [
    ...told("Lower", (count) => `${count} would go to a lower version, which Cluster API refuses`),
    ...told("Same", (count) => `${version} is the version of ${count} already, so no upgrade begins there`),
    ...told(
      "Far",
      (count) =>
        `${count} would skip a minor version, which Cluster API refuses unless the ClusterClass lists the versions between (1.12 and newer)`,
    ),
  ];
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
