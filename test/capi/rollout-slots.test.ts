/** Slots that are not used, or whose Cluster goes away, under the real Cluster API: they are given back. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { HookRolloutStatus } from "../../src/api/hook-policy.ts";
import { OK_TO_DELETE_ANNOTATION } from "../../src/api/meta.ts";
import { ApiError, type Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  topologyMessage,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { CLUSTER_API } from "../controlplane/lab-kinds.ts";
import { storeOverride } from "../controlplane/policies.ts";
import { note } from "../controlplane/waits.ts";
import { askedAgain, extensionBeside, isCreated, sharedFleet, topologySays } from "./fleet.ts";
import { applyRollout, createFleet, FleetObserver, rolloutStatus, waitForRollout } from "./rollout-fleet.ts";

const UPGRADE = "BeforeClusterUpgrade";

const fleet = await sharedFleet();
after(async () => await fleet.cp.stop());

describe("a slot is given back", { concurrency: true }, () => {
  test("three minutes after another extension has held the Cluster all the same", async (t) => {
    const { cp } = fleet;
    const [vetoed, other] = ["vetoed", "behind-a-veto"];
    await createFleet(cp, vetoed, [
      { wave: "vetoed", count: 1 },
      { wave: "next", count: 1, namespace: other },
    ]);
    const extension = await extensionBeside(t, cp, vetoed);
    extension.hold(UPGRADE, "not today");
    await applyRollout(cp, "vetoed", [vetoed, other], {});
    const observer = new FleetObserver(cp, vetoed, other);
    observer.run({ upgradeMs: 500 });
    t.after(async () => await observer.stop());

    await upgrade(cp, vetoed, "vetoed-0");
    await waitForRollout({ cp, name: "vetoed" }, "vetoed-0 to have the slot", async () => {
      const { running = [] } = await rolloutStatus(cp, "vetoed");
      return running.some(
        ({ name, claimed, markedAt }) => name === "vetoed-0" && claimed && markedAt === undefined,
      );
    });
    await upgrade(cp, other, "next-0");
    await topologySays(cp, other, "next-0", /HookRollout vetoed: waits for a free slot/);
    // Cluster API joins what its extensions say in no order.
    // It says so a minute after it took the slot.
    await waitForRollout(
      { cp, name: "vetoed" },
      "vetoed-0 to say that it had its slot",
      async () => {
        const message = await topologyMessage(cp, vetoed, "vetoed-0");
        return /had a slot and did not begin/.test(message) && /not today/.test(message);
      },
      180_000,
    );
    // Where next-0 does not begin within a minute of its slot, vetoed-0 has the slot for another four minutes.
    const hasBegun = async (): Promise<boolean> => {
      const messages = [topologyMessage(cp, vetoed, "vetoed-0"), topologyMessage(cp, other, "next-0")];
      const told = await Promise.all(messages);
      note(() => told.join(" / "));
      return observer.begun.length > 0;
    };
    await waitForRollout({ cp, name: "vetoed" }, "next-0 to begin", hasBegun, 1_200_000);
    extension.allow(UPGRADE);
    await waitForRollout(
      { cp, name: "vetoed" },
      "both to be upgraded",
      () => observer.ends.size === 2,
      240_000,
    );
    assert.deepEqual([observer.begun, observer.most], [["next-0", "vetoed-0"], 1]);
  });

  test("when its Cluster is deleted while it is upgraded", async (t) => {
    const { cp } = fleet;
    const namespace = "deleted-upgrade";
    await createFleet(cp, namespace, [{ wave: "gone", count: 2 }]);
    await applyRollout(cp, namespace, namespace, {});
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 500, stuck: ["gone-0"] });
    t.after(async () => await observer.stop());
    await upgrade(cp, namespace, "gone-0");
    await waitForRollout({ cp, name: namespace }, "gone-0 to begin", () => observer.begun.length > 0);
    await upgrade(cp, namespace, "gone-1");
    await topologySays(cp, namespace, "gone-1", /HookRollout deleted-upgrade: waits for a free slot/);
    await deleteCluster(cp, namespace, "gone-0");
    await waitForRollout({ cp, name: namespace }, "gone-1 to be upgraded", () => observer.ends.has("gone-1"));
    await waitUntilGone(cp, namespace, "gone-0");
    await waitForRollout({ cp, name: namespace }, "the status to have forgotten it", async () => {
      const { running = [], failed = [], summary } = await rolloutStatus(cp, namespace);
      return running.length + failed.length === 0 && summary?.succeeded === 1;
    });
    assert.deepEqual([observer.begun, observer.most], [["gone-0", "gone-1"], 1]);
  });

  test("when a deletion has ended; an override needs none, and no Cluster does when the rollout is gone", async () => {
    const { cp } = fleet;
    const namespace = "deletions";
    const names = ["gone-0", "gone-1", "gone-2", "gone-3"];
    const begun = async (): Promise<readonly string[]> => {
      const clusters = await cp.list({ apiVersion: CLUSTER_API, kind: "Cluster", namespace });
      return clusters
        .filter(({ metadata }) => metadata.annotations?.[OK_TO_DELETE_ANNOTATION] !== undefined)
        .map(({ metadata }) => metadata.name);
    };
    const another = async (...others: readonly string[]): Promise<string> =>
      await cp.waitFor(`another deletion than ${others.join()} to begin`, async () =>
        (await begun()).find((name) => !others.includes(name)),
      );
    const waiting = (...others: readonly string[]): string =>
      names.find((name) => !others.includes(name)) ?? assert.fail("all have begun");

    for (const name of names) await createCluster(cp, { namespace, name });
    await applyRollout(cp, namespace, namespace, { operation: "Delete", paused: true });
    await waitForRollout({ cp, name: namespace }, "it to be Ready", async () =>
      isReady(await rolloutStatus(cp, namespace)),
    );
    for (const name of names) {
      await isCreated(cp, namespace, name);
      await keep(cp, clusterRef(namespace, name));
      await deleteCluster(cp, namespace, name);
    }
    for (const name of names) await topologySays(cp, namespace, name, /HookRollout deletions: is paused/);
    assert.deepEqual(await begun(), []);

    await applyRollout(cp, namespace, namespace, { operation: "Delete", paused: false });
    const first = await another();
    const second = waiting(first);
    await topologySays(cp, namespace, second, /HookRollout deletions: waits for a free slot/);
    const override = await storeOverride(cp, namespace, {
      clusterRef: { namespace, name: second },
      hooks: ["BeforeClusterDelete"],
      policyRefs: [{ kind: "HookRollout", name: namespace }],
    });
    assert.equal(await another(first), second);
    const used = await cp.waitFor(
      "the use to be recorded",
      async () => (await cp.get(override))["status"]?.used,
    );
    assert.deepEqual(used[0].policies, [`HookRollout ${namespace}`]);

    // It counts as running all the same.
    await end(cp, clusterRef(namespace, first));
    await waitUntilGone(cp, namespace, first);
    await askedAgain(fleet, `${namespace}/${waiting(first, second)}`, "BeforeClusterDelete");
    assert.deepEqual(await begun(), [second]);
    await end(cp, clusterRef(namespace, second));
    const third = await another(first, second);
    assert.deepEqual(await begun(), [third]);

    await cp.delete({ apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", name: namespace });
    const last = await another(first, second, third);
    for (const name of [third, last]) await end(cp, clusterRef(namespace, name));
    for (const name of names) await waitUntilGone(cp, namespace, name);
  });
});

const KEPT = "example.com/keep";

/** Its deletion takes until the test ends it. */
async function keep(cp: ControlPlane, ref: Ref): Promise<void> {
  const { finalizers = [] } = (await cp.get(ref)).metadata;
  await cp.patch(ref, { metadata: { finalizers: [...finalizers, KEPT] } });
}

/** Cluster API removes its own finalizer at the same time. */
async function end(cp: ControlPlane, ref: Ref): Promise<void> {
  await cp.waitFor(`${ref.name} to be released`, async () => {
    const { finalizers = [], resourceVersion } = (await cp.get(ref)).metadata;
    const metadata = { resourceVersion, finalizers: finalizers.filter((each) => each !== KEPT) };
    return await cp.patch(ref, { metadata }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ApiError && error.code === 409) return false;
        throw error;
      },
    );
  });
}

function isReady({ conditions = [] }: HookRolloutStatus): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
