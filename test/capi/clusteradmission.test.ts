/** Rules that speak at admission, beside the real Cluster API: what it writes passes, and what is confirmed ends as usual. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clusterWebhook } from "../controlplane/clusterwebhook.ts";
import { clusterRef, createCluster, NEXT_VERSION, provision } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, policyRef } from "../controlplane/policies.ts";
import { EVERY_CALL, type Fleet, isCreated, startFleet } from "./fleet.ts";

const TEAM = "doors";

describe("a Cluster whose rules speak at admission", () => {
  let fleet: Fleet;
  before(async () => {
    fleet = await startFleet({ operator: { flags: EVERY_CALL } });
    const { cp, operator } = fleet;
    await cp.apply(await clusterWebhook(operator.ports.admission, cp.authority.caBundle));
    await applyPolicy(cp, policyRef(TEAM, "protect"), {
      rules: (["BeforeClusterDelete", "BeforeClusterUpgrade"] as const).map((hook) => ({
        ...approvalRule(hook, `hooks.example.com/${hook}`),
        name: hook.toLowerCase(),
        admission: "Deny" as const,
      })),
    });
    await createCluster(cp, { namespace: TEAM, name: "c1" });
    await isCreated(cp, TEAM, "c1");
    await provision(cp, TEAM, "c1");
    const tried = ["delete", "clusters.cluster.x-k8s.io", "-n", TEAM, "c1", "--dry-run=server"];
    await cp.waitFor("the API server to call the webhook", async () => {
      return await cp.kubectl(...tried).then(
        () => false,
        (error: unknown) => /cannot be deleted yet/.test(String(error)),
      );
    });
  });
  after(async () => await fleet?.cp.stop());

  /** Runs the command that the refusal names. */
  async function confirm(refusal: string): Promise<void> {
    const [, command = ""] = /\(kubectl ([^)]+)\)/.exec(refusal) ?? [];
    assert.notEqual(command, "", refusal);
    await fleet.cp.kubectl(...command.split(" "));
  }

  async function refusalOf(request: Promise<unknown>): Promise<string> {
    return await request.then(
      () => assert.fail("it passed"),
      (error: unknown) => String(error),
    );
  }

  test("is upgraded when that is confirmed, and Cluster API's own writes pass", async () => {
    const { cp } = fleet;
    const upgrade = async (): Promise<unknown> =>
      await cp.patch(clusterRef(TEAM, "c1"), { spec: { topology: { version: NEXT_VERSION } } });
    const refusal = await refusalOf(upgrade());
    assert.match(
      refusal,
      new RegExp(`c1 cannot be upgraded to ${NEXT_VERSION} yet: HookPolicy doors/protect`),
    );
    assert.notEqual((await cp.get(clusterRef(TEAM, "c1")))["spec"].topology.version, NEXT_VERSION);
    await confirm(refusal);
    await upgrade();
    await cp.waitFor("Cluster API to begin the upgrade", async () => {
      const { annotations = {} } = (await cp.get(clusterRef(TEAM, "c1"))).metadata;
      return annotations["runtime.cluster.x-k8s.io/pending-hooks"]?.includes("AfterClusterUpgrade");
    });
  });

  test("is deleted when that is confirmed: kubectl prints the reason, and nothing is stored before", async () => {
    const { cp } = fleet;
    const remove = async (): Promise<string> =>
      await cp.kubectl("delete", "clusters.cluster.x-k8s.io", "-n", TEAM, "c1", "--wait=false");
    const refusal = await refusalOf(remove());
    assert.match(
      refusal,
      /c1 cannot be deleted yet: HookPolicy doors\/protect, rule beforeclusterdelete: gate/,
    );
    assert.equal((await cp.get(clusterRef(TEAM, "c1"))).metadata.deletionTimestamp, undefined);
    await confirm(refusal);
    await remove();
    await cp.waitFor("Cluster API to ask the hook, and to end the Cluster", async () => {
      return (await cp.find(clusterRef(TEAM, "c1"))) === undefined;
    });
  });
});
