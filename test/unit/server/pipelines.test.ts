/** Clients that send requests before they have the answer to the last one. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";

import { createAdmissionServer } from "../../../src/admission/admission-server.ts";
import { createHookServer } from "../../../src/server/hook-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const post = (header = ""): string =>
  `POST /path HTTP/1.1\r\nhost: x\r\n${header}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
const EXPECTING = post("expect: 100-continue\r\n");
/** More than the kernel takes of it while the client does not read. */
const LARGE = "~".repeat(16 * 1024 * 1024);
/** Maybe an interim answer, then a whole one. */
const ONE_ANSWER = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 200 OK\r\n(?:[\w-]+: .*\r\n)+\r\n\{\}$/;

const tls = await issue("pipelines");

const SERVERS = { hooks: createHookServer, reviews: createAdmissionServer };
type Create = (typeof SERVERS)[keyof typeof SERVERS];

/** A connection to a server with this handler. */
async function connected(t: TestContext, create: Create, handle: () => Promise<string>): Promise<TLSSocket> {
  const server = create({
    host: "127.0.0.1",
    port: 0,
    tls,
    routes: [{ path: "/path", handle }],
    undecodable: () => "{}",
    log: createRecorder(),
  });
  const { port } = await server.listen();
  t.after(async () => await server.close(0));
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

for (const [name, create] of Object.entries(SERVERS)) {
  test(`a pipeline ends the connection: the server for ${name}`, async (t) => {
    let handled = 0;
    const socket = await connected(t, create, async () => {
      handled += 1;
      return await sleep(100, "{}");
    });
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.write(post().repeat(200));
    await new Promise((resolve) => socket.once("close", resolve));
    assert.ok(handled <= 1, `${handled} requests were handled`);
    assert.equal(text, "");
  });

  test(`no interim answer is inside another answer: the server for ${name}`, async (t) => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answers = [
      { begun: first, text: LARGE },
      { begun: second, text: "{}" },
    ];
    const socket = await connected(t, create, async () => {
      const { begun, text } = answers.shift() ?? assert.fail("a third request");
      begun.resolve();
      return await Promise.resolve(text);
    });
    socket.write(post());
    await first.promise;
    socket.write(EXPECTING); // its answer waits for the first one, which waits for the client
    await second.promise;
    let tail = "";
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      tail = `${tail}${chunk.toString()}`.slice(-1000);
      if (tail.endsWith("{}")) break;
    }
    assert.match(tail.slice(tail.lastIndexOf("~") + 1), ONE_ANSWER);
  });

  test(`a client that asks before it sends its body is told to: the server for ${name}`, async (t) => {
    const socket = await connected(t, create, async () => await Promise.resolve("{}"));
    socket.write(EXPECTING.slice(0, -2));
    const [interim]: Buffer[] = await once(socket, "data");
    assert.equal(String(interim), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("{}");
    const [answer]: Buffer[] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 200 OK\r\n/);
  });
}
