/**
 * Whether lists of a kind that a CustomResourceDefinition defines can be believed. When a definition is deleted, the API server
 * deletes the objects of its kind first, and answers lists with "none" until it serves the kind no more
 * (apiextensions-apiserver, pkg/controller/finalizer/crd_finalizer.go). Such an empty list must release nothing.
 */

import type { KubeClient } from "./kubeclient.ts";
import { KubeError } from "./kubeerror.ts";
import { type Resource, resourceName } from "./resource.ts";
import { DEFINITIONS } from "./resources.ts";

/** The first list of a process takes two: no definition has been seen before it. */
const MAX_LISTS = 2;

export class Definitions {
  readonly #client: Pick<KubeClient, "get">;
  /** The uid of each definition, by its name, as the last read showed it. */
  readonly #seen = new Map<string, string>();

  constructor(client: Pick<KubeClient, "get">) {
    this.#client = client;
  }

  /**
   * What `list` gives, a consistent list of the kind. Rejects unless the kind's definition, and not one that has replaced it,
   * was there and was not being deleted when the API server answered: it was seen before the list began, and after it has ended.
   */
  async whileDefined<T>(resource: Resource, list: () => Promise<T>): Promise<T> {
    const name = resourceName(resource);
    for (let lists = 0; lists < MAX_LISTS; lists += 1) {
      const before = this.#seen.get(name);
      const answer = await list();
      const uid = await this.#uidOf(name);
      this.#seen.set(name, uid);
      if (uid === before) return answer;
    }
    throw notDefined(name, "has just been replaced");
  }

  async #uidOf(name: string): Promise<string> {
    const { metadata } = await this.#client.get(DEFINITIONS, { name }, { metadataOnly: true });
    if (metadata.deletionTimestamp !== undefined) throw notDefined(name, "is being deleted");
    return metadata.uid;
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
