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

export interface Holders {
  readonly objects: readonly RawObject[];
  readonly resources: readonly Resource[];
  /** The kinds that the user may not read: "ClusterHookPolicies", "you may not list clusterhookpolicies.hookpolicy.dev". */
  readonly unread: readonly { readonly kinds: string; readonly text: string }[];
}

/** `namespace`: its HookPolicies, and all ClusterHookPolicies as far as the user may read them. Rollouts need not be served. */
export async function readHolders(client: KubeClient, namespace?: string): Promise<Holders> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const found = new Map([[HookPolicy, await list(client, HookPolicy, namespace)]]);
  const unread: Holders["unread"][number][] = [];
  const others = [
    {
      resource: ClusterHookPolicy,
      kinds: "ClusterHookPolicies",
      read: list,
      isNeeded: namespace === undefined,
    },
    { resource: ROLLOUTS, kinds: "HookRollouts", read: listIfServed, isNeeded: false },
  ];
  for (const { resource, kinds, read, isNeeded } of others) {
    try {
      found.set(resource, await read(client, resource));
    } catch (error) {
      if (isNeeded || !isForbidden(error)) throw error;
      unread.push({ kinds, text: `you may not list ${resourceName(resource)}` });
    }
  }
  return { objects: [...found.values()].flat(), resources: [...found.keys()], unread };
}

export function unreadNotes({ unread }: Holders): string[] {
  return unread.map(({ kinds, text }) => `${text}: what ${kinds} hold is not shown`);
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

/** Runs until `signal` fires. `namespace`: of HookPolicies; absent: all. `onHolders` gets all objects of these kinds. */
export async function followHolders(
  client: KubeClient,
  { resources, namespace }: Pick<Holders, "resources"> & { readonly namespace?: string },
  { onHolders, onLost }: Pick<Follower, "onLost"> & { onHolders: (holders: readonly RawObject[]) => void },
  signal: AbortSignal,
): Promise<void> {
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
