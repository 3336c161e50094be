/** A version that is too long for a rollout's status, on a real API server: the status is written all the same. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { applyRollout, rolloutStatus } from "../capi/rollout-fleet.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { beginUpgrade, showHeld, startLab } from "./operator-lab.ts";

/** Cluster API takes 256 characters. */
const LONG = `${NEXT_VERSION}+${"a".repeat(256 - NEXT_VERSION.length - 1)}`;
const HOOK = "BeforeClusterUpgrade";
const ROLLOUT = "versions";

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;

test("a Cluster with such a version is held, and does not keep a rollout from its failures and edits", async () => {
  const says = async (): Promise<unknown> => {
    const { conditions = [], held = [], failed = [], observedGeneration } = await rolloutStatus(cp, ROLLOUT);
    const halted = conditions.find(({ type }) => type === "Halted")?.status;
    return {
      halted,
      held: held.map(({ name, reason }) => [name, reason]),
      failed: failed.map(({ name, reason }) => [name, reason]),
      observedGeneration,
    };
  };
  const saysSoon = async (wanted: object): Promise<void> => {
    await cp.waitFor(`the status to say ${JSON.stringify(wanted)}`, async () => {
      return JSON.stringify(await says()) === JSON.stringify(wanted);
    });
  };
  await applyRollout(cp, ROLLOUT, ROLLOUT, {});
  await createCluster(cp, { namespace: ROLLOUT, name: "begins", version: NEXT_VERSION });
  await lab.releases("a release", HOOK, ROLLOUT, "begins");
  await beginUpgrade(cp, ROLLOUT, "begins");
  await cp.waitFor("the upgrade to be seen", async () => {
    return (await rolloutStatus(cp, ROLLOUT)).running?.[0]?.markedAt !== undefined;
  });
  const long = await createCluster(cp, { namespace: ROLLOUT, name: "long", version: LONG });
  await showHeld(cp, HOOK, long);
  const held = [["long", "InvalidVersion"]];
  await saysSoon({ halted: "False", held, failed: [], observedGeneration: 1 });
  assert.notEqual((await lab.ask(HOOK, ROLLOUT, "long")).retryAfterSeconds, 0);

  await cp.patch(clusterRef(ROLLOUT, "begins"), { spec: { topology: { version: LONG } } });
  const failed = [["begins", "VersionChanged"]];
  await cp.waitFor("the rollout to halt", async () =>
    JSON.stringify(await says()).includes("VersionChanged"),
  );
  await applyRollout(cp, ROLLOUT, ROLLOUT, { maxConcurrency: 2 });
  await saysSoon({ halted: "True", held: [["long", "Halted"]], failed, observedGeneration: 2 });
});
