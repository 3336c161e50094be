/** What users see of HookPolicy beside other extensions (docs/compatibility.md). */

import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { Ref } from "../controlplane/client.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  policyRow,
  noRow,
  policyRef,
  statusOf,
} from "../controlplane/policies.ts";
import { startTinyExtension, type TinyExtension } from "../controlplane/tiny-extension.ts";
import { hookpolicy } from "../unit/cli/program.ts";
import { askedAgain, type SharedFleet, sharedFleet, topologySays } from "./fleet.ts";

const HOOK = "BeforeClusterDelete";
const NAME = "c1";

describe("beside another extension", () => {
  let fleet: SharedFleet;
  before(async () => {
    fleet = await sharedFleet();
  });
  after(async () => await fleet?.cp.stop());

  async function startOther(t: TestContext, namespace: string): Promise<TinyExtension> {
    const { cp } = fleet;
    const extension = await startTinyExtension(cp.authority);
    t.after(async () => {
      await cp.delete(extensionRef(namespace));
      extension.stop();
    });
    await registerExtension(cp, {
      name: namespace,
      url: `https://127.0.0.1:${extension.port}/`,
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    });
    return extension;
  }

  async function createProtected(namespace: string, hook: HookName): Promise<Ref> {
    const { cp } = fleet;
    const policy = policyRef(namespace, "protect");
    await applyPolicy(cp, policy, { rules: [approvalRule(hook)] });
    await createCluster(cp, { namespace, name: NAME });
    await provision(cp, namespace, NAME);
    return policy;
  }

  async function deleteProtected(namespace: string): Promise<Ref> {
    const policy = await createProtected(namespace, HOOK);
    await deleteCluster(fleet.cp, namespace, NAME);
    return policy;
  }

  test("whose Failure ends each round, the condition names that alone, and an approval releases nothing", async (t) => {
    const namespace = "beside-failure";
    const { cp } = fleet;
    const other = await startOther(t, namespace);
    other.fail(HOOK, "still cleaning up");
    const policy = await deleteProtected(namespace);
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
    const { cp } = fleet;
    const other = await startOther(t, namespace);
    other.fail("BeforeClusterUpgrade", "still checking");
    const policy = await createProtected(namespace, "BeforeClusterUpgrade");
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
    const { cp } = fleet;
    const other = await startOther(t, namespace);
    let worked = 0;
    other.doFirst(HOOK, async () => void (worked += 1));
    const policy = await deleteProtected(namespace);
    await policyRow(cp, policy, NAME, HOOK);
    await askedAgain(fleet, `${namespace}/${NAME}`, HOOK);
    assert.ok(worked > 0);
    await approve(cp, namespace, NAME);
    await waitUntilGone(cp, namespace, NAME);
  });
});
