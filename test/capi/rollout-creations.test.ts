/** The creation of a Cluster under a HookRollout and the real Cluster API. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { clusterRef, createCluster, provision } from "../controlplane/lab.ts";
import { startWaitingWebhook } from "../controlplane/waiting-webhook.ts";
import { askedAgain, isCreated, isNotCreated, sharedFleet, topologySays } from "./fleet.ts";
import { applyRollout, isPending, rolloutStatus, waitForRollout } from "./rollout-fleet.ts";

const MARK = "AfterControlPlaneInitialized";

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => await cp.stop());

describe("a creation", () => {
  // Cluster API 1.14 takes its mark away with the write that creates the Cluster, and sets it again when the reconcile ends.
  test("keeps its slot while its mark is away, until its control plane is initialized", async (t) => {
    const namespace = "creations-gap";
    const gap = Promise.withResolvers<void>();
    const close = Promise.withResolvers<void>();
    const hasBegunInTheStatus = async (): Promise<boolean> =>
      (await rolloutStatus(cp, namespace)).running?.some(({ markedAt }) => markedAt !== undefined) === true;
    const webhook = await startWaitingWebhook(cp, namespace, async (was, now) => {
      if (now.metadata.name !== "c1") return;
      if (hasReferences(was) && !isPending(was, MARK) && isPending(now, MARK)) {
        await cp.waitFor("the status to follow", hasBegunInTheStatus);
        gap.resolve();
        await close.promise;
      }
    });
    t.after(async () => await webhook.stop());

    await applyRollout(cp, namespace, namespace, { operation: "Create" });
    await createCluster(cp, { namespace, name: "c1" });
    await isCreated(cp, namespace, "c1");
    await createCluster(cp, { namespace, name: "c2" });
    await gap.promise;
    assert.ok(!isPending(await cp.get(clusterRef(namespace, "c1")), MARK));
    await askedAgain(fleet, `${namespace}/c2`, "BeforeClusterCreate");
    await isNotCreated(cp, namespace, "c2");
    close.resolve();

    await topologySays(cp, namespace, "c2", /HookRollout creations-gap: waits for a free slot/);
    await provision(cp, namespace, "c1");
    await waitForRollout({ cp, name: namespace }, "c2 to be created", async () =>
      hasReferences(await cp.get(clusterRef(namespace, "c2"))),
    );
  });

  test("has not begun because a tenant wrote its mark: it takes no slot so, and passes by none", async () => {
    const namespace = "creations-mark";
    await applyRollout(cp, namespace, namespace, { operation: "Create", paused: true });
    await createCluster(cp, { namespace, name: "forged", annotations: { [PENDING_HOOKS_ANNOTATION]: MARK } });
    await topologySays(cp, namespace, "forged", /HookRollout creations-mark: is paused/);
    await waitForRollout({ cp, name: namespace }, "it to wait", async () => {
      const { summary, running } = await rolloutStatus(cp, namespace);
      return summary?.waiting === 1 && running === undefined;
    });

    await applyRollout(cp, namespace, namespace, { operation: "Create", maxConcurrency: 0 });
    await topologySays(cp, namespace, "forged", /HookRollout creations-mark: waits for a free slot/);
    await askedAgain(fleet, `${namespace}/forged`, "BeforeClusterCreate");
    await isNotCreated(cp, namespace, "forged");
    await applyRollout(cp, namespace, namespace, { operation: "Create", maxConcurrency: 1 });
    await isCreated(cp, namespace, "forged");
    assert.deepEqual(
      (await rolloutStatus(cp, namespace)).running?.map(({ name, claimed }) => [name, claimed]),
      [["forged", true]],
    );
  });
});

function hasReferences({ spec }: KubeObject): boolean {
  return spec.infrastructureRef !== undefined;
}
