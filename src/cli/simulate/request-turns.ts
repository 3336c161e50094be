/** What admission answers: which Clusters could be created, upgraded or deleted. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { Attempt } from "../../operations/attempt.ts";
import { nextLook } from "../../operations/timeline.ts";
import { denying, warning } from "../../policy/admission.ts";
import { admitted, answerOf as answerAtAdmission, requestOf } from "../fleet/admission-request.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { REQUEST_HOOKS, type RequestName, REQUESTS } from "../fleet/request-names.ts";
import { answerOf } from "./answer.ts";
import { distinct, type Turn, turnWith } from "./turns.ts";

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
  { metadata: { namespace = "" } }: Cluster,
  sides: readonly Fleet[],
  { hooks, version }: SimulationOptions,
): readonly RequestName[] {
  const names = REQUESTS.filter((name) => name !== "Upgrade" || version !== undefined);
  const rules = sides
    .flatMap((fleet) => fleet.policiesFor(namespace))
    .flatMap((policy) => policy.rules.filter(({ admission }) => admission !== undefined));
  return names.filter((name) => {
    const hook = REQUEST_HOOKS[name];
    return hooks.includes(hook) && rules.some((rule) => rule.hooks.has(hook));
  });
}

/** Far more often than a window opens and closes. */
const MAX_LOOKS = 10_000;

/** `undefined`: the API server sends no review for the request. */
export function requestTurns(
  fleet: Fleet,
  name: RequestName,
  cluster: Cluster,
  options: SimulationOptions,
): readonly Turn[] | undefined {
  const { version, fromVersion } = options;
  const attempt = requestOf(name, cluster, { to: version, from: fromVersion });
  if ("why" in attempt) return undefined;
  return distinct(looksAt(fleet, attempt, options));
}

function* looksAt(fleet: Fleet, attempt: Attempt, times: Times): Generator<Turn> {
  const { from, to = from } = times;
  const { cluster, call } = attempt;
  const all = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const policies = [...denying(all), ...warning(all)];
  const lookAgain = (): number => sampleSeconds(times);
  let at: Date | undefined = from;
  for (let look = 0; look < MAX_LOOKS && at !== undefined; look += 1) {
    const found = admitted(fleet, attempt, at);
    const trace = [...found.denial.trace, ...found.warning.trace];
    const { verdict, message, decision } = answerAtAdmission(attempt, found);
    const holds = verdict === "Denied";
    const answer = { ...answerOf(decision), verdict, holds, message };
    yield turnWith({ at, answer }, { ...decision, holds, trace });
    const asked = { at, decision: { ...found.denial, trace } };
    const next: Date | undefined = nextLook({ policies, call, lookAgain }, asked);
    at = next !== undefined && next < to ? next : undefined;
  }
}

/** Limits the samples of an expression with `now`, whose value can change at any time. */
const MAX_SAMPLES = 100;
const SAMPLE_SECONDS = 60;

export function sampleSeconds({ from, to = from }: Times): number {
  return Math.max(SAMPLE_SECONDS, (to.getTime() - from.getTime()) / 1000 / MAX_SAMPLES);
}
