/** One Cluster and everything that applies to it, from the API server or from files. */

import type { Cluster } from "../../api/meta.ts";
import type { clusterName } from "../command.ts";
import type { Fleet, ReadOptions } from "./fleet.ts";
import type { RawObject } from "./kinds.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { Options } from "../../operator/options.ts";
import { noCluster } from "./connection.ts";

export type ClusterName = ReturnType<typeof clusterName>;

export interface ClusterReading {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  readonly now: Date;
  /** False: policies or rollouts that the user may not read can hold the Cluster. */
  readonly isWhole: boolean;
  /** False: the user may not read all that a platform team writes. */
  readonly isPlatformWhole: boolean;
}

export interface LiveCluster {
  readonly client: KubeClient;
  /** Its URL and context, for people. */
  readonly server: string;
  /** As the operator's flag says, or by default. */
  readonly maxOverrideMs: number;
  /** The user may not read the operator's flags. */
  readonly assumed: boolean;
  /** Reads the present state. What the user may not read is reported the first time. */
  readonly look: () => Promise<ClusterReading>;
}

export interface FleetSettings {
  readonly options: Options;
  readonly now: Date;
}

export async function fleetOf(
  objects: readonly RawObject[],
  { options: { capiVersion, maxOverrideMs }, now }: FleetSettings,
  read?: ReadOptions,
): Promise<Fleet> {
  const { Fleet } = await import("./fleet.ts");
  const { servedHooks } = await import("../../api/hook-catalog.ts");
  const served = servedHooks(capiVersion.minor);
  return new Fleet(objects, { served, maxOverrideMs, now, created: new Date(), ...read });
}

/** `place`: where the objects of the fleet come from, for the error. */
export function clusterIn(fleet: Fleet, name: ClusterName, place?: string): Cluster {
  const others = fleet.clusters().map(({ metadata }) => metadata);
  const cluster = fleet.cluster(name.namespace, name.name);
  if (cluster === undefined) throw noCluster(name, others, place);
  return cluster;
}
