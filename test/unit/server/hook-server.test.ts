import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type RequestOptions } from "node:https";
import { connect as connectTcp } from "node:net";
import { test, type TestContext } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { MAX_VALUES, type WholeBody } from "../../../src/server/bodies.ts";
import { createHookServer, type HookRoute } from "../../../src/server/hook-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";
import { dial, send as sendTo } from "./rig.ts";

const HOOK = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/beforeclusterdelete/before-cluster-delete";
const MIB = 1024 * 1024;
const LIMIT = 4 * MIB;

const [pair, other] = await Promise.all([issue("first"), issue("second")]);

const echoSize: HookRoute = { path: HOOK, handle: (body) => JSON.stringify({ size: body.size }) };

async function start(t: TestContext, more: Partial<Parameters<typeof createHookServer>[0]> = {}) {
  const log = createRecorder();
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls: pair,
    routes: [echoSize],
    undecodable: (path, reason) => JSON.stringify({ undecodable: reason, path }),
    log,
    ...more,
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  return { server, port, log };
}

const send = async (port: number, body: Iterable<Buffer | string>, more: RequestOptions = {}) =>
  await sendTo(port, body, { path: HOOK, ...more });

const head = (...headers: string[]): string =>
  [`POST ${HOOK} HTTP/1.1`, "host: x", ...headers, "", ""].join("\r\n");

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

test("a hook call without content type is answered with 200, JSON and a content length", async (t) => {
  const { port } = await start(t);
  const { status, headers, text } = await send(port, ["{}"], { path: `${HOOK}?timeout=10s` });
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["content-length"], "10");
  assert.equal(text, '{"size":2}');
});

const BODIES: Record<string, { body: string[]; headers?: Record<string, string>; size: number }> = {
  "an empty body": { body: [], size: 0 },
  "an empty chunked body": { body: [], headers: { "transfer-encoding": "chunked" }, size: 0 },
  "no JSON": { body: ["\u0000\u0001<xml/>"], size: 8 },
  "deep nesting": { body: ["[".repeat(30_000)], size: 30_000 },
  "a chunked body": { body: ["ab", "cd"], headers: { "transfer-encoding": "chunked" }, size: 4 },
  "a form's content type": {
    body: ["a"],
    headers: { "content-type": "application/x-www-form-urlencoded" },
    size: 1,
  },
  "a malformed content type": { body: ["a"], headers: { "content-type": ";;=garbage" }, size: 1 },
  "a content type with an empty body": { body: [], headers: { "content-type": "application/json" }, size: 0 },
  "a content encoding that is not undone": { body: ["ab"], headers: { "content-encoding": "gzip" }, size: 2 },
};
for (const [name, { body, headers = {}, size }] of Object.entries(BODIES)) {
  test(`the handler gets the raw bytes of ${name}`, async (t) => {
    const { port } = await start(t);
    const { status, text } = await send(port, body, { headers });
    assert.equal(status, 200);
    assert.equal(text, JSON.stringify({ size }));
  });
}

test("an answer that is known from a look at the body needs no handler, however many values the body has", async (t) => {
  const repeat = (body: WholeBody): string | undefined =>
    body.head(5) === "known" ? '{"again":1}' : undefined;
  const { port } = await start(t, { routes: [{ ...echoSize, repeat }] });
  const values = "[".repeat(MAX_VALUES + 1);
  assert.equal((await send(port, [`known${values}`])).text, '{"again":1}');
  assert.deepEqual(JSON.parse((await send(port, [values])).text), { undecodable: "too-large", path: HOOK });
  assert.equal((await send(port, ["new"])).text, '{"size":3}');
});

test("an answer is sent as it is, whether it is ASCII or not", async (t) => {
  const answers = ['{"message":"held"}', '{"message":"zurückgehalten"}', '{"message":"保留 🚧"}'];
  const handle = (body: WholeBody): string => answers[body.size] ?? "";
  const { port } = await start(t, { routes: [{ path: HOOK, handle }] });
  for (const [size, answer] of answers.entries()) {
    const { headers, text } = await send(port, ["x".repeat(size)]);
    assert.deepEqual([text, headers["content-length"]], [answer, String(Buffer.byteLength(answer))]);
  }
});

test("the room and the memory of a body are free again once it is answered", async (t) => {
  const kept: Buffer[] = [];
  const handle = (body: WholeBody): string => {
    kept.push(body.bytes());
    return String(body.size);
  };
  const { port } = await start(t, { limits: { bodiesBytes: 2 * MIB }, routes: [{ path: HOOK, handle }] });
  const send1MiB = async (): Promise<string> => (await send(port, [Buffer.alloc(MIB)])).text;
  assert.deepEqual([await send1MiB(), await send1MiB()], [String(MIB), String(MIB)]);
  assert.deepEqual(
    kept.map(({ length }) => length),
    [0, 0],
  );
});

test("4 MiB are read, with and without a content length", async (t) => {
  const { port } = await start(t);
  const chunk = Buffer.alloc(MIB, 0x20);
  const body = Array.from({ length: LIMIT / MIB }, () => chunk);
  const want = JSON.stringify({ size: LIMIT });
  assert.equal((await send(port, body, { headers: { "content-length": LIMIT } })).text, want);
  assert.equal((await send(port, body)).text, want);
});

for (const [name, headers] of [
  ["with a content length", { "content-length": LIMIT + 1 }],
  ["in chunks", {}],
] as const) {
  test(`a byte more than 4 MiB ${name} is a Failure with status 200`, async (t) => {
    const { port, log } = await start(t);
    const chunk = Buffer.alloc(MIB, 0x20);
    const body = [...Array.from({ length: LIMIT / MIB }, () => chunk), Buffer.from("x")];
    const answer = await send(port, body, { headers });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.deepEqual(JSON.parse(answer.text), { undecodable: "too-large", path: HOOK });
    assert.ok(log.entries.every(({ level }) => level !== "error"));
  });
}

test("the refusal of a body that is many times the limit reaches a client that sends all of it first", async (t) => {
  const { port } = await start(t, { limits: { bodyBytes: MIB } });
  const { socket, all } = await dial(port);
  const whole = head("connection: close", `content-length: ${20 * MIB}`) + " ".repeat(20 * MIB);
  await new Promise<void>((sent, failed) => socket.write(whole, (error) => (error ? failed(error) : sent())));
  assert.match(await all, /^HTTP\/1\.1 200 [^]*"undecodable":"too-large"/);
});

test("gives up on a body that never ends", async (t) => {
  const { port } = await start(t, { limits: { bodyBytes: 1000, headersMs: 50, requestMs: 60, checkMs: 10 } });
  const { socket, all } = await dial(port);
  socket.write(head("transfer-encoding: chunked"));
  const pump = setInterval(() => socket.write(`3e8\r\n${"x".repeat(1000)}\r\n`), 1);
  t.after(() => clearInterval(pump));
  assert.match(await all, /^HTTP\/1\.1 408 [^]*Connection: close\r\n\r\n$/);
});

test("a body that stops in the middle ends the connection when its time is over", async (t) => {
  const { port } = await start(t, { limits: { headersMs: 50, requestMs: 60, checkMs: 10 } });
  const { socket, all } = await dial(port);
  socket.write(`${head("content-length: 100")}half`);
  assert.match(await all, /^HTTP\/1\.1 408 [^]*Connection: close\r\n\r\n$/);
});

test("a client that renegotiates TLS too often loses its connection", { timeout: 60_000 }, async (t) => {
  const { port } = await start(t);
  const options = { host: "127.0.0.1", port, rejectUnauthorized: false, maxVersion: "TLSv1.2" } as const;
  const socket = connectTls(options).on("error", () => undefined);
  await once(socket, "secureConnect");
  const again = (error: Error | null): void => {
    if (error === null && !socket.destroyed) socket.renegotiate({}, again);
  };
  again(null);
  await once(socket, "close");
});

test("a client that hangs up in the middle of a body is dropped", async (t) => {
  const { port, log } = await start(t);
  const { socket, all } = await dial(port);
  socket.end(`${head("content-length: 100")}half`);
  await all;
  assert.equal((await send(port, ["{}"])).status, 200);
  assert.ok(log.entries.every(({ level }) => level !== "error"));
});

test("broken chunks end the connection, and what follows is not taken for a request", async (t) => {
  const { port } = await start(t);
  const { socket, all } = await dial(port);
  socket.write(`${head("transfer-encoding: chunked")}zz\r\n${head("content-length: 0")}`);
  const text = await all;
  assert.match(text, /^HTTP\/1\.1 400 /);
  assert.equal(count(text, /HTTP\/1\.1/g), 1);
});

for (const [what, sent] of Object.entries({ "no request": "", "half a head": "POST / HTTP/1.1\r\nx: " })) {
  test(`a connection with ${what} ends when the time for headers is over`, async (t) => {
    const { port } = await start(t, { limits: { headersMs: 50, checkMs: 10 } });
    const { socket, all } = await dial(port);
    if (sent !== "") socket.write(sent);
    assert.match(await all, /^HTTP\/1\.1 408 /);
  });
}

const UNKNOWN: Record<string, RequestOptions> = {
  "another path": { path: "/evil-marker" },
  "the path below a hook": { path: `${HOOK}/evil-marker` },
  "a path in other case": { path: HOOK.toUpperCase() },
  "a path that does not decode": { path: "/evil-marker%zz" },
  "a very long path": { path: `/evil-marker${"x".repeat(8000)}` },
  "GET on a hook": { method: "GET" },
  "HEAD on a hook": { method: "HEAD" },
  "PUT on a hook": { method: "PUT" },
  "OPTIONS on a hook": { method: "OPTIONS" },
  "an unusual method": { method: "PURGE" },
};
for (const [name, options] of Object.entries(UNKNOWN)) {
  test(`${name} is 404 and echoes nothing`, async (t) => {
    const { port } = await start(t);
    const answer = await send(port, [], options);
    assert.equal(answer.status, 404);
    assert.equal(answer.text, options.method === "HEAD" ? "" : '{"error":"not found"}\n');
    assert.doesNotMatch(JSON.stringify(answer.headers), /evil-marker/);
  });
}

const MALFORMED: Record<string, string> = {
  "no HTTP": "evil-marker\r\n\r\n",
  "HTTP/2 without negotiation": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "two lengths": `${head("content-length: 1", "content-length: 2")}x`,
  "a length and chunks": `${head("content-length: 1", "transfer-encoding: chunked")}0\r\n\r\n`,
  "a negative length": head("content-length: -1"),
  "headers of 17 KiB": head(`x: ${"evil-marker".repeat(1600)}`),
  "a bare line feed in a header": head("x: a\nevil-marker"),
};
for (const [name, text] of Object.entries(MALFORMED)) {
  test(`${name} is refused with a fixed text, and the connection ends`, async (t) => {
    const { port, log } = await start(t);
    const { socket, all } = await dial(port);
    socket.write(text);
    const said = await all;
    assert.match(said, /^HTTP\/1\.1 (400 Bad Request|431 Request Header Fields Too Large)\r\n/);
    assert.doesNotMatch(said, /evil-marker/);
    assert.ok(log.entries.every(({ level }) => level === "debug"));
    assert.equal((await send(port, ["{}"])).status, 200);
  });
}

test("plain HTTP, no TLS and old TLS end the connection and are not worth a log line", async (t) => {
  const { port, log } = await start(t);
  for (const bytes of [head("content-length: 0"), "\u0016\u0003\u0001garbage", "\u0000".repeat(600)]) {
    const socket = connectTcp(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.end(bytes);
    socket.resume();
    await once(socket, "close");
  }
  const old = connectTls({
    host: "127.0.0.1",
    port,
    rejectUnauthorized: false,
    maxVersion: "TLSv1.1",
    minVersion: "TLSv1.1",
  });
  await assert.rejects(once(old, "secureConnect"));
  const h2 = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await assert.rejects(once(h2, "secureConnect"), /ALPN|no application protocol/i);
  assert.equal((await send(port, ["{}"])).status, 200);
  assert.ok(log.entries.every(({ level }) => level === "debug"));
});

test("a client that resets while its answer is made does not disturb the others", async (t) => {
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<string>();
  let calls = 0;
  const slow: HookRoute = {
    path: HOOK,
    handle: async () => {
      if (++calls > 1) return "{}";
      asked.resolve();
      return await release.promise;
    },
  };
  const { port, log } = await start(t, { routes: [slow] });
  const { socket, all } = await dial(port);
  socket.write(head("content-length: 0"));
  await asked.promise;
  socket.destroy();
  await all;
  release.resolve("{}");
  assert.equal((await send(port, ["{}"])).status, 200);
  assert.ok(log.entries.every(({ level }) => level === "debug"));
});

for (const [name, handle] of [
  ["throws", () => assert.fail("evil-marker")],
  ["rejects", async () => await Promise.reject(new Error("evil-marker"))],
] as const) {
  test(`a handler that ${name} is answered with a Failure and one error line`, async (t) => {
    const { port, log } = await start(t, { routes: [{ path: HOOK, handle }] });
    const { status, text } = await send(port, ["{}"]);
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text), { undecodable: "internal", path: HOOK });
    assert.equal(log.entries.filter(({ level }) => level === "error").length, 1);
  });
}

test("a bug in the last resort is a static 500", async (t) => {
  const undecodable = () => assert.fail("evil-marker");
  const { port } = await start(t, { undecodable, limits: { bodyBytes: 1 } });
  const { status, text } = await send(port, ["{}"]);
  assert.equal(status, 500);
  assert.equal(text, '{"error":"internal error"}\n');
});

test("an idle connection outlives the times for headers and requests", async (t) => {
  const { port } = await start(t, { limits: { headersMs: 300, requestMs: 400, checkMs: 20 } });
  const { socket, all, until } = await dial(port);
  socket.write(head("content-length: 0"));
  await until(/"size":0/);
  const started = performance.now();
  const probe = await dial(port); // a connection without a request is cut after headersMs: the clock of this test
  await probe.all;
  await (
    await dial(port)
  ).all;
  assert.ok(performance.now() - started > 600);
  socket.write(head("content-length: 0", "connection: close"));
  assert.equal(count(await all, /"size":0/g), 2);
});

test("a keep-alive connection is offered for longer than Go keeps one", async (t) => {
  const { port } = await start(t);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const { headers } = await send(port, ["{}"], { agent });
  assert.match(String(headers["keep-alive"]), /timeout=1[0-9]{2}/);
});

test("a new certificate is for new connections, and one that does not fit changes nothing", async (t) => {
  const { server, port } = await start(t);
  const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;
  const old = await dial(port);
  server.setCertificate(other);
  assert.equal(nameOf((await dial(port)).socket), "second");
  assert.throws(() => server.setCertificate({ cert: pair.cert, key: other.key }));
  assert.equal(nameOf((await dial(port)).socket), "second");
  old.socket.write(head("content-length: 0", "connection: close"));
  assert.match(await old.all, /"size":0/);
});

test("a port in use is one line", async (t) => {
  const { port } = await start(t);
  await assert.rejects(start(t, { port }), {
    message: `cannot listen on 127.0.0.1:${port} (--webhook-host, --webhook-port)`,
  });
});
