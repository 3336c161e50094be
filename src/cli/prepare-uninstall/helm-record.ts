/** Helm's record of a release: a Secret, or a ConfigMap with HELM_DRIVER=configmap. */

import { CONFIG_MAPS, SECRETS } from "../../kube/resources.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { unlessNotFound } from "../../kube/kube-error.ts";
import type { ObjectKey } from "../../kube/resource.ts";

const UNINSTALLING = "uninstalling";

/**
 * Why Helm is not uninstalling the release of that record; `undefined`: it is. Helm writes the status `uninstalling` into
 * its record before it creates the first hook (pkg/action/uninstall.go and hooks.go: execHook calls recordRelease), so a Job
 * that something else has created does not see it. Only the metadata is read: the record contains the release's values.
 */
export async function helmDoesNotUninstall(
  client: Pick<KubeClient, "get">,
  key: Required<ObjectKey>,
): Promise<string | undefined> {
  for (const resource of [SECRETS, CONFIG_MAPS]) {
    const found = await unlessNotFound(client.get(resource, key, { metadataOnly: true }));
    const { owner, status } = found?.metadata.labels ?? {};
    if (owner !== "helm") continue;
    if (status === UNINSTALLING) return undefined;
    return `${resource.kind} ${key.namespace}/${key.name} says that the release is ${status}`;
  }
  return `there is no record ${key.namespace}/${key.name}`;
}
