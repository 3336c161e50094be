/**
 * The API server as a model: resource versions, conflicts, finalizers, deletion in two steps, watches that each reader
 * follows at its own pace. What a client asks for is done in one step and answered in another.
 */

import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { KubeClient, ListOptions, Scope } from "../../../src/kube/kube-client.ts";
import type { List } from "../../../src/kube/paged-list.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { namespacedName } from "../../../src/lib/keys.ts";
import type { KubeObject, ObjectKey, Resource } from "../../../src/kube/resource.ts";
import { DEFINITIONS, POLICY_RESOURCES, ROLLOUTS } from "../../../src/kube/resources.ts";

const VERSIONS_PER_KIND = 1_000_000;
/** Leaves room for the versions of lists, each of which shows what other kinds were then. */
const VERSIONS_PER_WRITE = 1000;

/**
 * The same but for the numbers of resource versions, of which only the order within a kind means anything: what was
 * written in between, and nobody knows of any more, makes no difference. `groupOf`: where only the order within other
 * groups does.
 */
export function withoutVersions(
  text: string,
  groupOf: (version: number) => string | number = kindOf,
): string {
  const mentioned = new Set(text.matchAll(VERSION).map(([, , version]) => Number(version)));
  const ranks = new Map<number, string>();
  for (const [group, versions] of Map.groupBy(mentioned, groupOf))
    for (const [rank, version] of versions.toSorted((a, b) => a - b).entries())
      ranks.set(version, `${group}.${rank}`);
  return text.replaceAll(VERSION, (_, before: string, digits: string) => before + ranks.get(Number(digits)));
}

function kindOf(version: number): number {
  return Math.floor(version / VERSIONS_PER_KIND);
}

/** In a JSON text, also one inside of another. */
const VERSION = /(resourceVersion\\*":\\*")(\d+)/g;

export interface WatchEvent {
  readonly key: string;
  readonly version: number;
  readonly object: KubeObject | undefined;
}

/** A request that is under way. */
export interface Request {
  /** Verb and object. */
  readonly what: string;
  readonly body: string | undefined;
  /** Absent until the API server has done it. */
  answer?: { readonly text: string; deliver(): void };
  perform(): void;
  fail(): void;
}

export class ApiModel {
  readonly #forgetsStatus: boolean;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #events = new Map<string, WatchEvent[]>();
  /** Of one kind each: only within a kind can resource versions be compared. */
  readonly #versions = new Map<string, number>();
  #nextKind = 0;

  /** `forgetsStatus`: says that it has kept it. What depends on the status alone need not be looked at then. */
  constructor(forgetsStatus: boolean) {
    this.#forgetsStatus = forgetsStatus;
  }

  /** Of the last change to a kind. */
  version(plural: string): number {
    return this.#versions.get(plural) ?? 0;
  }

  events(plural: string): readonly WatchEvent[] {
    return this.#events.get(plural) ?? [];
  }

  /** The object that was written as this version. */
  writtenAs(version: number): string {
    for (const [plural, events] of this.#events)
      for (const { key, version: each } of events) if (each === version) return `${plural}/${key}`;
    return String(kindOf(version));
  }

  list(plural: string): KubeObject[] {
    return [...(this.#objects.get(plural)?.values() ?? [])];
  }

  get(plural: string, key: string): KubeObject | undefined {
    return this.#objects.get(plural)?.get(key);
  }

  /** As a user, or a controller that is no part of the model, writes it: without looking. */
  put(plural: string, object: KubeObject): KubeObject {
    const version = (this.#versions.get(plural) ?? VERSIONS_PER_KIND * this.#nextKind++) + VERSIONS_PER_WRITE;
    const { metadata } = object;
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(version) } };
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
      this.#store(plural, version, stored, undefined);
    } else this.#store(plural, version, stored, stored);
    return stored;
  }

  /** Gone at once without finalizers; as the API server does, a deletion that waits counts as an edit. */
  delete(plural: string, key: string, now: Date): void {
    const object = this.get(plural, key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { generation = 0 } = object.metadata;
    const deletionTimestamp = now.toISOString();
    this.put(plural, {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp, generation: generation + 1 },
    });
  }

  edit(plural: string, key: string, change: (object: KubeObject) => KubeObject): void {
    const object = this.get(plural, key);
    if (object !== undefined) this.put(plural, change(object));
  }

  patchMetadata(plural: string, key: string, patch: Partial<ObjectMeta>): KubeObject {
    const object = this.#guarded(plural, key, patch);
    const { finalizers = [] } = patch;
    const added = finalizers.some((finalizer) => !object.metadata.finalizers?.includes(finalizer));
    if (added && object.metadata.deletionTimestamp !== undefined) {
      throw new KubeError("no new finalizers while it is being deleted", { code: 422, reason: "Invalid" });
    }
    return this.put(plural, { ...object, metadata: { ...object.metadata, finalizers } });
  }

  replaceStatus(plural: string, key: string, value: KubeObject): KubeObject {
    const object = this.#guarded(plural, key, value.metadata);
    const written = { ...object, status: value.status };
    if (this.#forgetsStatus || JSON.stringify(object) === JSON.stringify(written)) return written;
    return this.put(plural, written);
  }

  #guarded(plural: string, key: string, { uid, resourceVersion }: Partial<ObjectMeta>): KubeObject {
    const object = this.get(plural, key);
    if (object === undefined) throw notFound();
    const other = (wanted: string | undefined, is: string): boolean => wanted !== undefined && wanted !== is;
    if (other(uid, object.metadata.uid) || other(resourceVersion, object.metadata.resourceVersion)) {
      throw new KubeError("the object has been modified", { code: 409, reason: "Conflict" });
    }
    return object;
  }

  #store(plural: string, version: number, stored: KubeObject, kept: KubeObject | undefined): void {
    const key = namespacedName(stored.metadata);
    const objects = this.#objects.get(plural) ?? new Map<string, KubeObject>();
    if (kept === undefined) objects.delete(key);
    else objects.set(key, kept);
    this.#objects.set(plural, objects);
    this.#versions.set(plural, version);
    this.#events.set(plural, [...this.events(plural), { key, version, object: kept }]);
  }
}

function notFound(): KubeError {
  return new KubeError("not found", { code: 404, reason: "NotFound" });
}

function selected(objects: readonly KubeObject[], { namespace, labelSelector = "" }: Scope): KubeObject[] {
  if (labelSelector !== "") throw new Error("the model does not know label selectors");
  return objects.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
}

/** What is listed as the version of another kind's list: all of it, by that version. */
type Snapshots = Map<string, Readonly<Record<string, readonly KubeObject[]>>>;

const AT_VERSION = [POLICY_RESOURCES.HookPolicy.plural, ROLLOUTS.plural];

/** Not older than what is written of any kind, and older than the next write of a Cluster. */
function revisionOf(api: ApiModel): string {
  const others = AT_VERSION.map((plural) => (api.version(plural) % VERSIONS_PER_KIND) / VERSIONS_PER_WRITE);
  return String(api.version("clusters") + others.reduce((sum, writes) => sum + writes, 0));
}

/** Always there: what happens when they go is for test/apiserver/operator-faults.test.ts. */
function definitionsOf(name: string): List<KubeObject> {
  return { items: [{ metadata: { name, uid: name, resourceVersion: "1" } }], resourceVersion: "1" };
}

/** By how much `now` is ahead of the API server's clock. */
export interface ServerClockModel {
  readonly aheadMs: (now: Date) => number;
}

const SAME_CLOCK: ServerClockModel = { aheadMs: () => 0 };

/** The part of a KubeClient that controllers use; each request is handed to `send`. */
export function clientOf(
  api: ApiModel,
  send: (request: Request) => void,
  serverClock = SAME_CLOCK,
): KubeClient {
  const ask = async <T>(what: string, body: unknown, work: () => T): Promise<T> =>
    await new Promise<T>((resolve, reject) => {
      const request: Request = {
        what,
        body: JSON.stringify(body),
        perform: () => {
          try {
            const result = work();
            request.answer = { text: JSON.stringify(result), deliver: () => resolve(result) };
          } catch (error) {
            request.answer = { text: String(error), deliver: () => reject(error) };
          }
        },
        fail: () => reject(new KubeError("no answer", { code: 0, reason: "Timeout" })),
      };
      send(request);
    });
  const snapshots: Snapshots = new Map();
  const versionOf = (plural: string): object => {
    if (plural !== POLICY_RESOURCES.ClusterHookPolicy.plural) return { resourceVersion: "0" };
    const resourceVersion = revisionOf(api);
    const snapshot = Object.fromEntries(AT_VERSION.map((each) => [each, api.list(each)]));
    snapshots.set(resourceVersion, snapshot);
    // A part of the answer, and so of the state.
    return { resourceVersion, snapshot };
  };
  const client = {
    serverClock,
    get: async ({ plural }: Resource, key: ObjectKey) =>
      await ask(`get ${plural}/${key.name}`, undefined, () => {
        const object = api.get(plural, namespacedName(key));
        if (object === undefined) throw notFound();
        return object;
      }),
    list: async (
      { plural }: Resource,
      { project = (raw) => raw, at, ...scope }: ListOptions<unknown> = {},
    ) =>
      plural === DEFINITIONS.plural
        ? definitionsOf(scope.name ?? "")
        : await ask(`list ${plural}`, at, () => {
            const objects = at === undefined ? api.list(plural) : (snapshots.get(at)?.[plural] ?? []);
            return { items: selected(objects, scope).map(project), ...versionOf(plural) };
          }),
    version: async ({ plural }: Resource) =>
      await ask(`list ${plural}, the first alone`, undefined, () => ({
        resourceVersion: String(api.version(plural)),
      })).then(({ resourceVersion }) => resourceVersion),
    hasAny: async ({ plural }: Resource, scope: Scope) =>
      await ask(`look for any of ${plural}`, undefined, () => selected(api.list(plural), scope).length > 0),
    mergePatch: async (
      { plural }: Resource,
      key: ObjectKey,
      patch: { readonly metadata: Partial<ObjectMeta> },
    ) =>
      await ask(`patch ${plural}/${key.name}`, patch, () =>
        api.patchMetadata(plural, namespacedName(key), patch.metadata),
      ),
    replaceStatus: async ({ plural }: Resource, value: KubeObject) =>
      await ask(`put the status of ${plural}/${value.metadata.name}`, value, () =>
        api.replaceStatus(plural, namespacedName(value.metadata), value),
      ),
  };
  return client as unknown as KubeClient;
}
