/** Checks annotations that let Clusters past a hook or a check of Cluster API: of a restore, or of a forgotten break-glass. */

import { BYPASSES, bypassesOf, type Bypass } from "../../operations/marks.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { shellQuote } from "../../policy/message.ts";
import { counted } from "../../lib/counted.ts";
import type { CoverageSurvey } from "./check-coverage.ts";
import { error, type Evidence, type Finding, ok, some, unread, warning } from "./doctor.ts";

/** Cluster API looks for the mark when the Cluster is deleted, not for when it was set. */
export function okToDelete({ clusters }: Evidence, { fleet }: CoverageSurvey): Finding {
  if (!clusters.ok) return unread(clusters);
  const { count, names, remedy } = marked(fleet, ["ok-to-delete"]);
  if (count === 0) return ok("no Cluster has it ahead of its deletion");
  return error(
    `Cluster API will not ask before it deletes ${counted(count, "Cluster")} with ${BYPASSES["ok-to-delete"]}, although no deletion has begun: ${names}`,
    remedy,
  );
}

export function unsafe({ clusters }: Evidence, { fleet }: CoverageSurvey): Finding {
  if (!clusters.ok) return unread(clusters);
  const wanted: readonly Bypass[] = ["disable-update-version-check", "disable-update-class-name-check"];
  const { count, names, remedy } = marked(fleet, wanted);
  if (count === 0) return ok("no Cluster has one");
  return warning(
    `checks of Cluster API are disabled by an annotation unsafe.topology.cluster.x-k8s.io/… on ${counted(count, "Cluster")}: ${names}`,
    remedy,
  );
}

interface MarkedClusters {
  readonly count: number;
  readonly names: string;
  /** For the first. */
  readonly remedy: string;
}

function marked(fleet: CoverageSurvey["fleet"], wanted: readonly Bypass[]): MarkedClusters {
  const found = fleet.clusters().flatMap((cluster) => {
    const bypasses = bypassesOf(cluster).filter((each) => wanted.includes(each));
    return bypasses.length === 0 ? [] : [{ cluster, bypasses }];
  });
  const [first] = found;
  const { namespace = "", name = "" } = first?.cluster.metadata ?? {};
  const removed = (first?.bypasses ?? []).map((bypass) => `${BYPASSES[bypass]}-`);
  const words = ["kubectl", "annotate", "clusters.cluster.x-k8s.io", "-n", namespace, name, ...removed];
  return {
    count: found.length,
    names: some(found.map(({ cluster }) => clusterKey(cluster))),
    remedy: words.map(shellQuote).join(" "),
  };
}
