/** A small Kubernetes client for tests: own code, so that a bug in the operator's client cannot hide itself. */
import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { parseAllDocuments } from "yaml";
import { note, waitFor } from "./waits.ts";

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[];
}

/** spec and status are whatever the test knows them to be. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of many foreign kinds
  readonly [field: string]: any;
}

export interface Ref {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The object of that name; its metadata may say more. */
export function objectOf({ apiVersion, kind, ...metadata }: Ref & Metadata, rest: object = {}): KubeObject {
  return { apiVersion, kind, metadata, ...rest };
}

export function refOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): Ref {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

export type ListRef = Omit<Ref, "name"> & { readonly labelSelector?: string };

export interface PatchOptions {
  readonly type?: "merge" | "json" | "strategic-merge";
  readonly subresource?: "status" | "scale";
}

/** An answer of the API server that is not a success. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Why it was refused; `undefined`: it was not. */
export async function refusalOf(tried: Promise<unknown>): Promise<string | undefined> {
  return await tried.then(() => undefined, String);
}

/** Whether it is refused, in such words or with this code of the API server. */
export async function isRefused(tried: Promise<unknown>, how: RegExp | number = /^/): Promise<boolean> {
  return await tried.then(
    () => false,
    (error: unknown) =>
      typeof how === "number" ? error instanceof ApiError && error.code === how : how.test(String(error)),
  );
}

export interface ClientOptions {
  readonly url: string;
  /** PEM */
  readonly ca: string;
  readonly token: string;
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Longer than a virtual machine stands still for a snapshot: a bench of an hour must survive that. */
const REQUEST_TIMEOUT_MS = 180_000;
/** Others wait for their turn, and their time limit begins then: hundreds at once each take as long as all of them. */
const REQUESTS_AT_ONCE = 16;

export class Client {
  readonly #options: ClientOptions;
  readonly #agent: Agent;
  /** Of watches, which keep their connections. */
  readonly #streams: Agent;
  readonly #resources = new Map<string, Resource>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ ca: options.ca, keepAlive: true, maxSockets: REQUESTS_AT_ONCE });
    this.#streams = new Agent({ ca: options.ca });
  }

  /** The same server with somebody else's token. */
  as(token: string): Client {
    return new Client({ ...this.#options, token });
  }

  close(): void {
    this.#agent.destroy();
    this.#streams.destroy();
  }

  /**
   * Server-side apply of objects, or of YAML with any number of documents, in their order. The kinds that
   * applied CRDs define can be listed when it resolves.
   */
  async apply(what: string | KubeObject | readonly KubeObject[]): Promise<KubeObject[]> {
    const applied: KubeObject[] = [];
    for (const object of objectsOf(what)) {
      const path = await this.#pathOf({ ...object, ...object.metadata });
      const query = "fieldManager=hookpolicy-test&force=true";
      const body = JSON.stringify(object);
      const type = "application/apply-patch+yaml"; // JSON is YAML
      applied.push(await this.request<KubeObject>("PATCH", `${path}?${query}`, body, type));
    }
    for (const object of applied) await this.#served(object);
    return applied;
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const { name: _, ...collection } = {
      ...object.metadata,
      apiVersion: object.apiVersion,
      kind: object.kind,
    };
    return await this.request<KubeObject>("POST", await this.#pathOf(collection), JSON.stringify(object));
  }

  /** Objects that are not there yet, in no order: of hundreds of kilobytes, a server-side apply takes four times as long. */
  async createAll(objects: readonly KubeObject[]): Promise<void> {
    const created = await Promise.all(objects.map(async (object) => await this.create(object)));
    for (const object of created) await this.#served(object);
  }

  async get(ref: Ref): Promise<KubeObject> {
    return await this.request<KubeObject>("GET", await this.#pathOf(ref));
  }

  /** Undefined when there is no such object; a kind that does not exist is an error. */
  async find(ref: Ref): Promise<KubeObject | undefined> {
    const path = await this.#pathOf(ref);
    try {
      return await this.request<KubeObject>("GET", path);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined;
      throw error;
    }
  }

  async list(ref: ListRef): Promise<KubeObject[]> {
    return (await this.#listed(ref)).items;
  }

  /** What list() gives: as it is, and as it is after each change, until `signal` aborts or the API server ends it. */
  async *follow(ref: ListRef, signal: AbortSignal): AsyncGenerator<readonly KubeObject[]> {
    const { items, version } = await this.#listed(ref);
    const objects = new Map(items.map((item) => [item.metadata.uid, item]));
    yield items;
    const query = `${queryOf(ref)}&watch=true&resourceVersion=${version}`;
    const url = new URL(`${await this.#pathOf(ref)}${query}`, this.#options.url);
    try {
      for await (const line of linesOf(await this.#stream(url, signal))) {
        const { type, object }: { readonly type: string; readonly object: KubeObject } = JSON.parse(line);
        if (type === "ERROR") return;
        if (type === "DELETED") objects.delete(object.metadata.uid);
        else objects.set(object.metadata.uid, object);
        yield [...objects.values()];
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #listed(ref: ListRef): Promise<{ readonly items: KubeObject[]; readonly version: string }> {
    const path = `${await this.#pathOf(ref)}${queryOf(ref)}`;
    const { items, metadata } = await this.request<{ items: KubeObject[]; metadata: Metadata }>("GET", path);
    return {
      items: items.map((item) => ({ ...item, apiVersion: ref.apiVersion, kind: ref.kind })),
      version: metadata.resourceVersion ?? "",
    };
  }

  /** A JSON merge patch unless told otherwise. */
  async patch(ref: Ref, patch: unknown, options: PatchOptions = {}): Promise<KubeObject> {
    const path = await this.#pathOf(ref);
    const subresource = options.subresource === undefined ? "" : `/${options.subresource}`;
    const type = `application/${options.type ?? "merge"}-patch+json`;
    return await this.request<KubeObject>("PATCH", `${path}${subresource}`, JSON.stringify(patch), type);
  }

  async patchStatus(ref: Ref, status: unknown): Promise<KubeObject> {
    return await this.patch(ref, { status }, { subresource: "status" });
  }

  /** Asks for deletion; does not wait for it, and an object that is not there is fine. */
  async delete(ref: Ref, propagation: "Background" | "Foreground" | "Orphan" = "Background"): Promise<void> {
    const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: propagation });
    const path = await this.#pathOf(ref);
    try {
      await this.request("DELETE", path, body);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error;
    }
  }

  /** Any request; JSON in, JSON out (or the text, where it is not JSON, as of /readyz). */
  async request<T = unknown>(
    method: string,
    path: string,
    body?: string,
    type = "application/json",
  ): Promise<T> {
    const answer = await this.#send(method, path, body, type);
    note(() => `${method} ${path}: ${answer.status} ${withoutManagedFields(answer.text)}`);
    if (answer.status < 300) return parsed(answer.text);
    const failure: { reason?: string; message?: string } = parsed(answer.text);
    const { reason = "Unknown", message = answer.text } = failure;
    throw new ApiError(answer.status, reason, `${method} ${path}: ${message || answer.status}`);
  }

  #send(
    method: string,
    path: string,
    body: string | undefined,
    type: string,
  ): Promise<{ status: number; text: string }> {
    const headers = {
      authorization: `Bearer ${this.#options.token}`,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": type, "content-length": Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const url = new URL(path, this.#options.url);
      const outgoing = httpsRequest(url, { method, headers, agent: this.#agent }, (response) => {
        const status = response.statusCode ?? 0;
        text(response).then((answer) => resolve({ status, text: answer }), reject);
      });
      outgoing.setTimeout(REQUEST_TIMEOUT_MS, () =>
        outgoing.destroy(new Error(`${method} ${path}: no answer`)),
      );
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }

  async #stream(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${this.#options.token}`, accept: "application/json" };
    return await new Promise((resolve, reject) => {
      httpsRequest(url, { headers, agent: this.#streams, signal }, resolve).once("error", reject).end();
    });
  }

  async #pathOf(ref: ListRef & { readonly name?: string }): Promise<string> {
    const resource = await this.#resourceOf(ref.apiVersion, ref.kind);
    const namespace =
      resource.namespaced && ref.namespace !== undefined ? `/namespaces/${ref.namespace}` : "";
    const name = ref.name === undefined ? "" : `/${ref.name}`;
    return `${groupPath(ref.apiVersion)}${namespace}/${resource.name}${name}`;
  }

  /** A kind whose CRD was applied a moment ago is not served yet, so absence is believed only after a while. */
  async #resourceOf(apiVersion: string, kind: string): Promise<Resource> {
    const key = `${apiVersion}/${kind}`;
    const known = this.#resources.get(key);
    if (known !== undefined) return known;
    const found = await waitFor(`${apiVersion} to serve ${kind}`, () => this.#discover(apiVersion, kind));
    this.#resources.set(key, found);
    return found;
  }

  async #served({ kind, spec }: KubeObject): Promise<void> {
    if (kind !== "CustomResourceDefinition") return;
    const versions: readonly { name: string; served: boolean }[] = spec.versions;
    const version = versions.find(({ served }) => served)?.name;
    if (version === undefined) return;
    const apiVersion = `${spec.group}/${version}`;
    this.#resources.delete(`${apiVersion}/${spec.names.kind}`); // known, perhaps, by a definition that was deleted
    const { name } = await this.#resourceOf(apiVersion, spec.names.kind);
    await waitFor(`${apiVersion} to list ${name}`, () => this.#lists(`${groupPath(apiVersion)}/${name}`));
  }

  /**
   * A kind is discovered and its objects are written before its watch cache is ready, and until then a list is refused with 429,
   * "storage is (re)initializing" (apiserver, storage/cacher). Another refusal is for the caller to see.
   */
  async #lists(path: string): Promise<boolean> {
    try {
      await this.request("GET", `${path}?limit=1`);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code !== 429) return true;
      throw error;
    }
  }

  async #discover(apiVersion: string, kind: string): Promise<Resource | undefined> {
    const { resources } = await this.request<{ resources: Resource[] }>("GET", groupPath(apiVersion));
    return resources.find((r) => r.kind === kind && !r.name.includes("/"));
  }
}

async function* linesOf(stream: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a stream with an encoding
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

function queryOf({ labelSelector = "" }: ListRef): string {
  return `?labelSelector=${encodeURIComponent(labelSelector)}`;
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

export function objectsOf(what: string | KubeObject | readonly KubeObject[]): readonly KubeObject[] {
  if (typeof what !== "string") return isList(what) ? what : [what];
  return parseAllDocuments(what).flatMap((document) => {
    const object: KubeObject | null = document.toJS();
    return object === null ? [] : [object];
  });
}

/** Array.isArray does not narrow readonly arrays. */
function isList(what: KubeObject | readonly KubeObject[]): what is readonly KubeObject[] {
  return Array.isArray(what);
}

/** They say nothing that a reader of a failure looks for. */
function withoutManagedFields(answer: string): string {
  return JSON.stringify(parsed(answer), (key, value: unknown) =>
    key === "managedFields" ? undefined : value,
  );
}

/** Typed like JSON.parse. */
function parsed(answer: string) {
  let value;
  try {
    value = JSON.parse(answer);
  } catch {
    value = answer;
  }
  return value;
}
