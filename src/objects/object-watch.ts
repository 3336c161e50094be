import type { Logger } from "../lib/logger.ts";
import { type MemoryBudget, memoryUseOf } from "../kube/memory-budget.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { discoverResource } from "../kube/api-discovery.ts";
import { Informer } from "../kube/informer.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";
import type { Change } from "../kube/object-store.ts";
import type { InformerTuning } from "../kube/recovery.ts";
import { viewMetadata } from "../views/cluster.ts";
import type { ObjectDemand } from "../policy/policy.ts";
import {
  type FoundObjects,
  objectKindKey,
  type ObjectKind,
  OBJECTS_NOT_LOADED,
  type WatchedObject,
} from "../policy/watched-objects.ts";
import { stubObject } from "../views/too-large.ts";
import { notLoaded, type Refusal, refusalOf, tooLarge } from "./object-refusal.ts";

export type ObjectClient = Pick<KubeClient, "getPath" | "get" | "list" | "watch">;

export interface ObjectWatchOptions extends ObjectDemand {
  readonly client: ObjectClient;
  readonly budget: MemoryBudget;
  readonly log: Logger;
  readonly tuning?: Partial<InformerTuning>;
  readonly onChange: (namespace: string | undefined) => void;
  /** The result of find() changed for all namespaces. */
  readonly onAvailability: () => void;
}

/**
 * All objects of one kind. A refusal (403, 404) lasts until a watch is open again, whatever fails in between. A loss of
 * contact is not a refusal: memory then answers, since every release is confirmed by a read anyway.
 */
export class ObjectWatch {
  readonly whole: boolean;
  readonly informer: Informer<WatchedObject>;
  readonly #options: ObjectWatchOptions;
  /** The resource of the watch that is or was open. */
  #resource: Resource | undefined;
  #refusal: Refusal | undefined;

  constructor(options: ObjectWatchOptions) {
    const { kind, whole, client, budget, log, tuning } = options;
    this.whole = whole;
    this.#options = options;
    this.#refusal = notLoaded(kind);
    this.informer = new Informer<WatchedObject>({
      client,
      resource: async (signal) => await discoverResource(client, kind, signal),
      project: (raw) => viewObject(kind, raw, whole),
      onChange: (change) => this.#changed(change),
      onContact: (contact) =>
        contact.opened === undefined
          ? this.#refused(refusalOf(kind, contact.lost, contact.asked))
          : this.#opened(contact.opened),
      metadataOnly: !whole,
      stubs: { budget, ownerOf: (object) => ownerOf(kind, object), memoryUseOf, stub: stubObject },
      log: log.child({ objects: objectKindKey(kind) }),
      ...(tuning !== undefined && { tuning }),
    });
  }

  /** Whether the API server has either listed the kind or refused it. */
  get answered(): boolean {
    return this.#refusal?.reason !== OBJECTS_NOT_LOADED;
  }

  find(namespace: string): FoundObjects {
    if (this.#refusal !== undefined) return this.#refusal;
    const namespaced = this.#resource?.namespaced ?? true;
    const objects = namespaced ? this.informer.byNamespace(namespace) : this.informer.list();
    if (objects.some((object) => object.tooLarge === true))
      return tooLarge(this.#options.kind, namespaced ? namespace : undefined);
    return { ok: true, namespaced, objects };
  }

  #opened(resource: Resource): void {
    const wasAvailable = this.#refusal === undefined && this.#resource?.namespaced === resource.namespaced;
    this.#refusal = undefined;
    this.#resource = resource;
    if (!wasAvailable) this.#options.onAvailability();
  }

  #refused(refusal: Refusal | undefined): void {
    if (refusal === undefined || refusal.message === this.#refusal?.message) return;
    this.#refusal = refusal;
    this.#options.onAvailability();
  }

  /** Changes while find() returns a refusal are reported once by onAvailability, not object by object. */
  #changed({ old, new: object }: Change<WatchedObject>): void {
    if (this.#refusal === undefined) this.#options.onChange((object ?? old)?.metadata.namespace);
  }
}

/** Objects in no namespace share by kind: who may write one kind must not use up the share of another. */
function ownerOf(kind: ObjectKind, { metadata: { namespace } }: WatchedObject): string {
  return namespace ?? objectKindKey(kind);
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Items of a list have no apiVersion and kind for a built-in kind. */
export function viewObject(kind: ObjectKind, raw: KubeObject, whole: boolean): WatchedObject {
  const metadata = viewMetadata(raw.metadata);
  if (!whole) return { metadata };
  return {
    metadata,
    raw: { ...raw, apiVersion: kind.apiVersion, kind: kind.kind, metadata: lean(raw.metadata) },
  };
}

/** No decision uses managedFields and the last-applied copy, which are most of an object's size. */
function lean(raw: KubeObject["metadata"] & { readonly managedFields?: unknown }): Record<string, unknown> {
  const { managedFields: _, annotations, ...metadata } = raw;
  if (annotations === undefined) return metadata;
  const { [LAST_APPLIED]: _copy, ...others } = annotations;
  return { ...metadata, annotations: others };
}
