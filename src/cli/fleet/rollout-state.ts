/** How far a rollout is over the Clusters of a fleet, as the operator would find it now. */

import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import { earliest } from "../../lib/instant.ts";
import { isAtVersion, isAwaited } from "../../operations/hook-lives.ts";
import { healthOf } from "../../rollouts/health.ts";
import { SELECTS_ALL } from "../../api/selector.ts";
import { type Member, memberOf, targetOf } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { gateEdges } from "../../rollouts/promotion.ts";
import type { MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { computeRolloutStatus } from "../../rollouts/rollout-status.ts";
import { knownStages } from "../../rollouts/stages.ts";
import { covers } from "../../policy/world.ts";
import type { Fleet, FleetRollout } from "./fleet.ts";

/** Without its Namespace, a Cluster counts as selected by it; in no stage, if one that selects by Namespaces could be its own. */
export function knownMember(
  ...[rollout, cluster, namespace]: Parameters<typeof memberOf>
): Member | undefined {
  const member = memberOf(rollout, cluster, namespace);
  if (member?.unknown !== "NamespaceUnknown") return member;
  const { mayBeIn: [stage] = [], unknown: _, ...rest } = member;
  return { ...rest, ...(stage?.selectsNamespace === SELECTS_ALL && { stage }) };
}

export function statesOf(rollout: CompiledRollout, fleet: Fleet, at: Date): readonly MemberState[] {
  return fleet.clusters().flatMap((cluster) => {
    const member = cluster.topology && knownMember(rollout, cluster, fleet.namespaceOf(cluster));
    if (member === undefined) return [];
    return {
      member,
      cluster,
      health: healthOf(rollout, cluster, at),
      hasReached: isAtVersion(cluster),
      lastsUnhealthy: false,
      isAwaited: isAwaited(BEGINS[rollout.operation], cluster, fleet.served),
    };
  });
}

export interface StatusWish {
  readonly at: Date;
  /** As if a Cluster were asked for it. */
  readonly version?: string | undefined;
}

/**
 * The status that the operator will write within UNHEALTHY_MS; `stored`: empty for a new rollout. A Cluster that is unhealthy at
 * a version of which `stored` has no stages has failed by then.
 */
export function presentStatus(
  { compiled: rollout, status: stored }: Pick<FleetRollout, "compiled" | "status">,
  { served }: Pick<Fleet, "served">,
  members: readonly MemberState[],
  { at, version }: StatusWish,
): HookRolloutStatus {
  const nothing = { ended: new Set<string>(), isRebuilding: false, scope: "", next: [] };
  const unheld = { held: [], heldOmitted: 0, asksMidway: !served.marksUpgrades };
  const statusOf = (before: HookRolloutStatus, all: readonly MemberState[]): HookRolloutStatus =>
    computeRolloutStatus(
      { rollout, stored: before, isPresent: true, members: all, ...unheld, ...nothing },
      at,
    );
  const isKnown = (target: string): boolean => knownStages(stored, target).length > 0;
  const isNew = version !== undefined && !isKnown(version);
  const targets = [...(stored.targets ?? []), ...(isNew ? [{ version, stages: [] }] : [])];
  const lasts = ({ cluster, health, hasReached }: MemberState): boolean =>
    hasReached && health === "Unhealthy" && !isKnown(targetOf("Upgrade", cluster));
  const later = members.map((state) => ({ ...state, lastsUnhealthy: lasts(state) }));
  return statusOf(statusOf({ ...stored, targets }, members), later);
}

/** `from`, and the later instants before `to` at which gates of stages, overrides or `also` can change what rollouts hold. */
export function* rolloutEdges(
  fleet: Fleet,
  { from, to, lookAgainMs, also = [] }: EdgeTimes,
): Generator<Date, undefined> {
  const { rollouts } = fleet;
  const known = [...also, ...overrideEnds(fleet)];
  for (let at: Date | undefined = from; at !== undefined && at < to;) {
    const now: Date = at;
    yield now;
    const gates = rollouts.flatMap(({ compiled }) => gateEdges(compiled, now, lookAgainMs));
    at = earliest([...known, ...gates].filter((edge) => edge > now));
  }
}

/** Of those that lift a rollout for one of its Clusters. */
function overrideEnds(fleet: Fleet): readonly Date[] {
  const lifting = fleet.overrides.filter((override) => {
    const { namespace, name } = override.clusterRef;
    const cluster = fleet.cluster(namespace, name);
    return fleet.rollouts.some(
      ({ compiled }) =>
        cluster !== undefined &&
        override.hooks.has(BEGINS[compiled.operation]) &&
        covers(override, { kind: "HookRollout", name: compiled.name }) &&
        memberOf(compiled, cluster, fleet.namespace(namespace)) !== undefined,
    );
  });
  return lifting.map(({ expiresAt }) => expiresAt);
}

interface EdgeTimes {
  readonly from: Date;
  readonly to: Date;
  /** For an expression that reads the clock. */
  readonly lookAgainMs: number;
  readonly also?: readonly Date[];
}
