/**
 * The operator is removed in the documented order, and in each wrong one: nothing of it stays that the documented cure
 * does not clear. Cluster API is not here; there is no kubelet, so the operator runs beside the Deployment.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { ListRef, Ref } from "../controlplane/client.ts";
import { CLUSTER_DEFINITION, installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef } from "../controlplane/extension.ts";
import { clusterRef, createCluster, FIRST_VERSION, isGone, KEPT } from "../controlplane/lab.ts";
import { crdsEstablished, CRDS, type Operator, startOperator } from "../controlplane/operator.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";
import {
  applyPolicy,
  approvalRule,
  clusterPolicyRef,
  condition,
  policyRow,
  policyIsReady,
  policyRef,
  storeOverride,
  storeRollout,
} from "../controlplane/policies.ts";
import { extensionConfigCrd, kustomize, NAMESPACE, output, ROOT } from "../install/tools.ts";
import { asClusterApi } from "./operator-lab.ts";

const GONE = `--timeout=${DEFINITION_GONE_MS / 1000}s`;
const TEAM = "team-a";
const CLUSTER = "prod-1";
const HOOK = "BeforeClusterDelete";
const FINALIZER = "hookpolicy.dev/hold-clusters";
const MANIFESTS = join(ROOT, "manifests");
const POLICY = policyRef(TEAM, "protect");
const ROLLOUT = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", name: "upgrades" } as const;
const OVERRIDE = { ...ROLLOUT, kind: "HookOverride", name: "let-go" } as const;
const DEPLOYMENT: Ref = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: NAMESPACE,
  name: "hookpolicy",
};

const PAGE = readFileSync(join(ROOT, "docs/uninstall.md"), "utf8");
const TYPED = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = ""]) =>
  block.trimEnd().split("\n"),
);
const PREPARE = "hookpolicy prepare-uninstall --yes --release-held-clusters";
const DELETE = "kubectl delete -k . --ignore-not-found";
const UNREGISTER =
  "kubectl delete extensionconfig,validatingwebhookconfiguration hookpolicy hookpolicy-clusters --ignore-not-found";
const STOP = "kubectl delete deployment -n hookpolicy-system hookpolicy --ignore-not-found";
const UNMARK = `kubectl patch hookpolicy -n team-a protect --type merge -p '{"metadata":{"finalizers":null}}'`;

let cp: ControlPlane;
let operator: Operator;
let starts = 0;

const known = [PREPARE, DELETE, UNREGISTER, STOP, UNMARK];
assert.deepEqual(TYPED, known, "docs/uninstall.md has what is typed here");
cp = await startControlPlane();
await installClusterDefinition(cp);
await cp.apply(await extensionConfigCrd());
const shipped = await kustomize(MANIFESTS);
after(async () => await cp?.stop());

/** As on a management cluster that is in use: held Clusters, a status, a finalizer, an override, Secrets, a Lease. */
beforeEach(async () => {
  await cp.apply(shipped.filter(({ kind }) => kind === "Namespace"));
  await cp.createAll(shipped.filter(({ kind }) => kind !== "Namespace"));
  await crdsEstablished(cp);
  starts += 1;
  const flags = { "leader-elect": "true" };
  operator = asClusterApi(cp, await startOperator(cp, { name: `hookpolicy-${starts}`, flags }));
  await applyPolicy(cp, clusterPolicyRef("platform"), {
    namespaceSelector: {},
    rules: [approvalRule("BeforeClusterCreate")],
  });
  await storeOverride(cp, OVERRIDE.name, {
    clusterRef: { namespace: TEAM, name: CLUSTER },
    hooks: ["BeforeClusterCreate"],
  });
  await storeRollout(cp, ROLLOUT.name, { progressDeadline: "1h" });
  const upgrade = { ...approvalRule("BeforeClusterUpgrade"), name: "upgrade" };
  await applyPolicy(cp, POLICY, { rules: [approvalRule(HOOK), upgrade] });
  await createCluster(cp, { namespace: TEAM, name: CLUSTER });
  await cp.waitFor("the finalizer", async () =>
    (await cp.get(POLICY)).metadata.finalizers?.includes(FINALIZER),
  );
  const { status: _, ...cluster } = await cp.get(clusterRef(TEAM, CLUSTER));
  const versions = { fromKubernetesVersion: FIRST_VERSION, toKubernetesVersion: FIRST_VERSION };
  const answer = await operator.ask("BeforeClusterUpgrade", { cluster, ...versions });
  assert.notEqual(answer.retryAfterSeconds, 0);
  await policyRow(cp, POLICY, CLUSTER, "BeforeClusterUpgrade");
  await cp.waitFor(
    "the rollout to be Ready",
    async () => condition(await cp.get(ROLLOUT), "Ready")?.status === "True",
  );
  if (starts === 1)
    assert.ok((await ours()).includes(`HookRollout /${ROLLOUT.name}`), "what is there is found");
});

/** Whatever the order was: the user's own objects were theirs all along, and their namespace can go. */
afterEach(async () => {
  await operator.daemon.stop();
  assert.deepEqual(await ours(), []);
  const found = await cp.get(clusterRef(TEAM, CLUSTER));
  assert.deepEqual(found.metadata.annotations, KEPT);
  await cp.kubectl("delete", "namespace", TEAM, GONE);
});

/** What can be listed, but Events: that they are there is no harm, and an hour later the API server forgets them. */
async function listedKinds(): Promise<ListRef[]> {
  const { groups } = await cp.request<{
    readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  }>("GET", "/apis");
  const versions = groups.map(({ preferredVersion: { groupVersion } }) => groupVersion);
  const served = await Promise.all(
    ["v1", ...versions].map(async (apiVersion) => {
      const path = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
      const { resources } = await cp.request<{
        readonly resources: readonly {
          readonly name: string;
          readonly kind: string;
          readonly verbs: readonly string[];
        }[];
      }>("GET", path);
      return resources
        .filter(({ name, verbs }) => verbs.includes("list") && !/^(events|componentstatuses)$/.test(name))
        .map(({ kind }) => ({ apiVersion, kind }));
    }),
  );
  return served.flat();
}

/** Every object of every kind that has our name, our label, our finalizer or our kind. */
async function ours(): Promise<string[]> {
  // Discovery may name for a moment what is gone.
  const lists = await cp.waitFor(
    "every kind to be listed",
    async () => await Promise.all((await listedKinds()).map(async (kind) => await cp.list(kind))),
  );
  return lists
    .flat()
    .filter(({ apiVersion, metadata }) => {
      const { name, namespace, labels = {}, finalizers = [] } = metadata;
      return (
        apiVersion.startsWith("hookpolicy.dev/") ||
        [name, namespace, labels["app.kubernetes.io/name"]].some((text) => text?.includes("hookpolicy")) ||
        finalizers.some((text) => text.includes("hookpolicy.dev"))
      );
    })
    .map(({ kind, metadata: { namespace = "", name } }) => `${kind} ${namespace}/${name}`);
}

/** As a person does who reads the page. */
async function type(command: string): Promise<string> {
  const { kubectl } = await controlPlaneBinaries();
  const env = { KUBECONFIG: cp.adminKubeconfig, PATH: `${dirname(kubectl)}:${process.env["PATH"]}` };
  const main = join(ROOT, "dist/main.js");
  const line = command.replace(/^hookpolicy /, `'${process.execPath}' '${main}' `);
  return await output("sh", ["-ec", `cd '${MANIFESTS}'; ${line}`], env);
}

const prepare = async (): Promise<string> => await type(PREPARE);
/** The last step of all; what is missing already is no error. */
const deleteManifests = async (): Promise<string> => await type(DELETE);

/** Of what stands in the namespace, the namespace controller may have deleted some before kubectl comes to it. */
async function deleteWithoutWaiting(...args: readonly string[]): Promise<void> {
  await cp.kubectl("delete", ...args, "--wait=false", "--ignore-not-found");
}

/** Deleted, and still there: without somebody who takes its finalizer away it stays so for ever. */
async function stays(what: string, ref: Ref): Promise<void> {
  await cp.waitFor(`${what} to be deleted`, async () => {
    const object = (await cp.find(ref)) ?? assert.fail(`${what} is gone`);
    return object.metadata.deletionTimestamp !== undefined;
  });
  assert.deepEqual((await cp.get(ref)).metadata.finalizers, [FINALIZER]);
}

describe("in the documented order", () => {
  test("prepare-uninstall, then the manifests: nothing is left", async () => {
    const { template } = (await cp.get(DEPLOYMENT))["spec"];
    const metadata = { ...template.metadata, namespace: NAMESPACE, name: "hookpolicy-0" };
    await cp.apply({ ...template, apiVersion: "v1", kind: "Pod", metadata });
    // What the Deployment's controller and the kubelet do when it is scaled to 0.
    const stopped = cp
      .waitFor("the Deployment to be scaled", async () => (await cp.get(DEPLOYMENT))["spec"].replicas === 0)
      .then(async () => await operator.daemon.stop())
      .then(async () => await cp.kubectl("delete", "pod", "hookpolicy-0", "-n", NAMESPACE, "--force"));
    await assert.rejects(
      type("hookpolicy prepare-uninstall --yes"),
      /Cluster team-a\/prod-1 at BeforeClusterUpgrade, by HookPolicy team-a\/protect.*nothing was changed/s,
    );
    assert.ok(await cp.find(extensionRef("hookpolicy")), "Cluster API still calls the operator");
    await Promise.all([prepare(), stopped]);
    assert.deepEqual((await cp.get(POLICY)).metadata.finalizers ?? [], []);
    assert.equal((await cp.get(POLICY))["status"].blocked, 1, "policies stay, with what they say");
    for (const ref of [POLICY, clusterPolicyRef("platform"), ROLLOUT]) {
      const { status, reason } = condition(await cp.get(ref), "Ready") ?? {};
      assert.deepEqual([status, reason], ["Unknown", "OperatorGone"]);
    }
    const override = condition(await cp.get(OVERRIDE), "Active");
    assert.deepEqual([override?.status, override?.reason], ["Unknown", "OperatorGone"]);
    operator = await startOperator(cp, { name: "again" });
    await policyIsReady(cp, await cp.get(POLICY));
    await operator.daemon.stop();
    await prepare();
    await deleteManifests();
  });
});

test("an operator that the ExtensionConfig does not lead to is not ready, and says why", async () => {
  await operator.daemon.stop();
  const namespace = "platform-hooks";
  const moved = await startOperator(cp, { name: "moved", flags: { namespace }, waitReady: false });
  const probe = async (): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${moved.ports.health}/readyz?verbose`)).text();
  const why =
    /ExtensionConfig hookpolicy names the Service hookpolicy-system\/hookpolicy-webhook-service, and the operator runs in namespace platform-hooks/;
  await cp.waitFor("it to say so", async () => why.test(await probe().catch(String)));
  await cp.waitFor("the log to say so", () => moved.lines().some(({ msg }) => why.test(msg)));
  await cp.patch(extensionRef("hookpolicy"), { spec: { clientConfig: { service: { namespace } } } });
  await cp.waitFor("it to be ready", moved.ready);
  await moved.daemon.stop();
  await prepare();
  await deleteManifests();
});

describe("in a wrong order:", () => {
  test("the operator first: policies wait for it, until prepare-uninstall has released them", async () => {
    await cp.delete(DEPLOYMENT);
    await operator.daemon.stop();
    await deleteWithoutWaiting("hookpolicy", "-n", TEAM, "--all");
    await stays("the policy", POLICY);
    await prepare();
    await isGone(cp, POLICY);
    await deleteManifests();
  });

  test("the operator first, its namespace too: the same", async () => {
    await operator.daemon.stop();
    await cp.kubectl("delete", "namespace", NAMESPACE, GONE);
    assert.ok(await cp.find(extensionRef("hookpolicy")), "Cluster API goes on asking nobody");
    await deleteWithoutWaiting("-k", MANIFESTS, "--ignore-not-found");
    await stays("the policy, with its CRD,", POLICY);
    await prepare();
    const areGone = async (): Promise<boolean> =>
      !(await cp.kubectl("get", "crd", "-o", "name")).includes("hookpolicy");
    await cp.waitFor("the CRDs to be gone", areGone, DEFINITION_GONE_MS);
    await deleteManifests();
  });

  test("all at once: what was not deleted yet waits, until prepare-uninstall has released it", async () => {
    await deleteWithoutWaiting("-k", MANIFESTS);
    await operator.daemon.stop("SIGKILL");
    await prepare();
    await deleteManifests();
  });

  test("all at once, and the same by hand in place of prepare-uninstall", async () => {
    await operator.daemon.stop();
    await deleteWithoutWaiting("-k", MANIFESTS);
    await stays("the policy", POLICY);
    await type(UNREGISTER);
    await type(STOP);
    await type(UNMARK);
    await deleteManifests();
  });

  test("the CRDs first: the operator lets its policies go, and holds everything until it is unregistered", async () => {
    await cp.kubectl("delete", "crd", ...CRDS, GONE);
    const { status: _, ...cluster } = await cp.get(clusterRef(TEAM, CLUSTER));
    await cp.waitFor("the operator to know", () =>
      operator
        .lines()
        .some((line) => /Lost contact/.test(line.msg) && /hookpolicies/.test(JSON.stringify(line))),
    );
    assert.notEqual((await operator.ask(HOOK, { cluster })).retryAfterSeconds, 0);
    await cp.kubectl("delete", "extensionconfig", "hookpolicy");
    await operator.daemon.stop();
    await deleteManifests();
  });

  test("the CRDs first, with the operator gone: they wait until prepare-uninstall", async () => {
    await operator.daemon.stop();
    await deleteWithoutWaiting("crd", ...CRDS);
    await stays("the policy", POLICY);
    await prepare();
    await deleteManifests();
  });

  test("a namespace of policies first, with the operator gone: it waits until prepare-uninstall", async () => {
    await operator.daemon.stop();
    await deleteWithoutWaiting("namespace", TEAM);
    await stays("the policy", POLICY);
    await prepare();
    await isGone(cp, { apiVersion: "v1", kind: "Namespace", name: TEAM });
    await deleteManifests();
    await createCluster(cp, { namespace: TEAM, name: CLUSTER }); // for what is looked at afterwards
  });

  test("Cluster API first: policies can be deleted all the same", async () => {
    await cp.delete(clusterRef(TEAM, CLUSTER));
    await cp.kubectl("delete", "crd", CLUSTER_DEFINITION.name, "extensionconfigs.runtime.cluster.x-k8s.io");
    await cp.kubectl("delete", "hookpolicy", "-n", TEAM, "--all", GONE);
    await operator.daemon.stop();
    await prepare();
    // Everything else goes; that kubectl knows no ExtensionConfig any more, once discovery has told it, is no harm.
    await deleteManifests().catch((error: unknown) => {
      assert.match(String(error), /no matches for kind "ExtensionConfig"/);
    });
    await isGone(cp, { apiVersion: "v1", kind: "Namespace", name: NAMESPACE }); // it did not wait
    await installClusterDefinition(cp);
    await cp.apply(await extensionConfigCrd());
    await createCluster(cp, { namespace: TEAM, name: CLUSTER });
  });
});
