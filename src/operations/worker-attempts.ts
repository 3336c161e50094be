/**
 * Requests that give workers another version than before by a pin. Cluster API (1.15) takes a pin for the version of its
 * MachineDeployment or MachinePool at once and calls no hook, not even while a hook holds the other workers or when the Cluster
 * is resumed (exp/topology/desiredstate/desired_state.go, computeMachineDeploymentVersion, computeMachinePoolVersion).
 */

import type { Cluster } from "../api/meta.ts";
import { isVersion } from "../policy/target-version.ts";
import type { Workers } from "../policy/workers.ts";
import { type Attempt, attemptOf, type Change } from "./attempt.ts";
import { about, comingFrom } from "./call.ts";
import { isAtVersion, isDeleted } from "./shows.ts";

/** What a request to the API server would begin: each is reviewed by itself. */
export function attemptsOf(change: Change): readonly Attempt[] {
  const attempt = attemptOf(change);
  return [...(attempt === undefined ? [] : [attempt]), ...workerAttempts(change)];
}

interface Move {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string;
}

/** One for each version that workers leave and each that they go to. New workers are no upgrade. */
function workerAttempts({ before, after, workers }: Change): readonly Attempt[] {
  if (before?.topology === undefined || after?.topology === undefined || isDeleted(after)) return [];
  const known = new Map(workers?.before.map((each) => [keyOf(each), each]));
  const moves = (workers?.after ?? []).flatMap((now): Move[] => {
    const was = known.get(keyOf(now));
    const to = was && nextVersion({ was, now }, before, after);
    const from = was && ownVersion(was, before);
    return to === undefined || from === to ? [] : [{ name: now.name, from, to }];
  });
  const alike = Map.groupBy(moves, ({ from = "", to }) => JSON.stringify([from, to]));
  return [...alike.values()].flatMap((group) => attemptsTo(group, after));
}

function attemptsTo(moves: readonly Move[], cluster: Cluster): readonly Attempt[] {
  const [first] = moves;
  if (first === undefined) return [];
  const call = comingFrom({ hook: "BeforeClusterUpgrade" }, first.from);
  const workers = moves.map(({ name }) => name);
  return [{ call: isVersion(first.to) ? about(call, first.to) : call, cluster, workers }];
}

function keyOf({ kind, name }: Workers): string {
  return `${kind}/${name}`;
}

/** `undefined`: they follow the topology, as before, or to another version, about which the hooks are called. */
function nextVersion(
  { was, now }: { readonly was: Workers; readonly now: Workers },
  before: Cluster,
  after: Cluster,
): string | undefined {
  if (now.version !== undefined) return now.version;
  const version = after.topology?.version;
  return was.version === undefined || version !== before.topology?.version ? undefined : version;
}

/** While an upgrade is held or under way, workers without a pin need not have the version of the topology yet. */
function ownVersion({ version }: Workers, cluster: Cluster): string | undefined {
  if (version !== undefined) return version;
  return isAtVersion(cluster) ? cluster.topology?.version : cluster.progress?.workersVersion;
}
