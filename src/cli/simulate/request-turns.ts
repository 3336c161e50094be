/** What admission answers: which Clusters could be created, upgraded or deleted. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { RequestedOperation } from "../../operations/requested-operation.ts";
import { walk } from "../../operations/timeline.ts";
import { denying, warningOnly } from "../../policy/admission.ts";
import { admitted, admissionAnswer, requestOf } from "../fleet/admission-request.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { BEGINS, type Operation, OPERATIONS } from "../../operations/beginnings.ts";
import { answerOf } from "./answer.ts";
import { distinct, type AnswerTurn, turnWith } from "./turns.ts";

export interface Times {
  readonly from: Date;
  /** Absent: one instant. */
  readonly to?: Date;
}

export interface SimulationOptions extends Times {
  readonly hooks: readonly HookName[];
  /** The version that upgrades go to; default: the one that the Cluster shows, else that of its topology. */
  readonly version?: string;
  /** The version that upgrades come from; default: the one that the Cluster shows, else unknown. */
  readonly fromVersion?: string;
}

/** The requests that a rule of either side is about; an upgrade only if the user names its version. */
export function requestsOf(
  cluster: Cluster,
  sides: readonly Fleet[],
  { hooks, version }: SimulationOptions,
): readonly Operation[] {
  const names = OPERATIONS.filter((name) => name !== "Upgrade" || version !== undefined);
  const rules = sides
    .flatMap((fleet) => fleet.policiesFor(cluster))
    .flatMap((policy) => policy.rules.filter(({ admission }) => admission !== undefined));
  return names.filter((name) => {
    const hook = BEGINS[name];
    return hooks.includes(hook) && rules.some((rule) => rule.hooks.has(hook));
  });
}

/** `undefined`: the API server sends no review for the request. */
export function requestTurns(
  fleet: Fleet,
  name: Operation,
  cluster: Cluster,
  options: SimulationOptions,
): readonly AnswerTurn[] | undefined {
  const { from, to = from, version, fromVersion } = options;
  const requested = requestOf(name, cluster, { to: version, from: fromVersion });
  if ("why" in requested) return undefined;
  const { call } = requested;
  const all = fleet.policiesFor(requested.cluster);
  const operation = {
    policies: [...denying(all), ...warningOnly(all)],
    world: fleet.world(requested.cluster),
    call,
    state: { firstAsked: from, rules: new Map() },
    lookAgain: () => sampleSeconds(options),
  };
  return distinct(walk(operation, from, to).map(({ at }) => turnAt(fleet, requested, at)));
}

function turnAt(fleet: Fleet, requested: RequestedOperation, at: Date): AnswerTurn {
  const found = admitted(fleet, requested, at);
  const trace = [...found.denial.trace, ...found.warning.trace];
  const { verdict, message, decision } = admissionAnswer(requested, found);
  const holds = verdict === "Denied";
  const answer = { ...answerOf(decision), verdict, holds, message };
  return turnWith({ at, answer }, { ...decision, holds, trace });
}

/** Limits the samples of an expression with `now`, whose value can change at any time. */
const MAX_SAMPLES = 100;
const SAMPLE_SECONDS = 60;

export function sampleSeconds({ from, to = from }: Times): number {
  return Math.max(SAMPLE_SECONDS, (to.getTime() - from.getTime()) / 1000 / MAX_SAMPLES);
}
