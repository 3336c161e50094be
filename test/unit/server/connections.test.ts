/** Which connections stay when there are more than the server keeps. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { createHookServer } from "../../../src/server/hook-server.ts";
import type { ServerLimits } from "../../../src/server/tls-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { dial } from "./rig.ts";

const LIMIT = 3;
const CALL = "POST /fast HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
const TIMEOUT = { timeout: 30_000 };

const pair = await issue("connections");

interface Lab {
  readonly port: number;
  readonly log: Recorder;
  /** A connection with TLS that asks nothing. */
  readonly silent: () => Promise<Socket>;
  /** One that has had an answer. */
  readonly idle: () => Promise<Socket>;
  /** One that waits for an answer, which `finish` gives. */
  readonly waiting: () => Promise<Socket>;
  readonly finish: () => void;
}

async function start(t: TestContext, limits: Partial<ServerLimits> = {}): Promise<Lab> {
  const log = createRecorder();
  const slow = Promise.withResolvers<string>();
  let asked = Promise.withResolvers<void>();
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls: pair,
    routes: [
      { path: "/fast", handle: () => "{}" },
      { path: "/slow", handle: async () => (asked.resolve(), await slow.promise) },
    ],
    undecodable: () => "{}",
    log,
    limits: { connections: LIMIT, ...limits },
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  const silent = async (): Promise<Socket> => (await dial(port)).socket;
  return {
    port,
    log,
    silent,
    idle: async () => await answered(await silent()),
    waiting: async () => {
      asked = Promise.withResolvers();
      const socket = await silent();
      socket.write(CALL.replace("/fast", "/slow"));
      await asked.promise;
      return socket;
    },
    finish: () => slow.resolve("{}"),
  };
}

async function answered(socket: Socket): Promise<Socket> {
  socket.write(CALL);
  await once(socket, "data");
  return socket;
}

async function ended(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await once(socket, "close");
}

test(
  "connections that never sent a request end before those that did, the oldest first, with one warning",
  TIMEOUT,
  async (t) => {
    const { log, silent, idle } = await start(t);
    const client = await idle();
    const first = await silent();
    const second = await silent();
    const newcomer = await idle();
    await ended(first);
    const another = await idle();
    await ended(second);
    for (const socket of [client, newcomer, another]) await answered(socket);
    assert.deepEqual(
      log.entries.map(({ message, fields }) => [message, fields]),
      [
        [
          "Too many connections, closing idle ones",
          { limit: LIMIT, flags: "--webhook-host, --webhook-port" },
        ],
      ],
    );
  },
);

test("connections that never begin TLS keep no client out", TIMEOUT, async (t) => {
  const { idle } = await start(t);
  const client = await idle();
  const port = client.remotePort ?? 0;
  const strangers = Array.from({ length: 20 }, () => connectTcp(port, "127.0.0.1"));
  for (const stranger of strangers) stranger.on("error", () => undefined);
  await Promise.all(strangers.slice(0, -LIMIT).map(ended));
  const another = await idle();
  for (const each of [client, another]) await answered(each);
  for (const stranger of strangers) stranger.destroy();
});

test(
  "then the connection that has been idle for longest ends, and none that waits for an answer",
  TIMEOUT,
  async (t) => {
    const { idle, waiting, finish } = await start(t);
    const longest = await idle();
    const asking = await waiting();
    const shorter = await idle();
    await answered(longest);
    const newcomer = await idle();
    await ended(shorter);
    finish();
    await once(asking, "data");
    for (const socket of [longest, newcomer, asking]) await answered(socket);
  },
);

test("if all wait for an answer, the newest connection is refused", TIMEOUT, async (t) => {
  const { silent, waiting, finish } = await start(t);
  const asking = [await waiting(), await waiting(), await waiting()];
  await assert.rejects(silent());
  finish();
  for (const socket of asking) await once(socket, "data");
});

/** The head of a record that announces 512 bytes of a ClientHello (RFC 8446, 5.1), and the first of them. */
const BEGUN_HELLO = Buffer.from([22, 3, 1, 2, 0, 1]);

for (const [title, bytes] of [
  ["nothing", Buffer.alloc(0)],
  ["the beginning of its first message", BEGUN_HELLO],
] as const)
  test(
    `a client that sends ${title} is disconnected when the handshake has taken too long`,
    { timeout: 9000 }, // shorter than the default of handshakeMs
    async (t) => {
      const { port } = await start(t, { handshakeMs: 200 });
      const socket = connectTcp({ port, host: "127.0.0.1" });
      socket.on("error", () => undefined).write(bytes);
      await ended(socket);
    },
  );
