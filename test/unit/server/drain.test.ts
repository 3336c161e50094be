import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { test, type TestContext } from "node:test";

import { createHookServer } from "../../../src/server/hook-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";
import { dial } from "./rig.ts";

const FAST = "POST /fast HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
const SLOW = FAST.replace("/fast", "/slow");
/** Longer than any test waits: what ends earlier did not end by it. */
const FAR_MS = 60_000;
const TIMEOUT_MS = 30_000;

const pair = await issue("drain");

async function start(t: TestContext, slow: () => Promise<string>) {
  const asked = Promise.withResolvers<void>();
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls: pair,
    routes: [
      { path: "/fast", handle: () => "{}" },
      {
        path: "/slow",
        handle: async () => {
          asked.resolve();
          return await slow();
        },
      },
    ],
    undecodable: (_path, reason) => JSON.stringify({ reason }),
    log: createRecorder(),
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  return { server, port, asked: asked.promise };
}

/** A connection that had an answer and is kept. */
async function idle(port: number): ReturnType<typeof dial> {
  const connection = await dial(port, FAST);
  await once(connection.socket, "data");
  return connection;
}

test(
  "close ends idle connections at once, answers the request in flight, and waits for nothing more",
  { timeout: TIMEOUT_MS },
  async (t) => {
    const release = Promise.withResolvers<string>();
    const { server, port, asked } = await start(t, async () => await release.promise);
    const kept = await idle(port);
    const silent = await dial(port);
    const busy = await dial(port, SLOW);
    await asked;
    let isClosed = false;
    const closed = server.close(FAR_MS).then(() => (isClosed = true));
    await Promise.all([kept.all, silent.all]);
    await assert.rejects(dial(port), { code: "ECONNREFUSED" });
    assert.equal(isClosed, false);
    release.resolve('{"slow":true}');
    await closed;
    assert.match(await busy.all, /^HTTP\/1\.1 200 [^]*connection: close[^]*{"slow":true}$/);
  },
);

test(
  "shedding ends each connection with its next answer, and keeps accepting",
  { timeout: TIMEOUT_MS },
  async (t) => {
    const { server, port } = await start(t, async () => "{}");
    const kept = await idle(port);
    server.shedConnections();
    const next = await dial(port, FAST);
    assert.match(await next.all, /^HTTP\/1\.1 200 [^]*connection: close[^]*{}$/);
    kept.socket.write(FAST);
    assert.match(await kept.all, /Connection: keep-alive[^]*HTTP\/1\.1 200 [^]*connection: close[^]*{}$/);
    await server.close(FAR_MS);
  },
);

test("a handshake that never ends does not hold the close", { timeout: TIMEOUT_MS }, async (t) => {
  const { server, port } = await start(t, async () => "{}");
  const socket = connectTcp(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await idle(port); // accepted in order: the one above is known to the server now
  const ended = once(socket, "close");
  await server.close(FAR_MS);
  await ended;
});

test("the deadline cuts what does not end", { timeout: TIMEOUT_MS }, async (t) => {
  const { server, port, asked } = await start(t, async () => await new Promise(() => undefined));
  const busy = await dial(port, SLOW);
  await asked;
  await server.close(50);
  assert.equal(await busy.all, "");
});

test(
  "a close that begins at any step of an answer waits for it and for nothing else",
  { timeout: TIMEOUT_MS },
  async (t) => {
    for (let step = 0; step < 30; step++) {
      const release = Promise.withResolvers<string>();
      const { server, port, asked } = await start(t, async () => await release.promise);
      const busy = await dial(port, SLOW);
      await asked;
      release.resolve('{"slow":true}');
      for (let n = 0; n < step; n++) await Promise.resolve();
      await server.close(FAR_MS);
      assert.match(await busy.all, /{"slow":true}$/, `at step ${step}`);
    }
  },
);

test("closing twice, and closing a server that never listened, ends", { timeout: TIMEOUT_MS }, async (t) => {
  const { server } = await start(t, async () => "{}");
  await Promise.all([server.close(FAR_MS), server.close(FAR_MS)]);
  const options = { port: 0, tls: pair, routes: [], undecodable: () => "", log: createRecorder() };
  await createHookServer(options).close(FAR_MS);
});
