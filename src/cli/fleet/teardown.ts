/** Clusters of which others delete what they own, and what to do now. */

import type { TornDown } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import { FOREGROUND_FINALIZER, tornDown } from "../../operations/torn-down.ts";
import { kubectl } from "./caveats.ts";
import type { Fleet } from "./fleet.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";

export interface TearDown extends TornDown {
  /** Otherwise only the next deletion of the Cluster would tear it down. */
  readonly isUnderWay: boolean;
  readonly steps: readonly { readonly command: string; readonly wanted: Advice }[];
}

/** From the Clusters and, because only the operator sees that a part is being deleted, from the rows of policies. */
export function findTearDowns(fleet: Fleet): (cluster: Cluster) => TearDown | undefined {
  const rows = new Map(
    fleet.policies.flatMap(({ status: { decisions } }) =>
      (Array.isArray(decisions) ? decisions : []).flatMap(({ clusterUID, tornDown: found }) =>
        found === undefined ? [] : [[clusterUID, found] as const],
      ),
    ),
  );
  return (cluster) => {
    const { uid, deletionTimestamp } = cluster.metadata;
    const row = rows.get(uid);
    const found = tornDown(cluster) ?? row;
    if (found === undefined) return undefined;
    const isUnderWay = deletionTimestamp !== undefined || found.reason === "OwnedObjectsDeleted";
    return { ...found, isUnderWay, steps: [...pausing(cluster, isUnderWay), ...removal(cluster)] };
  };
}

/** A paused Cluster is not reconciled by Cluster API and its providers, whatever is being deleted (util/annotations). */
function pausing({ metadata, paused }: Cluster, isUnderWay: boolean): TearDown["steps"] {
  if (paused || !isUnderWay) return [];
  const patch = JSON.stringify({ spec: { paused: true } });
  return [
    {
      command: kubectl("patch", metadata, "--type", "merge", "-p", patch),
      wanted: advice`Cluster API and its providers stop: what they have not removed yet stays until you resume the Cluster. If protect-marks is installed, it refuses this: first run ${run("kubectl delete validatingadmissionpolicybinding hookpolicy-protect-marks")}, and bring that back afterwards`,
    },
  ];
}

function removal({ metadata }: Cluster): TearDown["steps"] {
  const index = metadata.finalizers?.indexOf(FOREGROUND_FINALIZER) ?? -1;
  if (index < 0) return [];
  const path = `/metadata/finalizers/${index}`;
  const change = [
    { op: "test", path, value: FOREGROUND_FINALIZER },
    { op: "remove", path },
  ];
  return [
    {
      command: kubectl("patch", metadata, "--type", "json", "-p", JSON.stringify(change)),
      wanted: "the deletion of the Cluster is no longer a foreground deletion",
    },
  ];
}
