/**
 * What tasks create, apply and delete. Every request, reads included, is made as the task's ServiceAccount, so a task has
 * no right that the account lacks.
 */

import type { TaskAccount } from "../api/hook-policy.ts";
import { discoverKind, KIND_NOT_SERVED } from "../kube/api-discovery.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isNotFound, isReplaced, KubeError, unlessNotFound } from "../kube/kube-error.ts";
import { unless } from "../lib/thrown.ts";
import { type ObjectKind, objectKindKey } from "../policy/watched-objects.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";

/** As whom something is done, and what is out of the question whatever the account may do. */
export interface TaskActor extends TaskAccount {
  /** The task of a HookPolicy: it must not do anything to kinds that have no namespaces. */
  readonly namespacedOnly: boolean;
}

export interface ObjectRef extends ObjectKind {
  /** Absent: the kind has no namespaces. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface TaskObject extends ObjectKind {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

type Client = Pick<KubeClient, "getPath" | "create" | "apply" | "get" | "list" | "delete">;

/** A CustomResourceDefinition may change whether its kind has namespaces only by being deleted. */
const DISCOVERED_MS = 60_000;

export class TaskObjects {
  readonly #client: Client;
  readonly #kinds = new Map<string, { readonly resource: Resource; readonly until: number }>();

  constructor(client: Client) {
    this.#client = client;
  }

  async create(account: TaskActor, object: TaskObject): Promise<KubeObject> {
    return await this.#with(account, object, async (resource, as) => {
      return await this.#client.create(resource, placed(resource, object), as);
    });
  }

  /** Without force: rejects if another manager has set one of the fields to another value. */
  async apply(account: TaskActor, object: TaskObject, fieldManager: string): Promise<KubeObject> {
    return await this.#with(account, object, async (resource, as) => {
      return await this.#client.apply(resource, placed(resource, object), { ...as, fieldManager });
    });
  }

  /** `undefined`: there is none of this name. Rejects if the kind is not served, because that proves nothing. */
  async find(account: TaskActor, ref: ObjectRef): Promise<KubeObject | undefined> {
    const read = this.#with(account, ref, async (resource, as) => {
      return await this.#client.get(resource, keyOf(ref), as);
    });
    const found = await unlessNotFound(read);
    if (found === undefined) await this.#discover(ref);
    return found;
  }

  /** Metadata of the objects that the labels select. Rejects if the kind is not served, or not any more. */
  async select(
    account: TaskActor,
    kind: ObjectKind & { readonly namespace?: string | undefined },
    labelSelector: string,
  ): Promise<readonly KubeObject[]> {
    const { namespace } = kind;
    const scope = { labelSelector, metadataOnly: true, ...(namespace !== undefined && { namespace }) };
    const { items } = await this.#with(account, kind, async (resource, as) => {
      return await this.#client.list(resource, { ...scope, ...as });
    });
    if (items.length === 0) await this.#discover(kind);
    return items;
  }

  /** An object that is gone, or was replaced, is no error. Foreground: it stays until what it owns, such as Pods, is gone. */
  async delete(
    account: TaskActor,
    ref: ObjectRef,
    uid: string,
    propagationPolicy: "Background" | "Foreground",
  ): Promise<void> {
    await this.#with(account, ref, async (resource, as) => {
      const options = { ...as, uid, propagationPolicy };
      await unless(isReplaced, this.#client.delete(resource, keyOf(ref), options));
    });
  }

  async #with<T>(
    account: TaskActor,
    kind: ObjectKind,
    work: (resource: Resource, as: { readonly asUser: string }) => Promise<T>,
  ): Promise<T> {
    const resource = await this.#resourceOf(kind);
    if (account.namespacedOnly && !resource.namespaced)
      throw badRequest(`${kind.kind}: bad request: it has no namespaces, so it is none of a HookPolicy's`);
    try {
      return await work(resource, { asUser: userOf(account) });
    } catch (error) {
      // The kind may be gone, and come back as another resource.
      if (isNotFound(error)) this.#kinds.delete(objectKindKey(kind));
      throw error;
    }
  }

  /** Every client may discover kinds, so this is not done as the account. */
  async #resourceOf(kind: ObjectKind): Promise<Resource> {
    const key = objectKindKey(kind);
    const known = this.#kinds.get(key);
    return known !== undefined && known.until > performance.now()
      ? known.resource
      : await this.#discover(kind);
  }

  async #discover(kind: ObjectKind): Promise<Resource> {
    const { verbs: _, ...resource } = await discoverKind(this.#client, kind).catch((error: unknown) => {
      throw isNotFound(error) ? notServed(kind, error) : error;
    });
    this.#kinds.set(objectKindKey(kind), { resource, until: performance.now() + DISCOVERED_MS });
    return resource;
  }
}

export function userOf({ namespace, name }: TaskAccount): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

function keyOf({ namespace, name }: ObjectRef): { readonly namespace?: string; readonly name: string } {
  return { name, ...(namespace !== undefined && { namespace }) };
}

/** A namespaced object without a namespace must not become one of the namespace "". */
function placed(
  { namespaced, kind }: Resource,
  object: TaskObject,
): { readonly metadata: { readonly namespace?: string; readonly name: string } } & object {
  const { namespace, ...metadata } = object.metadata;
  if (!namespaced) return { ...object, metadata };
  if (namespace !== undefined) return { ...object, metadata: { ...metadata, namespace } };
  throw badRequest(`${kind} ${metadata.name}: bad request: no namespace`);
}

/** Neither the discovery of a group nor that of a kind says what to do. */
function notServed({ apiVersion, kind }: ObjectKind, cause: unknown): KubeError {
  const message = `the API server has no ${kind} in ${apiVersion}: install its CustomResourceDefinition, or correct the task`;
  return new KubeError(message, { code: 404, reason: KIND_NOT_SERVED, cause });
}

function badRequest(message: string): KubeError {
  return new KubeError(message, { code: 400, reason: "BadRequest" });
}
