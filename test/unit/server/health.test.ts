import assert from "node:assert/strict";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";

import { errorText } from "../../../src/log.ts";
import { createMetrics } from "../../../src/metrics.ts";
import { createHealthServer, createMetricsServer, type HealthCheck } from "../../../src/server/health.ts";
import { createRecorder } from "./recorder.ts";

const LOCAL = { host: "127.0.0.1", port: 0 };

async function health(t: TestContext, checks: readonly HealthCheck[]) {
  const log = createRecorder();
  const server = createHealthServer({ address: LOCAL, checks, log });
  const { port } = await server.listen();
  t.after(() => server.close());
  return {
    log,
    port,
    get: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init),
  };
}

const good: HealthCheck = { name: "listening", check: () => undefined };
const bad: HealthCheck = { name: "policies", check: () => "not synced" };
const broken: HealthCheck = {
  name: "broken",
  check: () => {
    throw new Error("no");
  },
};

test("healthz is 200 whatever the checks say", async (t) => {
  const { get } = await health(t, [bad, broken]);
  const response = await get("/healthz");
  assert.equal(response.status, 200);
  assert.equal(await response.text(), "ok");
});

test("readyz is a short ok, and lists the checks when asked", async (t) => {
  const { get } = await health(t, [good]);
  assert.equal(await (await get("/readyz")).text(), "ok");
  const verbose = await get("/readyz?verbose");
  assert.equal(verbose.status, 200);
  assert.equal(await verbose.text(), "[+]listening ok\nreadyz check passed\n");
});

test("readyz is 503 and names what fails", async (t) => {
  const { get } = await health(t, [good, bad]);
  const response = await get("/readyz");
  assert.equal(response.status, 503);
  assert.equal(
    await response.text(),
    "[+]listening ok\n[-]policies failed: not synced\nreadyz check failed\n",
  );
});

test("a check that throws fails without telling why to strangers", async (t) => {
  const { get, log } = await health(t, [broken]);
  const response = await get("/readyz");
  assert.equal(response.status, 503);
  assert.match(await response.text(), /^\[-\]broken failed: internal error$/m);
  assert.equal(log.entries[0]?.level, "warn");
});

test("other paths and methods are refused, and HEAD has no body", async (t) => {
  const { get } = await health(t, [good]);
  for (const path of ["/", "/metrics", "/healthz/", "/__proto__", "/constructor"]) {
    assert.equal((await get(path)).status, 404, path);
  }
  assert.equal((await get("/healthz", { method: "POST", body: "x" })).status, 405);
  const head = await get("/healthz", { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), "2");
  assert.equal(await head.text(), "");
});

test("close does not wait for a prober that keeps its connection", { timeout: 5_000 }, async () => {
  const server = createHealthServer({ address: LOCAL, checks: [], log: createRecorder() });
  const { port } = await server.listen();
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.on("error", () => undefined);
  await Promise.all([server.close(), closed]);
});

test("a port in use is one line that names address and flag", async (t) => {
  const { port } = await health(t, []);
  const second = createHealthServer({
    address: { host: "127.0.0.1", port },
    checks: [],
    log: createRecorder(),
  });
  await assert.rejects(second.listen(), (error) => {
    assert.equal(
      errorText(error),
      `cannot listen on 127.0.0.1:${port} (--health-addr): listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    );
    return true;
  });
});

test("metrics are served with their content type, and state is read at the scrape", async (t) => {
  const metrics = createMetrics({ capiVersion: "1.14" });
  const server = createMetricsServer({ address: LOCAL, metrics, log: createRecorder() });
  const { port } = await server.listen();
  t.after(() => server.close());
  const scrape = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

  assert.doesNotMatch(await scrape(), /^hookpolicy_workqueue_depth /m);
  let held = 3;
  metrics.workqueueDepth.follow(() => [{ labels: {}, value: 2 }]);
  metrics.heldClusters.follow(() =>
    held === 0 ? [] : [{ labels: { hook: "BeforeClusterDelete" }, value: held }],
  );
  metrics.hookCalls.inc({ hook: "BeforeClusterDelete", verdict: "Blocked" });
  metrics.hookCallDuration.observe({ hook: "BeforeClusterDelete" }, 0.0004);
  const text = await scrape();
  assert.match(text, /^hookpolicy_held_clusters\{hook="BeforeClusterDelete"\} 3$/m);
  assert.match(text, /^hookpolicy_workqueue_depth 2$/m);
  assert.match(text, /^hookpolicy_hook_calls_total\{hook="BeforeClusterDelete",verdict="Blocked"\} 1$/m);
  assert.match(text, /_bucket\{le="0\.0005",hook="BeforeClusterDelete"\} 1$/m);
  assert.match(
    text,
    /^hookpolicy_build_info\{version="[^"]+",capi_version="1\.14",node_version="v\d+[^"]*"\} 1$/m,
  );
  assert.match(text, /^process_resident_memory_bytes /m);
  held = 0;
  assert.doesNotMatch(await scrape(), /^hookpolicy_held_clusters\{/m);
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
});

test("a scrape that fails is 500 and one error line, not a crash", async (t) => {
  const log = createRecorder();
  const metrics = createMetrics({ capiVersion: "1.14" });
  metrics.policies.follow(() => {
    throw new Error("no");
  });
  const server = createMetricsServer({ address: LOCAL, metrics, log });
  const { port } = await server.listen();
  t.after(() => server.close());
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal(response.status, 500);
  assert.equal(await response.text(), "internal error\n");
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ["error"],
  );
});
