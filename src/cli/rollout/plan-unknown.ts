/** Tells the Clusters that are known never to begin from those of which that cannot be computed. */

import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import { namespacedName } from "../../lib/keys.ts";
import { MAX_STEPS } from "../../operations/forecast.ts";
import { lacksNamespace, type Member } from "../../rollouts/member.ts";
import type { Plan } from "../../rollouts/plan.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { holdersAt, type Parts, pastGate } from "./planned-member.ts";

export interface KnownPlan extends Pick<Plan, "noStage"> {
  /** Members that are known never to begin. */
  readonly never: readonly string[];
  /** Those of them of which a window does not open again. */
  readonly past: readonly string[];
  /** Members whose windows are not found open together. */
  readonly closed: readonly string[];
  /** Members of which it is unknown in which stage they are, because their Namespaces are not known. */
  readonly stageUnknown: readonly string[];
}

interface PlanInput {
  readonly rollout: CompiledRollout;
  readonly fleet: Fleet;
  readonly members: readonly Member[];
  /** By namespacedName() of the Cluster. */
  readonly parts: ReadonlyMap<string, Parts>;
}

export function tellUnknown(
  plan: Plan,
  { rollout, fleet, members, parts }: PlanInput,
): { readonly plan: KnownPlan; readonly doubts: readonly string[] } {
  const past = pastGates(plan, parts);
  const closed = plan.closed.filter((each) => !past.has(each));
  const stageUnknown = members
    .filter((each) => lacksNamespace(rollout, each, fleet.namespace(each.metadata.namespace ?? "")))
    .map(({ metadata }) => namespacedName(metadata));
  const unknown = new Set([...closed, ...stageUnknown]);
  return {
    plan: {
      never: plan.never.filter((each) => !unknown.has(each)),
      noStage: plan.noStage.filter((each) => !unknown.has(each)),
      past: [...past.keys()],
      closed,
      stageUnknown,
    },
    doubts: [...pastDoubt(past), ...closedDoubt(closed, plan.from, parts)],
  };
}

/** The gate whose window does not open again, by Cluster. */
function pastGates({ closed, from }: Plan, parts: PlanInput["parts"]): ReadonlyMap<string, string> {
  return new Map(
    closed.flatMap((each) => {
      const own = parts.get(each);
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

const SHOWN = 5;

/** Whether they ever are open together is not computed. */
function closedDoubt(closed: readonly string[], from: Date, parts: PlanInput["parts"]): readonly string[] {
  const [first] = closed;
  const own = first === undefined ? undefined : parts.get(first);
  if (own === undefined) return [];
  const [does, whose] = closed.length === 1 ? ["does", "its"] : ["do", "their"];
  const why = `${does} not begin within the next ${MAX_STEPS} changes of ${whose} windows, which are never open together until then`;
  const holders = holdersAt(own, from).replaceAll("; then ", "; ");
  return [`${counted(closed.length, "Cluster")} ${why}: ${firstNames(closed, SHOWN)} (${holders}).`];
}
