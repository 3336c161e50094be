/** What the API server was asked by the operator, from the API server's own metrics. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";

export interface Requests {
  readonly reads: number;
  /** Megabytes (10^6) of the answers to them. */
  readonly megabytes: number;
  /** Of the rollout's status. */
  readonly writes: number;
}

const RESOURCES =
  /group="(hookpolicy\.dev|cluster\.x-k8s\.io|)".*resource="(hookrollouts|hookpolicies|clusterhookpolicies|hookoverrides|clusters|namespaces)"/;
const READS = /verb="(GET|LIST)"/;
const STATUS = /resource="hookrollouts".*subresource="status".*verb="(PUT|PATCH|APPLY)"/;
const LINE = /^(apiserver_request_total|apiserver_response_sizes_sum)\{(.*)\} (\S+)$/gm;

const isRead = (labels: string): boolean => RESOURCES.test(labels) && READS.test(labels);

/** Since the API server's start. The bench itself only creates and patches Clusters while this is measured. */
export async function requestsUntilNow(cp: ControlPlane): Promise<Requests> {
  const text = await cp.request<string>("GET", "/metrics");
  const lines = [...text.matchAll(LINE)].map(([, metric = "", labels = "", value]) => ({
    isCount: metric === "apiserver_request_total",
    labels,
    value: Number(value),
  }));
  const sum = (is: (line: (typeof lines)[number]) => boolean): number =>
    lines.filter(is).reduce((total, { value }) => total + value, 0);
  return {
    reads: sum(({ isCount, labels }) => isCount && isRead(labels)),
    megabytes: sum(({ isCount, labels }) => !isCount && isRead(labels)) / 1e6,
    writes: sum(({ isCount, labels }) => isCount && STATUS.test(labels)),
  };
}

export function between(before: Requests, after: Requests): Requests {
  return {
    reads: after.reads - before.reads,
    megabytes: after.megabytes - before.megabytes,
    writes: after.writes - before.writes,
  };
}
