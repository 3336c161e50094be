/** Two replicas and one Lease, under the shipped Role. Each has a way of its own to the API server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Ref, objectOf } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { installHookPolicy, NAMESPACE, type Operator, startOperator } from "../controlplane/operator.ts";
import { type Proxy, startProxy } from "../controlplane/proxy.ts";
import { shiftedClock } from "../controlplane/shifted-clock.ts";
import { asClusterApi } from "./operator-lab.ts";
import { approvalRule, policyRow, policyRef, statusOf } from "../controlplane/policies.ts";

const HOOK = "BeforeClusterUpgrade";
const LEASE: Ref = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
const LEASES = /\/leases\b/;

interface Replica {
  readonly operator: Operator;
  readonly proxy: Proxy;
}

let cp: ControlPlane;
const replicas: Replica[] = [];
const proxies: Proxy[] = [];

async function startReplica(name: string, nodeFlags: readonly string[] = []): Promise<Replica> {
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  proxies.push(proxy);
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
  const flags = { "leader-elect": "true" };
  const operator = asClusterApi(cp, await startOperator(cp, { kubeconfig, name, flags, nodeFlags }));
  const replica = { operator, proxy };
  replicas.push(replica);
  return replica;
}

const leads = async ({ operator }: Replica): Promise<boolean> =>
  (await operator.metric("hookpolicy_leader")) === 1;

async function theLeader(): Promise<Replica> {
  return await cp.waitFor("exactly one replica to lead", async () => {
    const leading = await Promise.all(replicas.map(leads));
    const [leader, ...others] = replicas.filter((_, index) => leading[index]);
    return others.length === 0 && leader;
  });
}

async function end(replica: Replica, signal: NodeJS.Signals): Promise<void> {
  replicas.splice(replicas.indexOf(replica), 1);
  await replica.operator.daemon.stop(signal);
}

before(async () => {
  cp = await startControlPlane({ seed: "cluster" });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  await createClusters();
  await Promise.all([startReplica("replica-1"), startReplica("replica-2")]);
});
after(async () => {
  await cp?.stop();
  await Promise.all(proxies.map((proxy) => proxy.stop()));
});

const POLICY = policyRef("team-a", "protect");

/** They are held from the first second of an operator on. */
async function createClusters(): Promise<void> {
  for (const name of ["c1", "c2"])
    await createCluster(cp, { namespace: "team-a", name, version: NEXT_VERSION });
  await cp.apply(objectOf(POLICY, { spec: { rules: [approvalRule(HOOK)] } }));
}

async function ask({ operator }: Replica, name: string): Promise<number | undefined> {
  const { status: _, ...cluster } = await cp.get(clusterRef("team-a", name));
  const request = { cluster, fromKubernetesVersion: NEXT_VERSION, toKubernetesVersion: NEXT_VERSION };
  return (await operator.ask(HOOK, request)).retryAfterSeconds;
}

test("one of two replicas holds the Lease", async () => {
  const leader = await theLeader();
  const { spec } = await cp.get(LEASE);
  const lines = leader.operator.lines().filter(({ msg }) => msg.startsWith("Leading"));
  assert.deepEqual(
    lines.map(({ identity }) => identity),
    [spec.holderIdentity],
  );
  assert.equal(spec.leaseDurationSeconds, 15);
  for (const { operator } of replicas) {
    assert.deepEqual(
      operator.lines().filter(({ msg }) => /lease/.test(msg)),
      [],
    );
  }
});

test("calls of every replica reach the status", async () => {
  const [first, second] = replicas;
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(await ask(first, "c1"), 5);
  assert.equal(await ask(second, "c2"), 5);
  await policyRow(cp, POLICY, "c1", HOOK);
  await policyRow(cp, POLICY, "c2", HOOK);
  await cp.waitFor("both to be counted", async () => statusOf(await cp.get(POLICY)).blocked === 2);
});

test("a leader that cannot renew steps down, answers, and writes what it is asked", async () => {
  const leader = await theLeader();
  const { spec: held } = await cp.get(LEASE);
  leader.proxy.failAll(503, LEASES);
  const next = await cp.waitFor("the other to lead", async () => {
    const other = replicas.find((each) => each !== leader);
    return other !== undefined && (await leads(other)) && other;
  });
  assert.equal(await leads(leader), false);
  const { spec } = await cp.get(LEASE);
  assert.equal(spec.leaseTransitions, (held.leaseTransitions ?? 0) + 1);

  await createCluster(cp, { namespace: "team-a", name: "c3", version: NEXT_VERSION });
  await cp.waitFor("an answer about a Cluster that is known", async () => (await ask(leader, "c3")) === 5);
  await policyRow(cp, POLICY, "c3", HOOK);
  assert.equal((await fetch(`http://127.0.0.1:${leader.operator.ports.health}/readyz`)).status, 200);
  leader.proxy.resume();
  assert.equal(await leads(next), true);
});

test("without the API server it steps down and goes on to hold", async () => {
  const leader = await theLeader();
  leader.proxy.failAll(503);
  leader.proxy.dropConnections();
  await cp.waitFor("it to step down", async () => !(await leads(leader)));
  assert.equal(await ask(leader, "c1"), 5);
  assert.equal((await fetch(`http://127.0.0.1:${leader.operator.ports.health}/readyz`)).status, 200);
  leader.proxy.resume();
  await theLeader();
});

test("a leader that is stopped gives the Lease back, and nobody waits until it ends", async () => {
  const leader = await theLeader();
  const { spec: held } = await cp.get(LEASE);
  await startReplica("replica-3");
  await end(leader, "SIGTERM");
  const { spec } = await cp.get(LEASE);
  assert.notEqual(spec.holderIdentity, held.holderIdentity, "nobody's, or already the next one's");
  assert.ok(leader.operator.lines().some(({ msg }) => msg === "Released the lease"));
  await theLeader();
});

test("a leader that dies is followed when its Lease ends", async () => {
  const leader = await theLeader();
  const { spec: held } = await cp.get(LEASE);
  await end(leader, "SIGKILL");
  await theLeader();
  const { spec } = await cp.get(LEASE);
  assert.notEqual(spec.holderIdentity, held.holderIdentity);
  assert.equal(spec.leaseTransitions, held.leaseTransitions + 1);
});

for (const [which, hours] of [
  ["behind", -2],
  ["ahead", 2],
] as const)
  test(`a leader whose clock is ${which} renews the Lease by the API server's`, async () => {
    const wrong = await startReplica(`replica-${which}`, shiftedClock(hours * 3_600_000));
    const others = replicas.filter((each) => each !== wrong);
    for (const other of others) await end(other, "SIGTERM");
    await theLeader();
    const { spec } = await cp.get(LEASE);
    assert.ok(Math.abs(Date.parse(spec.renewTime) - Date.now()) < 60_000, spec.renewTime);
  });
