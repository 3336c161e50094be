/** What the server for reviews has of its own; hook-server.test.ts tests what both have. */

import assert from "node:assert/strict";
import type { RequestOptions } from "node:https";
import { test, type TestContext } from "node:test";

import {
  type AdmissionServerOptions,
  createAdmissionServer,
} from "../../../src/admission/admission-server.ts";
import { MAX_VALUES } from "../../../src/server/bodies.ts";
import { issue } from "../server/certificates.ts";
import { createRecorder } from "../server/recorder.ts";
import { send as sendTo } from "../server/rig.ts";

const PATH = "/review";
const tls = await issue("admission");

async function start(t: TestContext, more: Partial<AdmissionServerOptions> = {}) {
  const log = createRecorder();
  const server = createAdmissionServer({
    host: "127.0.0.1",
    port: 0,
    tls,
    routes: [{ path: PATH, handle: (body) => JSON.stringify({ size: body.length }) }],
    undecodable: (_, reason) => JSON.stringify(reason),
    log,
    limits: { bodyBytes: 1024 },
    ...more,
  });
  const { port } = await server.listen();
  t.after(async () => await server.close(0));
  return { port, server, log };
}

const send = async (port: number, body: string, more: RequestOptions = {}) =>
  await sendTo(port, [body], { path: PATH, ...more });

const JSON_TYPE = "application/json";

test("a review is answered with 200 and JSON, whatever its content type", async (t) => {
  const { port } = await start(t);
  for (const type of [undefined, JSON_TYPE, ";;=garbage"]) {
    const headers = { connection: "keep-alive", ...(type !== undefined && { "content-type": type }) };
    const { status, headers: got, text } = await send(port, "{}", { path: `${PATH}?timeout=10s`, headers });
    assert.deepEqual([status, got["content-type"], text], [200, JSON_TYPE, '{"size":2}']);
    assert.equal(got.connection, "keep-alive");
  }
  assert.equal((await send(port, "")).text, '{"size":0}');
});

test("a body that is too large is refused with status 200", async (t) => {
  const { port } = await start(t);
  const { status, text } = await send(port, "x".repeat(1025));
  assert.deepEqual([status, text], [200, '"too-large"']);
});

test("a review with too many values is not parsed", async (t) => {
  const { port } = await start(t, {
    limits: {},
    routes: [{ path: PATH, handle: () => assert.fail("parsed") }],
  });
  const { status, text } = await send(port, "[".repeat(MAX_VALUES + 1));
  assert.deepEqual([status, text], [200, '"too-large"']);
});

test("a handler that throws is said to, and logged", async (t) => {
  const { port, log } = await start(t, { routes: [{ path: PATH, handle: () => assert.fail("marker") }] });
  const { status, text } = await send(port, "{}");
  assert.deepEqual([status, text], [200, '"internal"']);
  assert.equal(log.entries.filter(({ level }) => level === "error").length, 1);
});

test("another path is 404 and echoes nothing", async (t) => {
  const { port } = await start(t);
  const { status, text } = await send(port, "", { path: "/marker" });
  assert.deepEqual([status, text], [404, '{"error":"not found"}\n']);
});

test("shedding ends a connection with its next answer, whatever that is", async (t) => {
  const { port, server } = await start(t);
  server.shedConnections();
  const headers = { connection: "keep-alive" };
  for (const path of [PATH, "/marker"])
    assert.equal((await send(port, "{}", { path, headers })).headers.connection, "close");
});
