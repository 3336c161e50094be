import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";

import { errorText } from "../../../src/lib/thrown.ts";
import { createHealthServer, type HealthChecks } from "../../../src/operator/health-server.ts";
import { createRecorder } from "../server/recorder.ts";

const LOCAL = { host: "127.0.0.1", port: 0 };

async function health(t: TestContext, checks: HealthChecks) {
  const log = createRecorder();
  const server = createHealthServer(LOCAL, checks, log);
  const { port } = await server.listen();
  t.after(() => server.close());
  return {
    log,
    port,
    get: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init),
  };
}

const good: HealthChecks = { listening: () => undefined };
const bad: HealthChecks = { policies: () => "not synced" };
const broken: HealthChecks = {
  broken: () => {
    throw new Error("no");
  },
};

test("healthz is 200 whatever the checks say", async (t) => {
  const { get } = await health(t, { ...bad, ...broken });
  const response = await get("/healthz");
  assert.equal(response.status, 200);
  assert.equal(await response.text(), "ok");
});

test("readyz is a short ok, and lists the checks when asked", async (t) => {
  const { get } = await health(t, good);
  assert.equal(await (await get("/readyz")).text(), "ok");
  const verbose = await get("/readyz?verbose");
  assert.equal(verbose.status, 200);
  assert.equal(await verbose.text(), "[+]listening ok\nreadyz check passed\n");
});

test("readyz is 503 and names what fails", async (t) => {
  const { get } = await health(t, { ...good, ...bad });
  const response = await get("/readyz");
  assert.equal(response.status, 503);
  assert.equal(
    await response.text(),
    "[+]listening ok\n[-]policies failed: not synced\nreadyz check failed\n",
  );
});

test("readyz?wait answers as soon as all is well", async (t) => {
  let reason: string | undefined = "not synced";
  let asked = 0;
  const check = (): string | undefined => {
    asked += 1;
    if (asked === 3) reason = undefined;
    return reason;
  };
  const { get } = await health(t, { policies: check });
  assert.equal((await get("/readyz?wait")).status, 200);
  assert.equal(asked, 3);
});

test("readyz?wait says what fails when it has waited for long enough", async (t) => {
  t.mock.method(performance, "now", () => (now += 5_000));
  let now = 0;
  const { get } = await health(t, bad);
  const response = await get("/readyz?wait");
  assert.equal(response.status, 503);
  assert.match(await response.text(), /policies failed: not synced/);
});

test("a check that throws fails without showing clients the reason", async (t) => {
  const { get, log } = await health(t, broken);
  const response = await get("/readyz");
  assert.equal(response.status, 500);
  assert.equal(await response.text(), "internal error\n");
  assert.equal(log.entries[0]?.level, "error");
});

test("other paths and methods are refused, and HEAD has no body", async (t) => {
  const { get } = await health(t, good);
  for (const path of ["/", "/metrics", "/healthz/", "/__proto__", "/constructor"]) {
    assert.equal((await get(path)).status, 404, path);
  }
  assert.equal((await get("/healthz", { method: "POST", body: "x" })).status, 405);
  const head = await get("/healthz", { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), "2");
  assert.equal(await head.text(), "");
});

test("close does not wait for a prober that keeps its connection", { timeout: 5_000 }, async () => {
  const server = createHealthServer(LOCAL, {}, createRecorder());
  const { port } = await server.listen();
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.on("error", () => undefined);
  await Promise.all([server.close(), closed]);
});

test(
  "a probe is answered beside idle connections without number, and ends none of its own address",
  { timeout: 30_000 },
  async (t) => {
    const { port, get } = await health(t, good);
    const own = await idle(t, port, "127.0.0.1");
    for (let i = 0; i < 100; i++) await idle(t, port, "127.0.0.2");
    assert.equal((await get("/healthz")).status, 200);
    assert.ok(!own.closed);
  },
);

/** A connection that has had an answer, from this address of the machine. */
async function idle(t: TestContext, port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  t.after(() => socket.destroy());
  socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(socket, "data");
  socket.resume().on("error", () => undefined);
  return socket;
}

test("a port in use is one line that names address and flag", async (t) => {
  const { port } = await health(t, {});
  const second = createHealthServer({ host: "127.0.0.1", port }, {}, createRecorder());
  await assert.rejects(second.listen(), (error) => {
    assert.equal(
      errorText(error),
      `cannot listen on 127.0.0.1:${port} (--health-addr): listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    );
    return true;
  });
});
