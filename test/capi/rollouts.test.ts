/** Fleets under the real Cluster API go through the stages of a HookRollout, with two replicas behind a Service. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { GROUP, type HookRolloutSpec, type HookRolloutStatus, VERSION } from "../../src/api/hookpolicy.ts";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { installClusterApi } from "../controlplane/clusterapi.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/controlplane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, installLab, NEXT_VERSION, topologyMessage, upgrade } from "../controlplane/lab.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { hookpolicy } from "../unit/cli/program.ts";
import { createFleet, FleetObserver, HEALTHY, REGION, rolloutRef, UNHEALTHY, WAVE } from "./rolloutfleet.ts";

const ORDER = ["canary", "staging", "production"];

describe("a HookRollout", () => {
  let cp: ControlPlane;
  let service: Balancer;
  const replicas: Operator[] = [];

  before(async () => {
    cp = await startControlPlane();
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

  async function applyRollout(
    name: string,
    namespace: string,
    spec: Partial<HookRolloutSpec>,
  ): Promise<void> {
    await cp.apply({
      apiVersion: `${GROUP}/${VERSION}`,
      kind: "HookRollout",
      metadata: { name },
      spec: {
        operation: "Upgrade",
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        retryAfterSeconds: 5,
        progressDeadline: "1h",
        healthyWhen: HEALTHY,
        ...spec,
      },
    });
  }

  const statusOf = async (name: string): Promise<HookRolloutStatus> =>
    (await cp.get(rolloutRef(name))).status ?? {};

  /** A wait that fails says what the rollout says. */
  async function waitFor(
    name: string,
    what: string,
    is: () => boolean | Promise<boolean>,
    ms?: number,
  ): Promise<void> {
    await cp.waitFor(what, is, ms).catch(async (error: unknown) => {
      const status = JSON.stringify(await statusOf(name), undefined, 1);
      throw new Error(`${String(error)} HookRollout ${name} says ${status}`, { cause: error });
    });
  }

  test("upgrades stage by stage within its limits while a replica is killed", async () => {
    const namespace = "fleet";
    const names = await createFleet(cp, namespace, [
      { wave: "canary", count: 2 },
      { wave: "staging", count: 4 },
      { wave: "production", count: 6 },
    ]);
    await applyRollout("upgrades", namespace, {
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
    await waitFor("upgrades", "a Cluster of production to say what it waits for", async () =>
      /HookRollout upgrades: waits for stage canary \(hookpolicy rollout status upgrades\)/.test(
        await topologyMessage(cp, namespace, "production-0"),
      ),
    );
    await waitFor(
      "upgrades",
      "production to begin",
      () => observer.begun.some((name) => name.startsWith("production")),
      180_000,
    );
    await replicas[0]?.daemon.stop("SIGKILL");
    await waitFor(
      "upgrades",
      "every Cluster to be upgraded",
      () => observer.sights.at(-1)?.done.length === names.length,
      240_000,
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
    await waitFor(
      "upgrades",
      "the status to say so",
      async () => (await statusOf("upgrades")).summary?.succeeded === 12,
    );
    const { target, running, targets } = await statusOf("upgrades");
    assert.deepEqual([target, running], [NEXT_VERSION, undefined]);
    assert.deepEqual(
      targets?.[0]?.stages.map(({ name, succeeded, passed }) => [name, succeeded, passed]),
      [
        ["canary", 2, true],
        ["staging", 4, true],
        ["production", 6, true],
      ],
    );
    const { stdout } = await hookpolicy([
      "rollout",
      "status",
      "upgrades",
      "--kubeconfig",
      cp.adminKubeconfig,
    ]);
    assert.match(stdout, /production +█+ +6\/6 +0 +0 +0 +0 +passed/);
  });

  test("halts when a canary fails, and goes on when it is resumed", async () => {
    const namespace = "halted";
    await createFleet(cp, namespace, [
      { wave: "canary", count: 1 },
      { wave: "production", count: 1 },
    ]);
    await applyRollout("canaries", namespace, {
      stages: [
        { name: "canary", clusterSelector: { matchLabels: { [WAVE]: "canary" } } },
        { name: "production" },
      ],
    });
    await cp.patch(clusterRef(namespace, "canary-0"), { metadata: { labels: { [UNHEALTHY]: "true" } } });
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 100 });
    for (const name of ["canary-0", "production-0"]) await upgrade(cp, namespace, name);
    const isHalted = async (): Promise<boolean> =>
      (await statusOf("canaries")).conditions?.find(({ type }) => type === "Halted")?.status === "True";
    await waitFor("canaries", "it to be halted", isHalted, 120_000);
    await waitFor("canaries", "the Cluster to say so", async () =>
      /HookRollout canaries: is halted because Clusters failed/.test(
        await topologyMessage(cp, namespace, "production-0"),
      ),
    );
    assert.deepEqual(observer.begun, ["canary-0"]);
    const words = ["--kubeconfig", cp.adminKubeconfig];
    const { stderr } = await hookpolicy(["rollout", "resume", "canaries", "--yes", ...words]);
    assert.match(stderr, /halted\/canary-0 +canary +Unhealthy/);
    await waitFor("canaries", "production to begin", () => observer.begun.includes("production-0"), 120_000);
    await observer.stop();
  });
});
