/** Context besides the policies: why no hook is called, and what statuses leave out. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { printable } from "../../lib/printable.ts";
import { truncateStart } from "../../lib/truncate.ts";
import {
  type Cluster,
  DELETE_FOR_MOVE_ANNOTATION,
  type ObjectMeta,
  PAUSED_ANNOTATION,
} from "../../api/meta.ts";
import { lookup } from "../../api/selector.ts";
import { MAX_DETAIL } from "../../kube/kube-error.ts";
import { matches } from "../../policy/decide.ts";
import { TEXT } from "../../hooks/hook-answer.ts";
import { upgradeHasBegun, ownHolds, type ServedUpgrades } from "../../operations/hook-lives.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import type { Fleet } from "./fleet.ts";
import type { RawObject } from "./kinds.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";

/** Why Cluster API calls no hook for the Cluster; `undefined`: it does. */
export function whyNotCalled({ topology, paused }: Cluster): string | undefined {
  if (topology === undefined) return "Cluster API calls no hook for the Cluster: it has no spec.topology";
  return paused ? "Cluster API calls no hook for the Cluster while it is paused" : undefined;
}

/** What to run so that it does; `undefined`: it does already, or clusterctl has moved the Cluster, which stays paused. */
export function resumeCommand({ metadata, topology, paused }: Cluster): string | undefined {
  const has = (key: string): boolean => lookup(metadata.annotations, key) !== undefined;
  if (topology === undefined || !paused || has(DELETE_FOR_MOVE_ANNOTATION)) return undefined;
  // Either pauses it.
  const unmarked = has(PAUSED_ANNOTATION) && { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } };
  const patch = JSON.stringify({ ...unmarked, spec: { paused: false } });
  return kubectl("patch", metadata, "--type", "merge", "-p", patch);
}

/**
 * Why Cluster API holds, or would hold, an upgrade without asking; `undefined`: it asks. `isAsked`: whether the question is about
 * the next upgrade.
 */
export function heldByClusterAPI(
  cluster: Cluster,
  served: ServedUpgrades,
  isAsked: boolean,
): Advice | undefined {
  const { metadata, progress } = cluster;
  const found = ownHolds(metadata);
  const isHeld = progress?.heldAt === "BeforeClusterUpgrade";
  if (found.length === 0 || upgradeHasBegun(cluster, served) || !(isHeld || isAsked)) return undefined;
  const remove = kubectl("annotate", metadata, ...found.map((key) => `${key}-`));
  const which = `annotation${found.length === 1 ? "" : "s"} ${found.join(", ")}`;
  return advice`Cluster API itself ${isHeld ? "holds" : "would hold"} the upgrade because of ${which}, and asks no policy and no rollout before that is removed: ${run(remove)}`;
}

/** For the Cluster. */
export function kubectl(
  verb: string,
  { namespace = "", name }: ObjectMeta,
  ...words: readonly string[]
): string {
  const all = ["kubectl", verb, "clusters.cluster.x-k8s.io", "-n", namespace, name, ...words];
  return all.map(shellQuote).join(" ");
}

/** Why Cluster API's last call about the Cluster failed, as its condition tells; `undefined`: it does not tell so. */
export function failedCall(cluster: RawObject): string | undefined {
  const text = /failed to call extension handler[^\n]*/.exec(whyNotReconciled(cluster))?.[0];
  // The cause stands at the end, after the URL.
  return text === undefined ? undefined : truncateStart(printable(text), MAX_DETAIL);
}

/** Why the last call released nothing although the policies do; `undefined`: its answer is not known, or was another one. */
export function unconfirmed(cluster: RawObject): string | undefined {
  return whyNotReconciled(cluster).includes(TEXT.NotConfirmed) ? UNCONFIRMED : undefined;
}

const UNCONFIRMED =
  "the operator's last answer was that it could not confirm the release with the API server; its log says why: grep it for 'could not be confirmed' (HookPolicyReleaseUnconfirmed in docs/runbook.md)";

function whyNotReconciled(cluster: RawObject): string {
  const status = fieldsOf(cluster["status"]);
  return [status, fieldsOf(status["v1beta2"])]
    .flatMap(({ conditions }) => listOf(conditions).map(fieldsOf))
    .filter((condition) => condition["type"] === "TopologyReconciled" && condition["status"] !== "True")
    .map(({ message }) => textOf(message))
    .join("\n");
}

/** A note for a call that Cluster API never makes. */
export const MINOR_STEPS =
  "Cluster API upgrades a control plane by one minor version at a time, and calls BeforeControlPlaneUpgrade for each: ask about one step with --from-version and --to-version";

/** A status has a limited number of rows, so an operation can wait without one. */
export function omittedRows(fleet: Fleet, cluster: Cluster): string | undefined {
  const world = fleet.world(cluster);
  const full = fleet.policies.some(
    ({ compiled, status }) => (status.decisionsOmitted ?? 0) > 0 && matches(compiled, world) !== "no",
  );
  return full
    ? "a policy's status has more rows than it shows, so that more operations can wait: ask with --hook"
    : undefined;
}
