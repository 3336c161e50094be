/** Reads the rollout that is planned, and the fleet that it is about. */

import { servedHooks } from "../../api/hookcatalog.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import type { HookRollout } from "../../api/hookpolicy.ts";
import { viewRollout } from "../../controller/storedviews.ts";
import { parseOptions } from "../../operator/options.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { demandsOf } from "../../policy/policy.ts";
import { nearest } from "../../policy/validation/fieldmessage.ts";
import { CommandError, USAGE } from "../command.ts";
import { createFleet, type Fleet } from "../fleet/fleet.ts";
import { isCluster, ownKind, type RawObject } from "../fleet/kinds.ts";
import { type Connection, readFleet, readObjects, withApiServer } from "../fleet/livefleet.ts";
import { readAllObjects } from "../fleet/objectfiles.ts";

export interface Planned {
  readonly rollout: HookRollout;
  readonly fleet: Fleet;
}

/** Files without Clusters are about those of the API server. */
export async function readPlanned(
  name: string | undefined,
  paths: readonly string[],
  connection: Connection,
): Promise<Planned> {
  const files = paths.length === 0 ? [] : (await readAllObjects(paths)).map(({ object }) => object);
  if (files.some(isCluster)) return { rollout: rolloutIn(files, name), fleet: fleetOf(files) };
  return await withApiServer(connection, async (client) =>
    readLivePlanned(client, name, paths.length === 0 ? undefined : files),
  );
}

/** `files`: has the rollout; absent: the API server has it. */
export async function readLivePlanned(
  client: KubeClient,
  name: string | undefined,
  files?: readonly RawObject[],
): Promise<Planned> {
  const objects = await readFleet(client);
  const rollout = rolloutIn(files ?? objects, name);
  const demands = fleetOf(objects).policies.flatMap(({ compiled }) => demandsOf(compiled));
  const { capiVersion, maxOverrideMs } = parseOptions({});
  const served = servedHooks(capiVersion.minor);
  const reader = await readObjects(client, demands);
  return {
    rollout,
    fleet: createFleet(objects, { served, maxOverrideMs, now: new Date(), objects: reader }),
  };
}

function fleetOf(objects: readonly RawObject[]): Fleet {
  const { capiVersion, maxOverrideMs } = parseOptions({});
  return createFleet(objects, { served: servedHooks(capiVersion.minor), maxOverrideMs, now: new Date() });
}

function rolloutIn(objects: readonly RawObject[], name: string | undefined): HookRollout {
  const rollouts = objects.filter((each) => ownKind(each) === "HookRollout");
  const named = rollouts.map((raw) => ({ raw, metadata: viewMetadata(raw["metadata"]) }));
  const found = named.filter(({ metadata }) => name === undefined || metadata.name === name);
  const [only, second] = found;
  if (second !== undefined)
    throw new CommandError(USAGE, "the files have several HookRollouts: name one of them");
  if (only !== undefined) return viewRollout({ ...only.raw, metadata: only.metadata });
  if (name === undefined) throw new CommandError(USAGE, "the files have no HookRollout");
  const meant = nearest(
    name,
    named.map(({ metadata }) => metadata.name),
  );
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  throw new CommandError(USAGE, `there is no HookRollout ${name}${hint}`);
}
