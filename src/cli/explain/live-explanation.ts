/** Reads from the API server what the explanation of a Cluster needs. */

import type { KubeClient } from "../../kube/kube-client.ts";
import type { Options } from "../../operator/options.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Unread } from "../fleet/live-fleet.ts";
import { type ClusterName, readCluster } from "../fleet/live-cluster.ts";
import { type ExplainOptions, type ExplainWish, queriesFor } from "./explanation.ts";

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
    queries: (seen, found) => queriesFor(seen, { ...wish, cluster: found, now, unread: [], live: true }),
  });
  return { fleet, options: { ...wish, cluster, now, unread: unread.map(unreadNote), live: true } };
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
