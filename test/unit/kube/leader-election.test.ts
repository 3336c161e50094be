import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { DEFAULT_LEASE_TUNING, type LeaderElection } from "../../../src/kube/leader-election.ts";
import { candidate, LEASE, LeaseServer } from "./lease-lab.ts";

const { leaseMs, renewMs, retryMs } = DEFAULT_LEASE_TUNING;

/** `election` keeps what it has for so long. */
async function renewFor(server: LeaseServer, election: LeaderElection, ms: number): Promise<void> {
  for (const end = server.ms + ms; server.ms < end;) {
    server.pass(retryMs);
    await election.attempt();
  }
}

test("the first to come creates the Lease and leads, with client-go's fields", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  assert.equal(a.leading(), false);
  await a.attempt();
  assert.equal(a.leading(), true);
  assert.equal(a.holder, "a");
  const time = "2026-11-21T00:16:40.000000Z";
  assert.deepEqual(server.spec, {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  });
});

test("of two that create it one leads, and the other has nothing to complain about", async () => {
  const server = new LeaseServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  await Promise.all([a.attempt(), b.attempt()]);
  assert.deepEqual([a.leading(), b.leading()], [true, false]);
  assert.equal(b.holder, "a");
  assert.deepEqual(b.log.messages("warn"), []);
});

test("a renewal moves nothing but its time", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  const before = server.spec;
  server.pass(retryMs);
  await a.attempt();
  assert.deepEqual(server.spec, { ...before, renewTime: "2026-11-21T00:16:42.000000Z" });
  assert.equal(server.writes, 2);
});

test("no other candidate leads while the Lease is renewed, however long", async () => {
  const server = new LeaseServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  await a.attempt();
  for (let n = 0; n < 100; n++) {
    server.pass(retryMs);
    await a.attempt();
    await b.attempt();
    assert.deepEqual([a.leading(), b.leading()], [true, false]);
  }
  assert.equal(b.holder, "a");
});

test("a Lease that is not renewed is taken when it has been seen so for its whole duration", async () => {
  const server = new LeaseServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  await a.attempt();
  server.pass(leaseMs); // no candidate looked: it may have been renewed until just now
  await b.attempt();
  assert.equal(b.leading(), false);
  server.pass(leaseMs - 1);
  await b.attempt();
  assert.equal(b.leading(), false);
  server.pass(1);
  await b.attempt();
  assert.equal(b.leading(), true);
  const { holderIdentity, leaseTransitions, acquireTime, renewTime } = server.spec;
  assert.deepEqual([holderIdentity, leaseTransitions, acquireTime], ["b", 1, renewTime]);
});

test("the times in the Lease are not believed: clocks differ", async () => {
  for (const renewTime of ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z", "soon", undefined]) {
    const server = new LeaseServer();
    const [a, b] = [candidate(server, "a"), candidate(server, "b")];
    await a.attempt();
    server.edit({ renewTime });
    await b.attempt();
    assert.equal(b.leading(), false, `${renewTime}`);
    server.pass(leaseMs);
    await b.attempt();
    assert.equal(b.leading(), true, `${renewTime}`);
  }
});

test("the duration that counts is the holder's", async () => {
  const server = new LeaseServer();
  const patient = candidate(server, "a", { tuning: { leaseMs: 60_000, renewMs: 40_000 } });
  const b = candidate(server, "b");
  await patient.attempt();
  await b.attempt();
  server.pass(59_999);
  await b.attempt();
  assert.equal(b.leading(), false);
  server.pass(1);
  await b.attempt();
  assert.equal(b.leading(), true);
});

test("a leader that cannot renew stops leading before another one can begin, and logs it", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  server.fault = "refused";
  server.pass(renewMs - 1);
  await a.attempt();
  assert.equal(a.leading(), true);
  server.pass(1);
  assert.equal(a.leading(), false, "also without an attempt: time alone ends it");
  await a.attempt();
  assert.deepEqual(a.log.messages("warn"), ["Cannot get or renew the lease", "Not leading any more"]);
  server.fault = "none";
  await a.attempt();
  assert.equal(a.leading(), true, "no other candidate has taken it");
  assert.equal(server.spec["leaseTransitions"], 0);
});

test("the time of a renewal counts from when it was sent", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  server.latency[1] = 4_000;
  await a.attempt();
  server.pass(renewMs - 4_000);
  assert.equal(a.leading(), false);
});

test("a Lease that another candidate has taken is lost at once", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  server.edit({ holderIdentity: "b" });
  await a.attempt();
  assert.equal(a.leading(), false);
  assert.equal(a.holder, "b");
});

test("an edit of the Lease by a client that is not a candidate ends nothing", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  server.edit();
  server.pass(retryMs);
  await a.attempt();
  assert.equal(a.leading(), true);
  await renewFor(server, a, 3 * leaseMs);
  assert.equal(a.leading(), true);
  assert.deepEqual(a.log.messages("warn"), []);
});

test("edits that renew nothing do not keep a dead leader's Lease", async () => {
  const server = new LeaseServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  await a.attempt();
  await b.attempt();
  for (let waited = 0; waited < leaseMs; waited += retryMs) {
    server.pass(retryMs);
    server.edit();
    await b.attempt();
  }
  assert.equal(b.leading(), true);
});

test("a renewal whose answer was lost is found again", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  server.fault = "answer lost";
  await a.attempt();
  assert.equal(a.leading(), false);
  server.fault = "none";
  await a.attempt();
  assert.equal(a.leading(), true);
  server.fault = "answer lost";
  server.pass(retryMs);
  await a.attempt();
  server.fault = "none";
  await renewFor(server, a, leaseMs);
  assert.equal(a.leading(), true);
});

test("a Lease that was deleted is made again", async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a");
  await a.attempt();
  server.lease = undefined;
  await renewFor(server, a, 2 * retryMs);
  assert.equal(server.spec["holderIdentity"], "a");
  assert.equal(a.leading(), true);
});

for (const spec of [{}, { holderIdentity: "" }, { holderIdentity: 7 }, { holderIdentity: null }]) {
  test(`a Lease with ${JSON.stringify(spec)} has no holder`, async () => {
    const server = new LeaseServer();
    await candidate(server, "a").attempt();
    server.lease = undefined;
    await server.client.create(assert.fail as never, { metadata: LEASE, spec } as never);
    const b = candidate(server, "b");
    await b.attempt();
    assert.equal(b.leading(), true);
  });
}

test("another candidate takes a released Lease at its next try", async () => {
  const server = new LeaseServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  await a.attempt();
  await b.attempt();
  await a.release();
  assert.equal(a.leading(), false);
  assert.equal(server.spec["holderIdentity"], "");
  await b.attempt();
  assert.equal(b.leading(), true);
  await a.release();
  assert.equal(server.spec["holderIdentity"], "b", "what is not ours is not given back");
});

test("run renews until it is stopped, and gives the Lease back", { timeout: 10_000 }, async () => {
  const server = new LeaseServer();
  const a = candidate(server, "a", { tuning: { retryMs: 5 }, now: () => performance.now() });
  const stop = new AbortController();
  const running = a.run(stop.signal);
  const renewals = Promise.withResolvers<void>();
  server.onTick = () => void (server.writes > 4 && renewals.resolve());
  await renewals.promise;
  assert.equal(a.leading(), true);
  stop.abort();
  await running;
  assert.equal(a.leading(), false);
  assert.equal(server.spec["holderIdentity"], "");
});

test("a request that is never answered does not stop the tries", { timeout: 10_000 }, async () => {
  const server = new LeaseServer();
  let gets = 0;
  const get: typeof server.client.get = async (...args) => {
    gets += 1;
    return await (gets === 1 ? new Promise<never>(() => undefined) : server.client.get(...args));
  };
  const tuning = { leaseMs: 150, renewMs: 100, retryMs: 5 };
  const a = candidate(server, "a", { client: { ...server.client, get }, tuning });
  await a.attempt();
  await a.attempt();
  assert.equal(a.leading(), true);
  assert.match(JSON.stringify(a.log.lines), /"reason":"Timeout"/);
});

test("without permission it says once what to grant", async () => {
  const server = new LeaseServer();
  const get = async (): Promise<never> =>
    await Promise.reject(new KubeError("no", { code: 403, reason: "Forbidden" }));
  const a = candidate(server, "a", { client: { ...server.client, get } });
  for (let n = 0; n < 3; n++) await a.attempt();
  assert.deepEqual(a.log.messages("warn"), ["Cannot get or renew the lease"]);
  assert.match(
    JSON.stringify(a.log.lines),
    /grant get, create and patch on leases\.coordination\.k8s\.io in namespace hookpolicy-system/,
  );
});

test("candidates do not ask together", { timeout: 10_000 }, async () => {
  const server = new LeaseServer();
  const asked: number[] = [];
  const get: typeof server.client.get = async (...args) => {
    asked.push(performance.now());
    return await server.client.get(...args);
  };
  await candidate(server, "a").attempt();
  const stop = new AbortController();
  const draws = [0, 0.5, 0.9];
  const random = (): number => draws.shift() ?? (stop.abort(), 0);
  await candidate(server, "b", { client: { ...server.client, get }, random, tuning: { retryMs: 20 } }).run(
    stop.signal,
  );
  const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
  assert.equal(gaps.length, 3);
  for (const [index, atLeast] of [20, 32, 41].entries())
    assert.ok((gaps[index] ?? 0) >= atLeast - 2, gaps.join());
});
