/** What is read out of the status that Cluster API writes (1.2 to 1.14). */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { viewProgress } from "../../../src/views/topology-progress.ts";

const topology = (message: string, over: object = {}): object => ({
  type: "TopologyReconciled",
  status: "False",
  message,
  ...over,
});

const UPGRADING = `Cluster is upgrading to v1.36.0
  * Following hooks are blocking upgrade: BeforeControlPlaneUpgrade: HookPolicy a/p, rule r: no
  * LabControlPlane pending upgrade to version v1.35.0, v1.36.0
  * MachineDeployment md pending upgrade to version v1.36.0`;

describe("the hook that holds a Cluster", () => {
  const texts: Record<string, string | undefined> = {
    "Following hooks are blocking Cluster topology creation: BeforeClusterCreate: no": "BeforeClusterCreate",
    [UPGRADING]: "BeforeControlPlaneUpgrade",
    "Cluster is deleting. Following hooks are blocking delete: BeforeClusterDelete": "BeforeClusterDelete",
    'hook "AfterControlPlaneUpgrade" is blocking: no': "AfterControlPlaneUpgrade",
    "Following hooks are blocking upgrade: BeforeClusterUpgrade: a; AfterClusterUpgrade: b":
      "BeforeClusterUpgrade",
    "Following hooks are blocking upgrade: NoHook: Following hooks are blocking upgrade: AfterClusterUpgrade: b":
      undefined,
    'failed: "x": Following hooks are blocking upgrade: AfterClusterUpgrade: b': undefined,
    "Cluster is upgrading to v1.36.0": undefined,
  };
  for (const [text, hook] of Object.entries(texts)) {
    test(`is ${hook} in ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.equal(viewProgress({ conditions: [topology(text)] }, 3)?.heldAt, hook);
    });
  }

  test("is not known from a condition of another generation, nor from one that is not False", () => {
    const text = "Following hooks are blocking upgrade: BeforeClusterUpgrade: no";
    const read = (over: object): unknown => viewProgress({ conditions: [topology(text, over)] }, 3)?.heldAt;
    assert.equal(read({ observedGeneration: 3 }), "BeforeClusterUpgrade");
    assert.equal(read({ observedGeneration: 2 }), undefined);
    assert.equal(read({ status: "True" }), undefined);
  });
});

describe("the steps of an upgrade", () => {
  test("are in the status, in v1beta1 in that of v1beta2", () => {
    const controlPlane = {
      upgradePlan: [{ version: "v1.35.0" }, { version: "v1.36.0" }, { version: "no\u001B[2J" }],
      versions: [{ version: "v1.34.0", replicas: 3 }],
    };
    const expected = { plan: ["v1.35.0", "v1.36.0"], version: "v1.34.0" };
    assert.deepEqual(viewProgress({ controlPlane }, 1), expected);
    assert.deepEqual(viewProgress({ v1beta2: { controlPlane } }, 1), expected);
  });

  test("are in the condition's line about the control plane where the status has none", () => {
    assert.deepEqual(viewProgress({ conditions: [topology(UPGRADING)] }, 1)?.plan, ["v1.35.0", "v1.36.0"]);
    const on =
      "Cluster is upgrading to v1.36.0\n  * LabControlPlane upgrading to version v1.35.0 (v1.36.0 pending)";
    assert.deepEqual(viewProgress({ conditions: [topology(on)] }, 1)?.plan, ["v1.36.0"]);
  });

  test("are not known from an error, and none where a hook is named without them", () => {
    const plan = (text: string): unknown => viewProgress({ conditions: [topology(text)] }, 1)?.plan;
    assert.equal(plan("error reconciling the Cluster topology: no"), undefined);
    assert.deepEqual(plan("Following hooks are blocking upgrade: AfterWorkersUpgrade: no"), []);
  });

  test("begin up to 1.11 when the condition names what comes after the control plane", () => {
    const begun = (reason: string, text = "", over: object = {}): unknown =>
      viewProgress({ conditions: [topology(text, { reason, ...over })] }, 3)?.begun;
    assert.equal(begun("MachineDeploymentsUpgradePending"), true);
    assert.equal(begun("MachinePoolsCreatePending"), true);
    assert.equal(begun("LifecycleHookBlocking", 'hook "AfterControlPlaneUpgrade" is blocking: no'), true);
    assert.equal(begun("LifecycleHookBlocking", 'hook "BeforeClusterUpgrade" is blocking: no'), undefined);
    assert.equal(begun("ControlPlaneUpgradePending"), undefined);
    assert.equal(begun("MachineDeploymentsUpgradePending", "", { observedGeneration: 2 }), undefined);
  });

  test("show the one version that all workers have", () => {
    const read = (...list: string[]): unknown =>
      viewProgress({ workers: { versions: list.map((version) => ({ version })) } }, 1)?.workersVersion;
    assert.equal(read("v1.34.0"), "v1.34.0");
    assert.equal(read("v1.34.0", "v1.35.0"), undefined);
    assert.equal(read(), undefined);
  });

  test("show all versions of the workers only where some are pinned and they have several", () => {
    const read = (isPinned: boolean, ...list: string[]): unknown => {
      const workers = { versions: list.map((version) => ({ version })) };
      return viewProgress({ workers }, 1, { isPinned });
    };
    assert.deepEqual(read(true, "v1.34.0", "v1.35.0"), { workersVersions: ["v1.34.0", "v1.35.0"] });
    assert.deepEqual(read(true, "v1.34.0"), { workersVersion: "v1.34.0" });
    assert.equal(read(false, "v1.34.0", "v1.35.0"), undefined);
  });

  test("are done where the condition is True and names the present generation", () => {
    const read = (over: object): unknown =>
      viewProgress({ conditions: [topology("", { status: "True", ...over })] }, 3)?.reconciled;
    assert.equal(read({ observedGeneration: 3 }), true);
    assert.equal(read({ observedGeneration: 2 }), undefined);
    assert.equal(read({}), undefined);
  });
});
