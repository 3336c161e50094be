/** Bodies of unknown clients: real TLS, and more bytes than there is room for. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";

import { createHookServer } from "../../../src/extension/hook-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const KIB = 1024;
const PATH = "/hook";

async function start(t: TestContext) {
  const log = createRecorder();
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls: await issue("serving"),
    routes: [
      { path: PATH, handle: (body) => JSON.stringify(body.size) },
      { path: "/slow", handle: async () => await new Promise<never>(() => undefined) },
    ],
    undecodable: (_, reason) => JSON.stringify(reason),
    log,
    limits: { bodyBytes: 1024 * KIB, bodiesBytes: 300 * KIB },
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  return { port, log };
}

async function send(port: number, bytes: number): Promise<{ text: string; connection: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ text: string; connection: unknown }>();
  const options = { host: "127.0.0.1", port, path: PATH, method: "POST", rejectUnauthorized: false };
  const request = httpsRequest({ ...options, agent: false }, (response) => {
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () => resolve({ text, connection: response.headers.connection }));
  });
  request.once("error", reject).end(Buffer.alloc(bytes, 0x20));
  return await promise;
}

/** A body that does not end, as far as it is sent. */
async function begin(
  t: TestContext,
  port: number,
  bytes: number,
  { announced = bytes + 1, localAddress = "127.0.0.1" } = {},
): Promise<TLSSocket> {
  const tcp = connectTcp({ host: "127.0.0.1", port, localAddress });
  const socket = connect({ socket: tcp, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: ${announced}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes, 0x20));
  return socket;
}

/** Asks until the answer is this one. */
async function becomes(port: number, bytes: number, text: string): Promise<void> {
  let last = "";
  for (let call = 0; call < 200 && last !== text; call++) last = (await send(port, bytes)).text;
  assert.equal(last, text);
}

test("while unfinished bodies take all the room, large ones are a Failure and common ones are answered", async (t) => {
  const { port, log } = await start(t);
  assert.equal((await send(port, 200 * KIB)).text, String(200 * KIB));
  const sizes = [120 * KIB, 120 * KIB]; // none waits for its turn (reading-turns.ts), in which another would find room
  const unfinished = await Promise.all(sizes.map(async (size) => await begin(t, port, size)));
  await becomes(port, 200 * KIB, '"no-room"');
  assert.equal((await send(port, 200 * KIB)).connection, "close");
  assert.equal((await send(port, 50 * KIB)).text, String(50 * KIB));
  assert.ok(log.entries.some(({ fields }) => fields?.["reason"] === "no-room"));
  for (const socket of unfinished) socket.destroy();
  await becomes(port, 200 * KIB, String(200 * KIB));
});

test("the bodies of one address leave as much room to others as they take", async (t) => {
  const { port } = await start(t);
  const localAddress = "127.0.0.2";
  await Promise.all([120, 120, 30].map(async (size) => await begin(t, port, size * KIB, { localAddress })));
  for (let call = 0; call < 5; call++) assert.equal((await send(port, 150 * KIB)).text, String(150 * KIB));
});

test("what was answered takes no room any more, refused or not", async (t) => {
  const { port } = await start(t);
  for (let call = 0; call < 4; call++) {
    await becomes(port, 250 * KIB, String(250 * KIB));
    assert.equal((await send(port, 1000 * KIB)).text, '"no-room"');
  }
});

test("a body that found no room takes none while it continues", async (t) => {
  const { port } = await start(t);
  await begin(t, port, 350 * KIB);
  await becomes(port, 200 * KIB, String(200 * KIB));
});

test("a body that announces more than the limit takes no room of others", async (t) => {
  const { port } = await start(t);
  await begin(t, port, 290 * KIB, { announced: 1100 * KIB });
  await becomes(port, 250 * KIB, String(250 * KIB));
  assert.equal((await send(port, 1100 * KIB)).text, '"too-large"');
});

test("a whole body that waits for its answer takes no room any more when its connection ends", async (t) => {
  const { port } = await start(t);
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  const call = (path: string, bytes: number): string =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n${" ".repeat(bytes)}`;
  socket.write(call("/slow", 250 * KIB));
  await becomes(port, 200 * KIB, '"no-room"');
  socket.destroy();
  await becomes(port, 200 * KIB, String(200 * KIB));
});
