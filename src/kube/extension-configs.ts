/** The kind ExtensionConfig of Cluster API, in the version that the API server serves. */

import { versionsOf } from "./api-discovery.ts";
import type { KubeClient } from "./kube-client.ts";
import { KubeError } from "./kube-error.ts";
import { apiResource, type Resource } from "./resource.ts";

const GROUP = "runtime.cluster.x-k8s.io";
export const RUNTIME_GROUP_PATH = `/apis/${GROUP}`;
/** Newest first; Cluster API ≤ 1.10 serves only v1alpha1. */
const VERSIONS = ["v1beta2", "v1alpha1"];

export async function extensionConfigs(
  client: Pick<KubeClient, "getPath">,
  signal?: AbortSignal,
): Promise<Resource> {
  return extensionConfigsOf(await client.getPath(RUNTIME_GROUP_PATH, { signal }));
}

/** `group` is the API server's discovery of the group. */
export function extensionConfigsOf(group: unknown): Resource {
  const served = versionsOf(group);
  const version = VERSIONS.find((each) => served.includes(each));
  if (version === undefined) {
    const message = `discover ${GROUP}: neither ${VERSIONS.join(" nor ")} is served`;
    throw new KubeError(message, { code: 404, reason: "NotFound" });
  }
  return apiResource("extensionconfigs", `${GROUP}/${version}`, false, "ExtensionConfig");
}
