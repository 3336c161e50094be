import type { Logger } from "../lib/logger.ts";
import { namespacedName } from "../lib/keys.ts";
import type { KubeObject } from "./resource.ts";
import type { Store, InformerObject } from "./object-store.ts";

export interface Entry<T> {
  /** "" when the object has no name. */
  readonly key: string;
  readonly uid: string;
  /** Undefined when the projection failed. */
  object: T | undefined;
}

/**
 * Reduces raw objects to what is stored. An object that cannot be projected still exists, so the last known copy (of
 * the same uid) stays until it can be: a policy must not vanish by becoming unreadable.
 */
export class Projection<T extends InformerObject> {
  failures = 0;
  readonly #project: (raw: KubeObject, known?: T) => T;
  readonly #log: Logger;

  constructor(project: (raw: KubeObject, known?: T) => T, log: Logger) {
    this.#project = project;
    this.#log = log;
  }

  /** Projects one object. `knownIn`: the store with the copy that a watch event follows; absent for a list. */
  readonly entry = (raw: KubeObject, knownIn?: Store<T>): Entry<T> => {
    let key = "";
    let uid = "";
    try {
      ({ uid } = raw.metadata);
      key = namespacedName(raw.metadata);
      return { key, uid, object: this.#project(raw, knownIn?.get(key)) };
    } catch (error) {
      this.failures++;
      this.#log.error("Object cannot be read", { key, error: String(error) });
      return { key, uid, object: undefined };
    }
  };

  /** The contents of the store after a list of `entries`. */
  merge(entries: readonly Entry<T>[], store: Store<T>): Map<string, T> {
    const objects = new Map<string, T>();
    for (const { key, uid, object } of entries) {
      const known = store.get(key);
      const kept = object ?? (known?.metadata.uid === uid ? known : undefined);
      if (kept !== undefined) objects.set(key, kept);
    }
    return objects;
  }
}
