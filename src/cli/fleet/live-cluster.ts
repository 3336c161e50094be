/** One Cluster and everything that applies to it, from the API server or from files. */

import type { Cluster } from "../../api/meta.ts";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";
import type { clusterName } from "../command.ts";
import type { Fleet, ReadOptions } from "./fleet.ts";
import type { RawObject } from "./kinds.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { UnreadKind } from "./live-fleet.ts";
import { type Options, parseOptions } from "../../operator/options.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { type ConnectionFlags, noCluster, reading } from "./connection.ts";
import { stderr } from "../terminal/output.ts";

export type ClusterName = ReturnType<typeof clusterName>;

export interface ClusterReading {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  readonly now: Date;
  /** False: policies that the user may not read can hold the Cluster. */
  readonly isWhole: boolean;
  /** False: the user may not read all that a platform team writes. */
  readonly isPlatformWhole: boolean;
}

export interface LiveCluster {
  readonly client: KubeClient;
  /** Its URL and context, for people. */
  readonly server: string;
  /** Reads the present state. What the user may not read is reported the first time. */
  readonly look: () => Promise<ClusterReading>;
}

/** Exits with code 2 if reading fails; a failed write in `work` is a failure. */
export async function withLiveCluster(
  connection: ConnectionFlags,
  name: ClusterName,
  work: (live: LiveCluster) => Promise<void>,
): Promise<void> {
  const { withApiServer } = await import("./live-fleet.ts");
  const told = new Set<string>();
  await withApiServer(connection, async (client, server) => {
    await work({ client, server, look: async () => await reading(() => look(client, name, told)) });
  });
}

async function look(client: KubeClient, name: ClusterName, told: Set<string>): Promise<ClusterReading> {
  const { expectedCall } = await import("../../operations/call.ts");
  const now = new Date();
  const { fleet, cluster, unread } = await readCluster(client, name, {
    options: parseOptions({}),
    now,
    queries: (seen, found) =>
      HOOK_NAMES.flatMap((hook) => seen.queries(seen.world(found), expectedCall(hook, found), now)),
  });
  for (const { what, verb } of unread.filter(({ verb: each }) => !told.has(each))) {
    told.add(verb);
    stderr.line(`warning: you may not ${verb}: what ${what} would say is not known here`);
  }
  const isRead = (kind: UnreadKind["what"]): boolean => unread.every(({ what }) => what !== kind);
  const isPolicyRead = isRead("ClusterHookPolicies");
  return {
    fleet,
    cluster,
    now,
    isWhole: isPolicyRead && isRead("HookPolicies"),
    isPlatformWhole: isPolicyRead && isRead("HookRollouts"),
  };
}

export interface FleetSettings {
  readonly options: Options;
  readonly now: Date;
}

interface FoundCluster {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  /** With its whole status. */
  readonly raw: RawObject;
  readonly unread: readonly UnreadKind[];
}

/** `queries`: the objects that gates look at. */
export async function readCluster(
  client: KubeClient,
  name: ClusterName,
  settings: FleetSettings & {
    readonly queries: (fleet: Fleet, cluster: Cluster) => readonly ObjectQuery[];
  },
): Promise<FoundCluster> {
  const { readClusterObjects } = await import("./live-fleet.ts");
  const {
    cluster: raw,
    objects,
    unread,
    read,
  } = await readClusterObjects(client, name, async (found) => {
    const seen = await fleetOf(found, settings);
    return settings.queries(seen, clusterIn(seen, name));
  });
  const fleet = await fleetOf(objects, settings, read);
  return { fleet, cluster: clusterIn(fleet, name), raw, unread };
}

export async function fleetOf(
  objects: readonly RawObject[],
  { options: { capiVersion, maxOverrideMs }, now }: FleetSettings,
  read?: ReadOptions,
): Promise<Fleet> {
  const { Fleet } = await import("./fleet.ts");
  const { servedHooks } = await import("../../api/hook-catalog.ts");
  return new Fleet(objects, { served: servedHooks(capiVersion.minor), maxOverrideMs, now, ...read });
}

/** `place`: where the objects of the fleet come from, for the error. */
export function clusterIn(fleet: Fleet, name: ClusterName, place?: string): Cluster {
  const others = fleet.clusters().map(({ metadata }) => metadata);
  const cluster = fleet.cluster(name.namespace, name.name);
  if (cluster === undefined) throw noCluster(name, others, place);
  return cluster;
}
