/** What Prometheus gets, over real sockets; test/apiserver/metricsauth.test.ts asks a real API server. */

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Agent, request as get, type RequestOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { createMetrics, type Metrics } from "../../../src/report/metrics.ts";
import { createMetricsServer } from "../../../src/operator/diagnostics.ts";
import type { ScrapeRefusal, ScrapeGuard } from "../../../src/operator/scrape-guard.ts";
import { cluster, hookPolicy } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { metricsWorld } from "../report/metrics-world.ts";
import { issue } from "../server/certificates.ts";
import { createRecorder, type Recorder } from "../server/recorder.ts";

const LOCAL = { host: "127.0.0.1", port: 0 };

const [pair, other] = await Promise.all([issue("first"), issue("second")]);

type Guard = Pick<ScrapeGuard, "refusal">;

interface Served {
  readonly metrics?: Metrics;
  /** Without it: plain HTTP. */
  readonly guard?: Guard;
  readonly log?: Recorder;
}

async function served(t: TestContext, { metrics, guard, log = createRecorder() }: Served) {
  const server = createMetricsServer({
    address: LOCAL,
    metrics: metrics ?? createMetrics({ capiVersion: "1.14" }),
    ...(guard && { secure: { tls: pair, guard } }),
    log,
  });
  const { port } = await server.listen();
  t.after(async () => await server.close());
  return { server, port };
}

test("metrics are served with their content type, and state is read at the scrape", async (t) => {
  const metrics = createMetrics({ capiVersion: "1.14" });
  const { port } = await served(t, { metrics });
  const exposed = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

  assert.doesNotMatch(await exposed(), /^hookpolicy_workqueue_depth /m);
  const clusters = ["a", "b", "c"].map((name) =>
    cluster({ name, uid: name, deletionTimestamp: "2026-11-21T11:00:00Z" }),
  );
  const fixture = storeWith({ policies: [hookPolicy()], clusters });
  metrics.follow(metricsWorld({ store: fixture.store, queue: { depth: 2 } }));
  metrics.hookCalls.inc({ hook: "BeforeClusterDelete", verdict: "Blocked" });
  metrics.hookCallDuration.observe({ hook: "BeforeClusterDelete" }, 0.0004);
  const page = await exposed();
  assert.match(page, /^hookpolicy_held_clusters\{hook="BeforeClusterDelete"\} 3$/m);
  assert.match(page, /^hookpolicy_workqueue_depth 2$/m);
  assert.match(page, /^hookpolicy_hook_calls_total\{hook="BeforeClusterDelete",verdict="Blocked"\} 1$/m);
  assert.match(page, /_bucket\{le="0\.0005",hook="BeforeClusterDelete"\} 1$/m);
  assert.match(
    page,
    /^hookpolicy_build_info\{version="[^"]+",capi_version="1\.14",node_version="v\d+[^"]*"\} 1$/m,
  );
  assert.match(page, /^process_resident_memory_bytes /m);
  fixture.deletePolicy(hookPolicy());
  assert.doesNotMatch(await exposed(), /^hookpolicy_held_clusters\{/m);
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
});

test("a scrape that fails is 500 and one error line, not a crash", async (t) => {
  const log = createRecorder();
  const metrics = createMetrics({ capiVersion: "1.14" });
  const expiries = (): never => {
    throw new Error("no");
  };
  metrics.follow(metricsWorld({ expiries }));
  const { port } = await served(t, { metrics, log });
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal(response.status, 500);
  assert.equal(await response.text(), "internal error\n");
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ["error"],
  );
});

const open: Guard = { refusal: async () => await Promise.resolve(undefined) };

const refusing = (refusal: ScrapeRefusal): Guard => ({ refusal: async () => await Promise.resolve(refusal) });

async function scrape(port: number, options: RequestOptions = {}): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const trust = { rejectUnauthorized: false, agent: false } as const;
  get({ host: "127.0.0.1", port, path: "/metrics", ...trust, ...options }, resolve)
    .once("error", reject)
    .end();
  return await promise;
}

test("serves them over TLS to clients that the guard accepts by header and address", async (t) => {
  const asked: unknown[] = [];
  const guard: Guard = {
    refusal: async (scraped) => {
      asked.push(scraped);
      return await Promise.resolve(undefined);
    },
  };
  const { port } = await served(t, { guard });
  const response = await scrape(port, { headers: { authorization: "Bearer abc" } });
  assert.equal(response.statusCode, 200);
  assert.match(await text(response), /^hookpolicy_build_info/m);
  assert.deepEqual(asked, [{ query: "", authorization: "Bearer abc", address: "127.0.0.1" }]);
});

const REFUSALS: readonly (readonly [ScrapeRefusal, Record<string, string>])[] = [
  [{ code: 401, message: "unauthorized" }, { "www-authenticate": 'Bearer realm="hookpolicy"' }],
  [{ code: 403, message: "forbidden" }, {}],
  [{ code: 429, message: "too many requests" }, {}],
  [{ code: 500, message: "internal error" }, {}],
];
for (const [refusal, headers] of REFUSALS) {
  test(`a refusal with ${refusal.code} says why and shows no metric`, async (t) => {
    const { port } = await served(t, { guard: refusing(refusal) });
    const response = await scrape(port);
    assert.equal(response.statusCode, refusal.code);
    assert.equal(await text(response), `${refusal.message}\n`);
    for (const [name, value] of Object.entries(headers)) assert.equal(response.headers[name], value);
  });
}

test("HEAD passes the guard, too; other methods and paths are refused before it", async (t) => {
  const { port } = await served(t, { guard: refusing({ code: 403, message: "forbidden" }) });
  assert.equal((await scrape(port, { method: "HEAD" })).statusCode, 403);
  assert.equal((await scrape(port, { method: "POST" })).statusCode, 405);
  assert.equal((await scrape(port, { path: "/healthz" })).statusCode, 404);
});

test("a guard that throws serves nothing", async (t) => {
  const { port } = await served(t, { guard: { refusal: async () => await Promise.reject(new Error("no")) } });
  const response = await scrape(port);
  assert.equal(response.statusCode, 500);
  assert.equal(await text(response), "internal error\n");
});

test("plain HTTP and TLS below 1.2 get no answer", async (t) => {
  const { port } = await served(t, { guard: open });
  await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
  await assert.rejects(scrape(port, { maxVersion: "TLSv1.1", minVersion: "TLSv1.1" }), /protocol|alert/i);
});

test("another certificate is served to new connections, and a bad one leaves the old", async (t) => {
  const { server, port } = await served(t, { guard: open });
  const shown = async (): Promise<string | undefined> => {
    const response = await scrape(port);
    const certificate = (response.socket as TLSSocket).getPeerX509Certificate()?.subject;
    response.resume();
    return certificate;
  };
  assert.equal(await shown(), "CN=first");
  server.setCertificate(other);
  assert.equal(await shown(), "CN=second");
  assert.throws(() => server.setCertificate({ cert: pair.cert, key: other.key }));
  assert.equal(await shown(), "CN=second");
});

/** Connections that stand, or are on the way to it. */
async function crowd(t: TestContext, port: number): Promise<TLSSocket[]> {
  const idle = Array.from({ length: 80 }, () =>
    connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false }),
  );
  t.after(() => idle.forEach((socket) => socket.destroy()));
  for (const socket of idle) socket.on("error", () => undefined);
  const settled = idle.map(async (socket) => {
    await new Promise((resolve) => socket.once("secureConnect", resolve).once("close", resolve));
  });
  await Promise.all(settled);
  return idle;
}

/** Scrapes by one connection, which it gives. */
function keptAlive(t: TestContext, port: number): () => Promise<Socket> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  return async () => {
    const response = await scrape(port, { agent });
    assert.equal(response.statusCode, 200);
    const { socket } = response;
    await text(response);
    return socket;
  };
}

test("of too many connections those end that ask nothing, and Prometheus keeps its own", async (t) => {
  const { port } = await served(t, { guard: open });
  const prometheus = keptAlive(t, port);
  const first = await crowd(t, port);
  const socket = await prometheus();
  const second = await crowd(t, port);
  assert.equal(await prometheus(), socket);
  const ended = [...first, ...second].filter(({ closed }) => closed);
  assert.ok(ended.length >= 80, `${ended.length} of 160 have ended`);
});

test("connections that were answered make room for others, the oldest first", async (t) => {
  const { port } = await served(t, { guard: open });
  const many = Array.from({ length: 65 }, () => keptAlive(t, port));
  for (const each of many) await each();
});

test("close does not wait for who keeps a connection, with or without TLS", { timeout: 5_000 }, async (t) => {
  const { server, port } = await served(t, { guard: open });
  const idle = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  idle.on("error", () => undefined);
  await new Promise((resolve) => idle.once("secureConnect", resolve));
  const closed = new Promise((resolve) => idle.once("close", resolve));
  await Promise.all([server.close(), closed]);
});
