/** One Cluster and what speaks about it, read from the API server: for commands that change something. */

import type { Cluster } from "../api/meta.ts";
import { type clusterName, CommandError, USAGE } from "../cli/command.ts";
import type { Fleet } from "../cli/fleet.ts";
import type { RawObject } from "../cli/kinds.ts";
import type { KubeClient } from "../live/approve.ts";
import type { Connection } from "../live/fleet.ts";
import { parseOptions } from "../manager/options.ts";
import { nearest } from "../policy/fieldmessage.ts";
import type { ObjectReader } from "../policy/objects.ts";
import { reading } from "./liveflags.ts";

export type ClusterName = ReturnType<typeof clusterName>;

export interface Looked {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  readonly now: Date;
  /** False: policies that may not be read can hold the Cluster. */
  readonly isWhole: boolean;
}

export interface Sight {
  readonly client: KubeClient;
  /** As it is now. What may not be read is told the first time. */
  readonly look: () => Promise<Looked>;
}

/** Exit code 2 where nothing can be read; what `work` cannot write is a failure. */
export async function withSight(
  connection: Connection,
  name: ClusterName,
  work: (sight: Sight) => Promise<void>,
): Promise<void> {
  const { withApiServer } = await import("../live/fleet.ts");
  const told = new Set<string>();
  let configured = false;
  const started = withApiServer(connection, async (client) => {
    configured = true;
    await work({ client, look: async () => await reading(look(client, name, told)) });
  });
  await started.catch(async (error: unknown) => {
    if (configured) throw error;
    await reading(Promise.reject(error instanceof Error ? error : new Error(String(error))));
  });
}

async function look(client: KubeClient, name: ClusterName, told: Set<string>): Promise<Looked> {
  const { readClusterWorld } = await import("../live/clusterworld.ts");
  const { objectQueries } = await import("../cli/approval.ts");
  const now = new Date();
  const found = await readClusterWorld(client, name, async (objects) => {
    const seen = await fleetOf(objects, now);
    return objectQueries(seen, clusterIn(seen, name), now);
  });
  if ("others" in found) throw noCluster(name, found.others);
  for (const { what, verb } of found.unread.filter(({ verb: each }) => !told.has(each))) {
    told.add(verb);
    process.stderr.write(`warning: you may not ${verb}: what ${what} would say is not known here\n`);
  }
  const fleet = await fleetOf(found.objects, now, found.reader);
  const isWhole = found.unread.every(({ what }) => what !== "ClusterHookPolicies");
  return { fleet, cluster: clusterIn(fleet, name), now, isWhole };
}

function clusterIn(fleet: Fleet, name: ClusterName): Cluster {
  const cluster = fleet.cluster(name.namespace, name.name);
  if (cluster === undefined) throw noCluster(name, []);
  return cluster;
}

function noCluster(
  { namespace, name }: ClusterName,
  others: readonly { readonly name: string }[],
): CommandError {
  const meant = nearest(
    name,
    others.map((each) => each.name),
  );
  const hint = meant === undefined ? "" : ` (did you mean ${namespace}/${meant}?)`;
  return new CommandError(USAGE, `there is no Cluster ${namespace}/${name}${hint}`);
}

async function fleetOf(objects: readonly RawObject[], now: Date, reader?: ObjectReader): Promise<Fleet> {
  const { createFleet } = await import("../cli/fleet.ts");
  const { servedHooks } = await import("../hooks/catalog.ts");
  const { capiVersion, maxOverrideMs } = parseOptions({});
  return createFleet(objects, {
    served: servedHooks(capiVersion.minor),
    maxOverrideMs,
    now,
    ...(reader !== undefined && { objects: reader }),
  });
}
