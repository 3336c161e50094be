/** Names of objects, for suggestions and for completion. */

import type { KubeClient } from "../../kube/kubeclient.ts";
import { isForbidden } from "../../kube/kubeerror.ts";
import type { ObjectKey, Resource } from "../../kube/resource.ts";
import { NAMESPACES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import type { PolicyKind } from "../../policy/policyref.ts";
import { clusterResource } from "./liveobjects.ts";

export interface NamesOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly signal: AbortSignal;
}

export async function clusterNames(client: KubeClient, options: NamesOptions): Promise<readonly ObjectKey[]> {
  const clusters = await clusterResource(client, options.signal);
  return await namesOf(client, clusters, options);
}

/** HookPolicies of the namespace, and ClusterHookPolicies. */
export async function policyNames(client: KubeClient, options: NamesOptions): Promise<readonly ObjectKey[]> {
  return (await policyRefs(client, options)).map(({ key }) => key);
}

/** The same, with their kinds. */
export async function policyRefs(
  client: KubeClient,
  { namespace, signal }: NamesOptions,
): Promise<readonly { readonly kind: PolicyKind; readonly key: ObjectKey }[]> {
  const lists = await Promise.all(
    (["HookPolicy", "ClusterHookPolicy"] as const).map(async (kind) => {
      const scope = kind === "HookPolicy" && namespace !== undefined ? { namespace } : {};
      const keys = await namesOf(client, POLICY_RESOURCES[kind], { ...scope, signal });
      return keys.map((key) => ({ kind, key }));
    }),
  );
  return lists.flat();
}

export async function namespaceNames(
  client: KubeClient,
  { signal }: NamesOptions,
): Promise<readonly ObjectKey[]> {
  return await namesOf(client, NAMESPACES, { signal });
}

export async function rolloutNames(
  client: KubeClient,
  { signal }: NamesOptions,
): Promise<readonly ObjectKey[]> {
  return await namesOf(client, ROLLOUTS, { signal });
}

/** Empty if the user may not list them. */
async function namesOf(
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
