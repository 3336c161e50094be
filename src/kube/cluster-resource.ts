import { CLUSTER_API_GROUP } from "../api/meta.ts";
import { versionsOf } from "./api-discovery.ts";
import type { KubeClient } from "./kube-client.ts";
import { apiResource, type Resource } from "./resource.ts";

/** Newest first; Cluster API ≤ 1.10 serves only v1beta1. */
const CLUSTER_VERSIONS = ["v1beta2", "v1beta1"];

/** The version of Cluster that this API server serves; looked up before each list, because upgrades change it. */
export class ClusterResource {
  readonly #client: Pick<KubeClient, "getPath">;
  #version = "v1beta2";

  constructor(client: Pick<KubeClient, "getPath">) {
    this.#client = client;
  }

  get current(): Resource {
    return apiResource("clusters", `${CLUSTER_API_GROUP}/${this.#version}`, true, "Cluster");
  }

  async resolve(signal?: AbortSignal): Promise<Resource> {
    const served = versionsOf(await this.#client.getPath(`/apis/${CLUSTER_API_GROUP}`, { signal }));
    this.#version = CLUSTER_VERSIONS.find((each) => served.includes(each)) ?? served[0] ?? this.#version;
    return this.current;
  }
}
