/** Reads the rollout to plan, and the fleet that it is about. */

import type { KubeClient } from "../../kube/kube-client.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import { messageOf } from "../../lib/thrown.ts";
import { parseOptions } from "../../operator/options.ts";
import { firstNames } from "../../lib/first-names.ts";
import { CommandError, nearestText, USAGE } from "../command.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { isCluster, ownKind, type RawObject, viewRollout } from "../fleet/kinds.ts";
import type { ConnectionFlags } from "../fleet/connection.ts";
import { fleetOf, type FleetSettings } from "../fleet/live-cluster.ts";
import { operatorOptions } from "../fleet/operator-options.ts";
import { readFleet, withApiServer } from "../fleet/live-fleet.ts";
import { readAsOperator } from "../fleet/live-objects.ts";
import { warnOfSilentRollouts } from "../fleet/operator-life.ts";
import { readAllObjects } from "../fleet/object-files.ts";
import type { CommandWords } from "../terminal/printed-command.ts";

export interface RolloutInFleet {
  readonly rollout: HookRollout;
  readonly fleet: Fleet;
}

/** Files without Clusters are planned as if they were applied to the API server. */
export async function readPlanned(
  name: string | undefined,
  paths: readonly string[],
  connection: ConnectionFlags,
  words: CommandWords,
): Promise<RolloutInFleet> {
  const live = async (given?: readonly RawObject[]): Promise<RolloutInFleet> =>
    await withApiServer(connection, async (client) => {
      const planned = await readLivePlanned(client, name, given);
      await warnOfSilentRollouts(client, [planned.rollout], words);
      return planned;
    });
  if (paths.length === 0) return await live();
  const files = (await readAllObjects(paths)).map(({ object }) => object);
  const rollout = rolloutIn(files, name, IN_FILES);
  const settings: FleetSettings = { options: parseOptions({}), now: new Date() };
  if (files.some(isCluster)) return { rollout, fleet: await fleetOf(files, settings) };
  try {
    return await live(files);
  } catch (error) {
    const why = "The files have no Cluster, so the plan needs those of the API server: add Clusters with -f";
    throw new CommandError(USAGE, `${messageOf(error)}. ${why} to plan without it`);
  }
}

/** `files` contain the rollout, and what is applied with it; absent: everything is read from the API server. */
export async function readLivePlanned(
  client: KubeClient,
  name: string | undefined,
  files?: readonly RawObject[],
): Promise<RolloutInFleet> {
  const live = await readFleet(client);
  const rollout = withStatus(rolloutIn(files ?? live, name, files && IN_FILES), live);
  // Of two objects of a name, the last one counts.
  const objects = [...live, ...(files ?? [])];
  const { options } = await operatorOptions(client);
  const settings: FleetSettings = { options, now: new Date() };
  const demands = (await fleetOf(objects, settings)).demands();
  const reader = await readAsOperator(client, demands, live);
  const fleet = await fleetOf(objects, settings, { objects: reader, allNamespaces: true });
  return { rollout, fleet };
}

/** A rollout that is applied again keeps its status. */
function withStatus(rollout: HookRollout, live: readonly RawObject[]): HookRollout {
  const before = rolloutsIn(live).find(({ metadata }) => metadata.name === rollout.metadata.name);
  return before?.status === undefined ? rollout : { ...rollout, status: before.status };
}

/** With -f, only rollouts from the files count. */
const IN_FILES = " in the files";

function rolloutsIn(objects: readonly RawObject[]): HookRollout[] {
  return objects.filter((each) => ownKind(each) === "HookRollout").map(viewRollout);
}

function rolloutIn(objects: readonly RawObject[], name: string | undefined, place?: string): HookRollout {
  const rollouts = rolloutsIn(objects);
  const [only, second] = rollouts.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (second !== undefined)
    throw new CommandError(USAGE, "the files have several HookRollouts: name one of them");
  if (only !== undefined) return only;
  if (name === undefined) throw new CommandError(USAGE, "the files have no HookRollout");
  throw noRollout(name, rollouts, place);
}

/** With the name that may be meant, or those that there are. */
export function noRollout(name: string, existing: readonly HookRollout[], place = ""): CommandError {
  const names = existing.map(({ metadata }) => metadata.name);
  const others = names.length === 0 ? ", and no other" : ` (there are ${firstNames(names.toSorted())})`;
  const hint = nearestText(name, names) || others;
  return new CommandError(USAGE, `there is no HookRollout ${name}${place}${hint}`);
}
