/** The objects of the kinds that policies name, in memory and as they are at present. */

import { once } from "node:events";
import type { Logger } from "../api/logger.ts";
import { discoverResource } from "../kube/apidiscovery.ts";
import { isNotFound } from "../kube/kubeerror.ts";
import type { Informer } from "../kube/informer.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";
import type { InformerTuning } from "../kube/tuning.ts";
import {
  type FoundObjects,
  objectKindKey,
  type ObjectKind,
  type ObjectReader,
  type WatchedObject,
} from "../policy/objects.ts";
import { mergeDemands, type ObjectDemand } from "../policy/policy.ts";
import { isSecret, notLoaded, refusalOf, SECRETS_REFUSED, tooManyKinds } from "./objectrefusal.ts";
import { type ObjectClient, ObjectWatch, viewObject } from "./objectwatch.ts";

export interface ObjectInformersOptions {
  readonly client: ObjectClient;
  readonly log: Logger;
  /** An object of this kind changed. `namespace` is undefined where the kind is cluster-scoped. */
  readonly onChange: (kind: ObjectKind, namespace: string | undefined) => void;
  /** Whether objects of this kind can be found changed, or all of them may have. */
  readonly onAvailability: (kind: ObjectKind) => void;
  readonly tuning?: Partial<InformerTuning>;
}

export interface ObjectRead {
  readonly whole: boolean;
  /** Only this object. */
  readonly name?: string;
}

interface Entry {
  readonly kind: ObjectKind;
  /** What answers, until `wanted` can. */
  serving: ObjectWatch;
  wanted: ObjectWatch;
}

/** Policies must not make the operator watch the world. */
const MAX_KINDS = 50;

export class ObjectInformers implements ObjectReader {
  readonly #options: ObjectInformersOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Promise<void>>();
  #refusedKinds: ReadonlySet<string> = new Set();
  #signal: AbortSignal | undefined;
  #announced = Promise.withResolvers<void>();

  constructor(options: ObjectInformersOptions) {
    this.#options = options;
  }

  /**
   * Exactly these kinds are watched from now on: starts, stops, or restarts what differs. Where there are more
   * than 50, the first ones are, so that their order is for the caller to choose.
   */
  want(demands: Iterable<ObjectDemand>): void {
    const wanted = [...mergeDemands(demands)].filter(([, { kind }]) => !isSecret(kind));
    const admitted = new Map(wanted.slice(0, MAX_KINDS));
    this.#refusedKinds = new Set(wanted.slice(MAX_KINDS).map(([key]) => key));
    const dropped = [...this.#entries].filter(([key]) => !admitted.has(key));
    for (const [key, entry] of dropped) {
      this.#entries.delete(key);
      stop(entry);
    }
    for (const [key, demand] of admitted) this.#follow(key, demand);
    for (const [key, { kind }] of dropped) {
      if (this.#refusedKinds.has(key)) this.#announce(kind);
    }
  }

  /** From memory. Objects without `raw` are of a kind that is not read as a whole (yet). */
  find(kind: ObjectKind, namespace: string): FoundObjects {
    if (isSecret(kind)) return SECRETS_REFUSED;
    const key = objectKindKey(kind);
    if (this.#refusedKinds.has(key)) return tooManyKinds(kind, MAX_KINDS);
    return this.#entries.get(key)?.serving.find(namespace) ?? notLoaded(kind);
  }

  /**
   * A consistent read of the present. Refusals are answers, as of find(); other failures reject with a KubeError.
   * Discovery also after the objects were read: that they are gone tells nothing when their kind is, too.
   */
  async read(kind: ObjectKind, namespace: string, options: ObjectRead): Promise<FoundObjects> {
    if (isSecret(kind)) return SECRETS_REFUSED;
    const { client } = this.#options;
    let asked: Parameters<typeof refusalOf>[2];
    try {
      const resource = await discoverResource(client, kind);
      asked = { verb: options.name === undefined ? "list" : "get", resource };
      const found = await this.#present(resource, namespace, options);
      const after = await discoverResource(client, kind);
      if (after.plural !== resource.plural || after.namespaced !== resource.namespaced)
        return notLoaded(kind);
      const objects = found.map((raw) => viewObject(kind, raw, options.whole));
      return { ok: true, namespaced: resource.namespaced, objects };
    } catch (error) {
      const refusal = refusalOf(kind, error, asked);
      if (refusal === undefined) throw error;
      // A watch that is open goes on when the right to read is gone: a list tells memory, too.
      this.#entries.get(objectKindKey(kind))?.serving.informer.refresh();
      return refusal;
    }
  }

  /** Every wanted kind has been read or refused, or `signal` has aborted; never rejects. */
  async whenAnswered(signal: AbortSignal): Promise<void> {
    const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort");
    while (!signal.aborted && [...this.#entries.values()].some(({ serving }) => !serving.answered))
      await Promise.race([this.#announced.promise, stopped]);
  }

  /** With a name for metrics that is unique and known before discovery, such as Backup.v1.velero.io. */
  *informers(): Iterable<readonly [resource: string, informer: Informer<WatchedObject>]> {
    for (const { kind, serving } of this.#entries.values()) yield [qualifiedKind(kind), serving.informer];
  }

  /** Until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const { wanted } of this.#entries.values()) this.#start(wanted, signal);
    if (!signal.aborted) await once(signal, "abort");
    await Promise.all(this.#running);
  }

  async #present(resource: Resource, namespace: string, { whole, name }: ObjectRead): Promise<KubeObject[]> {
    const { client } = this.#options;
    const metadataOnly = !whole;
    if (name === undefined) {
      const scope = resource.namespaced ? { namespace } : {};
      return (await client.list(resource, { metadataOnly, ...scope })).items;
    }
    try {
      return [await client.get(resource, { namespace, name }, { metadataOnly })];
    } catch (error) {
      // Of the object or of its kind: the discovery that follows tells.
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  #follow(key: string, demand: ObjectDemand): void {
    const entry = this.#entries.get(key);
    if (entry?.wanted.whole === demand.whole) return;
    if (entry !== undefined && entry.wanted !== entry.serving) entry.wanted.stop();
    if (entry?.serving.whole === demand.whole) {
      entry.wanted = entry.serving;
      return;
    }
    const watch: ObjectWatch = new ObjectWatch({
      ...this.#options,
      ...demand,
      onChange: (namespace) => this.#options.onChange(demand.kind, namespace),
      onAvailability: () => this.#available(key, watch),
    });
    if (entry === undefined) this.#entries.set(key, { kind: demand.kind, serving: watch, wanted: watch });
    else entry.wanted = watch;
    if (this.#signal !== undefined) this.#start(watch, this.#signal);
  }

  #start(watch: ObjectWatch, signal: AbortSignal): void {
    const running: Promise<void> = watch.run(signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #available(key: string, watch: ObjectWatch): void {
    const entry = this.#entries.get(key);
    if (entry?.wanted === watch && entry.serving !== watch) {
      entry.serving.stop();
      entry.serving = watch;
    }
    if (entry !== undefined) this.#announce(entry.kind);
  }

  #announce(kind: ObjectKind): void {
    this.#announced.resolve();
    this.#announced = Promise.withResolvers<void>();
    try {
      this.#options.onAvailability(kind);
    } catch (error) {
      this.#options.log.error("Availability handler failed", {
        objects: objectKindKey(kind),
        error: String(error),
      });
    }
  }
}

function stop({ serving, wanted }: Entry): void {
  serving.stop();
  wanted.stop();
}

function qualifiedKind({ apiVersion, kind }: ObjectKind): string {
  const [version = "", group] = apiVersion.split("/").toReversed();
  return group === undefined ? `${kind}.${version}` : `${kind}.${version}.${group}`;
}
