/** Names of objects, for suggestions and for completion. */

import type { KubeClient } from "../../kube/kubeclient.ts";
import { isForbidden } from "../../kube/kubeerror.ts";
import type { ObjectKey, Resource } from "../../kube/resource.ts";

export interface NamesOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly signal: AbortSignal;
}

/** Empty if the user may not list them. */
export async function namesOf(
  client: KubeClient,
  resource: Resource,
  options: NamesOptions,
): Promise<readonly ObjectKey[]> {
  try {
    const { items } = await client.list(resource, { metadataOnly: true, ...options });
    return items.map(({ metadata }) => metadata);
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}
