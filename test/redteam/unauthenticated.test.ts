/** Callers without a client certificate, where one is required, keep no caller out that has one: real sockets with TLS. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { before, test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { createHookServer } from "../../src/server/hook-server.ts";
import type { KeyPair } from "../../src/server/tls-server.ts";
import { issue } from "../unit/server/certificates.ts";
import { createRecorder } from "../unit/server/recorder.ts";

/** Stands for the certificate. */
const CAPI = "capi";
const CONNECTIONS = 4;
const ROOM = 100_000;
const TIMEOUT = { timeout: 30_000 };

let tls: KeyPair;
before(async () => {
  tls = await issue("strangers");
});

async function start(t: TestContext, onSlow?: () => Promise<string>): Promise<number> {
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls,
    clients: {
      pem: tls.cert,
      refusal: (socket) => (Reflect.get(socket, "servername") === CAPI ? undefined : "no certificate"),
      remedy: "",
    },
    routes: [
      { path: "/hook", authenticated: true, handle: (body) => String(body.size) },
      ...(onSlow === undefined ? [] : [{ path: "/slow", handle: onSlow }]),
      { path: "/discovery", ignoresBody: true, handle: () => "served" },
    ],
    undecodable: (_, reason) => reason,
    log: createRecorder(),
    limits: { connections: CONNECTIONS, bodiesBytes: ROOM },
  });
  const { port } = await server.listen();
  t.after(async () => await server.close(0));
  return port;
}

async function call(port: number, size: number, localAddress = "127.0.0.1"): Promise<string> {
  const where = { host: "127.0.0.1", port, localAddress };
  const options = { ...where, path: "/hook", method: "POST", agent: false as const };
  const sent = request({ ...options, servername: CAPI, rejectUnauthorized: false });
  sent.end(Buffer.alloc(size, " "));
  const [response] = await once(sent, "response");
  return await text(response);
}

/** A request that never ends; resolves when that much of it has been sent. */
async function slow(port: number, path: string, size: number): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  socket.on("error", () => undefined).resume();
  await once(socket, "secureConnect");
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${ROOM * 10}\r\n\r\n`);
  await new Promise((resolve) => socket.write(Buffer.alloc(size, " "), resolve));
  return socket;
}

for (const path of ["/hook", "/discovery"]) {
  test(`what strangers send to ${path} takes no room from the bodies of Cluster API`, TIMEOUT, async (t) => {
    const port = await start(t);
    const strangers = [await slow(port, path, 90_000), await slow(port, path, 90_000)];
    assert.equal(await call(port, 90_000), "90000");
    for (const socket of strangers) socket.destroy();
  });

  test(`bodies for ${path} that never end keep no connection from Cluster API`, TIMEOUT, async (t) => {
    const port = await start(t);
    const strangers: TLSSocket[] = [];
    for (let count = 0; count < 2 * CONNECTIONS; count += 1) {
      strangers.push(await slow(port, path, 10));
      assert.equal(await call(port, 10), "10");
    }
    for (const socket of strangers) socket.destroy();
  });
}

test("calls of one address that wait for their answers keep no other address out", TIMEOUT, async (t) => {
  const slowly = Promise.withResolvers<string>();
  let asked = Promise.withResolvers<void>();
  const port = await start(t, async () => (asked.resolve(), await slowly.promise));
  t.after(() => slowly.resolve("at last"));
  const strangers: TLSSocket[] = [];
  for (let count = 0; count < CONNECTIONS; count += 1) {
    asked = Promise.withResolvers();
    const from = { host: "127.0.0.1", port, localAddress: "127.0.0.2" };
    const socket = connect({ ...from, rejectUnauthorized: false });
    strangers.push(socket.on("error", () => undefined).resume());
    await once(socket, "secureConnect");
    socket.write("POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
    await asked.promise;
  }
  const closed = strangers.map((socket, index) => once(socket, "close").then(() => index));
  assert.equal(await call(port, 10), "10");
  assert.equal(await Promise.race(closed), CONNECTIONS - 1, "the newest");
  for (const socket of strangers) socket.destroy();
});
