/** The kind Cluster, in the version that the API server serves. */

import { CLUSTER_API_GROUP } from "../api/meta.ts";
import type { KubeClient } from "./kubeclient.ts";
import type { Resource } from "./resource.ts";

/** Newest first; Cluster API ≤ 1.10 serves only v1beta1. */
const CLUSTER_VERSIONS = ["v1beta2", "v1beta1"];

/** The version of Cluster that this API server serves; looked up before each list, because upgrades change it. */
export class ClusterResource {
  readonly #client: KubeClient;
  #version = "v1beta2";

  constructor(client: KubeClient) {
    this.#client = client;
  }

  get current(): Resource {
    return {
      group: CLUSTER_API_GROUP,
      version: this.#version,
      plural: "clusters",
      kind: "Cluster",
      namespaced: true,
    };
  }

  async resolve(signal: AbortSignal): Promise<Resource> {
    const group = await this.#client.getPath(`/apis/${CLUSTER_API_GROUP}`, { signal });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- metav1.APIGroup, from the API server itself
    const { versions = [] } = group as { versions?: readonly { readonly version: string }[] };
    const served = CLUSTER_VERSIONS.find((wanted) => versions.some(({ version }) => version === wanted));
    this.#version = served ?? versions[0]?.version ?? this.#version;
    return this.current;
  }
}
