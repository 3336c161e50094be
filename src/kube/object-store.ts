import { entryOf } from "../lib/entry-of.ts";
import type { TooLargeMark, ObjectMeta } from "../api/meta.ts";

export interface InformerObject extends TooLargeMark {
  readonly metadata: ObjectMeta;
}

/** When the uids of `old` and `new` differ, the object was deleted and created again under the same name. */
export interface Change<T> {
  readonly key: string;
  readonly old: T | undefined;
  readonly new: T | undefined;
}

/** The objects that an informer knows, by key and by namespace. */
export class Store<T extends InformerObject> {
  #objects = new Map<string, T>();
  #namespaces = new Map<string, Map<string, T>>();
  readonly #isSame: (a: T, b: T) => boolean;

  /** `isSame` compares two copies of the same resource version; by default they are equal. */
  constructor(isSame: (a: T, b: T) => boolean = () => true) {
    this.#isSame = isSame;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  entries(): Iterable<[string, T]> {
    return this.#objects;
  }

  byNamespace(namespace: string): T[] {
    return [...(this.#namespaces.get(namespace)?.values() ?? [])];
  }

  /** The stored copy if it is the same, so that a list of what is known needs no memory; else this one. */
  known(key: string, object: T): T {
    const old = this.#objects.get(key);
    return old !== undefined && isSameVersion(old, object) && this.#isSame(old, object) ? old : object;
  }

  /** `undefined` when the store already holds this object. */
  put(key: string, object: T): Change<T> | undefined {
    const old = this.#objects.get(key);
    // Keeps the copy that the last change reported, from which the next change starts.
    if (old !== undefined && this.known(key, object) === old) return undefined;
    this.#objects.set(key, object);
    entryOf(this.#namespaces, namespaceOf(key), () => new Map<string, T>()).set(key, object);
    return { key, old, new: object };
  }

  remove(key: string): Change<T> | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    const namespace = namespaceOf(key);
    const siblings = this.#namespaces.get(namespace);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#namespaces.delete(namespace);
    return { key, old, new: undefined };
  }

  /** Replaces all objects by `objects` and returns the differences; deletions come first. */
  replace(objects: ReadonlyMap<string, T>): Change<T>[] {
    const gone = [...this.#objects.keys()].filter((key) => !objects.has(key));
    const removed = gone.map((key) => this.remove(key));
    const written = [...objects].map(([key, object]) => this.put(key, object));
    return [...removed, ...written].filter((change) => change !== undefined);
  }
}

function namespaceOf(key: string): string {
  return key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
}

function isSameVersion(a: InformerObject, b: InformerObject): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.resourceVersion === b.metadata.resourceVersion &&
    a.tooLarge === b.tooLarge
  );
}
