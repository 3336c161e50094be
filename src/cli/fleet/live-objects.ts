/** Reads objects for commands, and sets their kind. */

import { ownKind, type RawObject } from "./kinds.ts";
import { CONDITION } from "../../api/hook-policy.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { discoverResource } from "../../kube/api-discovery.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { unless } from "../../lib/thrown.ts";
import { isForbidden, isNotFound, KubeError, unlessNotFound } from "../../kube/kube-error.ts";
import { type ObjectKey, type Resource, resourceName } from "../../kube/resource.ts";
import { ClusterResource } from "../../kube/cluster-resource.ts";
import {
  forbiddenKind,
  grantCommand,
  isAbout,
  isSecret,
  type Refusal,
  refusalOf,
  SECRETS_REFUSED,
} from "../../objects/object-refusal.ts";
import { viewMetadata } from "../../views/cluster.ts";
import {
  type FoundObjects,
  type ObjectKind,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../../policy/watched-objects.ts";

/** The items of a list have no kind. */
export function withType({ group, version, kind }: Resource, raw: object): RawObject {
  return { ...raw, apiVersion: group === "" ? version : `${group}/${version}`, kind };
}

export async function clusterResource(client: KubeClient, signal?: AbortSignal): Promise<Resource> {
  try {
    return await new ClusterResource(client).resolve(signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const message = "the API server serves no Clusters: Cluster API is not installed in this cluster";
    throw new KubeError(message, { code: 404, reason: "NotFound", cause: error });
  }
}

export async function listTyped(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly RawObject[]> {
  const { items } = await client.list(resource, {
    ...(namespace !== undefined && { namespace }),
    project: (raw) => withType(resource, raw),
  });
  return items;
}

/** Without the operator's CRDs there are no policies yet. */
export async function listIfServed(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly RawObject[]> {
  return (await unlessNotFound(listTyped(client, resource, namespace))) ?? [];
}

export interface NamesOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly signal?: AbortSignal;
}

/** Names for suggestions and for completion; none if the user may not list them. */
export async function namesOf(
  client: KubeClient,
  resource: Resource,
  options: NamesOptions = {},
): Promise<readonly ObjectKey[]> {
  const list = await unless(isForbidden, client.list(resource, { metadataOnly: true, ...options }));
  return list?.items.map(({ metadata }) => metadata) ?? [];
}

const NOT_READ: FoundObjects = {
  ok: false,
  reason: "ObjectsNotRead",
  message: "the objects of this kind were not read",
};

/** The place that a gate looks into; without a namespace: all of them. */
interface Place {
  readonly kind: ObjectKind;
  readonly namespace?: string;
}

/**
 * Reads all objects of these places, since the names that gates look for can depend on the time. Unknown is what the operator
 * cannot read, as the statuses of its policies and rollouts, which are among `objects`, say.
 */
export async function readAsOperator(
  client: KubeClient,
  places: readonly Place[],
  objects: readonly RawObject[],
): Promise<ObjectReader> {
  const refusals = objects.filter((object) => ownKind(object) !== undefined).flatMap(notReady);
  const distinct = new Map(places.map((place) => [placeKey(place), place]));
  const reads = [...distinct].map(
    async ([key, place]) => [key, await readPlace(client, place, refusals)] as const,
  );
  const found = new Map(await Promise.all(reads));
  return {
    find: (kind, namespace) => {
      const read = found.get(placeKey({ kind, namespace })) ?? found.get(placeKey({ kind })) ?? NOT_READ;
      if (!read.ok || !read.namespaced) return read;
      return { ...read, objects: read.objects.filter(({ metadata }) => metadata.namespace === namespace) };
    },
  };
}

function notReady({ status }: RawObject): readonly Refusal[] {
  const conditions = listOf(fieldsOf(status)["conditions"]).map(fieldsOf);
  const ready = conditions.find(({ type }) => type === CONDITION.Ready);
  if (ready?.["status"] !== "False") return [];
  return [{ ok: false, reason: textOf(ready["reason"]), message: textOf(ready["message"]) }];
}

function placeKey({ kind, namespace }: Place): string {
  return namespace === undefined ? objectKindKey(kind) : `${objectKindKey(kind)} ${namespace}`;
}

async function readPlace(
  client: KubeClient,
  { kind, namespace }: Place,
  refusals: readonly Refusal[],
): Promise<FoundObjects> {
  if (isSecret(kind)) return SECRETS_REFUSED;
  let resource: Resource | undefined;
  try {
    const found = await discoverResource(client, kind);
    resource = found;
    const refused = refusals.find(({ message }) => isAbout(message, kind, found));
    if (refused !== undefined) return withGrant(refused);
    const raws = await listTyped(client, resource, resource.namespaced ? namespace : undefined);
    const objects = raws.map((raw): WatchedObject => ({ metadata: viewMetadata(raw["metadata"]), raw }));
    return { ok: true, namespaced: resource.namespaced, objects };
  } catch (error) {
    const refusal = refusalOf(kind, error);
    if (refusal === undefined) throw error;
    if (!isForbidden(error)) return refusal;
    // The API server has refused the user, not the operator.
    return { ...refusal, message: `you may not ${attempt(kind, resource, namespace)}` };
  }
}

function withGrant(refusal: Refusal): Refusal {
  const kind = forbiddenKind(refusal.message);
  return kind === undefined ? refusal : { ...refusal, grant: grantCommand([kind]) };
}

function attempt(kind: ObjectKind, resource: Resource | undefined, namespace: string | undefined): string {
  if (resource === undefined) return `discover kind ${kind.kind}`;
  const where = resource.namespaced && namespace !== undefined ? ` in namespace ${namespace}` : "";
  return `list ${resourceName(resource)}${where}`;
}
