/** Reads the rollout to plan, and the fleet that it is about. */

import type { KubeClient } from "../../kube/kube-client.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import { parseOptions } from "../../operator/options.ts";
import { demandsOf } from "../../policy/policy.ts";
import { nearest } from "../../policy/validation/field-message.ts";
import { CommandError, meantText, USAGE } from "../command.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { isCluster, ownKind, type RawObject, viewRollout } from "../fleet/kinds.ts";
import type { ConnectionFlags } from "../fleet/connection.ts";
import { fleetOf, type FleetSettings } from "../fleet/live-cluster.ts";
import { readFleet, withApiServer } from "../fleet/live-fleet.ts";
import { readObjects } from "../fleet/live-objects.ts";
import { readAllObjects } from "../fleet/object-files.ts";

export interface RolloutInFleet {
  readonly rollout: HookRollout;
  readonly fleet: Fleet;
}

/** A rollout in files without Clusters is planned over those of the API server. */
export async function readPlanned(
  name: string | undefined,
  paths: readonly string[],
  connection: ConnectionFlags,
): Promise<RolloutInFleet> {
  const files = paths.length === 0 ? [] : (await readAllObjects(paths)).map(({ object }) => object);
  if (files.some(isCluster)) {
    return { rollout: rolloutIn(files, name), fleet: await fleetOf(files, settings()) };
  }
  return await withApiServer(connection, async (client) =>
    readLivePlanned(client, name, paths.length === 0 ? undefined : files),
  );
}

/** `files` contain the rollout; absent: it is read from the API server, too. */
export async function readLivePlanned(
  client: KubeClient,
  name: string | undefined,
  files?: readonly RawObject[],
): Promise<RolloutInFleet> {
  const objects = await readFleet(client);
  const rollout = rolloutIn(files ?? objects, name);
  const { policies } = await fleetOf(objects, settings());
  const reader = await readObjects(
    client,
    policies.flatMap(({ compiled }) => demandsOf(compiled)),
  );
  return { rollout, fleet: await fleetOf(objects, settings(), { objects: reader, allNamespaces: true }) };
}

function settings(): FleetSettings {
  return { options: parseOptions({}), now: new Date() };
}

function rolloutIn(objects: readonly RawObject[], name: string | undefined): HookRollout {
  const rollouts = objects.filter((each) => ownKind(each) === "HookRollout").map(viewRollout);
  const [only, second] = rollouts.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (second !== undefined)
    throw new CommandError(USAGE, "the files have several HookRollouts: name one of them");
  if (only !== undefined) return only;
  if (name === undefined) throw new CommandError(USAGE, "the files have no HookRollout");
  throw noRollout(name, rollouts);
}

/** `others`: the existing ones, for a suggestion. */
export function noRollout(name: string, others: readonly HookRollout[]): CommandError {
  const names = others.map(({ metadata }) => metadata.name);
  return new CommandError(USAGE, `there is no HookRollout ${name}${meantText(nearest(name, names))}`);
}
