import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeClient } from "../../../src/kube/kube-client.ts";
import { loadKubeConfig } from "../../../src/kube/kubeconfig.ts";
import { isTooLarge } from "../../../src/kube/kube-error.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { WIDGETS, dropConnection, hang, json, status } from "./fake-api-server.ts";
import { busy, startLab, until, writeKubeConfig, failure } from "./fixtures.ts";

/** Long enough to connect in, on a busy machine, too. */
const SHORT_MS = 500;
const KEY = { namespace: "team-a", name: "w1" };

test("reads an object, and says who asks", async (t) => {
  const { server, client } = await startLab(t, { version: "1.2.3" });
  server.put("team-a/w1", 3);
  const object = await client.get(WIDGETS, KEY);
  assert.deepEqual(object.spec, { size: 3 });
  const { path, headers } = server.last("get");
  assert.equal(path, "/apis/example.com/v1/namespaces/team-a/widgets/w1");
  assert.equal(headers["user-agent"], "hookpolicy/1.2.3");
  assert.equal(headers.accept, "application/json");
});

test("asks for metadata only, with the whole object as the second choice", async (t) => {
  const { server, client } = await startLab(t);
  server.put("team-a/w1", 3);
  await client.get(WIDGETS, KEY, { metadataOnly: true });
  assert.match(
    String(server.last("get").headers.accept),
    /^application\/json;as=PartialObjectMetadata;.*,application\/json$/,
  );
  await client.list(WIDGETS, { metadataOnly: true });
  assert.match(
    String(server.last("list").headers.accept),
    /^application\/json;as=PartialObjectMetadataList;/,
  );
});

test("reads core and cluster-scoped kinds at their paths, below the server's own path", async (t) => {
  const { server } = await startLab(t);
  const kubeconfig = writeKubeConfig(t, `http://127.0.0.1:${server.port}/k8s/clusters/c1/`);
  const client = new KubeClient(loadKubeConfig({ kubeconfig }));
  t.after(() => client.close());
  const namespaces: Resource = {
    group: "",
    version: "v1",
    plural: "namespaces",
    kind: "Namespace",
    namespaced: false,
  };
  server.always("other", (_, response) =>
    json(response, 200, { metadata: { name: "a", resourceVersion: "1" } }),
  );
  await client.get(namespaces, { name: "a" });
  assert.equal(server.last("other").path, "/k8s/clusters/c1/api/v1/namespaces/a");
});

for (const name of ["", ".", "..", "a/b", "../secrets/x", "a%2fb"]) {
  test(`never sends the name ${JSON.stringify(name)}`, async (t) => {
    const { server, client } = await startLab(t);
    assert.equal((await failure(client.get(WIDGETS, { namespace: "team-a", name }))).reason, "BadRequest");
    assert.equal((await failure(client.get(WIDGETS, { namespace: name, name: "w1" }))).reason, "BadRequest");
    assert.equal(server.requests.length, 0);
  });
}

test("lists all pages", async (t) => {
  const { server, client } = await startLab(t);
  for (let i = 0; i < 7; i++) server.put(`team-a/w${i}`, i);
  const { items, resourceVersion } = await client.list(WIDGETS, { limit: 3 });
  assert.deepEqual(
    items.map((item) => item.metadata.name),
    ["w0", "w1", "w2", "w3", "w4", "w5", "w6"],
  );
  assert.equal(resourceVersion, server.version);
  assert.equal(server.count("list"), 3);
});

test("whether there is any object is asked for with one, by labels", async (t) => {
  const { server, client } = await startLab(t);
  const selected = { namespace: "team-a", labelSelector: "tier in (a, b)" };
  assert.equal(await client.hasAny(WIDGETS, selected), false);
  for (let i = 0; i < 3; i++) server.put(`team-a/w${i}`, i);
  assert.equal(await client.hasAny(WIDGETS, { namespace: "team-a" }), true);
  assert.deepEqual(
    server.requests.map(({ query }) => [query.get("limit"), query.get("labelSelector")]),
    [
      ["1", "tier in (a, b)"],
      ["1", null],
    ],
  );
});

test("the version of a kind is that of a consistent list, asked for with one object", async (t) => {
  const { server, client } = await startLab(t);
  for (let i = 0; i < 3; i++) server.put(`team-a/w${i}`, i);
  const { resourceVersion } = await client.list(WIDGETS);
  assert.equal(await client.version(WIDGETS), resourceVersion);
  const { query } = server.requests.at(-1) ?? assert.fail();
  assert.deepEqual([query.get("limit"), query.get("resourceVersion")], ["1", null]);
});

test("a consistent list names no resourceVersion, one of the past does, on its first page alone", async (t) => {
  const { server, client } = await startLab(t);
  for (let i = 0; i < 3; i++) server.put(`team-a/w${i}`, i);
  await client.list(WIDGETS, { limit: 2 });
  await client.list(WIDGETS, { limit: 2, at: "7" });
  assert.deepEqual(
    server.requests.map(({ query }) => [query.get("resourceVersion"), query.get("resourceVersionMatch")]),
    [
      [null, null],
      [null, null],
      ["7", "Exact"],
      [null, null],
    ],
  );
});

test("starts a list again when its continue token expires, without doubles", async (t) => {
  const { server, client } = await startLab(t);
  for (let i = 0; i < 5; i++) server.put(`team-a/w${i}`, i);
  let pages = 0;
  const project = (): number => {
    if (++pages === 2) server.compact();
    return pages;
  };
  const { items } = await client.list(WIDGETS, { limit: 2, project });
  assert.equal(items.length, 5);
});

test("gives up a list that expires again and again", async (t) => {
  const { server, client } = await startLab(t);
  server.always("list", status(410, "Expired"));
  assert.equal((await failure(client.list(WIDGETS))).code, 410);
  assert.equal(server.count("list"), 4);
});

test("asks for smaller pages when one is too large", async (t) => {
  const { server, client } = await startLab(t, { maxResponseBytes: 2_000 });
  for (let i = 0; i < 40; i++) server.put(`team-a/w${i}`, i);
  const { items } = await client.list(WIDGETS, { limit: 40 });
  assert.equal(new Set(items.map((item) => item.metadata.name)).size, 40);
});

test("gives up a list that brings more than is wanted, and asks for no more of it", async (t) => {
  const { server, client } = await startLab(t);
  const annotations = { big: "x".repeat(10_000) };
  for (let i = 0; i < 40; i++) server.put(`team-a/w${i}`, i, { annotations });
  const listing = client.list(WIDGETS, { limit: 4, maxBytes: 100_000 });
  await assert.rejects(listing, isTooLarge);
  assert.ok(server.requests.filter(({ verb }) => verb === "list").length <= 4);
  const { items } = await client.list(WIDGETS, { limit: 4, maxBytes: 1_000_000 });
  assert.equal(items.length, 40);
});

test("pages become smaller where objects are large, and larger where they are small", async (t) => {
  const { server, client } = await startLab(t);
  const annotations = { big: "x".repeat(400_000) };
  for (let i = 0; i < 150; i++) server.put(`team-a/w${i}`, i, i < 50 ? { annotations } : {});
  const { items } = await client.list(WIDGETS);
  assert.equal(new Set(items.map((item) => item.metadata.name)).size, 150);
  const limits = server.requests
    .filter(({ verb }) => verb === "list")
    .map(({ query }) => Number(query.get("limit")));
  assert.deepEqual(limits.slice(0, 3), [50, 12, 3], "beyond 4 MiB it is asked for again");
  assert.ok(
    limits.slice(3, -3).every((limit) => limit <= 5),
    String(limits),
  );
  assert.ok((limits.at(-1) ?? 0) > 50, String(limits));
});

test("the event loop turns while a list is projected", async (t) => {
  const { server, client } = await startLab(t);
  for (let i = 0; i < 10; i++) server.put(`team-a/w${i}`, i);
  let turns = 0;
  const seen: number[] = [];
  const project = (): void => {
    seen.push(turns);
    setImmediate(() => (turns += 1));
    busy();
  };
  await client.list(WIDGETS, { project });
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("an answer that is no list is an error, not an empty list", async (t) => {
  const { server, client } = await startLab(t);
  const noVersion = { metadata: { resourceVersion: "" }, items: [] };
  for (const body of [{}, { items: [] }, noVersion, { metadata: { resourceVersion: "5" } }, null, "ok"]) {
    server.next("list", (_, response) => json(response, 200, body));
    assert.equal((await failure(client.list(WIDGETS))).reason, "InvalidResponse");
  }
});

test("the API server's reason, message and Retry-After arrive", async (t) => {
  const { server, client } = await startLab(t);
  server.next("get", status(429, "TooManyRequests", "slow down", { "retry-after": "7" }));
  const error = await failure(client.get(WIDGETS, KEY));
  assert.deepEqual([error.code, error.reason, error.retryAfterSeconds], [429, "TooManyRequests", 7]);
  assert.equal(error.message, "get widgets.example.com team-a/w1: too many requests: slow down");
});

test("a proxy's page is an error of its status", async (t) => {
  const { server, client } = await startLab(t);
  server.next("get", (_, response) =>
    response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad</h1>"),
  );
  assert.equal((await failure(client.get(WIDGETS, KEY))).code, 502);
});

test("an answer that is not JSON is an error", async (t) => {
  const { server, client } = await startLab(t);
  server.next("get", (_, response) => response.end("<html>"));
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "InvalidResponse");
});

test("an answer without an end is given up at the size limit", async (t) => {
  const { server, client } = await startLab(t, { maxResponseBytes: 10_000 });
  server.next("get", (_, response) => response.writeHead(200).write("x".repeat(20_000)));
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "ResponseTooLarge");
});

test("a request without an answer times out, and is not left open", async (t) => {
  const { server, client } = await startLab(t, { timeoutMs: SHORT_MS });
  let isClosed = false;
  server.next("get", (_, response) => response.once("close", () => (isClosed = true)));
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "Timeout");
  await until("the server sees the end", () => isClosed);
});

test("half an answer times out", async (t) => {
  const { server, client } = await startLab(t, { timeoutMs: SHORT_MS });
  server.next("get", (_, response) => response.writeHead(200).write("{"));
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "Timeout");
});

test("the caller's signal ends a request", async (t) => {
  const { server, client } = await startLab(t);
  const stop = new AbortController();
  server.next("get", () => stop.abort());
  assert.equal((await failure(client.get(WIDGETS, KEY, { signal: stop.signal }))).reason, "Aborted");
  assert.equal((await failure(client.get(WIDGETS, KEY, { signal: stop.signal }))).reason, "Aborted");
  assert.equal(server.count("get"), 1);
});

test("a reset connection and a server that is away are transport errors", async (t) => {
  const { server, client } = await startLab(t);
  server.next("get", dropConnection);
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "ConnectionReset");
  await server.stop();
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "ConnectionRefused");
  await server.start();
});

test("replaces the status at the version that was read, else conflicts", async (t) => {
  const { server, client } = await startLab(t);
  const read = server.put("team-a/w1", 1);
  const written = await client.replaceStatus(WIDGETS, { ...read, status: { ready: true } });
  assert.deepEqual(written.status, { ready: true });
  assert.equal(server.last("put").path, "/apis/example.com/v1/namespaces/team-a/widgets/w1/status");
  const error = await failure(client.replaceStatus(WIDGETS, { ...read, status: { ready: false } }));
  assert.equal(error.reason, "Conflict");
});

test("never writes a status without a resourceVersion", async (t) => {
  const { server, client } = await startLab(t);
  const metadata = { ...server.put("team-a/w1", 1).metadata, resourceVersion: "" };
  assert.equal((await failure(client.replaceStatus(WIDGETS, { metadata }))).reason, "BadRequest");
  assert.equal(server.count("put"), 0);
});

test("patches as a merge patch", async (t) => {
  const { server, client } = await startLab(t);
  server.put("team-a/w1", 1);
  await client.mergePatch(WIDGETS, KEY, { metadata: { finalizers: ["a"] } });
  const { headers, body } = server.last("patch");
  assert.equal(headers["content-type"], "application/merge-patch+json");
  assert.deepEqual(JSON.parse(body), { metadata: { finalizers: ["a"] } });
});

test("reads discovery documents", async (t) => {
  const { client } = await startLab(t);
  assert.deepEqual(await client.getPath("/apis/example.com"), { path: "/apis/example.com" });
});

test("a watch delivers events and bookmarks, and ends with the server's end", async (t) => {
  const { server, client } = await startLab(t);
  const { signal } = new AbortController();
  const events = await client.watch(WIDGETS, { resourceVersion: server.version, timeoutSeconds: 5, signal });
  assert.equal(server.last("watch").query.get("allowWatchBookmarks"), "true");
  const object = server.put("team-a/w1", 1);
  assert.deepEqual((await events.next()).value, { type: "ADDED", object });
  server.bookmark();
  assert.deepEqual((await events.next()).value, { type: "BOOKMARK", resourceVersion: server.version });
  server.endWatches();
  assert.equal((await events.next()).done, true);
});

test("leaving the loop of a watch closes its connection", async (t) => {
  const { server, client } = await startLab(t);
  const { signal } = new AbortController();
  server.put("team-a/w1", 1);
  for await (const event of await client.watch(WIDGETS, {
    resourceVersion: "0",
    timeoutSeconds: 5,
    signal,
  })) {
    assert.equal(event.type, "ADDED");
    break;
  }
  await until("the server sees the end", () => server.watchCount === 0);
});

test("a watch that is not answered times out", async (t) => {
  const { server, client } = await startLab(t, { timeoutMs: SHORT_MS });
  server.next("watch", hang);
  const { signal } = new AbortController();
  const error = await failure(client.watch(WIDGETS, { resourceVersion: "1", timeoutSeconds: 5, signal }));
  assert.equal(error.reason, "Timeout");
});

test("an open watch outlives the time-out of requests", async (t) => {
  const { server, client } = await startLab(t, { timeoutMs: SHORT_MS });
  const { signal } = new AbortController();
  const events = await client.watch(WIDGETS, { resourceVersion: server.version, timeoutSeconds: 5, signal });
  await new Promise((resolve) => setTimeout(resolve, 2 * SHORT_MS));
  server.put("team-a/w1", 1);
  assert.equal((await events.next()).done, false);
});

test("many open watches do not starve a read", async (t) => {
  const { server, client } = await startLab(t);
  server.put("team-a/w1", 1);
  const { signal } = new AbortController();
  const options = { resourceVersion: "0", timeoutSeconds: 5, signal };
  await Promise.all(Array.from({ length: 40 }, () => client.watch(WIDGETS, options)));
  assert.equal(server.watchCount, 40);
  await client.get(WIDGETS, KEY);
});

test("after close every call fails, and no watch stays open", async (t) => {
  const { server, client } = await startLab(t);
  server.put("team-a/w1", 1);
  const { signal } = new AbortController();
  const events = await client.watch(WIDGETS, { resourceVersion: server.version, timeoutSeconds: 5, signal });
  const ended = failure(events.next());
  await client.close();
  await ended;
  await until("the server sees the end", () => server.watchCount === 0);
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "Aborted");
});
