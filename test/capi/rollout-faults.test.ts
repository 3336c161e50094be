/** A HookRollout keeps its limits under the real Cluster API while replicas are cut off from changes, and while all is slow. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { installLab, upgrade } from "../controlplane/lab.ts";
import { installHookPolicy, NAMESPACE, startOperator } from "../controlplane/operator.ts";
import { type Proxy, startProxy } from "../controlplane/proxy.ts";
import { applyRollout, createFleet, FleetObserver, rolloutStatus, waitForRollout } from "./rollout-fleet.ts";

describe("a HookRollout keeps its limits", () => {
  let cp: ControlPlane;
  let service: Balancer;
  const proxies: Proxy[] = [];

  before(async () => {
    cp = await startControlPlane({ seed: "clusterApi" });
    await installHookPolicy(cp);
    service = await startBalancer();
    await startReplica("leader");
    await Promise.all([installClusterApi(cp), startReplica("follower")]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: `https://127.0.0.1:${service.port}/` });
  });
  after(async () => {
    await cp?.stop();
    await service?.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  });

  async function startReplica(name: string): Promise<void> {
    const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    proxies.push(proxy);
    const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
    const { ports } = await startOperator(cp, { name, kubeconfig, flags: { "leader-elect": "true" } });
    service.add(ports);
  }

  interface Fleet {
    readonly count: number;
    readonly maxConcurrency: number;
  }

  /** All Clusters of a new fleet go through a rollout; `fail` is called before the first of them is asked for its version. */
  async function upgraded(
    namespace: string,
    { count, maxConcurrency }: Fleet,
    fail: () => void,
    repair: () => Promise<void> = async () => await Promise.resolve(),
  ): Promise<FleetObserver> {
    const names = await createFleet(cp, namespace, [{ wave: "prod", count }]);
    await applyRollout(cp, namespace, namespace, { maxConcurrency });
    await waitForRollout({ cp, name: namespace }, "it to be Ready", async () => {
      const { conditions = [] } = await rolloutStatus(cp, namespace);
      return conditions.some(({ type, status }) => type === "Ready" && status === "True");
    });
    fail();
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 1000 });
    try {
      await Promise.all(names.map((name) => upgrade(cp, namespace, name)));
      await repair();
      await waitForRollout(
        { cp, name: namespace },
        "all to be upgraded",
        () => observer.ends.size === count,
        900_000, // a slot that was not used is given back after three minutes
      );
    } finally {
      await observer.stop();
    }
    return observer;
  }

  test("while a replica hears of no change", async () => {
    const [, follower] = proxies;
    const { most } = await upgraded("stalled", { count: 4, maxConcurrency: 2 }, () =>
      follower?.stallWatches(),
    );
    follower?.resume();
    assert.ok(most <= 2, String(most));
  });

  test("while every answer of the API server comes late", async () => {
    const { most } = await upgraded("slow", { count: 3, maxConcurrency: 1 }, () => {
      for (const proxy of proxies) proxy.delay(300);
    });
    for (const proxy of proxies) proxy.resume();
    assert.equal(most, 1);
  });

  test("while what they store is stored too late to answer", async () => {
    const writes = /^PUT .*\/hookrollouts\/late\/status/;
    const { most } = await upgraded(
      "late",
      { count: 2, maxConcurrency: 1 },
      () => {
        for (const proxy of proxies) {
          proxy.forget();
          proxy.delay(6000, writes);
        }
      },
      async () => {
        await cp.waitFor("writes", () => proxies.some((proxy) => proxy.count(writes) > 1));
        for (const proxy of proxies) proxy.resume();
      },
    );
    assert.equal(most, 1);
  });
});
