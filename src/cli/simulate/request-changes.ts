/** Compares what admission answers before and after: which Clusters could be created, upgraded or deleted. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { Attempt } from "../../operations/attempt.ts";
import { nextLook } from "../../operations/timeline.ts";
import { type AdmissionDecision, denying, warning } from "../../policy/admission.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { PolicyTrace } from "../../policy/decision.ts";
import { admitted, answerOf as answerAtAdmission, requestOf } from "../fleet/admission-request.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { REQUEST_HOOKS, type RequestName, REQUESTS } from "../fleet/request-names.ts";
import { answerOf } from "./answer.ts";
import type { FleetPair } from "./changed-fleet.ts";
import { type Change, differences } from "./comparison.ts";
import { isSameTurn, type WalkTurn, turnWith } from "./walks.ts";

/** The simulated time. */
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

export interface Progress {
  readonly done: number;
  readonly total: number;
}

export interface RequestChanges {
  readonly changes: readonly Change[];
  /** The number of requests at admission that rules of either side are about. */
  readonly requests: number;
  /** How many of them the API server refuses at the start of the time. */
  readonly deniedBefore: number;
  readonly deniedAfter: number;
}

/** A creation request creates a Cluster of the fleet again, for example from Git or a backup. */
export function* requestChanges(
  pair: FleetPair,
  options: SimulationOptions,
  progress: Progress,
): Generator<Progress, RequestChanges> {
  const compared = { end: options.to ?? options.from, changed: pair.changed };
  const changes: Change[] = [];
  let [requests, deniedBefore, deniedAfter] = [0, 0, 0];
  for (const cluster of pair.after.clusters()) {
    const { namespace = "", name } = cluster.metadata;
    for (const request of requestsOf(cluster, [pair.before, pair.after], options)) {
      const known = pair.before.cluster(namespace, name) ?? cluster;
      const before = turnsOf(pair.before, request, known, options);
      const after = turnsOf(pair.after, request, cluster, options);
      if (before === undefined || after === undefined) continue;
      requests += 1;
      deniedBefore += Number(before[0]?.answer.holds === true);
      deniedAfter += Number(after[0]?.answer.holds === true);
      const subject = { hook: REQUEST_HOOKS[request], request, cluster: clusterKey(cluster) };
      for (const { old, now, ...change } of differences(before, after, compared))
        changes.push({ ...change, before: old.answer, after: now.answer, ...subject });
    }
    yield progress;
  }
  return { changes, requests, deniedBefore, deniedAfter };
}

/** The requests that a rule of either side is about; an upgrade only if the user names its version. */
function requestsOf(
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
function turnsOf(
  fleet: Fleet,
  name: RequestName,
  cluster: Cluster,
  options: SimulationOptions,
): readonly WalkTurn[] | undefined {
  const { from, to = from, version, fromVersion } = options;
  const attempt = requestOf(name, cluster, { to: version, from: fromVersion });
  if ("why" in attempt) return undefined;
  const all = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const { call } = attempt;
  const policies = [...denying(all), ...warning(all)];
  const lookAgain = (): number => sampleSeconds(options);
  const turns: WalkTurn[] = [];
  let at: Date | undefined = from;
  for (let look = 0; look < MAX_LOOKS && at !== undefined; look += 1) {
    const found = admitted(fleet, attempt, at);
    const trace = [...found.denial.trace, ...found.warning.trace];
    const turn = turnAt(at, attempt, found, trace);
    if (!isSameTurn(turns.at(-1), turn)) turns.push(turn);
    const decision = { ...found.denial, trace };
    const next: Date | undefined = nextLook({ policies, call, lookAgain }, { at, decision });
    at = next !== undefined && next < to ? next : undefined;
  }
  return turns;
}

function turnAt(
  at: Date,
  attempt: Attempt,
  found: AdmissionDecision,
  trace: readonly PolicyTrace[],
): WalkTurn {
  const { verdict, message, decision } = answerAtAdmission(attempt, found);
  const holds = verdict === "Denied";
  const answer = { ...answerOf(decision), verdict, holds, message };
  return turnWith({ at, answer, state: { firstAsked: at, rules: new Map() } }, { ...decision, holds, trace });
}

/** Limits the samples of an expression with `now`, whose value can change at any time. */
const MAX_SAMPLES = 100;
const SAMPLE_SECONDS = 60;

export function sampleSeconds({ from, to = from }: Times): number {
  return Math.max(SAMPLE_SECONDS, (to.getTime() - from.getTime()) / 1000 / MAX_SAMPLES);
}
