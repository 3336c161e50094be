/** Reads the policies of a fleet, once or continuously. */

import type { RawObject } from "../fleet/kinds.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { loadKubeConfig } from "../../kube/kubeconfig.ts";
import { isForbidden, isNotFound, KubeError } from "../../kube/kubeerror.ts";
import { type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { POLICY_RESOURCES } from "../../kube/resources.ts";
import type { ConnectionFlags } from "../fleet/connection.ts";
import { follow } from "../fleet/follow.ts";
import { listTyped, typed } from "../fleet/liveobjects.ts";

/** The namespace of the context, "default" if it has none, as in kubectl. */
export function contextNamespace(connection: ConnectionFlags): string {
  const config = loadKubeConfig(connection);
  return config.getContextObject(config.getCurrentContext())?.namespace ?? "default";
}

export interface PolicyView {
  readonly policies: readonly RawObject[];
  /** "you may not list clusterhookpolicies.hookpolicy.dev": what they hold is missing. */
  readonly unread?: string;
}

/** `namespace`: its HookPolicies, and all ClusterHookPolicies as far as the user may read them. */
export async function readHeld(client: KubeClient, namespace?: string): Promise<PolicyView> {
  const own = await list(client, POLICY_RESOURCES.HookPolicy, namespace);
  try {
    return { policies: [...own, ...(await list(client, POLICY_RESOURCES.ClusterHookPolicy))] };
  } catch (error) {
    if (namespace === undefined || !isForbidden(error)) throw error;
    return { policies: own, unread: `you may not list ${resourceName(POLICY_RESOURCES.ClusterHookPolicy)}` };
  }
}

async function list(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly RawObject[]> {
  try {
    return await listTyped(client, resource, namespace);
  } catch (error) {
    throw isNotFound(error) ? notInstalled(resource) : error;
  }
}

function notInstalled(resource: Resource): KubeError {
  const message = `list ${resourceName(resource)}: not found: HookPolicy is not installed in this cluster`;
  return new KubeError(message, { code: 404, reason: "NotFound" });
}

export interface PolicyFollower {
  /** Called with the present policies, after every change of one of them. */
  readonly onPolicies: (policies: readonly RawObject[]) => void;
  readonly onLost: (message: string) => void;
}

/** Runs until `signal` fires; kinds that readHeld() could not read are not followed. */
export async function followHeld(
  client: KubeClient,
  { namespace, cluster }: { readonly namespace?: string; readonly cluster: boolean },
  { onPolicies, onLost }: PolicyFollower,
  signal: AbortSignal,
): Promise<void> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const resources = [HookPolicy, ...(cluster ? [ClusterHookPolicy] : [])];
  const known = new Map<Resource, readonly RawObject[]>();
  const stop = new AbortController();
  const signals = AbortSignal.any([signal, stop.signal]);
  try {
    await Promise.all(
      resources.map(async (resource) => {
        const scope = { resource, ...(resource.namespaced && namespace !== undefined && { namespace }) };
        const onObjects = (objects: readonly KubeObject[]): void => {
          known.set(
            resource,
            objects.map((object) => typed(resource, object)),
          );
          if (known.size === resources.length) onPolicies([...known.values()].flat());
        };
        await follow(client, scope, { onObjects, onLost }, signals);
      }),
    );
  } finally {
    stop.abort();
  }
}
