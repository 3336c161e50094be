/** A small API server for one kind (widgets.example.com) that can misbehave in every way the informer must survive. */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { KubeObject, Resource } from "../../../src/kube/resource.ts";

export const WIDGETS: Resource = {
  group: "example.com",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

export interface Widget extends KubeObject {
  readonly spec: { readonly size: number };
}

export type Verb = "get" | "list" | "watch" | "put" | "patch" | "other";

export interface RecordedRequest {
  readonly verb: Verb;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly at: number;
  body: string;
}

export type Misbehaviour = (request: RecordedRequest, response: ServerResponse) => void;

interface LogEntry {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Widget;
}

interface OpenWatch {
  readonly response: ServerResponse;
}

export class FakeApiServer {
  readonly requests: RecordedRequest[] = [];
  readonly objects = new Map<string, Widget>();
  connections = 0;
  /** Resource versions up to this one are compacted. */
  compacted = 0;
  /** How a watch of a compacted version is refused. */
  goneAs: "status" | "event" = "status";
  /** While true, watches get no events, as through a connection that died silently. */
  isMute = false;
  token: string | undefined;
  readonly #server: Server;
  readonly #log: LogEntry[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly #misbehaviours: { readonly verb: Verb; readonly run: Misbehaviour }[] = [];
  readonly #always = new Map<Verb, Misbehaviour>();
  readonly #continues = new Map<string, { readonly rest: Widget[]; readonly version: number }>();
  #version = 100;
  #uid = 0;

  constructor(tls?: {
    readonly key: string;
    readonly cert: string;
    readonly ca?: string;
    readonly requestCert?: boolean;
  }) {
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      this.#receive(request, response);
    this.#server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest);
    this.#server.on(tls === undefined ? "connection" : "secureConnection", () => void this.connections++);
  }

  async start(port = 0): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    await promise;
    return `127.0.0.1:${this.port}`;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return address.port;
  }

  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    this.#watches.clear();
    await promise;
  }

  get version(): string {
    return String(this.#version);
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  count(verb: Verb): number {
    return this.requests.filter((request) => request.verb === verb).length;
  }

  last(verb: Verb): RecordedRequest {
    const found = this.requests.findLast((request) => request.verb === verb);
    if (found === undefined) throw new Error(`no ${verb} request`);
    return found;
  }

  /** The next `times` requests of the verb are answered by `run`. */
  next(verb: Verb, run: Misbehaviour, times = 1): void {
    for (let i = 0; i < times; i++) this.#misbehaviours.push({ verb, run });
  }

  /** Every request of the verb, until undefined is set. */
  always(verb: Verb, run: Misbehaviour | undefined): void {
    if (run === undefined) this.#always.delete(verb);
    else this.#always.set(verb, run);
  }

  /** Creates or changes. */
  put(key: string, size: number, extra: Partial<Widget["metadata"]> & Record<string, unknown> = {}): Widget {
    const [namespace = "", name = ""] = key.split("/");
    const old = this.objects.get(key);
    const uid = old?.metadata.uid ?? `uid-${++this.#uid}`;
    const metadata = { name, namespace, uid, ...extra, resourceVersion: String(++this.#version) };
    const object: Widget = { apiVersion: "example.com/v1", kind: "Widget", metadata, spec: { size } };
    this.objects.set(key, object);
    this.#happened({ version: this.#version, type: old === undefined ? "ADDED" : "MODIFIED", object });
    return object;
  }

  remove(key: string): void {
    const old = this.objects.get(key);
    if (old === undefined) return;
    this.objects.delete(key);
    const metadata = { ...old.metadata, resourceVersion: String(++this.#version) };
    this.#happened({ version: this.#version, type: "DELETED", object: { ...old, metadata } });
  }

  /** As when objects of another kind change. */
  advance(): void {
    this.#version++;
  }

  bookmark(): void {
    const metadata = { resourceVersion: this.version, creationTimestamp: null };
    this.sendLine(JSON.stringify({ type: "BOOKMARK", object: { kind: "Widget", metadata } }));
  }

  sendLine(line: string): void {
    for (const { response } of this.#watches) response.write(`${line}\n`);
  }

  /** The server's proper end of a watch. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  dropWatches(): void {
    for (const { response } of this.#watches) response.socket?.destroy();
    this.#watches.clear();
  }

  compact(): void {
    this.compacted = this.#version;
    this.#continues.clear();
  }

  #happened(entry: LogEntry): void {
    this.#log.push(entry);
    if (this.isMute) return;
    for (const { response } of this.#watches) response.write(eventLine(entry));
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://fake");
    const verb = verbOf(request.method ?? "", url);
    const { pathname: path, searchParams: query } = url;
    const recorded: RecordedRequest = {
      verb,
      path,
      query,
      headers: request.headers,
      at: performance.now(),
      body: "",
    };
    request.setEncoding("utf8").on("data", (chunk: string) => (recorded.body += chunk));
    request.on("end", () => {
      this.requests.push(recorded);
      const index = this.#misbehaviours.findIndex((wanted) => wanted.verb === verb);
      const [once] = index < 0 ? [] : this.#misbehaviours.splice(index, 1);
      const run = once?.run ?? this.#always.get(verb);
      if (run !== undefined) run(recorded, response);
      else if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`)
        status(401, "Unauthorized")(recorded, response);
      else this.#answer(recorded, response);
    });
  }

  #answer(request: RecordedRequest, response: ServerResponse): void {
    if (request.verb === "list") return this.#list(request, response);
    if (request.verb === "watch") return this.#watch(request, response);
    if (request.verb === "other") return json(response, 200, { path: request.path });
    const [, namespace = "", name = ""] = /namespaces\/([^/]+)\/widgets\/([^/]+)/.exec(request.path) ?? [];
    const found = this.objects.get(`${namespace}/${name}`);
    if (found === undefined)
      return status(404, "NotFound", `widgets.example.com "${name}" not found`)(request, response);
    if (request.verb === "get") return json(response, 200, found);
    const sent: Partial<Widget> = JSON.parse(request.body);
    const based = sent.metadata?.resourceVersion;
    if (based !== undefined && based !== found.metadata.resourceVersion)
      return status(409, "Conflict", "the object has been modified")(request, response);
    json(response, 200, { ...this.put(`${namespace}/${name}`, found.spec.size), status: sent.status });
  }

  #list(request: RecordedRequest, response: ServerResponse): void {
    const token = request.query.get("continue");
    const state =
      token === null
        ? { rest: [...this.objects.values()], version: this.#version }
        : this.#continues.get(token);
    if (state === undefined) return status(410, "Expired", "continue token too old")(request, response);
    const limit = Number(request.query.get("limit") ?? Infinity);
    const rest = state.rest.slice(limit);
    const next = rest.length === 0 ? "" : `${state.version}-${rest.length}`;
    if (next !== "") this.#continues.set(next, { rest, version: state.version });
    const metadata = { ...(next !== "" && { continue: next }), resourceVersion: String(state.version) };
    const items = state.rest.slice(0, limit);
    json(response, 200, { items, kind: "WidgetList", metadata });
  }

  #watch(request: RecordedRequest, response: ServerResponse): void {
    const from = Number(request.query.get("resourceVersion"));
    if (from < this.compacted) {
      if (this.goneAs === "status")
        return status(410, "Expired", "too old resource version")(request, response);
      response.writeHead(200, { "content-type": "application/json" });
      const object = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
      response.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const watch = { response };
    this.#watches.add(watch);
    response.once("close", () => this.#watches.delete(watch));
    if (this.isMute) return;
    for (const entry of this.#log) if (entry.version > from) response.write(eventLine(entry));
  }
}

function verbOf(method: string, url: URL): Verb {
  if (method === "PUT" || method === "PATCH") return method === "PUT" ? "put" : "patch";
  if (url.searchParams.has("watch")) return "watch";
  if (url.pathname.endsWith("/widgets")) return "list";
  return url.pathname.includes("/widgets/") ? "get" : "other";
}

function eventLine(entry: LogEntry): string {
  return `${JSON.stringify({ type: entry.type, object: entry.object })}\n`;
}

export function json(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A Status answer, as the API server gives them. */
export function status(
  code: number,
  reason: string,
  message = "",
  headers: Record<string, string> = {},
): Misbehaviour {
  return (_, response) => {
    const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
    response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

export const dropConnection: Misbehaviour = (_, response) => void response.socket?.destroy();

/** Accepts the request and never answers. */
export const hang: Misbehaviour = () => undefined;
