/** Decodes reviews of Clusters: a deletion, a creation, or a change. */

import { fieldsOf, isFields, listOf, parseJson } from "../lib/fields.ts";
import type { Cluster } from "../api/meta.ts";
import type { RequestedChange } from "../operations/requested-operation.ts";
import type { Cascade } from "../policy/world.ts";
import { viewCluster, viewWorkers, type Workers } from "../views/cluster.ts";
import { isClusterReview, type RawClusterReview } from "./review-validators.ts";

export interface ClusterReview {
  readonly uid: string;
  readonly username: string;
  /** The API server stores nothing, whatever the answer. */
  readonly dryRun: boolean;
  readonly change: RequestedChange;
}

/**
 * `undefined`: not a review of a Cluster, or an object is missing that its operation must have. The API server takes the
 * answer to such a review for a failed call, and refuses the request. Never throws for any bytes.
 */
export function decodeClusterReview(body: Buffer): ClusterReview | undefined {
  const raw = parseJson(body.toString("utf8"));
  if (!isClusterReview(raw)) return undefined;
  const { uid, operation, userInfo, dryRun = false, object, oldObject, options } = raw.request;
  const change = changeOf(operation, viewed(oldObject), viewed(object));
  const workers = { before: workersOf(oldObject), after: workersOf(object) };
  const cascade = operation === "DELETE" ? cascadeOf(options, oldObject) : undefined;
  return (
    change && { uid, username: userInfo.username ?? "", dryRun, change: { ...change, cascade, workers } }
  );
}

function workersOf(cluster: unknown): readonly Workers[] {
  return viewWorkers(fieldsOf(fieldsOf(fieldsOf(cluster)["spec"])["topology"]));
}

/**
 * As the API server decides (registry/generic/registry/store.go, shouldDeleteDependents, shouldOrphanDependents): options win
 * over finalizers.
 */
function cascadeOf(options: unknown, cluster: unknown): Cascade | undefined {
  const { propagationPolicy: policy, orphanDependents } = fieldsOf(options);
  if (typeof policy === "string") return policy === "Foreground" || policy === "Orphan" ? policy : undefined;
  if (typeof orphanDependents === "boolean") return orphanDependents ? "Orphan" : undefined;
  const finalizers = listOf(fieldsOf(fieldsOf(cluster)["metadata"])["finalizers"]);
  if (finalizers.includes("orphan")) return "Orphan";
  return finalizers.includes("foregroundDeletion") ? "Foreground" : undefined;
}

function changeOf(
  operation: RawClusterReview["request"]["operation"],
  before: Cluster | undefined,
  after: Cluster | undefined,
): RequestedChange | undefined {
  if (operation === "CREATE") return after && { after };
  if (operation === "DELETE") return before && { before };
  return before && after && { before, after };
}

/** `undefined` without a name or a namespace, because no policy would match such a Cluster. */
function viewed(object: unknown): Cluster | undefined {
  if (!isFields(object)) return undefined;
  const cluster = viewCluster(object);
  const { name, namespace } = cluster.metadata;
  return name === "" || namespace === undefined ? undefined : cluster;
}
