/** Reads the policies and rollouts of a fleet, once or continuously. */

import { every } from "../../lib/signals.ts";
import { messageOf } from "../../lib/thrown.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, unlessNotFound } from "../../kube/kube-error.ts";
import { type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { NAMESPACES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { CommandError, nearestText, USAGE } from "../command.ts";
import { notServed } from "../fleet/connection.ts";
import { follow, type Follower } from "../fleet/follow.ts";
import { listTyped, namesOf, withType } from "../fleet/live-objects.ts";
import { type OperatorSeen, operatorSeen } from "../fleet/operator-life.ts";

export interface Holders {
  readonly objects: readonly RawObject[];
  readonly resources: readonly Resource[];
  /** "you may not list clusterhookpolicies.hookpolicy.dev" */
  readonly unread: readonly string[];
}

/** `namespace`: its HookPolicies, and all ClusterHookPolicies as far as the user may read them. Rollouts need not be served. */
export async function readHolders(client: KubeClient, namespace?: string): Promise<Holders> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const found = new Map<Resource, readonly RawObject[]>();
  const unread: string[] = [];
  for (const resource of [HookPolicy, ClusterHookPolicy, ROLLOUTS]) {
    const place = resource.namespaced ? namespace : undefined;
    try {
      const objects = await unlessNotFound(listTyped(client, resource, place));
      if (objects !== undefined) found.set(resource, objects);
      else if (resource !== ROLLOUTS) throw notServed(resourceName(resource));
    } catch (error) {
      const isNeeded = resource === HookPolicy || (resource === ClusterHookPolicy && namespace === undefined);
      if (isNeeded || !isForbidden(error)) throw error;
      unread.push(`you may not list ${resourceName(resource)}`);
    }
  }
  return { objects: [...found.values()].flat(), resources: [...found.keys()], unread };
}

/** A mistyped name must not look like a namespace in which nothing is held. Who may not read Namespaces is not told. */
export async function checkNamespace(client: KubeClient, name: string): Promise<void> {
  try {
    await client.get(NAMESPACES, { name });
  } catch (error) {
    if (isForbidden(error)) return;
    if (!isNotFound(error)) throw error;
    const names = await namesOf(client, NAMESPACES);
    const meant = nearestText(
      name,
      names.map((each) => each.name),
    );
    throw new CommandError(USAGE, `there is no Namespace ${name}${meant}`);
  }
}

export function unreadNotes({ unread }: Pick<Holders, "unread">): string[] {
  return unread.map((text) => `${text}: what these hold is not shown`);
}

interface HoldersFollower extends Pick<Follower, "onLost"> {
  /** Gets all objects of the kinds that are followed. */
  readonly onHolders: (holders: readonly RawObject[]) => void;
  /** Called at first, and every half minute. */
  readonly onOperator: (seen: OperatorSeen) => void;
  /** Called when rollouts are no longer followed, as who may list them may not be allowed to watch them. */
  readonly onUnread: (text: string) => void;
}

const LOOK_MS = 30_000;

/** Runs until `signal` fires. `namespace`: of HookPolicies; absent: all. */
export async function followHolders(
  client: KubeClient,
  { resources, namespace }: Pick<Holders, "resources"> & { readonly namespace?: string },
  { onHolders, onLost, onOperator, onUnread }: HoldersFollower,
  signal: AbortSignal,
): Promise<void> {
  const followed = new Set(resources);
  const known = new Map<Resource, readonly RawObject[]>();
  const tell = (): void => {
    if (known.size === followed.size) onHolders([...known.values()].flat());
  };
  const stop = new AbortController();
  const signals = AbortSignal.any([signal, stop.signal]);
  try {
    await Promise.all([
      every(LOOK_MS, signals, async () => onOperator(await operatorSeen(client))),
      ...resources.map(async (resource) => {
        const scope = { resource, ...(resource.namespaced && namespace !== undefined && { namespace }) };
        const onObjects = (objects: readonly KubeObject[]): void => {
          known.set(
            resource,
            objects.map((object) => withType(resource, object)),
          );
          tell();
        };
        await follow(client, scope, { onObjects, onLost }, signals).catch((error: unknown) => {
          if (resource !== ROLLOUTS || !(isForbidden(error) || isNotFound(error))) throw error;
          followed.delete(resource);
          known.delete(resource);
          onUnread(messageOf(error));
          tell();
        });
      }),
    ]);
  } finally {
    stop.abort();
  }
}
