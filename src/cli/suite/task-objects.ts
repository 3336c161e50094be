/** What tasks create, apply and delete in a suite, with every right. The objects join those of the suite. */

import { isDeepStrictEqual } from "node:util";
import { KubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import type { ObjectKind } from "../../policy/objects.ts";
import type { ObjectRef, TaskObject, TaskObjects } from "../../tasks/task-objects.ts";
import { type RawObject } from "../fleet/kinds.ts";
import { merged, type SuiteObjects } from "./suite-objects.ts";

type Objects = Pick<TaskObjects, "create" | "apply" | "find" | "select" | "delete">;

export class SuiteTaskObjects implements Objects {
  readonly #objects: SuiteObjects;
  readonly #now: () => Date;
  readonly #managers = new Map<string, string>();
  #created = 0;

  constructor(objects: SuiteObjects, now: () => Date) {
    this.#objects = objects;
    this.#now = now;
  }

  async create(_: unknown, object: TaskObject): Promise<KubeObject> {
    this.#created += 1;
    const { metadata } = object;
    const creationTimestamp = timestamp(this.#now());
    const made = {
      ...object,
      metadata: { uid: `task-object-${this.#created}`, creationTimestamp, ...metadata },
    };
    this.#objects.put(undefined, made);
    return await Promise.resolve(asStored(made));
  }

  /** Another field manager conflicts where it wants other values. */
  async apply(account: unknown, object: TaskObject, fieldManager: string): Promise<KubeObject> {
    const ref = refOf(object);
    const key = JSON.stringify(ref);
    const before = this.#objects.named(ref);
    const manager = this.#managers.get(key) ?? fieldManager;
    this.#managers.set(key, before === undefined ? fieldManager : manager);
    if (before === undefined) return await this.create(account, object);
    const after = merged(before, { ...object });
    if (manager !== fieldManager && !isDeepStrictEqual(before, after))
      throw new KubeError(`apply ${ref.kind} ${namespacedName(ref)}: another task has set its fields`, {
        code: 409,
        reason: "Conflict",
      });
    this.#objects.put(before, after);
    return asStored(after);
  }

  async find(_: unknown, ref: ObjectRef): Promise<KubeObject | undefined> {
    const found = this.#objects.named(ref);
    return await Promise.resolve(found && asStored(found));
  }

  async select(
    _: unknown,
    kind: ObjectKind & { readonly namespace?: string | undefined },
    labelSelector: string,
  ): Promise<readonly KubeObject[]> {
    const wanted = labelSelector.split(",").map((pair) => pair.split("="));
    const found = this.#objects.ofKind(kind).filter(({ metadata }) => {
      const { labels = {}, namespace = kind.namespace } = viewMetadata(metadata);
      return namespace === kind.namespace && wanted.every(([key = "", value]) => labels[key] === value);
    });
    return await Promise.resolve(found.map(asStored));
  }

  /** As the API server does, keeps an object with finalizers until they are gone. */
  async delete(_: unknown, ref: ObjectRef): Promise<void> {
    await Promise.resolve();
    const found = this.#objects.named(ref);
    if (found === undefined) return;
    const isKept = (viewMetadata(found["metadata"]).finalizers ?? []).length > 0;
    const deletionTimestamp = timestamp(this.#now());
    this.#objects.put(found, isKept ? merged(found, { metadata: { deletionTimestamp } }) : undefined);
  }
}

function refOf({ apiVersion, kind, metadata: { namespace, name } }: TaskObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** Objects of the suite need not have a uid. */
function asStored(raw: RawObject): KubeObject {
  const metadata = viewMetadata(raw["metadata"]);
  const { namespace = "", name } = metadata;
  return { ...raw, metadata: { ...metadata, uid: metadata.uid || `uid-of-${namespace}/${name}` } };
}
