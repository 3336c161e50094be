/** Explains an operation of a Cluster from what the API server has now. */

import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtimehooks.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import type { Options } from "../../operator/options.ts";
import type { RequestName } from "../fleet/requestnames.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Unread } from "../fleet/clusterworld.ts";
import { type ClusterName, readCluster } from "../fleet/livecluster.ts";
import { type ExplainOptions, queriesFor } from "./explanation.ts";

/** The subject of the explanation; absent parts as in ExplainOptions. */
export interface ExplainWish {
  readonly hook?: HookName;
  readonly request?: RequestName;
  readonly at?: Date;
  readonly toVersion?: string;
  readonly fromVersion?: string;
}

/** The arguments of explain(). */
export interface Explainable {
  readonly fleet: Fleet;
  readonly options: ExplainOptions;
}

/** Every failure is a KubeError or a CommandError. */
export async function readExplainable(
  client: KubeClient,
  name: ClusterName,
  { wish, options }: { readonly wish: ExplainWish; readonly options: Options },
): Promise<Explainable> {
  const now = new Date();
  const { fleet, cluster, unread } = await readCluster(client, name, {
    options,
    now,
    queries: (seen, found) => queriesFor(seen, explainOptions(found, wish, { now, live: true })),
  });
  return {
    fleet,
    options: explainOptions(cluster, wish, { now, live: true, unread: unread.map(unreadNote) }),
  };
}

export function explainOptions(
  cluster: Cluster,
  { hook, request, at, toVersion, fromVersion }: ExplainWish,
  {
    now,
    unread = [],
    live = false,
  }: { readonly now: Date } & Partial<Pick<ExplainOptions, "unread" | "live">>,
): ExplainOptions {
  return {
    cluster,
    now,
    unread,
    live,
    ...(hook !== undefined && { hook }),
    ...(request !== undefined && { request }),
    ...(at !== undefined && { at }),
    ...(toVersion !== undefined && { toVersion }),
    ...(fromVersion !== undefined && { fromVersion }),
  };
}

function unreadNote({ what, verb }: Unread): ExplainOptions["unread"][number] {
  const policies = what === "ClusterHookPolicies" || what === "HookRollouts";
  const may = policies
    ? "one of them can hold the Cluster"
    : what === "HookOverrides"
      ? "one of them can release the Cluster"
      : "what depends on it is not evaluable here, though it can be for the operator";
  return { text: `you may not ${verb}: ${may}`, policies };
}
