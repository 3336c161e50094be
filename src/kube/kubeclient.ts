import { setImmediate } from "node:timers/promises";

import { isFields } from "../api/fields.ts";
import type { KubeConfig } from "./kubeconfig.ts";
import { KubeError, isGone } from "./kubeerror.ts";
import type { Attempt } from "./kubeerror.ts";
import { collectionPath, keyOf, objectPath, resourceName } from "./resource.ts";
import type { KubeObject, ObjectKey, Resource } from "./resource.ts";
import type { ServerClock } from "./serverclock.ts";
import { Transport } from "./transport.ts";
import { isKubeObject, watchEvents } from "./watchstream.ts";
import type { WatchEvent } from "./watchstream.ts";

export interface KubeClientOptions {
  /** For the User-Agent, "hookpolicy/<version>". */
  readonly version?: string;
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  /** For how long the projection of a list may keep the event loop. */
  readonly sliceMs?: number;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends RequestOptions {
  /** Only apiVersion, kind and metadata are sent. */
  readonly metadataOnly?: boolean;
}

/** Which objects of a kind; absent: all. */
export interface Scope {
  readonly namespace?: string;
  readonly name?: string;
}

export interface ListOptions<U> extends GetOptions, Scope {
  /** Objects per page, at most: large ones come in smaller pages. */
  readonly limit?: number;
  /** Absent: a consistent read, as new as this call. "0": whatever the API server has in memory. */
  readonly resourceVersion?: string;
  /** Applied page by page, so that a big list never is in memory as a whole. */
  readonly project?: (raw: KubeObject) => U;
}

export interface List<U> {
  readonly items: U[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends Scope {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly metadataOnly?: boolean;
  readonly signal: AbortSignal;
}

export interface JsonPatchOperation {
  readonly op: "add" | "replace" | "test";
  /** RFC 6901: "/webhooks/0/name". */
  readonly path: string;
  readonly value: unknown;
}

interface Page {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  readonly continue: string;
  /** Of the answer. */
  readonly bytes: number;
}

const JSON_TYPE = "application/json";
const META = "g=meta.k8s.io;v=v1";
/** An aggregated API server may know no metadata-only answers: then the whole object is better than a 406. */
const METADATA_OBJECT = `${JSON_TYPE};as=PartialObjectMetadata;${META},${JSON_TYPE}`;
const METADATA_LIST = `${JSON_TYPE};as=PartialObjectMetadataList;${META},${JSON_TYPE}`;

/** Objects of a page, at first and at most. */
const [FIRST_PAGE, MAX_PAGE] = [100, 500];
/** An answer is parsed in one piece, so pages are to be of this size; at the most that is given up, one object may be longer. */
const [PAGE_BYTES, MAX_PAGE_BYTES] = [1024 * 1024, 2 * 1024 * 1024];
const SLICE_MS = 5;
const MAX_LIST_RESTARTS = 3;
const DEFAULTS = { timeoutMs: 10_000, maxResponseBytes: 32 * 1024 * 1024 };

/** Typed by the caller: objects come back as the API server sent them. Everything that fails throws a KubeError. */
export class KubeClient {
  readonly #transport: Transport;
  readonly #sliceMs: number;

  constructor(config: KubeConfig, options: KubeClientOptions = {}) {
    const userAgent = `hookpolicy/${options.version ?? "dev"}`;
    this.#transport = new Transport(config, { ...DEFAULTS, ...options, userAgent });
    this.#sliceMs = options.sliceMs ?? SLICE_MS;
  }

  /** As the responses so far show it. */
  get serverClock(): ServerClock {
    return this.#transport.clock;
  }

  async get(resource: Resource, key: ObjectKey, options: GetOptions = {}): Promise<KubeObject> {
    const attempt = describe("get", resource, key);
    const accept = options.metadataOnly === true ? METADATA_OBJECT : JSON_TYPE;
    const path = objectPath(resource, key);
    const body = await this.#transport.json({ attempt, method: "GET", path, accept, signal: options.signal });
    return object(attempt, body);
  }

  /**
   * All pages, of one resourceVersion. A 410 between pages (compaction) starts again; a page that is too
   * large is asked for again with a quarter of the objects.
   */
  async list(resource: Resource, options?: ListOptions<KubeObject>): Promise<List<KubeObject>>;
  async list<U>(
    resource: Resource,
    options: ListOptions<U> & { readonly project: (raw: KubeObject) => U },
  ): Promise<List<U>>;
  async list<U>(resource: Resource, options: ListOptions<U> = {}): Promise<List<U | KubeObject>> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await this.#listOnce(resource, options);
      } catch (error) {
        if (!isGone(error) || restarts >= MAX_LIST_RESTARTS) throw error;
      }
    }
  }

  /** Resolves when the server has accepted the watch. `signal` ends the iteration at any time, with an error. */
  async watch(
    resource: Resource,
    options: WatchOptions,
  ): Promise<AsyncGenerator<WatchEvent, void, undefined>> {
    const attempt = `watch ${resourceName(resource)}`;
    const query = new URLSearchParams({
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
    });
    select(query, options);
    const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
    const accept = options.metadataOnly === true ? METADATA_OBJECT : JSON_TYPE;
    const { signal } = options;
    const body = await this.#transport.stream({ attempt, method: "GET", path, accept, signal });
    return watchEvents(attempt, body);
  }

  /** Fails with AlreadyExists where there is one of that name. */
  async create(
    resource: Resource,
    value: { readonly metadata: ObjectKey } & object,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const attempt = describe("create", resource, value.metadata);
    const path = collectionPath(resource, value.metadata.namespace);
    const body = { type: JSON_TYPE, json: value };
    const { signal } = options;
    const request = { attempt, method: "POST", path, accept: JSON_TYPE, body, signal } as const;
    return object(attempt, await this.#transport.json(request));
  }

  /** As create(), and admission is asked, but nothing is stored. */
  async tryCreate(resource: Resource, value: { readonly metadata: ObjectKey } & object): Promise<void> {
    const attempt = describe("create", resource, value.metadata);
    const path = `${collectionPath(resource, value.metadata.namespace)}?dryRun=All`;
    const body = { type: JSON_TYPE, json: value };
    await this.#transport.json({ attempt, method: "POST", path, accept: JSON_TYPE, body });
  }

  /** An object that is a question and never stored, such as a SubjectAccessReview: gives the answer, its status. */
  async review(resource: Resource, spec: object, options: RequestOptions = {}): Promise<unknown> {
    const attempt = `create ${resourceName(resource)}`;
    const apiVersion = `${resource.group}/${resource.version}`;
    const body = { type: JSON_TYPE, json: { apiVersion, kind: resource.kind, spec } };
    const { signal } = options;
    const path = collectionPath(resource);
    const request = { attempt, method: "POST", path, accept: JSON_TYPE, body, signal } as const;
    const answer = await this.#transport.json(request);
    return isFields(answer) ? answer["status"] : undefined;
  }

  /** Replaces the status subresource; a conflict when the object changed since `object` was read. */
  async replaceStatus(
    resource: Resource,
    value: KubeObject,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const attempt = describe("update status of", resource, value.metadata);
    if (!isKubeObject(value)) {
      // Without one the API server overwrites whatever is there.
      throw new KubeError(`${attempt}: bad request: no resourceVersion`, { code: 400, reason: "BadRequest" });
    }
    const path = `${objectPath(resource, value.metadata)}/status`;
    const body = { type: JSON_TYPE, json: value };
    const { signal } = options;
    const request = { attempt, method: "PUT", path, accept: JSON_TYPE, body, signal } as const;
    return object(attempt, await this.#transport.json(request));
  }

  /** JSON merge patch (RFC 7386); put metadata.resourceVersion into it to detect conflicts. */
  async mergePatch(
    resource: Resource,
    key: ObjectKey,
    patch: unknown,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const body = { type: "application/merge-patch+json", json: patch };
    return await this.#patch(resource, key, body, options);
  }

  /** JSON patch (RFC 6902), which can change an item of a list alone; an operation "test" guards the others. */
  async jsonPatch(
    resource: Resource,
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const body = { type: "application/json-patch+json", json: operations };
    return await this.#patch(resource, key, body, options);
  }

  /** Asks for deletion: finalizers may keep the object for longer. */
  async delete(resource: Resource, key: ObjectKey, options: RequestOptions = {}): Promise<void> {
    const attempt = describe("delete", resource, key);
    const path = objectPath(resource, key);
    const { signal } = options;
    await this.#transport.json({ attempt, method: "DELETE", path, accept: JSON_TYPE, signal });
  }

  /** A document that is no object, such as the discovery of a group: /apis/cluster.x-k8s.io. */
  async getPath(path: string, options: RequestOptions = {}): Promise<unknown> {
    const attempt = `get ${path}`;
    return this.#transport.json({ attempt, method: "GET", path, accept: JSON_TYPE, signal: options.signal });
  }

  /** Drops all connections; requests that are under way fail. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #patch(
    resource: Resource,
    key: ObjectKey,
    body: { readonly type: string; readonly json: unknown },
    { signal }: RequestOptions,
  ): Promise<KubeObject> {
    const attempt = describe("patch", resource, key);
    const path = objectPath(resource, key);
    const request = { attempt, method: "PATCH", path, accept: JSON_TYPE, body, signal } as const;
    return object(attempt, await this.#transport.json(request));
  }

  async #listOnce<U>(resource: Resource, options: ListOptions<U>): Promise<List<U | KubeObject>> {
    const project = options.project ?? ((raw: KubeObject) => raw);
    const items: (U | KubeObject)[] = [];
    let limit = options.limit ?? FIRST_PAGE;
    let token = "";
    for (;;) {
      const found = await this.#page(resource, options, { limit, token }).catch((error: unknown) => {
        if (!(error instanceof KubeError && error.reason === "ResponseTooLarge" && limit > 1)) throw error;
      });
      if (found === undefined) {
        limit = Math.max(1, Math.floor(limit / 4));
        continue;
      }
      await this.#inSlices(found.items, (raw) => items.push(project(raw)));
      limit = nextLimit(limit, found, options.limit ?? MAX_PAGE);
      if (found.continue === "") return { items, resourceVersion: found.resourceVersion };
      token = found.continue;
    }
  }

  /** Calls are answered in between. */
  async #inSlices<T>(all: readonly T[], take: (one: T) => void): Promise<void> {
    let end = performance.now() + this.#sliceMs;
    for (const one of all) {
      take(one);
      if (performance.now() < end) continue;
      await setImmediate();
      end = performance.now() + this.#sliceMs;
    }
  }

  async #page<U>(
    resource: Resource,
    options: ListOptions<U>,
    at: { readonly limit: number; readonly token: string },
  ): Promise<Page> {
    const attempt = `list ${resourceName(resource)}`;
    const query = new URLSearchParams({ limit: String(at.limit) });
    // The API server refuses a resourceVersion beside a continue token.
    if (at.token !== "") query.set("continue", at.token);
    else if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
    select(query, options);
    const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
    const accept = options.metadataOnly === true ? METADATA_LIST : JSON_TYPE;
    const { signal } = options;
    const most = at.limit > 1 ? { maxBytes: MAX_PAGE_BYTES } : {};
    const request = { attempt, method: "GET", path, accept, signal, ...most } as const;
    const { value, bytes } = await this.#transport.document(request);
    return page(attempt, value, bytes);
  }
}

/** What is left of a list may be of other sizes: no more than four times as many at once. */
function nextLimit(limit: number, { items, bytes }: Page, most: number): number {
  const fitting = Math.floor((items.length * PAGE_BYTES) / bytes);
  return Math.max(1, Math.min(fitting, limit * 4, most));
}

/** Every kind can be selected by name, and a right to one name is enough for it. */
function select(query: URLSearchParams, { name }: Scope): void {
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${name}`);
}

function describe(verb: string, resource: Resource, key: ObjectKey): Attempt {
  return `${verb} ${resourceName(resource)} ${keyOf(key)}`;
}

function object(attempt: Attempt, body: unknown): KubeObject {
  if (isKubeObject(body)) return body;
  throw new KubeError(`${attempt}: invalid response: not an object`, { code: 0, reason: "InvalidResponse" });
}

/** An answer without items or resourceVersion is not an empty list. */
function page(attempt: Attempt, body: unknown, bytes: number): Page {
  const metadata = isFields(body) ? body["metadata"] : undefined;
  // An empty Go slice that nobody made is null.
  const items = isFields(body) && body["items"] === null ? [] : isFields(body) && body["items"];
  const version = isFields(metadata) ? metadata["resourceVersion"] : undefined;
  if (!isFields(metadata) || !Array.isArray(items) || typeof version !== "string" || version === "") {
    throw new KubeError(`${attempt}: invalid response: not a list`, { code: 0, reason: "InvalidResponse" });
  }
  const token = metadata["continue"];
  return { items, resourceVersion: version, continue: typeof token === "string" ? token : "", bytes };
}
