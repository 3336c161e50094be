/** Clients that send requests before they have the answer to the last one. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";

import { createAdmissionServer } from "../../../src/admission/admission-server.ts";
import { createHookServer } from "../../../src/server/hook-server.ts";
import type { KeyPair } from "../../../src/server/tls.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const POST =
  "POST /path HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

let tls: KeyPair;
before(async () => {
  tls = await issue("pipelines");
});

for (const [name, create] of Object.entries({ hooks: createHookServer, reviews: createAdmissionServer })) {
  test(`a pipeline ends the connection: the server for ${name}`, async (t) => {
    let handled = 0;
    const handle = async (): Promise<string> => {
      handled += 1;
      return await sleep(100, "{}");
    };
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
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.write(POST.repeat(200));
    await new Promise((resolve) => socket.once("close", resolve));
    assert.ok(handled <= 1, `${handled} requests were handled`);
    assert.equal(text, "");
  });
}
