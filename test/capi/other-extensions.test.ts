/** What users see of HookPolicy beside other extensions (docs/compatibility.md). */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { clusterRef, deleteCluster, upgrade, waitUntilGone } from "../controlplane/lab.ts";
import { APPROVED, approve, policyRow, noRow, statusOf } from "../controlplane/policies.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import {
  askedAgain,
  extensionBeside,
  heldCluster,
  protectedCluster,
  sharedFleet,
  topologySays,
} from "./fleet.ts";

const HOOK = "BeforeClusterDelete";
const NAME = "c1";

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => await cp.stop());

describe("beside another extension", () => {
  test("whose Failure ends each round, the condition names that alone, and an approval releases nothing", async (t) => {
    const namespace = "beside-failure";
    const other = await extensionBeside(t, cp, namespace);
    other.fail(HOOK, "still cleaning up");
    const policy = await protectedCluster(cp, namespace, HOOK);
    await deleteCluster(cp, namespace, NAME);
    const message = await topologySays(cp, namespace, NAME, /still cleaning up/);
    assert.doesNotMatch(message, /HookPolicy/);
    await policyRow(cp, policy, NAME, HOOK);
    await approve(cp, namespace, NAME);
    await noRow(cp, policy, NAME, HOOK);
    assert.ok(await cp.find(clusterRef(namespace, NAME)));
    other.allow(HOOK);
    await waitUntilGone(cp, namespace, NAME);
  });

  test("whose Failure ends each round of an upgrade, no policy shows the hold, and explain tells it", async (t) => {
    const namespace = "beside-failed-upgrade";
    const other = await extensionBeside(t, cp, namespace);
    other.fail("BeforeClusterUpgrade", "still checking");
    const policy = await protectedCluster(cp, namespace, "BeforeClusterUpgrade");
    await upgrade(cp, namespace, NAME);
    await topologySays(cp, namespace, NAME, /still checking/);
    assert.deepEqual(statusOf(await cp.get(policy)).decisions ?? [], []);
    const where = ["--kubeconfig", cp.adminKubeconfig, `${namespace}/${NAME}`];
    const explained = await hookpolicy(["explain", "--hook", "BeforeClusterUpgrade", ...where]);
    assert.match(explained.stdout, new RegExp(`gate approved: waits[^]*${APPROVED}`), explained.stderr);
    other.allow("BeforeClusterUpgrade");
    await policyRow(cp, policy, NAME, "BeforeClusterUpgrade");
  });

  test("that works in the hook, its work is done while a policy still holds the Cluster", async (t) => {
    const namespace = "beside-work";
    const other = await extensionBeside(t, cp, namespace);
    let worked = 0;
    other.doFirst(HOOK, async () => void (worked += 1));
    await heldCluster(cp, namespace);
    await askedAgain(fleet, `${namespace}/${NAME}`, HOOK);
    assert.ok(worked > 0);
    await approve(cp, namespace, NAME);
    await waitUntilGone(cp, namespace, NAME);
  });
});
