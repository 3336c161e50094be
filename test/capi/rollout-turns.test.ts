/** Namespaces under one HookRollout and the real Cluster API: they take turns, and can be limited each for itself. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { upgrade } from "../controlplane/lab.ts";
import { sharedFleet } from "./fleet.ts";
import { applyRollout, createFleet, FleetObserver, rolloutStatus, waitForRollout } from "./rollout-fleet.ts";

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => await cp.stop());

describe("namespaces", { concurrency: true }, () => {
  /** Of `large-0`. */
  const waveOf = (name: string): string => name.split("-")[0] ?? "";

  test("take turns, however many Clusters one of them has that were asked about first", async (t) => {
    const [large, small] = ["turns-large", "turns-small"];
    await createFleet(cp, large, [
      { wave: "large", count: 3 },
      { wave: "small", count: 2, namespace: small },
    ]);
    await applyRollout(cp, "turns", [large, small], { maxConcurrency: 0 });
    const waiting = (count: number) => async (): Promise<boolean> =>
      (await rolloutStatus(cp, "turns")).next?.length === count;
    for (const index of [0, 1, 2]) await upgrade(cp, large, `large-${index}`);
    await waitForRollout({ cp, name: "turns" }, "the large one to wait", waiting(3));
    for (const index of [0, 1]) await upgrade(cp, small, `small-${index}`);
    await waitForRollout({ cp, name: "turns" }, "both to wait", waiting(5));

    const observer = new FleetObserver(cp, large, small);
    observer.run({ upgradeMs: 500 });
    t.after(async () => await observer.stop());
    await applyRollout(cp, "turns", [large, small], { maxConcurrency: 1, retryAfterSeconds: 10 });
    const areDone = (): boolean => observer.ends.size === 5;
    await waitForRollout({ cp, name: "turns" }, "all to be upgraded", areDone, 600_000);
    assert.deepEqual(observer.begun.map(waveOf), ["large", "small", "large", "small", "large"]);
    const { turns } = await rolloutStatus(cp, "turns");
    assert.deepEqual(turns, [small, large]);
  });

  test("have a limit each where slots are spread over the name of the Namespace", async (t) => {
    const [one, other] = ["tenant-one", "tenant-other"];
    await createFleet(cp, one, [
      { wave: "one", count: 2 },
      { wave: "other", count: 2, namespace: other },
    ]);
    await applyRollout(cp, "tenants", [one, other], {
      maxConcurrency: 4,
      spread: [{ labelKey: "kubernetes.io/metadata.name", from: "Namespace", maxConcurrency: 1 }],
    });
    const observer = new FleetObserver(cp, one, other);
    const both = Promise.withResolvers<void>();
    observer.run({ upgradeMs: 500, from: both.promise });
    t.after(async () => await observer.stop());
    for (const index of [0, 1]) {
      await upgrade(cp, one, `one-${index}`);
      await upgrade(cp, other, `other-${index}`);
    }
    const runBoth = (): boolean => observer.most === 2;
    await waitForRollout({ cp, name: "tenants" }, "one of each to run", runBoth);
    both.resolve();
    const areDone = (): boolean => observer.ends.size === 4;
    await waitForRollout({ cp, name: "tenants" }, "all to be upgraded", areDone, 600_000);
    for (const { running } of observer.sights)
      for (const wave of ["one", "other"])
        assert.ok(running.filter((each) => each.wave === wave).length <= 1, wave);
  });
});
