/** What the server for reviews has of its own; hook-server.test.ts tests what both have. */

import assert from "node:assert/strict";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { before, test, type TestContext } from "node:test";

import {
  type AdmissionServerOptions,
  createAdmissionServer,
} from "../../../src/admission/admission-server.ts";
import { MAX_VALUES } from "../../../src/server/bodies.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { issue } from "../server/certificates.ts";
import { createRecorder } from "../server/recorder.ts";

const PATH = "/review";
let tls: KeyPair;
before(async () => {
  tls = await issue("admission");
});

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

interface Answer {
  readonly status: number | undefined;
  readonly type: unknown;
  readonly connection: unknown;
  readonly text: string;
}

type Request = Pick<RequestOptions, "path" | "method"> & { readonly headers?: Record<string, string> };

async function send(port: number, body: string, more: Request = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = { host: "127.0.0.1", port, path: PATH, method: "POST", rejectUnauthorized: false };
  const headers = { connection: "keep-alive", ...more.headers };
  const request = httpsRequest({ ...options, agent: false, ...more, headers }, (response) => {
    const { statusCode: status, headers: got } = response;
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () =>
      resolve({ status, type: got["content-type"], connection: got["connection"], text }),
    );
  });
  request.once("error", reject).end(body);
  return await promise;
}

const JSON_TYPE = "application/json";

test("a review is answered with 200 and JSON, whatever its content type", async (t) => {
  const { port } = await start(t);
  for (const type of [undefined, JSON_TYPE, ";;=garbage"]) {
    const headers = { ...(type !== undefined && { "content-type": type }) };
    const answer = await send(port, "{}", { path: `${PATH}?timeout=10s`, headers });
    assert.deepEqual(answer, {
      status: 200,
      type: JSON_TYPE,
      connection: "keep-alive",
      text: '{"size":2}',
    });
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

test("a bug in the last resort is a static 500", async (t) => {
  const { port } = await start(t, { undecodable: () => assert.fail("marker") });
  const { status, text } = await send(port, "x".repeat(1025));
  assert.deepEqual([status, text], [500, '{"error":"internal error"}\n']);
});

const UNKNOWN: Record<string, Request> = {
  "another path": { path: "/marker" },
  "a path that does not decode": { path: "/marker%zz" },
  "GET on a review": { method: "GET" },
  "an unusual method": { method: "PURGE" },
};
for (const [name, options] of Object.entries(UNKNOWN)) {
  test(`${name} is 404 and echoes nothing`, async (t) => {
    const { port } = await start(t);
    const { status, text } = await send(port, "", options);
    assert.deepEqual([status, text], [404, '{"error":"not found"}\n']);
  });
}

test("shedding ends a connection with its next answer, whatever that is", async (t) => {
  const { port, server } = await start(t);
  server.shedConnections();
  for (const path of [PATH, "/marker"]) assert.equal((await send(port, "{}", { path })).connection, "close");
});
