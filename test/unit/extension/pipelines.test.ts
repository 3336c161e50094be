/** Clients that send requests before they have the answer to the last one. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import { Socket } from "node:net";
import { before, test, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connect } from "node:tls";

import { createAdmissionServer } from "../../../src/admission/admission-server.ts";
import { createHookServer } from "../../../src/extension/hook-server.ts";
import { HookRequest } from "../../../src/extension/request-body.ts";
import type { KeyPair } from "../../../src/extension/tls.ts";
import { createTlsServer, type TlsServer } from "../../../src/extension/tls-server.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const PATH = "/path";
const POST = `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
/** At most 64 KiB are read at once. */
const FILLED = `\r\nx: ${"x".repeat(1024)}\r\n`;

let tls: KeyPair;
before(async () => {
  tls = await issue("pipelines");
});

const address = { host: "127.0.0.1", port: 0 };

/** What the server says on a connection on which all of this is sent at once. */
async function said(
  t: TestContext,
  server: TlsServer,
  sent: string,
): Promise<{ readonly all: Promise<string> }> {
  const { port } = await server.listen();
  t.after(async () => await server.close(0));
  const socket = connect({ host: address.host, port, rejectUnauthorized: false });
  socket.on("error", () => undefined);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const all = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  await once(socket, "secureConnect");
  socket.write(sent);
  return { all };
}

const answers = (text: string): number => text.split("HTTP/1.1 ").length - 1;

test("get the answer that is under way, and the connection ends: both servers", async (t) => {
  let handled = 0;
  const handle = async (): Promise<string> => {
    handled += 1;
    await nextTurn();
    return "{}";
  };
  const common = {
    ...address,
    tls,
    routes: [{ path: PATH, handle }],
    undecodable: () => "{}",
    log: createRecorder(),
  };
  for (const server of [createHookServer(common), createAdmissionServer(common)]) {
    handled = 0;
    const text = await (await said(t, server, POST.repeat(200))).all;
    assert.deepEqual([handled, answers(text)], [1, 1]);
    assert.match(text, /^HTTP\/1.1 200 [^]*connection: close/i);
  }
});

for (const { name, answersAtOnce, want } of [
  {
    name: "before the answer",
    answersAtOnce: false,
    want: /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
  },
  { name: "not at all with the answer", answersAtOnce: true, want: /^HTTP\/1\.1 200 OK\r\n(?![^]*Continue)/ },
])
  test(`behind an answer that is still being written, 100 Continue comes ${name}`, (t) => {
    const { server, serve } = createTlsServer({ ...address, tls, log: createRecorder() });
    const socket = new Socket();
    t.after(() => socket.destroy());
    let text = "";
    t.mock.method(socket, "write", (chunk: string | Buffer) => ((text += chunk.toString()), true));
    const request = new HookRequest(socket);
    const response = new ServerResponse(request);
    serve(() => answersAtOnce && response.end("{}"));
    server.emit("checkContinue", request, response); // Node.js gives it the socket when the last answer is written
    response.assignSocket(socket);
    if (!answersAtOnce) response.end(Buffer.from("{}"));
    assert.match(text, want);
  });

for (const [name, request] of Object.entries({ GET, POST }))
  test(`are not read on while that answer takes long, however many they send: ${name}`, async (t) => {
    const answer = Promise.withResolvers<void>();
    const tlsServer = createTlsServer({ ...address, tls, log: createRecorder() });
    const { server, serve } = tlsServer;
    serve((_, response) => void answer.promise.then(() => response.end()));
    const seen = { requests: 0 };
    server.on("request", () => (seen.requests += 1));
    const { all } = await said(t, tlsServer, POST + request.replace("\r\n", FILLED).repeat(2000));
    while (seen.requests < 2) await nextTurn();
    for (let turn = 0; turn < 500; turn += 1) await nextTurn();
    assert.ok(seen.requests < 100, `${seen.requests} requests`);
    answer.resolve();
    await all;
  });
