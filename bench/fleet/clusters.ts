/** Clusters of realistic sizes. */

import { createHash } from "node:crypto";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { CLUSTER_API } from "../../test/controlplane/lab-kinds.ts";
import { GOLDEN, type Size } from "./requests.ts";

/** Cluster API's finalizer: a deleted Cluster stays until the hook has released it. */
export const FINALIZER = "cluster.cluster.x-k8s.io";

const SPECS: Readonly<Record<Size, KubeObject>> = { "1k": specOf("1k"), "26k": specOf("26k") };

function specOf(size: Size): KubeObject {
  const body: { cluster: KubeObject } = JSON.parse(GOLDEN[size]);
  return body.cluster["spec"];
}

export interface NewCluster {
  readonly namespace: string;
  readonly name: string;
  readonly size: Size;
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether BeforeClusterCreate has been passed. */
  readonly created: boolean;
}

/** The values of the variables differ from Cluster to Cluster, as in a real fleet. */
export function newCluster({ namespace, name, size, labels = {}, created }: NewCluster): KubeObject {
  const { topology, controlPlaneRef, infrastructureRef, controlPlaneEndpoint } = SPECS[size];
  const variables = topology.variables?.map((variable: { name: string; value: { a: string } }) => ({
    ...variable,
    value: {
      ...variable.value,
      a: distinct(`${namespace}/${name}/${variable.name}`, variable.value.a.length),
    },
  }));
  return {
    apiVersion: CLUSTER_API,
    kind: "Cluster",
    metadata: { namespace, name, labels, finalizers: [FINALIZER] },
    spec: {
      topology: { ...topology, ...(variables !== undefined && { variables }) },
      ...(created && { controlPlaneRef, infrastructureRef, controlPlaneEndpoint }),
    },
  };
}

export function createdPatch(): object {
  const { controlPlaneRef, infrastructureRef } = SPECS["1k"];
  return { spec: { controlPlaneRef, infrastructureRef } };
}

/** Begins with a part that cannot be compressed, followed by one that can. */
function distinct(seed: string, length: number): string {
  const digest = createHash("sha256").update(seed).digest("hex");
  return (digest + seed.repeat(Math.ceil(length / seed.length))).slice(0, length);
}
