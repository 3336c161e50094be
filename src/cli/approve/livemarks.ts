/** Sets the values that gates wait for, and watches whether the Cluster proceeds. */

import { FIELDS, type Mark } from "./approval.ts";
import type { Cluster, ObjectMeta } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { isConflict, isNotFound } from "../../kube/kubeerror.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { NAMESPACES } from "../../kube/resources.ts";
import { viewCluster } from "../../policy/cluster.ts";
import { follow } from "../fleet/follow.ts";
import { clusterResource } from "../fleet/liveobjects.ts";

/** Patches this object as it was read; false: the object has changed, and nothing was set. */
export async function setMarks(
  client: KubeClient,
  on: Mark["on"],
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  marks: readonly Mark[],
): Promise<boolean> {
  const resource = on === "Namespace" ? NAMESPACES : await clusterResource(client);
  const metadata: Record<string, unknown> = { uid, resourceVersion };
  for (const [field, plural] of Object.entries(FIELDS)) {
    const values = marks.filter((mark) => mark.field === field).map(({ key, value }) => [key, value]);
    if (values.length > 0) metadata[plural] = Object.fromEntries(values);
  }
  try {
    await client.mergePatch(resource, { name, ...(namespace !== undefined && { namespace }) }, { metadata });
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

export interface ClusterWait {
  /** Called after every change; `undefined`: the Cluster is deleted. */
  readonly until: (cluster: Cluster | undefined) => boolean;
  readonly timeoutMs: number;
  readonly onLost: (message: string) => void;
}

/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether the condition was met in time. */
export async function waitForCluster(
  client: KubeClient,
  { namespace = "", name }: ObjectMeta,
  { until, timeoutMs, onLost }: ClusterWait,
): Promise<boolean> {
  const resource = await clusterResource(client);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), Math.min(timeoutMs, MAX_TIMER_MS));
  let came = false;
  const onObjects = ([object]: readonly KubeObject[]): void => {
    came ||= until(object && viewCluster(object));
    if (came) stop.abort();
  };
  try {
    const follower = { onObjects, onLost: ({ message }: Error) => onLost(message) };
    await follow(client, { resource, namespace, name }, follower, stop.signal);
  } finally {
    clearTimeout(timer);
  }
  return came;
}
