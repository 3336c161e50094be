/** An add-on under the real Cluster API, for its whole life, with an operator that dies whenever that hurts most. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import type { HookTask, TaskSpec } from "../../src/api/hook-policy.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { dies, isTaskStatus, type Moment } from "../controlplane/dying.ts";
import { registerExtension } from "../controlplane/extension.ts";
import {
  createCluster,
  deleteCluster,
  FIRST_VERSION,
  finishControlPlaneUpgrade,
  installLab,
  NEXT_VERSION,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { installHookPolicy, NAMESPACE, type Operator, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, policyRef } from "../controlplane/policies.ts";
import { type Proxy, type SeenRequest, startProxy } from "../controlplane/proxy.ts";
import { allow } from "../controlplane/rights.ts";
import { definition } from "../controlplane/stand-in.ts";
import { ACCOUNT, createAccount, tasksIn } from "../controlplane/tasks.ts";
import { topologySays } from "./fleet.ts";

const ADDONS = { apiVersion: "addons.cluster.x-k8s.io/v1alpha1", kind: "HelmChartProxy" };
const NS = "restarts";
const ADDON = { ...ADDONS, namespace: NS, name: "c1-network" };
const ADDON_PATH = `/apis/${ADDONS.apiVersion}/namespaces/${NS}/helmchartproxies/${ADDON.name}`;

type MomentName = keyof typeof MOMENTS;

const isApplied = ({ method, path }: SeenRequest): boolean => method === "PATCH" && path === ADDON_PATH;

const MOMENTS = {
  "the HookTask is stored, and no attempt": isTaskStatus,
  "the attempt is stored, and no object": isApplied,
  "the object is there, and not in the status": (request, asked) =>
    isTaskStatus(request) && asked.some(isApplied),
  "what has to go is stored, and nothing deleted": ({ method, path }) =>
    method === "DELETE" && path === ADDON_PATH,
  "the task has succeeded, and nothing is answered": ({ method, path, query }) =>
    method === "GET" && path.endsWith("/hooktasks") && query.has("labelSelector"),
} satisfies Readonly<Record<string, Moment>>;

describe("an operator that dies at the worst moments", () => {
  let cp: ControlPlane;
  let proxy: Proxy;
  let kubeconfig: string;
  let operator: Operator;
  let starts = 0;

  before(async () => {
    cp = await startControlPlane({ seed: "clusterApi" });
    await installHookPolicy(cp);
    proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
    await Promise.all([installClusterApi(cp), start()]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
    await cp.apply(
      withStatus(definition("addons.cluster.x-k8s.io", "v1alpha1", "HelmChartProxy", "helmchartproxies")),
    );
  });
  after(async () => {
    await cp?.stop();
    await proxy?.stop();
  });

  async function start(): Promise<void> {
    starts += 1;
    const ports = operator?.ports;
    operator = await startOperator(cp, {
      kubeconfig,
      name: `hookpolicy-${starts}`,
      // It may die before.
      waitReady: false,
      ...(ports !== undefined && { ports }),
    });
  }

  const dying = async (name: MomentName): Promise<void> =>
    await dies({ cp, proxy, operator: () => operator }, name, MOMENTS[name]);

  /** Does what leads to the moments, one after the other. An operator that died is started again. */
  async function diesWhen(moments: readonly MomentName[], work: () => Promise<unknown>): Promise<void> {
    const [first, ...others] = moments;
    let died = first && dying(first);
    const worked = work();
    for (const next of [...others, undefined]) {
      await died;
      died = next && dying(next);
      await start();
    }
    await Promise.all([worked, cp.waitFor("the operator to be ready", operator.ready)]);
  }

  async function taskOf(hook: HookName): Promise<HookTask | undefined> {
    const tasks = (await tasksIn(cp, NS)).filter(({ spec }) => spec.hook === hook);
    assert.ok(tasks.length <= 1, `${tasks.length} HookTasks at ${hook}`);
    return tasks[0];
  }

  /** Once, whoever died. */
  async function succeedsOnce(hook: HookName): Promise<void> {
    const task = await cp.waitFor(`the task at ${hook} to succeed`, async () => {
      const found = await taskOf(hook);
      return found?.status?.phase === "Succeeded" && found;
    });
    assert.deepEqual([task.spec.run, task.status?.begun, task.status?.attempts?.length], [1, 1, 1]);
  }

  async function addonOf(version: string): Promise<KubeObject> {
    return await cp.waitFor(`the add-on to be of ${version}`, async () => {
      const found = await cp.find(ADDON);
      return found?.["spec"].version === version && found;
    });
  }

  test("installs an add-on once, applies it anew for an upgrade, and deletes it before the Cluster", async () => {
    await createAccount(cp, NS, { rules: MAY_WRITE_ADDONS });
    await applyPolicy(cp, policyRef(NS, "addon"), { serviceAccountName: ACCOUNT, rules: RULES });
    await createCluster(cp, { namespace: NS, name: "c1" });
    const begins: readonly MomentName[] = [
      "the HookTask is stored, and no attempt",
      "the attempt is stored, and no object",
      "the object is there, and not in the status",
    ];
    await diesWhen(begins, async () => await provision(cp, NS, "c1"));
    const installed = await addonOf(FIRST_VERSION);
    await succeedsOnce("AfterControlPlaneInitialized");

    await diesWhen(begins, async () => await upgrade(cp, NS, "c1"));
    const upgraded = await addonOf(NEXT_VERSION);
    assert.equal(upgraded.metadata.uid, installed.metadata.uid);
    await topologySays(cp, NS, "c1", /BeforeClusterUpgrade: .*task addon runs/);
    await diesWhen(["the task has succeeded, and nothing is answered"], async () => {
      const { generation: observedGeneration } = upgraded.metadata;
      const conditions = [{ type: "Ready", status: "True" }];
      await cp.patchStatus(ADDON, { observedGeneration, conditions });
    });
    await finishControlPlaneUpgrade(cp, NS, "c1");
    await succeedsOnce("BeforeClusterUpgrade");
    assert.equal((await cp.get(ADDON)).metadata.generation, upgraded.metadata.generation);

    await cp.patch(ADDON, { metadata: { finalizers: ["helmchartproxy.addons.cluster.x-k8s.io"] } });
    const deletes: readonly MomentName[] = [
      "the HookTask is stored, and no attempt",
      "what has to go is stored, and nothing deleted",
    ];
    await diesWhen(deletes, async () => await deleteCluster(cp, NS, "c1"));
    await cp.waitFor("the add-on to be deleted", async () => {
      return (await cp.get(ADDON)).metadata.deletionTimestamp !== undefined;
    });
    await topologySays(cp, NS, "c1", /BeforeClusterDelete: .*task addon runs/);
    await diesWhen(["the task has succeeded, and nothing is answered"], async () => {
      await cp.patch(ADDON, { metadata: { finalizers: [] } });
    });
    await waitUntilGone(cp, NS, "c1");
    await succeedsOnce("BeforeClusterDelete");
    assert.equal(await cp.find(ADDON), undefined);
    assert.equal((await tasksIn(cp, NS)).length, 3);
  });

  const RULES = [
    { name: "installed", hooks: ["AfterControlPlaneInitialized"], tasks: [applied("true")] },
    {
      name: "upgraded",
      hooks: ["BeforeClusterUpgrade"],
      tasks: [
        applied(
          "object.status.observedGeneration == object.metadata.generation && object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        ),
      ],
      retryAfterSeconds: 5,
    },
    {
      name: "uninstalled",
      hooks: ["BeforeClusterDelete"],
      tasks: [{ name: "addon", delete: { ...ADDONS, name: "<< cluster.metadata.name >>-network" } }],
      retryAfterSeconds: 5,
    },
  ];
});

const MAY_WRITE_ADDONS = [
  allow("addons.cluster.x-k8s.io", "helmchartproxies", "create", "get", "patch", "delete"),
];

function applied(succeeded: string): TaskSpec {
  const metadata = { name: "<< cluster.metadata.name >>-network" };
  const spec = { version: "<< cluster.topology.version >>" };
  return { name: "addon", apply: { ...ADDONS, metadata, spec }, succeeded };
}

/** Its controller's writes are no new generation. */
function withStatus(crd: KubeObject): KubeObject {
  const versions = (crd["spec"].versions as object[]).map((each) => ({
    ...each,
    subresources: { status: {} },
  }));
  return { ...crd, spec: { ...crd["spec"], versions } };
}
