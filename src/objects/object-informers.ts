/** The objects of the kinds that policies name, from memory or by a fresh read. */

import { once } from "node:events";
import { discoverResource } from "../kube/api-discovery.ts";
import { isTooLarge, unlessNotFound } from "../kube/kube-error.ts";
import type { Informer } from "../kube/informer.ts";
import { RunGroup } from "../lib/signals.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";
import {
  type FoundObjects,
  MAX_KINDS,
  objectKindKey,
  type ObjectKind,
  type ObjectReader,
  type WatchedObject,
} from "../policy/watched-objects.ts";
import { mergeDemands, type ObjectDemand, type ObjectQuery } from "../policy/policy.ts";
import { isSecret, notLoaded, refusalOf, SECRETS_REFUSED, tooLarge, tooManyKinds } from "./object-refusal.ts";
import { ObjectWatch, type ObjectWatchOptions, viewObject } from "./object-watch.ts";

export interface ObjectInformersOptions extends Pick<
  ObjectWatchOptions,
  "client" | "budget" | "log" | "tuning"
> {
  /** Called when an object of this kind changed. `namespace` is undefined for a cluster-scoped kind. */
  readonly onChange: (kind: ObjectKind, namespace: string | undefined) => void;
  /** Called when objects of this kind became available or unavailable, or when all of them may have changed. */
  readonly onAvailability: (kind: ObjectKind) => void;
}

type ObjectRead = Pick<ObjectQuery, "whole" | "name">;

interface RunningWatch {
  readonly watch: ObjectWatch;
  readonly stop: () => void;
}

interface Entry {
  readonly kind: ObjectKind;
  /** The watch that answers until `wanted` can. */
  serving: RunningWatch;
  wanted: RunningWatch;
}

/**
 * For what one read before a release brings, of which twelve can be under way (decisions/live-reads.ts): more would not come
 * in time, and would keep a place for reads from the confirmations of others.
 */
export const MAX_READ_BYTES = 16 * 1024 * 1024;

export class ObjectInformers implements ObjectReader {
  readonly #options: ObjectInformersOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #group = new RunGroup();
  #refusedKinds: ReadonlySet<string> = new Set();
  #announced = Promise.withResolvers<void>();

  constructor(options: ObjectInformersOptions) {
    this.#options = options;
  }

  /**
   * Watches exactly these kinds from now on: starts, stops or restarts watches that differ. If there are more than 50
   * kinds, only the first 50 are watched; the caller chooses the order.
   */
  want(demands: Iterable<ObjectDemand>): void {
    const wanted = [...mergeDemands(demands)].filter(([, { kind }]) => !isSecret(kind));
    const admitted = new Map(wanted.slice(0, MAX_KINDS));
    this.#refusedKinds = new Set(wanted.slice(MAX_KINDS).map(([key]) => key));
    const dropped = [...this.#entries].filter(([key]) => !admitted.has(key));
    for (const [key, entry] of dropped) {
      this.#entries.delete(key);
      entry.serving.stop();
      entry.wanted.stop();
    }
    for (const [key, demand] of admitted) this.#follow(key, demand);
    for (const [key, { kind }] of dropped) {
      if (this.#refusedKinds.has(key)) this.#announce(kind);
    }
  }

  /** Finds objects in memory; without `raw` while only the metadata of the kind is read. */
  find(kind: ObjectKind, namespace: string): FoundObjects {
    if (isSecret(kind)) return SECRETS_REFUSED;
    const key = objectKindKey(kind);
    if (this.#refusedKinds.has(key)) return tooManyKinds(kind, MAX_KINDS);
    return this.#entries.get(key)?.serving.watch.find(namespace) ?? notLoaded(kind);
  }

  /**
   * Reads the present objects consistently. Refusals are results, as in find(); other failures reject with a KubeError.
   * Discovery runs again after the read: missing objects prove nothing when their kind is missing too.
   */
  async read(kind: ObjectKind, namespace: string, options: ObjectRead): Promise<FoundObjects> {
    if (isSecret(kind)) return SECRETS_REFUSED;
    const { client } = this.#options;
    let asked: Resource | undefined;
    try {
      const resource = await discoverResource(client, kind);
      asked = resource;
      const place = resource.namespaced ? namespace : undefined;
      if (this.#options.budget.isOver(place ?? objectKindKey(kind))) return tooLarge(kind, place);
      const objects = await this.#present(kind, resource, namespace, options);
      const after = await discoverResource(client, kind);
      if (after.plural !== resource.plural || after.namespaced !== resource.namespaced)
        return notLoaded(kind);
      return { ok: true, namespaced: resource.namespaced, objects };
    } catch (error) {
      if (isTooLarge(error)) return tooLarge(kind, namespace);
      const refusal = refusalOf(kind, error, asked);
      if (refusal === undefined) throw error;
      // An open watch continues after the right to read is gone; a relist makes memory know.
      this.#entries.get(objectKindKey(kind))?.serving.watch.informer.refresh();
      return refusal;
    }
  }

  /** Resolves when every wanted kind was read or refused, or when `signal` aborts; never rejects. */
  async whenAnswered(signal: AbortSignal): Promise<void> {
    const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort");
    while (!signal.aborted && [...this.#entries.values()].some(({ serving }) => !serving.watch.answered))
      await Promise.race([this.#announced.promise, stopped]);
  }

  /** The informers with a name for metrics that is unique and known before discovery, such as Backup.v1.velero.io. */
  *informers(): Iterable<readonly [resource: string, informer: Informer<WatchedObject>]> {
    for (const { kind, serving } of this.#entries.values())
      yield [qualifiedKind(kind), serving.watch.informer];
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#group.run(signal);
  }

  async #present(
    kind: ObjectKind,
    resource: Resource,
    namespace: string,
    { whole, name }: ObjectRead,
  ): Promise<readonly WatchedObject[]> {
    const { client } = this.#options;
    const metadataOnly = !whole;
    if (name === undefined) {
      const scope = resource.namespaced ? { namespace } : {};
      const project = (raw: KubeObject): WatchedObject => viewObject(kind, raw, whole);
      const limits = { metadataOnly, maxBytes: MAX_READ_BYTES };
      return (await client.list(resource, { ...limits, project, ...scope })).items;
    }
    // Either the object or its kind is missing, and the discovery that follows shows which.
    const found = await unlessNotFound(client.get(resource, { namespace, name }, { metadataOnly }));
    return found === undefined ? [] : [viewObject(kind, found, whole)];
  }

  #follow(key: string, demand: ObjectDemand): void {
    const entry = this.#entries.get(key);
    if (entry?.wanted.watch.whole === demand.whole) return;
    if (entry !== undefined && entry.wanted !== entry.serving) entry.wanted.stop();
    if (entry?.serving.watch.whole === demand.whole) {
      entry.wanted = entry.serving;
      return;
    }
    const watch: ObjectWatch = new ObjectWatch({
      ...this.#options,
      ...demand,
      onChange: (namespace) => this.#options.onChange(demand.kind, namespace),
      onAvailability: () => this.#available(key, watch),
    });
    const running = { watch, stop: this.#group.start(async (signal) => await watch.informer.run(signal)) };
    if (entry === undefined) this.#entries.set(key, { kind: demand.kind, serving: running, wanted: running });
    else entry.wanted = running;
  }

  #available(key: string, watch: ObjectWatch): void {
    const entry = this.#entries.get(key);
    if (entry?.wanted.watch === watch && entry.serving !== entry.wanted) {
      entry.serving.stop();
      entry.serving = entry.wanted;
    }
    if (entry !== undefined) this.#announce(entry.kind);
  }

  #announce(kind: ObjectKind): void {
    this.#announced.resolve();
    this.#announced = Promise.withResolvers<void>();
    try {
      this.#options.onAvailability(kind);
    } catch (error) {
      const objects = objectKindKey(kind);
      this.#options.log.error("Availability handler failed", { objects, error: String(error) });
    }
  }
}

function qualifiedKind({ apiVersion, kind }: ObjectKind): string {
  const [version = "", group] = apiVersion.split("/").toReversed();
  return group === undefined ? `${kind}.${version}` : `${kind}.${version}.${group}`;
}
