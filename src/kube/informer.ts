/**
 * Lists and watches one kind for the life of the process.
 *
 * Not client-node's ListWatch/Watch: in 2.0.1 a 5xx, a dropped socket or a failing credentials plugin ends the informer
 * for good, a throwing handler or plugin ends the process (unhandled rejection), stop() can leave a watch open,
 * bookmarks are never requested, and events reset its back-off so that it reconnects 19 times a second
 * (kubernetes-client/javascript#596, #447, #1933, #3034, #3052; each seen against a real API server). An informer that
 * dies unnoticed lets stale policies decide.
 */
import type { Logger } from "../lib/logger.ts";
import { eachInSlices } from "../turns/slice.ts";
import type { KubeClient } from "./kube-client.ts";
import { withDeadline } from "./deadline.ts";
import { childOf, pause } from "../lib/signals.ts";
import { KubeError, fromTransport, isAborted, isForbidden, isNotFound } from "./kube-error.ts";
import { DEFAULT_TUNING, type InformerTuning, Recovery } from "./recovery.ts";
import { namespacedName } from "../lib/keys.ts";
import { type KubeObject, type Resource, resourceName } from "./resource.ts";
import { type Change, Store, type InformerObject } from "./object-store.ts";
import { ObjectStubs, type StubOptions } from "./object-stubs.ts";
import { followWatch } from "./watch-session.ts";
import type { WatchEvent } from "./watch-stream.ts";

export interface InformerOptions<T extends InformerObject> {
  readonly client: Pick<KubeClient, "list" | "watch">;
  /** A function is called before every list, for a kind whose served version is found by discovery. */
  readonly resource: Resource | ((signal: AbortSignal) => Promise<Resource>);
  /**
   * Keeps only the fields that are used; runs before an object is stored. An object for which it throws still exists, so the
   * last known copy (of the same uid) stays until it can be projected: a policy must not vanish by becoming unreadable.
   * `known`: the copy that a watch event follows; absent for a list, since a restored etcd may count the same generations again.
   */
  readonly project: (raw: KubeObject, known?: T) => T;
  /** Called when the store already holds the change; an error that it throws is logged and stops nothing. */
  readonly onChange?: (change: Change<T>) => void;
  /**
   * Whether two copies of the same resource version are equal for the consumer. Needed for kinds whose content can
   * change at the same version: after an update of a CustomResourceDefinition, the API server converts stored objects
   * differently. It then ends the watches of the kind without events (apiextensions-apiserver,
   * customresource_handler.go), so the kind is listed again after every watch: at the latest when a watch ends that a
   * server opened after it knew of the update.
   */
  readonly isSame?: (a: T, b: T) => boolean;
  /**
   * A watch of the kind is open, or contact is lost: `asked` is what could not be listed or watched, and absent if the kind was not
   * found.
   */
  readonly onContact?: (contact: Contact) => void;
  readonly metadataOnly?: boolean;
  /** Absent: the objects do not count. */
  readonly stubs?: StubOptions<T>;
  readonly log: Logger;
  readonly tuning?: Partial<InformerTuning>;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly random?: () => number;
}

export type Contact =
  | { readonly opened: Resource }
  | { readonly opened?: undefined; readonly lost: KubeError; readonly asked: Resource | undefined };

/** An object as it was received. */
interface Entry<T> {
  /** "" when it has no name. */
  readonly key: string;
  readonly uid: string;
  /** Undefined when the projection failed. */
  object: T | undefined;
}

interface Position {
  readonly resource: Resource;
  readonly resourceVersion: string;
}

export class Informer<T extends InformerObject> {
  readonly #options: InformerOptions<T>;
  readonly #tuning: InformerTuning;
  readonly #recovery: Recovery;
  readonly #store: Store<T>;
  /** Counts failed projections; an object counts each time it fails. */
  projectionFailures = 0;
  /** Keys of objects whose newest copy could not be projected: the store has an older one, or none. */
  readonly #unread = new Set<string>();
  readonly #stubs: ObjectStubs<T> | undefined;
  /** What the list that is under way has brought so far. */
  #listing = new Map<string, Entry<T>>();
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #firstList = Promise.withResolvers<void>();
  #running = false;
  #synced = false;
  #position: Position | undefined;
  /** What is listed or watched now. */
  #asked: Resource | undefined;
  #moved = Promise.withResolvers<void>();
  #listedAt = -Infinity;
  #refreshDue = false;
  #refreshTimer: NodeJS.Timeout | undefined;
  #session: AbortController | undefined;

  constructor(options: InformerOptions<T>) {
    const { log, now = (): number => performance.now(), random = Math.random } = options;
    this.#options = options;
    this.#store = new Store(options.isSame);
    this.#stubs = options.stubs && new ObjectStubs(options.stubs);
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#now = now;
    this.#random = random;
    this.#recovery = new Recovery({ tuning: this.#tuning, log, now, random });
  }

  /** Runs until `signal` fires; never rejects. Run once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = true;
    const { stubs } = this.#options;
    const user = { shed: (owner: string) => void this.#shed(owner) };
    stubs?.budget.join(user);
    while (!signal.aborted) {
      let isWatching = false;
      try {
        const position = this.#position ?? (await this.#relist(signal));
        this.#moveTo(position);
        isWatching = true;
        await this.#follow(position, signal);
      } catch (error) {
        if (signal.aborted) break;
        const lost = fromTransport("list and watch", error);
        if (!isAborted(lost)) this.#options.onContact?.({ lost, asked: this.#asked });
        await pause(this.#recover(lost, isWatching), signal);
      }
    }
    this.#running = false;
    stubs?.budget.leave(user);
    this.#stubs?.retain(new Map());
    clearTimeout(this.#refreshTimer);
  }

  /** Whether the first list is in the store and onChange has seen it. Stays true. */
  synced(): boolean {
    return this.#synced;
  }

  /** Rejects with a KubeError (Aborted) when `signal` fires first. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await withDeadline("wait for the first list", { signal }, async () => await this.#firstList.promise);
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  byNamespace(namespace: string): T[] {
    return this.#store.byNamespace(namespace);
  }

  get size(): number {
    return this.#store.size;
  }

  /**
   * The store is the state of the kind at this resourceVersion: a list shows one state, and a watch brings every later
   * change in order. `undefined`: not known.
   */
  get version(): string | undefined {
    return this.#unread.size > 0 ? undefined : this.#position?.resourceVersion;
  }

  /** Resolves when `version` has changed, and the store with it. */
  async moved(): Promise<void> {
    await this.#moved.promise;
  }

  /** Why the store may be out of date; undefined while a watch is open. 404: the kind is not served. */
  failure(): KubeError | undefined {
    return this.#recovery.failure;
  }

  /** Whether the API server says that it does not serve the kind, or that the operator may not read it. */
  get refusal(): "NotServed" | "Forbidden" | undefined {
    const failure = this.failure();
    if (isNotFound(failure)) return "NotServed";
    return isForbidden(failure) ? "Forbidden" : undefined;
  }

  /** Time since the last list, event or bookmark (since the start, before the first list). */
  contactAgeMs(): number {
    return this.#recovery.contactAgeMs();
  }

  /** How often contact was lost and re-established. */
  get restarts(): number {
    return this.#recovery.restarts;
  }

  /**
   * Requests a relist soon, because the caller has evidence that the store is stale. Many calls make one list; the
   * watch continues until then.
   */
  refresh(): void {
    if (!this.#running || !this.#synced || this.#refreshDue || this.#refreshTimer !== undefined) return;
    const wait = Math.max(0, this.#listedAt + this.#tuning.refreshIntervalMs - this.#now());
    this.#refreshTimer = setTimeout(() => {
      this.#refreshTimer = undefined;
      this.#refreshDue = true;
      this.#session?.abort();
    }, wait);
  }

  #moveTo(position: Position): void {
    this.#position = position;
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }

  async #relist(signal: AbortSignal): Promise<Position> {
    await pause(this.#recovery.untilListMs(), signal);
    this.#listedAt = this.#now();
    this.#refreshDue = false;
    const { client, resource: served, metadataOnly = false, log } = this.#options;
    this.#asked = undefined;
    const resource = typeof served === "function" ? await served(signal) : served;
    this.#asked = resource;
    this.#unread.clear();
    const project = (raw: KubeObject): Entry<T> => {
      const entry = this.#entry(raw);
      this.#listing.set(entry.key, entry);
      return entry;
    };
    const listed = client.list(resource, { metadataOnly, signal, project });
    const { items, resourceVersion } = await listed.finally(() => this.#listing.clear());
    this.#recovery.listed(this.#listedAt);
    const objects = this.#merged(items);
    for (const change of this.#store.replace(objects)) this.#deliver(change);
    this.#stubs?.retain(objects);
    if (!this.#synced)
      log.info("Listed for the first time", { resource: resourceName(resource), objects: this.size });
    this.#synced = true;
    this.#firstList.resolve();
    return { resource, resourceVersion };
  }

  /** Returns when a working watch has ended or a refresh is due; throws when recovery is needed. */
  async #follow(position: Position, signal: AbortSignal): Promise<void> {
    if (this.#refreshDue) {
      this.#position = undefined;
      return;
    }
    const session = childOf(signal);
    this.#session = session.controller;
    let [opened, lived] = [false, false];
    const [min, max] = this.#tuning.watchTimeoutSeconds;
    try {
      await followWatch(this.#options.client, {
        ...position,
        ...this.#tuning,
        timeoutSeconds: Math.round(min + (max - min) * this.#random()),
        metadataOnly: this.#options.metadataOnly ?? false,
        signal: session.controller.signal,
        onOpen: () => {
          opened = true;
          this.#recovery.watchOpened();
          this.#options.onContact?.({ opened: position.resource });
        },
        onEvent: (event) => this.#apply(position.resource, event),
      });
    } finally {
      this.#session = undefined;
      session.release();
      lived = this.#recovery.watchEnded();
      if (opened && (this.#options.isSame !== undefined || this.#restores()) && !this.#refreshDue)
        this.refresh();
    }
    if (!lived)
      throw new KubeError("watch: closed at once by the server", { code: 0, reason: "WatchClosed" });
    this.#recovery.heard();
  }

  #apply(resource: Resource, event: WatchEvent): void {
    if (event.type === "ERROR") {
      // Only a list can show what was lost.
      this.#position = undefined;
      throw event.error;
    }
    this.#recovery.heard();
    if (event.type === "BOOKMARK") {
      this.#moveTo({ resource, resourceVersion: event.resourceVersion });
      return;
    }
    this.#moveTo({ resource, resourceVersion: event.object.metadata.resourceVersion });
    if (event.type === "DELETED") {
      const key = namespacedName(event.object.metadata);
      this.#unread.delete(key);
      this.#deliver(this.#store.remove(key));
      this.#stubs?.drop(key);
      return;
    }
    const { key, object } = this.#entry(event.object, this.#store);
    if (object !== undefined) this.#deliver(this.#store.put(key, object));
  }

  /** `knownIn`: the store with the copy that a watch event follows; absent for a list. */
  #entry(raw: KubeObject, knownIn?: Store<T>): Entry<T> {
    let [key, uid] = ["", ""];
    try {
      ({ uid } = raw.metadata);
      key = namespacedName(raw.metadata);
      const object = this.#options.project(raw, knownIn?.get(key));
      this.#unread.delete(key);
      return { key, uid, object: this.#store.known(key, this.#stubs?.keep(key, object) ?? object) };
    } catch (error) {
      this.projectionFailures++;
      this.#unread.add(key);
      this.#options.log.error("Object cannot be read", { key, error: String(error) });
      return { key, uid, object: undefined };
    }
  }

  /** The contents of the store after a list. */
  #merged(entries: readonly Entry<T>[]): Map<string, T> {
    const objects = new Map<string, T>();
    for (const { key, uid, object } of entries) {
      const known = this.#store.get(key);
      const kept = object ?? (known?.metadata.uid === uid ? known : undefined);
      if (kept !== undefined) objects.set(key, kept);
    }
    return objects;
  }

  /** Replaces what is kept for the owner, in slices: consumers evaluate each change. Never rejects. */
  async #shed(owner: string): Promise<void> {
    for (const entry of this.#listing.values())
      entry.object = (entry.object && this.#stubs?.shed(entry.object, owner)) ?? entry.object;
    const keys = [...this.#store.entries()].map(([key]) => key);
    await eachInSlices(keys, (key) => {
      const object = this.#store.get(key);
      const stub = object && this.#stubs?.shed(object, owner);
      if (stub !== undefined) this.#deliver(this.#store.put(key, stub));
    });
  }

  /**
   * Whether some stub may be a whole object again. They are read again when a watch ends, within ten minutes, so that a tenant
   * at the edge of the budget cannot cause lists as often as it likes.
   */
  #restores(): boolean {
    return this.#store.list().some((object) => this.#stubs?.isRestorable(object) === true);
  }

  /** Stubs in the store. */
  get tooLarge(): number {
    return this.#store.list().filter(({ tooLarge }) => tooLarge === true).length;
  }

  #deliver(change: Change<T> | undefined): void {
    if (change === undefined || this.#options.onChange === undefined) return;
    const report = (error: unknown): void =>
      this.#options.log.error("Change handler failed", { key: change.key, error: String(error) });
    try {
      const result: unknown = this.#options.onChange(change);
      // The type allows an async handler; its rejection must not end the process.
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  }

  /** Returns the pause before the next attempt; drops the position when that attempt must be a list. */
  #recover(error: KubeError, wasWatching: boolean): number {
    if (this.#refreshDue && isAborted(error)) return 0;
    const { relist, pauseMs } = this.#recovery.after(error, wasWatching);
    if (relist) this.#position = undefined;
    return pauseMs;
  }
}
