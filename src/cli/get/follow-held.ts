/** Reads the policies of a fleet, once or continuously, and whether the operator runs. */

import { fieldsOf } from "../../lib/fields.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, KubeError } from "../../kube/kube-error.ts";
import { type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { LEADER_LEASE, LEASES, POLICY_RESOURCES } from "../../kube/resources.ts";
import { follow, type Follower } from "../fleet/follow.ts";
import { listTyped, typed } from "../fleet/live-objects.ts";
import { NEVER_SEEN } from "./held.ts";

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
    if (!isNotFound(error)) throw error;
    const message = `list ${resourceName(resource)}: not found: HookPolicy is not installed in this cluster`;
    throw new KubeError(message, { code: 404, reason: "NotFound" });
  }
}

interface PolicyFollower extends Pick<Follower, "onLost"> {
  /** Called with all policies: at first, and after every change. */
  readonly onPolicies: (policies: readonly RawObject[]) => void;
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

/** When the leader last renewed its Lease; NEVER_SEEN: there is none. `undefined`: the user may not read it, as most may not. */
export async function operatorSeen(client: KubeClient): Promise<Date | undefined> {
  try {
    const { items } = await client.list(LEASES, { name: LEADER_LEASE });
    if (items.length === 0) return NEVER_SEEN;
    const times = items.map((lease) => Date.parse(String(fieldsOf(lease["spec"])["renewTime"])));
    const latest = Math.max(...times.filter((time) => !Number.isNaN(time)));
    return Number.isFinite(latest) ? new Date(latest) : undefined;
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}
