/** Slots that are not used, or whose Cluster goes away, under the real Cluster API: they are given back. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { registerExtension } from "../controlplane/extension.ts";
import { deleteCluster, topologyMessage, upgrade, waitUntilGone } from "../controlplane/lab.ts";
import { startTinyExtension } from "../controlplane/tinyextension.ts";
import { type SharedFleet, sharedFleet, topologySays } from "./fleet.ts";
import { applyRollout, createFleet, FleetObserver, rolloutStatus, waitForRollout } from "./rolloutfleet.ts";

const UPGRADE = "BeforeClusterUpgrade";

describe("a slot is given back", { concurrency: true }, () => {
  let fleet: SharedFleet;
  before(async () => {
    fleet = await sharedFleet();
  });
  after(async () => await fleet?.cp.stop());

  test("three minutes after another extension has held the Cluster all the same", async (t) => {
    const { cp } = fleet;
    const [vetoed, other] = ["vetoed", "behind-a-veto"];
    const extension = await startTinyExtension(cp.authority);
    t.after(() => extension.stop());
    await createFleet(cp, vetoed, [
      { wave: "vetoed", count: 1 },
      { wave: "next", count: 1, namespace: other },
    ]);
    extension.hold(UPGRADE, "not today");
    await registerExtension(cp, {
      name: "veto",
      url: `https://127.0.0.1:${extension.port}/`,
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": vetoed } },
    });
    await applyRollout(cp, "vetoed", [vetoed, other], {});
    const observer = new FleetObserver(cp, vetoed, other);
    observer.run({ upgradeMs: 500 });
    t.after(async () => await observer.stop());

    await upgrade(cp, vetoed, "vetoed-0");
    await waitForRollout(
      { cp, name: "vetoed" },
      "vetoed-0 to have the slot",
      async () => {
        const { running = [] } = await rolloutStatus(cp, "vetoed");
        return running.some(
          ({ name, claimed, markedAt }) => name === "vetoed-0" && claimed && markedAt === undefined,
        );
      },
      120_000,
    );
    await upgrade(cp, other, "next-0");
    await topologySays(cp, other, "next-0", /HookRollout vetoed: waits for a free slot/);
    // Cluster API joins what its extensions say in no order.
    await waitForRollout({ cp, name: "vetoed" }, "vetoed-0 to say that it had its slot", async () => {
      const message = await topologyMessage(cp, vetoed, "vetoed-0");
      return /had a slot and did not begin/.test(message) && /not today/.test(message);
    });
    await waitForRollout({ cp, name: "vetoed" }, "next-0 to begin", () => observer.begun.length > 0, 360_000);
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
    await waitForRollout(
      { cp, name: namespace },
      "gone-0 to begin",
      () => observer.begun.length > 0,
      120_000,
    );
    await upgrade(cp, namespace, "gone-1");
    await topologySays(cp, namespace, "gone-1", /HookRollout deleted-upgrade: waits for a free slot/);
    await deleteCluster(cp, namespace, "gone-0");
    await waitForRollout(
      { cp, name: namespace },
      "gone-1 to be upgraded",
      () => observer.ends.has("gone-1"),
      120_000,
    );
    await waitUntilGone(cp, namespace, "gone-0");
    await waitForRollout({ cp, name: namespace }, "the status to have forgotten it", async () => {
      const { running = [], failed = [], summary } = await rolloutStatus(cp, namespace);
      return running.length + failed.length === 0 && summary?.succeeded === 1;
    });
    assert.deepEqual([observer.begun, observer.most], [["gone-0", "gone-1"], 1]);
  });
});
