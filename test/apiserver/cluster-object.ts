/** Clusters where no Cluster API runs. */

import type { KubeObject } from "../controlplane/client.ts";

export interface ClusterParts {
  readonly metadata?: object;
  readonly spec?: object;
}

export function clusterObject(
  namespace: string,
  name: string,
  { metadata = {}, spec = {} }: ClusterParts = {},
): KubeObject {
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { namespace, name, ...metadata },
    spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" }, ...spec },
  };
}

/** An empty spec is not valid. */
export const PLAIN = { topology: undefined, controlPlaneEndpoint: { host: "127.0.0.1", port: 6443 } };
