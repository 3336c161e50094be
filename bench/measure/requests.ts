/** What the API server was asked about HookPolicy's objects, Clusters and Namespaces, by its own metrics. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";

export interface Requests {
  readonly reads: number;
  /** Megabytes (10^6) of the answers to them. */
  readonly megabytes: number;
  /** Of the operator's own objects and their status, of Events and of Clusters. */
  readonly writes: number;
  /** Of a rollout's status alone. */
  readonly rolloutWrites: number;
}

const LINE = /^(apiserver_request_total|apiserver_response_sizes_sum)\{(.*)\} (\S+)$/gm;
const READ = /verb="(GET|LIST)"/;
const READ_RESOURCE =
  /group="(hookpolicy\.dev|cluster\.x-k8s\.io|)".*resource="(hookrollouts|hookpolicies|clusterhookpolicies|hookoverrides|clusters|namespaces)"/;
const WRITE = /verb="(POST|PUT|PATCH|APPLY|DELETE)"/;
/** Kubernetes itself renews Leases all the time; the rest here is the operator's, and the bench's own. */
const WRITE_GROUP = /group="(hookpolicy\.dev|events\.k8s\.io|cluster\.x-k8s\.io)"/;
const ROLLOUT_STATUS = /resource="hookrollouts".*subresource="status"/;

/** The function gives what was asked since this was called. */
export async function countRequests(cp: ControlPlane): Promise<() => Promise<Requests>> {
  const before = await requestsUntilNow(cp);
  return async () => {
    const { reads, megabytes, writes, rolloutWrites } = await requestsUntilNow(cp);
    return {
      reads: reads - before.reads,
      megabytes: megabytes - before.megabytes,
      writes: writes - before.writes,
      rolloutWrites: rolloutWrites - before.rolloutWrites,
    };
  };
}

async function requestsUntilNow(cp: ControlPlane): Promise<Requests> {
  const lines = [...(await cp.request<string>("GET", "/metrics")).matchAll(LINE)];
  const sum = (metric: string, ...labels: readonly RegExp[]): number =>
    lines
      .filter(([, name, text = ""]) => name === metric && labels.every((label) => label.test(text)))
      .reduce((total, [, , , value]) => total + Number(value), 0);
  return {
    reads: sum("apiserver_request_total", READ, READ_RESOURCE),
    megabytes: sum("apiserver_response_sizes_sum", READ, READ_RESOURCE) / 1e6,
    writes: sum("apiserver_request_total", WRITE, WRITE_GROUP),
    rolloutWrites: sum("apiserver_request_total", WRITE, ROLLOUT_STATUS),
  };
}
