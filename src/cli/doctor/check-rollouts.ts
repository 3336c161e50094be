/** Checks whether rollouts let Clusters begin, and whether they hold what they select. */

import { counted } from "../../lib/counted.ts";
import { CONDITION, REASON } from "../../api/hook-policy.ts";
import { conditionOf, type Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../views/cluster.ts";
import type { FleetRollout, Fleet } from "../fleet/fleet.ts";
import { firstNames } from "../../lib/first-names.ts";
import { advice, run } from "../terminal/printed-command.ts";
import {
  type DoctorInput,
  type Finding,
  isAbsent,
  known,
  ok,
  type Problem,
  problems,
  together,
  warning,
} from "./finding.ts";
import { ours } from "./check-registration.ts";
import { isCalled } from "../../registration/registration.ts";
import { memberOf, type UnknownPlace } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";

const NONE = ok("there is no HookRollout");

export function rollouts(examined: DoctorInput): Finding {
  const { rollouts: read, fleet } = examined;
  known(read);
  const all = fleet.rollouts;
  if (all.length === 0) return NONE;
  const [enforced, audits] = [all.filter(isEnforced), all.filter((each) => !isEnforced(each))];
  const found = together([
    problems(
      "error",
      all.flatMap((each) => uncalled(each, examined)),
      which("not asked by Cluster API, so every Cluster begins"),
    ),
    problems("error", enforced.flatMap(unready), which("not Ready, so no Cluster begins")),
    problems("error", enforced.flatMap(halted), which("halted")),
    problems("warning", audits.flatMap(unready), which("of mode Audit not Ready")),
    problems(
      "warning",
      all.flatMap(delayed("TooLarge")),
      which("that a Cluster too large for memory delays"),
    ),
    problems("warning", all.flatMap(delayed("NamespaceUnknown")), which("that an unread Namespace delays")),
    problems("warning", enforced.flatMap(paused), which("paused, so nothing more begins")),
  ]);
  return found ?? ok(`${counted(all.length, "HookRollout")}, all Ready`);
}

const which =
  (what: string) =>
  (count: number): string =>
    `${counted(count, "HookRollout")} ${what}`;

/** Other checks tell if ExtensionConfigs may not be read. */
function uncalled({ compiled }: FleetRollout, examined: DoctorInput): Problem[] {
  const { registrations } = examined;
  const hook = BEGINS[compiled.operation];
  const isKnown = registrations.ok || isAbsent(registrations);
  if (compiled.problem !== undefined || !isKnown) return [];
  if (registrations.ok && isCalled(hook, ours(examined))) return [];
  const remedy = "do first what the checks ExtensionConfig, discovery and handlers say";
  return [{ detail: `${compiled.name}: Cluster API does not call ${hook}`, remedy }];
}

function unready(rollout: FleetRollout): Problem[] {
  const { compiled, status } = rollout;
  const { name, problem, generation } = compiled;
  const ready = conditionOf(rollout, CONDITION.Ready);
  const isReady = ready?.status === "True";
  // Other checks report that no operator runs.
  const isGone = ready?.reason === REASON.OperatorGone;
  const isCurrent = isGone || (isReady && status.observedGeneration === generation);
  if (problem === undefined && isCurrent) return [];
  const message = problem ?? (isReady ? undefined : ready?.message);
  const remedy =
    message === undefined
      ? "see whether the operator runs, and what its log says of HookRollouts"
      : advice`do what the message says: ${run(`kubectl edit hookrollout ${name}`)}`;
  return [{ detail: `${name}: ${message ?? "the operator has not looked at its spec"}`, remedy }];
}

const DELAYS: Readonly<Record<UnknownPlace, string>> = {
  TooLarge:
    "make their labels and annotations, or those of their Namespace, smaller, or give the operator more memory",
  NamespaceUnknown: "see what the operator's log says of Namespaces, and whether it may list and watch them",
};

const delayed =
  (place: UnknownPlace) =>
  (rollout: FleetRollout): Problem[] => {
    const { status, reason, message } = conditionOf(rollout, CONDITION.Ready) ?? {};
    if (status !== "True" || reason !== place) return [];
    return [{ detail: `${rollout.compiled.name}: ${message}`, remedy: DELAYS[place] }];
  };

function halted(rollout: FleetRollout): Problem[] {
  const { name } = rollout.compiled;
  const halt = conditionOf(rollout, CONDITION.Halted);
  if (halt?.status !== "True") return [];
  const remedy = advice`${run(`hookpolicy rollout status ${name}`)}, then repair what failed, or ${run(`hookpolicy rollout resume ${name}`)}`;
  return [{ detail: `${name}: ${halt.message}`, remedy }];
}

function paused({ compiled, pauseReason }: FleetRollout): Problem[] {
  const { name } = compiled;
  if (!compiled.paused) return [];
  const detail = pauseReason === undefined ? name : `${name}: ${pauseReason}`;
  return [{ detail, remedy: run(`hookpolicy rollout resume ${name}`) }];
}

/** Finds selected Clusters for which Cluster API calls no hook, and Clusters that several rollouts select. */
export function rolloutClusters({ rollouts: read, clusters, fleet }: DoctorInput): Finding {
  known(read);
  known(clusters);
  if (fleet.rollouts.length === 0) return NONE;
  const selected = fleet.rollouts.map((rollout) => ({ rollout, members: fleet.selectedBy(rollout) }));
  const all = selected.flatMap(({ members }) => members);
  const found = together([
    withoutTopology(all),
    ...selected.flatMap(({ rollout, members }, index) =>
      selected.slice(0, index).map((before) => {
        const both = members.filter((each) => before.members.includes(each));
        return shared(before.rollout, rollout, both);
      }),
    ),
    problems(
      "warning",
      selected.flatMap(({ rollout, members }) => withoutClusters(rollout, members, fleet)),
      (n) => `${counted(n, "rollout or stage", "rollouts or stages")} without a Cluster`,
    ),
  ]);
  return found ?? ok(`every rollout alone decides on its ${counted(new Set(all).size, "Cluster")}`);
}

function withoutTopology(selected: readonly Cluster[]): Finding | undefined {
  const without = new Set(selected.filter(({ topology }) => topology === undefined));
  if (without.size === 0) return undefined;
  return warning(
    `rollouts select ${counted(without.size, "Cluster")} without spec.topology, for which Cluster API calls no hook: ${firstNames([...without].map(clusterKey))}`,
    "leave them out by spec.clusterSelector: they begin without a slot",
  );
}

/** A rollout that selects nothing limits nothing; behind a stage that selects nothing, others may wait for ever. */
function withoutClusters({ compiled }: FleetRollout, members: readonly Cluster[], fleet: Fleet): Problem[] {
  if (members.length === 0) {
    const remedy = "correct spec.namespaceSelector, spec.clusterSelector or the labels, or delete it";
    return [{ detail: `HookRollout ${compiled.name}, which limits nothing`, remedy }];
  }
  const stages = members.flatMap((each) => {
    const member = memberOf(compiled, each, fleet.namespaceOf(each));
    return [member?.stage, ...(member?.mayBeIn ?? [])];
  });
  return compiled.stages
    .filter((stage) => !stages.includes(stage))
    .map(({ name }) => ({
      detail: `stage ${name} of HookRollout ${compiled.name}`,
      remedy: advice`correct its clusterSelector or the labels, or set its minSucceeded to 0 and its minSuccessTime to 0s: ${run(`hookpolicy rollout status ${compiled.name}`)}`,
    }));
}

function shared(a: FleetRollout, b: FleetRollout, both: readonly Cluster[]): Finding | undefined {
  const isSame = a.compiled.operation === b.compiled.operation;
  if (!isSame || !isEnforced(a) || !isEnforced(b) || both.length === 0) return undefined;
  return warning(
    `HookRollouts ${nameOf(a)} and ${nameOf(b)} select the same ${counted(both.length, "Cluster")}, which need a slot of each: ${firstNames(both.map(clusterKey))}`,
    "make their selectors exclude each other, or make one rollout of them",
  );
}

function isEnforced({ compiled }: FleetRollout): boolean {
  return compiled.mode === "Enforce";
}

function nameOf({ compiled }: FleetRollout): string {
  return compiled.name;
}
