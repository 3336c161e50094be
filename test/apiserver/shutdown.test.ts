/** The start and the end of the operator as a process; the end asked for, asked for twice, and by a bug. */

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Agent, request as post } from "node:https";
import { json } from "node:stream/consumers";
import { after, afterEach, test } from "node:test";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import { hookPath } from "../../src/api/hook-catalog.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, approve, policyRow, policyRef } from "../controlplane/policies.ts";
import { killChildren, startChild } from "./child-operator.ts";
import { showHeld, startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";
const POLICY = policyRef("team-a", "protect");
/** More than a test needs: each ends it by a second signal. */
const LONG = "60s";

const lab = await startLab();
after(async () => await lab.stop());
await applyPolicy(lab.cp, POLICY, { rules: [approvalRule(HOOK)] });
for (const name of ["c1", "c2"]) {
  await createCluster(lab.cp, { namespace: "team-a", name, version: NEXT_VERSION });
}

type Running = Awaited<ReturnType<typeof startChild>>;

afterEach(killChildren);

const probe = async ({ ports }: Running, path: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${ports.health}${path}`)).status;

interface Observation {
  readonly answer: HookResponse;
  readonly connection: string | undefined;
}

async function ask({ ports }: Running, name: string, agent: Agent): Promise<Observation> {
  const body = JSON.stringify(await lab.requestFor("team-a", name));
  const response = await new Promise<IncomingMessage>((resolveResponse, reject) => {
    const options = { method: "POST", agent, ca: lab.cp.authority.certificate };
    post(`https://127.0.0.1:${ports.webhook}${hookPath(HOOK)}`, options, resolveResponse)
      .once("error", reject)
      .end(body);
  });
  const { connection } = response.headers;
  return { answer: (await json(response)) as HookResponse, connection };
}

test("at its start it lists every kind once, in pages, and then watches", async () => {
  const { cp, proxy } = lab;
  proxy.forget();
  await startChild(lab, "started");
  const plurals = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "clusters", "namespaces"];
  await cp.waitFor("a watch of every kind", () =>
    plurals.every((plural) => proxy.requests.some(({ watch, path }) => watch && path.endsWith(`/${plural}`))),
  );
  for (const plural of plurals) {
    const lists = proxy.requests.filter(({ watch, path }) => !watch && path.endsWith(`/${plural}`));
    assert.deepEqual(
      lists.map(({ query }) => query.toString()),
      ["limit=50"],
      plural,
    );
  }
});

test("from SIGTERM on it is not ready, and answers as before for the whole delay", async (t) => {
  const running = await startChild(lab, "delayed", { "shutdown-delay-duration": LONG });
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => kept.destroy());
  assert.equal((await ask(running, "c1", kept)).connection, "keep-alive");
  assert.equal(await probe(running, "/readyz"), 200);

  running.child.kill("SIGTERM");
  await lab.cp.waitFor("it not to be ready", async () => (await probe(running, "/readyz")) === 503);
  assert.equal(await probe(running, "/healthz"), 200);
  const held = await ask(running, "c1", kept);
  assert.equal(held.answer.retryAfterSeconds, 5);
  assert.equal(held.connection, "close", "the next call is for another replica");

  // What is new is still seen, and what is asked still written.
  await createCluster(lab.cp, { namespace: "team-a", name: "late", version: NEXT_VERSION });
  await lab.cp.waitFor("a new Cluster to be held", async () => {
    const { answer } = await ask(running, "late", kept);
    return answer.retryAfterSeconds === 5;
  });
  await showHeld(lab.cp, HOOK, await lab.cp.get(clusterRef("team-a", "late")));
  await policyRow(lab.cp, POLICY, "late", HOOK);
  await approve(lab.cp, "team-a", "c2");
  await lab.cp.waitFor("a go on a new approval", async () => {
    const { answer } = await ask(running, "c2", kept);
    return answer.retryAfterSeconds === 0;
  });
});

test("the delay ends by itself, and everything after it with 0", async () => {
  const running = await startChild(lab, "short", { "shutdown-delay-duration": "1s", "leader-elect": "true" });
  running.child.kill("SIGTERM");
  assert.equal((await running.ended).code, 0, running.output());
  assert.match(running.output(), /Stopped\n$/);
});

test("a second signal does not wait for the delay", async () => {
  const running = await startChild(lab, "impatient", { "shutdown-delay-duration": LONG });
  running.child.kill("SIGTERM");
  await lab.cp.waitFor("the first to be noticed", () => running.output().includes("Stopping"));
  running.child.kill("SIGINT");
  assert.equal((await running.ended).code, 1);
});

for (const [name, bug] of Object.entries({
  "a promise that nobody catches": `Promise.reject(new Error("the bug"))`,
  "an error that nobody catches": `throw new Error("the bug")`,
})) {
  test(`${name} ends the process with one log line and 1`, async () => {
    const code = `process.on("SIGUSR2", () => { ${bug}; })`;
    const importing = ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
    const running = await startChild(lab, name.replaceAll(" ", "-"), {}, importing);
    running.child.kill("SIGUSR2");
    assert.equal((await running.ended).code, 1);
    const errors = running
      .output()
      .split("\n")
      .filter((line) => / ERROR /.test(line));
    assert.equal(errors.length, 1, running.output());
    assert.match(errors[0] ?? "", /Bug, exiting.*the bug/);
  });
}
