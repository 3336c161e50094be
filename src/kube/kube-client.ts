import { fieldsOf } from "../lib/fields.ts";
import type { KubeConfig } from "./kubeconfig.ts";
import { type Attempt, invalidResponse, isGone, KubeError } from "./kube-error.ts";
import { namespacedName } from "../lib/keys.ts";
import {
  collectionPath,
  type KubeObject,
  type ObjectKey,
  objectPath,
  type Resource,
  resourceName,
} from "./resource.ts";
import type { ServerClock } from "./server-clock.ts";
import { type List, type Page, pageOf, type PageStart, type Pages, readPages } from "./paged-list.ts";
import { type Body, type HttpRequest, JSON_TYPE, Transport, type TransportOptions } from "./transport.ts";
import { isKubeObject, type WatchEvent, watchEvents } from "./watch-stream.ts";

export interface KubeClientOptions extends Partial<Omit<TransportOptions, "userAgent">> {
  /** For the User-Agent, "hookpolicy/<version>". */
  readonly version?: string;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Acts as this user (impersonation), and with no rights but that user's; absent: as the operator. */
  readonly asUser?: string | undefined;
}

export interface CreateOptions extends RequestOptions {
  /** A field that the schema does not have is an error, and not dropped. */
  readonly strict?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  /** A precondition: another object of the name stays. */
  readonly uid?: string;
  readonly propagationPolicy?: "Background" | "Foreground";
}

export interface ApplyOptions extends RequestOptions {
  readonly fieldManager: string;
}

export interface GetOptions extends RequestOptions {
  /** Only apiVersion, kind and metadata are sent. */
  readonly metadataOnly?: boolean;
}

/** Selects objects of a kind; absent: all of them. */
export interface Scope {
  readonly namespace?: string;
  readonly name?: string;
  /** In the syntax of `kubectl get -l`. */
  readonly labelSelector?: string;
}

export interface ListOptions<U> extends GetOptions, Scope, Pages<U> {
  /** Lists the state at this resourceVersion; absent: a quorum read (no resourceVersion), as new as this call. */
  readonly at?: string | undefined;
}

export interface WatchOptions extends GetOptions, Scope {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

const META = "g=meta.k8s.io;v=v1";
/** An aggregated API server may not support metadata-only responses; the whole object is then better than a 406. */
const METADATA_OBJECT = `${JSON_TYPE};as=PartialObjectMetadata;${META},${JSON_TYPE}`;
const METADATA_LIST = `${JSON_TYPE};as=PartialObjectMetadataList;${META},${JSON_TYPE}`;

const MAX_LIST_RESTARTS = 3;
const DEFAULTS = { timeoutMs: 10_000, maxResponseBytes: 32 * 1024 * 1024 };

/**
 * Reads and writes objects as the API server sends them; the caller provides the types. Every failure throws a
 * KubeError.
 */
export class KubeClient {
  readonly #transport: Transport;

  constructor(config: KubeConfig, options: KubeClientOptions = {}) {
    const userAgent = `hookpolicy/${options.version ?? "dev"}`;
    this.#transport = new Transport(config, { ...DEFAULTS, ...options, userAgent });
  }

  /** The API server's clock, as the responses so far show it. */
  get serverClock(): ServerClock {
    return this.#transport.clock;
  }

  async get(resource: Resource, key: ObjectKey, options: GetOptions = {}): Promise<KubeObject> {
    const attempt = describe("get", resource, key);
    const accept = options.metadataOnly === true ? METADATA_OBJECT : JSON_TYPE;
    const path = objectPath(resource, key);
    const { signal, asUser } = options;
    return await this.#object({ attempt, method: "GET", path, accept, signal, asUser });
  }

  /**
   * Reads all pages of one resourceVersion. A 410 (compaction) starts a consistent list again.
   */
  async list<U = KubeObject>(resource: Resource, options: ListOptions<U> = {}): Promise<List<U>> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await readPages(
          describe("list", resource),
          async (page, maxBytes) => await this.#page(resource, options, page, maxBytes),
          options,
        );
      } catch (error) {
        if (!isGone(error) || options.at !== undefined || restarts >= MAX_LIST_RESTARTS) throw error;
      }
    }
  }

  /** Whether any object is selected: a quorum read of at most one object. */
  async hasAny(resource: Resource, scope: Scope): Promise<boolean> {
    return (await this.#first(resource, scope)).items.length > 0;
  }

  /** The resourceVersion that the kind has now: a quorum read of at most one object. */
  async version(resource: Resource): Promise<string> {
    return (await this.#first(resource)).resourceVersion;
  }

  async #first(resource: Resource, scope: Scope = {}): Promise<Page> {
    const one = { limit: 1, token: "" };
    return pageOf(
      describe("list", resource),
      await this.#page(resource, { ...scope, metadataOnly: true }, one),
    );
  }

  /** Resolves when the server has accepted the watch. `signal` ends the iteration at any time, with an error. */
  async watch(
    resource: Resource,
    options: WatchOptions,
  ): Promise<AsyncGenerator<WatchEvent, void, undefined>> {
    const attempt = describe("watch", resource);
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

  /** Fails with AlreadyExists when an object of that name exists. */
  async create(
    resource: Resource,
    value: { readonly metadata: ObjectKey } & object,
    { strict = false, ...options }: CreateOptions = {},
  ): Promise<KubeObject> {
    const attempt = describe("create", resource, value.metadata);
    const query = strict ? "?fieldValidation=Strict" : "";
    const path = `${collectionPath(resource, value.metadata.namespace)}${query}`;
    return await this.#object({ attempt, method: "POST", path, body: { json: value }, ...options });
  }

  /** Like create(), with admission but without storing the object (dry run). */
  async tryCreate(resource: Resource, value: { readonly metadata: ObjectKey } & object): Promise<void> {
    const attempt = describe("create", resource, value.metadata);
    const path = `${collectionPath(resource, value.metadata.namespace)}?dryRun=All`;
    await this.#transport.json({ attempt, method: "POST", path, body: { json: value } });
  }

  /** Posts a review that is never stored, such as a SubjectAccessReview, and returns its status. */
  async review(resource: Resource, spec: object, options: RequestOptions = {}): Promise<unknown> {
    const attempt = describe("create", resource);
    const json = { apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind, spec };
    const path = collectionPath(resource);
    const answer = await this.#transport.json({ attempt, method: "POST", path, body: { json }, ...options });
    return fieldsOf(answer)["status"];
  }

  /** Replaces the status subresource; a conflict if the object changed since `object` was read. */
  async replaceStatus(
    resource: Resource,
    value: KubeObject,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const attempt = describe("update status of", resource, value.metadata);
    if (!isKubeObject(value)) {
      // Without a resourceVersion the API server overwrites any version.
      throw new KubeError(`${attempt}: bad request: no resourceVersion`, { code: 400, reason: "BadRequest" });
    }
    const path = `${objectPath(resource, value.metadata)}/status`;
    return await this.#object({ attempt, method: "PUT", path, body: { json: value }, ...options });
  }

  /** JSON merge patch (RFC 7386); put metadata.resourceVersion into it to detect conflicts. */
  async mergePatch(
    resource: Resource,
    key: ObjectKey,
    patch: unknown,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    const attempt = describe("patch", resource, key);
    const body = { type: "application/merge-patch+json", json: patch };
    return await this.#object({
      attempt,
      method: "PATCH",
      path: objectPath(resource, key),
      body,
      ...options,
    });
  }

  /** Server-side apply without force: a conflict if another manager has set a field to another value. */
  async apply(
    resource: Resource,
    value: { readonly metadata: ObjectKey } & object,
    { fieldManager, ...options }: ApplyOptions,
  ): Promise<KubeObject> {
    const attempt = describe("apply", resource, value.metadata);
    const query = new URLSearchParams({ fieldManager, force: "false" });
    const path = `${objectPath(resource, value.metadata)}?${query.toString()}`;
    // JSON is YAML.
    const body = { type: "application/apply-patch+yaml", json: value };
    return await this.#object({ attempt, method: "PATCH", path, body, ...options });
  }

  /** Requests deletion; finalizers may keep the object longer. */
  async delete(
    resource: Resource,
    key: ObjectKey,
    { uid, propagationPolicy, ...options }: DeleteOptions = {},
  ): Promise<void> {
    const attempt = describe("delete", resource, key);
    const json = {
      ...(uid !== undefined && { preconditions: { uid } }),
      ...(propagationPolicy !== undefined && { propagationPolicy }),
    };
    const body = Object.keys(json).length > 0 && { body: { json } };
    const path = objectPath(resource, key);
    await this.#transport.json({ attempt, method: "DELETE", path, ...body, ...options });
  }

  /** Reads a document that is not an object, such as the discovery of a group: /apis/cluster.x-k8s.io. */
  async getPath(path: string, options: RequestOptions = {}): Promise<unknown> {
    return await this.#transport.json({ attempt: `get ${path}`, method: "GET", path, ...options });
  }

  /** Drops all connections; requests in flight fail. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #object(request: HttpRequest): Promise<KubeObject> {
    const body = await this.#transport.json(request);
    if (isKubeObject(body)) return body;
    throw invalidResponse(request.attempt, "not an object");
  }

  async #page<U>(
    resource: Resource,
    options: ListOptions<U>,
    at: PageStart,
    maxBytes?: number,
  ): Promise<Body> {
    const attempt = describe("list", resource);
    const query = new URLSearchParams({ limit: String(at.limit) });
    // The API server rejects a resourceVersion together with a continue token.
    if (at.token !== "") query.set("continue", at.token);
    else selectVersion(query, options.at);
    select(query, options);
    const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
    const accept = options.metadataOnly === true ? METADATA_LIST : JSON_TYPE;
    const { signal, asUser } = options;
    const limit = maxBytes !== undefined && { maxBytes };
    return await this.#transport.body({ attempt, method: "GET", path, accept, signal, asUser, ...limit });
  }
}

/** Every kind can be selected by name, and permission for that one name is enough. */
function select(query: URLSearchParams, { name, labelSelector = "" }: Scope): void {
  if (labelSelector !== "") query.set("labelSelector", labelSelector);
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${name}`);
}

/** For a limit with a resourceVersion, the API server assumes this match only for compatibility. */
function selectVersion(query: URLSearchParams, at: string | undefined): void {
  if (at === undefined) return;
  query.set("resourceVersion", at);
  query.set("resourceVersionMatch", "Exact");
}

function describe(verb: string, resource: Resource, key?: ObjectKey): Attempt {
  return [verb, resourceName(resource), ...(key === undefined ? [] : [namespacedName(key)])].join(" ");
}
