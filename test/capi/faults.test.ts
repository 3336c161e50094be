/** Whatever happens to the operator or to its way to the API server: a Cluster that a policy holds stays. */

import assert from "node:assert/strict";
import test, { after, afterEach, describe } from "node:test";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  provision,
  topologyMessage,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import {
  approvalRule,
  approve,
  policyRow,
  policyIsReady,
  policyRef,
  statusOf,
  storePolicy,
} from "../controlplane/policies.ts";
import { askedAgain, behindProxy, heldCluster, restartOperator, startFleet } from "./fleet.ts";

const fleet = await startFleet();
const proxy = await behindProxy(fleet);
after(async () => {
  await fleet.cp.stop();
  await proxy.stop();
});

describe("a held Cluster stays", () => {
  afterEach(() => proxy.resume());

  /** A Cluster with a deletion that the policy holds. */
  async function held(namespace: string): Promise<void> {
    await heldCluster(fleet.cp, namespace);
    await asked(namespace);
  }

  async function asked(namespace: string): Promise<void> {
    await fleet.cp.waitFor("Cluster API to have asked", async () =>
      (await topologyMessage(fleet.cp, namespace, "c1")).includes("BeforeClusterDelete: HookPolicy"),
    );
  }

  /** Cluster API asks again, and the Cluster is still there. */
  async function stays(namespace: string, asks = 2): Promise<void> {
    await askedAgain(fleet, `${namespace}/c1`, "BeforeClusterDelete", asks);
    assert.ok(await fleet.cp.find(clusterRef(namespace, "c1")), "the Cluster is still there");
  }

  test("while the operator is killed and started again", async () => {
    await held("killed");
    const kubeconfig = await fleet.cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
    for (let kill = 0; kill < 3; kill += 1) {
      await restartOperator(fleet, { kubeconfig }, "SIGKILL");
      await stays("killed", 1);
    }
    const policy = await fleet.cp.get(policyRef("killed", "protect"));
    assert.equal(statusOf(policy).blocked, 1);
    await approve(fleet.cp, "killed", "c1");
    await waitUntilGone(fleet.cp, "killed", "c1");
  });

  test("while the API server is away for 20 s, and goes when it should afterwards", async () => {
    await held("outage");
    const { cp } = fleet;
    await cp.apiServer.stop("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    await cp.apiServer.start();
    await stays("outage");
    await approve(cp, "outage", "c1");
    await waitUntilGone(cp, "outage", "c1");
  });

  test("when its policy appears while the operator's watches are stalled", async () => {
    const { cp, operator } = fleet;
    await createCluster(cp, { namespace: "stalled", name: "c1" });
    await provision(cp, "stalled", "c1");
    const unconfirmed = async (): Promise<number> =>
      await operator.metric("hookpolicy_unconfirmed_releases_total");
    const earlier = await unconfirmed();
    proxy.stallWatches();
    await storePolicy(cp, policyRef("stalled", "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    await deleteCluster(cp, "stalled", "c1");
    await cp.waitFor("the release not to be confirmed", async () => (await unconfirmed()) > earlier);
    await stays("stalled");
    // It heals without the watch of policies: what could not be confirmed made the operator list them again.
    await policyIsReady(cp, await cp.get(policyRef("stalled", "protect")));
    proxy.resume();
    await policyRow(cp, policyRef("stalled", "protect"), "c1", "BeforeClusterDelete");
    await approve(cp, "stalled", "c1");
    await waitUntilGone(cp, "stalled", "c1");
  });

  test("while the operator may read nothing", async () => {
    const { cp } = fleet;
    await held("blind");
    proxy.failAll(403);
    await approve(cp, "blind", "c1");
    await cp.waitFor("Cluster API to say why", async () =>
      /could not confirm the decision/.test(await topologyMessage(cp, "blind", "c1")),
    );
    await stays("blind");
    proxy.resume();
    await waitUntilGone(cp, "blind", "c1");
  });

  test("when Cluster API is restarted, which forgets when it may ask again", async () => {
    await held("restarted");
    await fleet.capi.restart();
    await stays("restarted");
    await approve(fleet.cp, "restarted", "c1");
    await waitUntilGone(fleet.cp, "restarted", "c1");
  });
});
