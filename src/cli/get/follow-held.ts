/** Reads the policies and rollouts of a fleet, once or continuously, and whether the operator runs. */

import { fieldsOf } from "../../lib/fields.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, KubeError } from "../../kube/kube-error.ts";
import { type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { LEADER_LEASE, LEASES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { follow, type Follower } from "../fleet/follow.ts";
import { listIfServed, listTyped, typed } from "../fleet/live-objects.ts";
import { type HeldFleet, NEVER_SEEN } from "./held.ts";

export interface PolicyView {
  readonly policies: readonly RawObject[];
  /** "you may not list clusterhookpolicies.hookpolicy.dev": what they hold is missing. */
  readonly unread?: string;
}

/** `namespace`: its HookPolicies, and all ClusterHookPolicies as far as the user may read them. */
export async function readPolicies(client: KubeClient, namespace?: string): Promise<PolicyView> {
  const own = await list(client, POLICY_RESOURCES.HookPolicy, namespace);
  try {
    return { policies: [...own, ...(await list(client, POLICY_RESOURCES.ClusterHookPolicy))] };
  } catch (error) {
    if (namespace === undefined || !isForbidden(error)) throw error;
    return { policies: own, unread: `you may not list ${resourceName(POLICY_RESOURCES.ClusterHookPolicy)}` };
  }
}

export interface HeldView extends PolicyView {
  /** `unread`: why there are none. */
  readonly rollouts: readonly RawObject[] | { readonly unread: string };
}

/** As readPolicies(), and the rollouts: empty if the API server does not serve them. */
export async function readHeld(client: KubeClient, namespace?: string): Promise<HeldView> {
  const policies = await readPolicies(client, namespace);
  try {
    return { ...policies, rollouts: await listIfServed(client, ROLLOUTS) };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { ...policies, rollouts: { unread: `you may not list ${resourceName(ROLLOUTS)}` } };
  }
}

/** The arguments of heldBy(). */
export function holdersOf({ policies, rollouts }: HeldView): readonly RawObject[] {
  return [...policies, ...("unread" in rollouts ? [] : rollouts)];
}

/** What is missing in what is shown. */
export function unreadNotes({ unread, rollouts }: HeldView): string[] {
  return [
    ...(unread === undefined ? [] : [`${unread}: what ClusterHookPolicies hold is not shown`]),
    ...("unread" in rollouts ? [`${rollouts.unread}: what HookRollouts hold is not shown`] : []),
  ];
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

interface HolderFollower extends Pick<Follower, "onLost"> {
  /** Called with all policies and rollouts: at first, and after every change. */
  readonly onHolders: (holders: readonly RawObject[]) => void;
}

interface FollowedHolders {
  /** Absent: HookPolicies of all namespaces. */
  readonly namespace?: string;
  /** Whether ClusterHookPolicies are followed, too. */
  readonly cluster: boolean;
  readonly rollouts: boolean;
}

/** Runs until `signal` fires; kinds that readHeld() could not read are not followed. */
export async function followHeld(
  client: KubeClient,
  { namespace, cluster, rollouts }: FollowedHolders,
  { onHolders, onLost }: HolderFollower,
  signal: AbortSignal,
): Promise<void> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const resources = [HookPolicy, ...(cluster ? [ClusterHookPolicy] : []), ...(rollouts ? [ROLLOUTS] : [])];
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
          if (known.size === resources.length) onHolders([...known.values()].flat());
        };
        await follow(client, scope, { onObjects, onLost }, signals);
      }),
    );
  } finally {
    stop.abort();
  }
}

/** When the leader last renewed its Lease (NEVER_SEEN: there is none), or why that is unknown: most users may not read it. */
export async function operatorSeen(
  client: KubeClient,
): Promise<Pick<HeldFleet, "operatorSeen" | "operatorUnread">> {
  try {
    const { items } = await client.list(LEASES, { name: LEADER_LEASE });
    if (items.length === 0) return { operatorSeen: NEVER_SEEN };
    const times = items.map((lease) => Date.parse(String(fieldsOf(lease["spec"])["renewTime"])));
    const latest = Math.max(...times.filter((time) => !Number.isNaN(time)));
    return Number.isFinite(latest) ? { operatorSeen: new Date(latest) } : {};
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const why = isForbidden(error) ? `you may not list ${resourceName(LEASES)}` : error.message;
    return { operatorUnread: why };
  }
}
