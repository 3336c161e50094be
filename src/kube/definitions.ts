/**
 * Whether lists of a kind that a CustomResourceDefinition defines can be believed. When a definition is deleted, the API server
 * deletes the objects of its kind first, and answers lists with "none" until it serves the kind no more
 * (apiextensions-apiserver, pkg/controller/finalizer/crd_finalizer.go). Such an empty list must release nothing.
 */

import { nonEmptyText } from "../api/fields.ts";
import type { KubeClient } from "./kubeclient.ts";
import { KubeError } from "./kubeerror.ts";
import { type Resource, resourceName } from "./resource.ts";
import { DEFINITIONS } from "./resources.ts";

export class Definitions {
  readonly #client: Pick<KubeClient, "get">;
  /** The uid of each definition, by its name, as the last read showed it. */
  readonly #seen = new Map<string, string>();

  constructor(client: Pick<KubeClient, "get">) {
    this.#client = client;
  }

  /**
   * What `read` gives, consistent reads of the kind. Rejects unless the kind's definition, and not one that has replaced it, was
   * there and was not being deleted when the API server answered: it was seen before `read` began, and after it has ended.
   */
  async whileDefined<T>(resource: Resource, read: () => Promise<T>): Promise<T> {
    const name = resourceName(resource);
    const before = this.#seen.get(name) ?? (await this.#uidOf(name));
    const answer = await read();
    const uid = await this.#uidOf(name);
    this.#seen.set(name, uid);
    if (uid !== before) throw notDefined(name, "has just been replaced");
    return answer;
  }

  async #uidOf(name: string): Promise<string> {
    const { metadata } = await this.#client.get(DEFINITIONS, { name }, { metadataOnly: true });
    if (metadata.deletionTimestamp !== undefined) throw notDefined(name, "is being deleted");
    const uid = nonEmptyText(metadata.uid);
    if (uid === undefined) throw notDefined(name, "has no uid");
    return uid;
  }
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
