/** What users see of HookPolicy beside other extensions (docs/compatibility.md). */

import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { clusterRef, createCluster, deleteCluster, provision, waitUntilGone } from "../controlplane/lab.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  heldRow,
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

  async function deleteProtected(namespace: string): Promise<ReturnType<typeof policyRef>> {
    const { cp } = fleet;
    const policy = policyRef(namespace, "protect");
    await applyPolicy(cp, policy, { rules: [approvalRule(HOOK)] });
    await createCluster(cp, { namespace, name: NAME });
    await provision(cp, namespace, NAME);
    await deleteCluster(cp, namespace, NAME);
    return policy;
  }

  const stored = async (namespace: string): Promise<boolean> =>
    (await fleet.cp.find(clusterRef(namespace, NAME))) !== undefined;

  test("whose Failure ends each round, nothing is released, and no policy shows a hold until it has ended", async (t) => {
    const namespace = "beside-failure";
    const { cp } = fleet;
    const other = await startOther(t, namespace);
    other.fail(HOOK, "still cleaning up");
    const policy = await deleteProtected(namespace);
    await topologySays(cp, namespace, NAME, /still cleaning up/);
    assert.doesNotMatch(await topologySays(cp, namespace, NAME, /./), /HookPolicy/);
    const rows = statusOf(await cp.get(policy)).decisions ?? [];
    assert.deepEqual(rows, []);
    const where = ["--kubeconfig", cp.adminKubeconfig, `${namespace}/${NAME}`];
    const explained = await hookpolicy(["explain", "--hook", HOOK, ...where]);
    assert.match(explained.stdout, new RegExp(`waits[^]*${APPROVED}`), explained.stderr);
    assert.ok(await stored(namespace));

    other.allow(HOOK);
    await heldRow(cp, policy, NAME, HOOK);
    assert.ok(await stored(namespace));
    await approve(cp, namespace, NAME);
    await waitUntilGone(cp, namespace, NAME);
  });

  test("that works in the hook, its work is done while a policy still holds the Cluster", async (t) => {
    const namespace = "beside-work";
    const { cp } = fleet;
    const other = await startOther(t, namespace);
    let worked = 0;
    other.doFirst(HOOK, async () => void (worked += 1));
    const policy = await deleteProtected(namespace);
    await heldRow(cp, policy, NAME, HOOK);
    await askedAgain(fleet, `${namespace}/${NAME}`, HOOK);
    assert.ok(worked > 0);
    await approve(cp, namespace, NAME);
    await waitUntilGone(cp, namespace, NAME);
  });
});
