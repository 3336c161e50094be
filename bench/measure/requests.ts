/** Requests about HookPolicy's objects, Clusters and Namespaces, counted by the API server's own metrics. */

import type { ControlPlane } from "../../test/controlplane/control-plane.ts";

const READ = /verb="(GET|LIST)"/;
const READ_RESOURCE =
  /group="(hookpolicy\.dev|cluster\.x-k8s\.io|)".*resource="(hookrollouts|hookpolicies|clusterhookpolicies|hookoverrides|clusters|namespaces)"/;
const WRITE = /verb="(POST|PUT|PATCH|APPLY|DELETE)"/;
/** Without Leases, which Kubernetes itself renews; the rest of the writes are the operator's and the bench's. */
const WRITE_GROUP = /group="(hookpolicy\.dev|events\.k8s\.io|cluster\.x-k8s\.io)"/;
const ROLLOUT_STATUS = /resource="hookrollouts".*subresource="status"/;

/** The series of the API server that make up each number. */
const COUNTED = {
  reads: ["apiserver_request_total", READ, READ_RESOURCE],
  /** Bytes of the answers to reads. */
  bytes: ["apiserver_response_sizes_sum", READ, READ_RESOURCE],
  writes: ["apiserver_request_total", WRITE, WRITE_GROUP],
  rolloutWrites: ["apiserver_request_total", WRITE, ROLLOUT_STATUS],
} as const;

export type Requests = Readonly<Record<keyof typeof COUNTED, number>>;

/** The returned function counts the requests since this call. */
export async function countRequests(cp: ControlPlane): Promise<() => Promise<Requests>> {
  const before = await requestsUntilNow(cp);
  return async () => {
    const now = await requestsUntilNow(cp);
    const since = (of: keyof Requests): number => now(of) - before(of);
    return {
      reads: since("reads"),
      bytes: since("bytes"),
      writes: since("writes"),
      rolloutWrites: since("rolloutWrites"),
    };
  };
}

async function requestsUntilNow(cp: ControlPlane): Promise<(of: keyof Requests) => number> {
  const lines = (await cp.request<string>("GET", "/metrics")).split("\n");
  return (of) => {
    const [metric, ...labels] = COUNTED[of];
    return lines
      .filter((line) => line.startsWith(`${metric}{`) && labels.every((label) => label.test(line)))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);
  };
}
