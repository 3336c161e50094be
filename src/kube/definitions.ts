/**
 * Whether lists of a kind that a CustomResourceDefinition defines can be believed. When a definition is deleted, the API server
 * deletes the objects of its kind first, and answers lists with "none" until it no longer serves the kind
 * (apiextensions-apiserver, pkg/controller/finalizer/crd_finalizer.go). Such an empty list must release nothing.
 */

import { nonEmptyText } from "../lib/fields.ts";
import type { KubeClient } from "./kube-client.ts";
import { KubeError } from "./kube-error.ts";
import { type Resource, resourceName } from "./resource.ts";
import { DEFINITIONS } from "./resources.ts";

/**
 * The uid of the kind's definition, by a quorum read; rejects if it is being deleted. What was read of the kind is all
 * there was if this uid was the same before, and is the same in a call after it: no other definition replaced it meanwhile.
 *
 * A list of one object: newer API servers answer it from their cache. A GET takes five times as much CPU (kube-apiserver 1.36),
 * because it reads the whole schema from etcd.
 */
export async function definitionUid(client: Pick<KubeClient, "list">, resource: Resource): Promise<string> {
  const name = resourceName(resource);
  const { items } = await client.list(DEFINITIONS, { name, metadataOnly: true });
  const [{ metadata } = notFound(name)] = items;
  if (metadata.deletionTimestamp !== undefined) throw notDefined(name, "is being deleted");
  const uid = nonEmptyText(metadata.uid);
  if (uid === undefined) throw notDefined(name, "has no uid");
  return uid;
}

function notFound(name: string): never {
  throw new KubeError(`list ${name}: it has no CustomResourceDefinition`, { code: 404, reason: "NotFound" });
}

function notDefined(name: string, why: string): KubeError {
  return new KubeError(`list ${name}: its CustomResourceDefinition ${why}`, {
    code: 409,
    reason: DEFINITION_CHANGING,
  });
}

const DEFINITION_CHANGING = "DefinitionChanging";

export const isDefinitionChanging = (error: unknown): boolean =>
  error instanceof KubeError && error.reason === DEFINITION_CHANGING;
