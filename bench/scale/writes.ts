/** What the API server is asked to write. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";

const WRITES = /^apiserver_request_total\{(.*)\} (\S+)$/gm;
/** Kubernetes itself renews Leases all the time; the rest here is the operator's. */
const GROUPS = /group="(hookpolicy\.dev|events\.k8s\.io|cluster\.x-k8s\.io)"/;
const VERBS = /verb="(POST|PUT|PATCH|APPLY|DELETE)"/;

/** Since its start, on everything that the operator may write. */
export async function writes(cp: ControlPlane): Promise<number> {
  const text = await cp.request<string>("GET", "/metrics");
  return [...text.matchAll(WRITES)]
    .filter(([, labels = ""]) => GROUPS.test(labels) && VERBS.test(labels))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
