/** Fleets under the real Cluster API go through the stages of a HookRollout, with two replicas behind a Service. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import type { HookRolloutStatus } from "../../src/api/hook-policy.ts";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import {
  installLab,
  isAvailable,
  NEXT_VERSION,
  setControlPlaneAvailable,
  topologyMessage,
  upgrade,
} from "../controlplane/lab.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import {
  applyRollout,
  createFleet,
  FleetObserver,
  REGION,
  rolloutStatus,
  waitForRollout,
  WAVE,
} from "./rollout-fleet.ts";

const ORDER = ["canary", "staging", "production"];

describe("a HookRollout", () => {
  let cp: ControlPlane;
  let service: Balancer;
  const replicas: Operator[] = [];

  before(async () => {
    cp = await startControlPlane({ seed: "clusterApi" });
    await installHookPolicy(cp);
    service = await startBalancer();
    await Promise.all([installClusterApi(cp), startReplica("replica-1"), startReplica("replica-2")]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: `https://127.0.0.1:${service.port}/` });
  });
  after(async () => {
    await cp?.stop();
    await service?.stop();
  });

  async function startReplica(name: string): Promise<void> {
    const operator = await startOperator(cp, { name, flags: { "leader-elect": "true" } });
    replicas.push(operator);
    service.add(operator.ports);
  }

  test("upgrades stage by stage within its limits while a replica is killed", async () => {
    const namespace = "fleet";
    const names = await createFleet(cp, namespace, [
      { wave: "canary", count: 2, workers: true },
      { wave: "staging", count: 4 },
      { wave: "production", count: 6 },
    ]);
    await applyRollout(cp, "upgrades", namespace, {
      maxConcurrency: 3,
      spread: [{ labelKey: REGION, maxConcurrency: 2 }],
      stages: [
        { name: "canary", clusterSelector: { matchLabels: { [WAVE]: "canary" } }, maxConcurrency: 1 },
        { name: "staging", clusterSelector: { matchLabels: { [WAVE]: "staging" } }, minSuccessTime: "3s" },
        { name: "production" },
      ],
    });
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 1500 });
    await Promise.all(names.map((name) => upgrade(cp, namespace, name)));
    await waitForRollout(
      { cp, name: "upgrades" },
      "a Cluster of production to say what it waits for",
      async () =>
        /HookRollout upgrades: waits for stage canary \(hookpolicy rollout status upgrades\)/.test(
          await topologyMessage(cp, namespace, "production-0"),
        ),
    );
    await waitForRollout(
      { cp, name: "upgrades" },
      "production to begin",
      () => observer.begun.some((name) => name.startsWith("production")),
      600_000, // a slot that was not used is given back after three minutes
    );
    await replicas[0]?.daemon.stop("SIGKILL");
    await waitForRollout(
      { cp, name: "upgrades" },
      "every Cluster to be upgraded",
      () => observer.sights.at(-1)?.done.length === names.length,
      900_000,
    );
    await observer.stop();
    for (const { running } of observer.sights) {
      assert.ok(running.length <= 3, "total");
      for (const region of ["a", "b"])
        assert.ok(running.filter((each) => each.region === region).length <= 2, "region");
      assert.ok(running.filter(({ wave }) => wave === "canary").length <= 1, "stage");
    }
    const waves = observer.begun.map((name) => name.split("-")[0] ?? "");
    assert.deepEqual(
      waves,
      waves.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)),
      "the order of stages",
    );
    let status: HookRolloutStatus = {};
    // A stage passes only once a read has shown that memory is not behind.
    await waitForRollout({ cp, name: "upgrades" }, "the status to say so", async () => {
      status = await rolloutStatus(cp, "upgrades");
      const stages = status.targets?.[0]?.stages ?? [];
      return status.summary?.succeeded === 12 && stages.every(({ passed }) => passed);
    });
    const { target, running, targets } = status;
    assert.deepEqual([target, running], [NEXT_VERSION, undefined]);
    assert.deepEqual(
      targets?.[0]?.stages.map(({ name, succeeded, passed }) => [name, succeeded, passed]),
      [
        ["canary", 2, true],
        ["staging", 4, true],
        ["production", 6, true],
      ],
    );
    // Cluster API can find more to reconcile in a Cluster that was up to date: its stage is open again meanwhile.
    await waitForRollout({ cp, name: "upgrades" }, "rollout status to show what passed", async () => {
      const command = ["rollout", "status", "upgrades", "--kubeconfig", cp.adminKubeconfig];
      return /production +6\/6 +0 +0 +0 +0 +passed/.test((await hookpolicy(command)).stdout);
    });
  });

  test("halts when a canary fails, and goes on with the other one when it is resumed", async () => {
    const namespace = "halted";
    await createFleet(cp, namespace, [
      { wave: "canary", count: 2 },
      { wave: "production", count: 1 },
    ]);
    await applyRollout(cp, "canaries", namespace, {
      stages: [
        { name: "canary", clusterSelector: { matchLabels: { [WAVE]: "canary" } } },
        { name: "production" },
      ],
    });
    await setControlPlaneAvailable(cp, namespace, "canary-0", false);
    await cp.waitFor("Cluster API to see that", async () => !(await isAvailable(cp, namespace, "canary-0")));
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 100 });
    await upgrade(cp, namespace, "canary-0");
    await waitForRollout({ cp, name: "canaries" }, "the first canary to begin", () =>
      observer.begun.includes("canary-0"),
    );
    for (const name of ["canary-1", "production-0"]) await upgrade(cp, namespace, name);
    const isHalted = async (): Promise<boolean> =>
      (await rolloutStatus(cp, "canaries")).conditions?.find(({ type }) => type === "Halted")?.status ===
      "True";
    await waitForRollout({ cp, name: "canaries" }, "it to be halted", isHalted, 300_000);
    await waitForRollout({ cp, name: "canaries" }, "the Cluster to say so", async () =>
      /HookRollout canaries: is halted because Clusters failed/.test(
        await topologyMessage(cp, namespace, "production-0"),
      ),
    );
    assert.deepEqual(observer.begun, ["canary-0"]);
    const words = ["--kubeconfig", cp.adminKubeconfig];
    const { stderr } = await hookpolicy(["rollout", "resume", "canaries", "--yes", ...words]);
    assert.match(stderr, /halted\/canary-0 +v1\.35\.0 +canary +Unhealthy/);
    await waitForRollout({ cp, name: "canaries" }, "production to begin", () =>
      observer.begun.includes("production-0"),
    );
    assert.deepEqual(observer.begun, ["canary-0", "canary-1", "production-0"]);
    await observer.stop();
  });
});
