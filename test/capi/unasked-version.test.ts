/**
 * A version that no BeforeClusterUpgrade is asked about: `disable-update-version-check` lets a user change the version while
 * an upgrade runs, and Cluster API then calls the hook no more (exp/topology/desiredstate/lifecycle_hooks.go,
 * callBeforeClusterUpgradeHook).
 */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { HookPolicySpec } from "../../src/api/hook-policy.ts";
import { objectsOf, type Ref } from "../controlplane/client.ts";
import {
  clusterRef,
  createCluster,
  finishControlPlaneUpgrade,
  NEXT_VERSION,
  provision,
  topologyMessage,
  upgrade,
} from "../controlplane/lab.ts";
import { LAB_CONTROL_PLANE } from "../controlplane/lab-kinds.ts";
import { applyPolicy, approvalRule, eventAbout, policyRef, statusOf } from "../controlplane/policies.ts";
import { blocksOf } from "./recipe-pages.ts";
import { sharedFleet } from "./fleet.ts";
import { applyRollout, rolloutStatus, waitForRollout } from "./rollout-fleet.ts";

const UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
const APPROVED_VERSION = "hooks.example.com/upgrade-approved";
const UNASKED_VERSION = "v1.36.0";

const LOGGED = "The version has changed while an upgrade runs, and no BeforeClusterUpgrade is asked about it";

const EACH_VERSION = {
  name: "approved-version",
  hooks: ["BeforeClusterUpgrade"],
  until: [{ name: "approved", annotation: { key: APPROVED_VERSION, valueFrom: "TargetVersion" } }],
  retryAfterSeconds: 5,
};

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => cp.stop());

describe("a version that is changed while an upgrade runs", () => {
  /** AfterClusterUpgrade holds the Cluster at NEXT_VERSION, for which BeforeClusterUpgrade was approved. */
  async function upgradeHeldAtItsEnd(namespace: string): Promise<Ref> {
    const annotations = { [APPROVED_VERSION]: NEXT_VERSION };
    await createCluster(cp, { namespace, name: "c1", annotations });
    await provision(cp, namespace, "c1");
    await upgrade(cp, namespace, "c1");
    await finishControlPlaneUpgrade(cp, namespace, "c1");
    await cp.waitFor("AfterClusterUpgrade to hold the Cluster", async () =>
      (await topologyMessage(cp, namespace, "c1")).includes("AfterClusterUpgrade"),
    );
    return clusterRef(namespace, "c1");
  }

  async function changeVersion(cluster: Ref): Promise<void> {
    await cp.patch(cluster, {
      metadata: { annotations: { [UNSAFE]: "" } },
      spec: { topology: { version: UNASKED_VERSION } },
    });
  }

  async function controlPlaneVersion(namespace: string): Promise<string> {
    const kind = { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace };
    return (await cp.list(kind))[0]?.["spec"]?.version ?? "";
  }

  test("is recorded, told in Events and in the log, and fails in its HookRollout", async () => {
    const { operator } = fleet;
    const namespace = "unasked";
    const policy = policyRef(namespace, "each-version");
    await applyPolicy(cp, policy, { rules: [EACH_VERSION, approvalRule("AfterClusterUpgrade")] });
    await applyRollout(cp, "unasked", namespace, {});
    const cluster = await upgradeHeldAtItsEnd(namespace);
    await cp.waitFor("the approved upgrade to be recorded", async () =>
      statusOf(await cp.get(policy)).recent?.some(
        ({ hook, verdict, targetVersion }) =>
          hook === "BeforeClusterUpgrade" && verdict === "Allowed" && targetVersion === NEXT_VERSION,
      ),
    );
    await changeVersion(cluster);
    await cp.waitFor(
      "Cluster API to upgrade the control plane without a question",
      async () => (await controlPlaneVersion(namespace)) === UNASKED_VERSION,
    );
    const result = await cp.waitFor("the policy to record that", async () =>
      statusOf(await cp.get(policy)).recent?.find(({ verdict }) => verdict === "NotAsked"),
    );
    assert.deepEqual(
      [result.cluster, result.hook, result.targetVersion, result.rule, result.gate],
      ["c1", "BeforeClusterUpgrade", UNASKED_VERSION, "approved-version", "approved"],
    );
    const event = await eventAbout(cp, cluster, "NotAsked");
    assert.equal(event["type"], "Warning");
    assert.match(event["note"], /v1\.36\.0.*HookPolicy unasked\/each-version, rule approved-version/);
    const [line] = operator.lines().filter((each) => each.msg === LOGGED && each["cluster"] === "unasked/c1");
    assert.deepEqual(line?.["policies"], ["HookPolicy unasked/each-version"]);
    await waitForRollout({ cp, name: "unasked" }, "the Cluster to have failed", async () => {
      const { failed = [], running = [] } = await rolloutStatus(cp, "unasked");
      return (
        failed.some(({ name, reason }) => name === "c1" && reason === "VersionChanged") &&
        running.some(({ name }) => name === "c1")
      );
    });
  });

  test("is held at BeforeControlPlaneUpgrade by the recipe for each version", async () => {
    const namespace = "unasked-recipe";
    const page = blocksOf("approve-each-version.md").find(({ text }) => text.includes("kind: HookPolicy"));
    const [recipe = assert.fail("the page has no policy")] = objectsOf(page?.text ?? "");
    const { rules } = recipe["spec"] as HookPolicySpec;
    const quick = rules.map((rule) => ({ ...rule, retryAfterSeconds: 5 }));
    await applyPolicy(cp, policyRef(namespace, "recipe"), {
      rules: [...quick, approvalRule("AfterClusterUpgrade")],
    });
    const cluster = await upgradeHeldAtItsEnd(namespace);
    await changeVersion(cluster);
    await cp.waitFor("BeforeControlPlaneUpgrade to hold the Cluster", async () =>
      /BeforeControlPlaneUpgrade: .*HookPolicy unasked-recipe\/recipe/.test(
        await topologyMessage(cp, namespace, "c1"),
      ),
    );
    assert.equal(await controlPlaneVersion(namespace), NEXT_VERSION);
    await cp.patch(cluster, { metadata: { annotations: { [APPROVED_VERSION]: UNASKED_VERSION } } });
    await cp.waitFor(
      "the approved version to reach the control plane",
      async () => (await controlPlaneVersion(namespace)) === UNASKED_VERSION,
    );
  });
});
