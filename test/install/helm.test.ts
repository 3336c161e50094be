/**
 * The chart, installed, upgraded and uninstalled by the real helm in a real API server. There is no kubelet: the test
 * does what one would do, and runs the Job's command as its ServiceAccount.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { stringify } from "yaml";
import { diagnose } from "../../src/cli/doctor/command.ts";
import { type KubeObject, objectsOf, type Ref, refOf } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { startOperator, type Operator } from "../controlplane/operator.ts";
import { runUninstallJob, UNINSTALL_JOB } from "./job.ts";
import { CHART, extensionConfigCrd, helmIn, kustomizeWith, NAMESPACE, output, ROOT } from "./tools.ts";

const RELEASE = ["hookpolicy", "--namespace", NAMESPACE];
const FINALIZER = "hookpolicy.dev/hold-clusters";
const TEAM = "team-a";

const EXTENSION: Ref = {
  apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
  kind: "ExtensionConfig",
  name: "hookpolicy",
};
const WEBHOOKS: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
const DEPLOYMENT: Ref = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "hookpolicy",
  namespace: NAMESPACE,
};
const POD: Ref = { apiVersion: "v1", kind: "Pod", name: "hookpolicy-0", namespace: NAMESPACE };
const POLICY: Ref = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "HookPolicy",
  name: "protect",
  namespace: TEAM,
};

const policy = {
  apiVersion: POLICY.apiVersion,
  kind: POLICY.kind,
  metadata: { name: POLICY.name, namespace: TEAM, finalizers: ["example.com/other"] },
  spec: {
    rules: [
      {
        name: "confirmed",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "approved", annotation: { key: "example.com/approved" } }],
      },
    ],
  },
};

const cluster = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Cluster",
  metadata: { name: "prod-1", namespace: TEAM },
  spec: { topology: { classRef: { name: "any" }, version: "v1.34.0" } },
};

/** What the operator writes once Cluster API has asked; it corrects what another client wrote after 30 s. */
const HELD_ROW = {
  namespace: TEAM,
  cluster: cluster.metadata.name,
  clusterUID: "1",
  hook: "BeforeClusterDelete",
  rule: "confirmed",
  verdict: "Blocked",
  reason: "NotApproved",
  message: "not approved",
  since: "2026-11-20T00:00:00Z",
  firstAsked: "2026-11-20T00:00:00Z",
};

let operator: Operator;
const cp = await startControlPlane();
after(async () => await cp.stop());
await installClusterDefinition(cp);
await cp.apply(await extensionConfigCrd());
await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });

describe("with helm", () => {
  const finalizers = async (): Promise<readonly string[]> =>
    (await cp.get(POLICY)).metadata.finalizers?.toSorted() ?? [];

  async function readyOperator(name: string): Promise<void> {
    operator = await startOperator(cp, { name });
    await cp.apply({ apiVersion: "v1", kind: "Pod", metadata: podMetadata, spec: podSpec });
    await cp.apply([cluster, policy]);
    await cp.waitFor("the finalizer", async () => (await finalizers()).includes(FINALIZER));
    await cp.patchStatus(DEPLOYMENT, { replicas: 1, availableReplicas: 1, readyReplicas: 1 });
  }

  /** Stands for the Pods of the Deployment: there is no controller that would make them. */
  const podMetadata = {
    name: POD.name,
    namespace: NAMESPACE,
    labels: { "app.kubernetes.io/name": "hookpolicy" },
  };
  const podSpec = {
    containers: [
      {
        name: "hookpolicy",
        image: "hookpolicy",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  };

  /** What the Deployment's controller and the kubelet do once there shall be no replica. */
  async function stopReplicas(): Promise<void> {
    await cp.waitFor("the Deployment to be scaled", async () => {
      return (await cp.get(DEPLOYMENT))["spec"].replicas === 0;
    });
    assert.ok((await finalizers()).includes(FINALIZER), "not while the operator may put it back");
    await operator.daemon.stop();
    await cp.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/pods/${POD.name}?gracePeriodSeconds=0`);
  }

  test("the chart installs into a namespace that it creates", async () => {
    const printed = await helmIn(cp, "install", ...RELEASE, CHART, "--create-namespace");
    assert.match(printed, /STATUS: deployed/);
    assert.match(printed, /kubectl get extensionconfig hookpolicy/);
    for (const ref of [EXTENSION, WEBHOOKS, DEPLOYMENT]) assert.ok(await cp.find(ref), ref.kind);
    assert.match(await cp.kubectl("get", "crd", "-o", "name"), /hookpolicies\.hookpolicy\.dev/);
  });

  test("a second release is refused because of the first one's CRDs, as one over CRDs that were kept", async () => {
    await assert.rejects(
      helmIn(cp, "install", "other", CHART, "--namespace", "elsewhere", "--create-namespace"),
      /CustomResourceDefinition "\w+\.hookpolicy\.dev" .*invalid ownership metadata/s,
    );
  });

  test("a second release takes the registration and the rights from the first, which can take them back", async () => {
    const bound: Ref = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      name: "hookpolicy",
    };
    const places = async (): Promise<unknown[]> => [
      (await cp.get(EXTENSION))["spec"].clientConfig.service.namespace,
      ...(await cp.get(bound))["subjects"].map(({ namespace }: KubeObject["metadata"]) => namespace),
    ];
    const second = ["other", CHART, "--namespace", "elsewhere", "--create-namespace"];
    await helmIn(cp, "install", ...second, "--take-ownership");
    assert.deepEqual(await places(), ["elsewhere", "elsewhere"]);
    const found = async (): Promise<string | undefined> =>
      (await diagnose({ kubeconfig: cp.adminKubeconfig })).find(({ name }) => name === "operator")?.detail;
    assert.match(String(await found()), /^2 Deployments .*: elsewhere\/hookpolicy, hookpolicy-system\//);
    const back = ["upgrade", ...RELEASE, CHART, "--take-ownership"];
    await helmIn(cp, ...back);
    assert.deepEqual(await places(), [NAMESPACE, NAMESPACE]);

    const more = { namespace: "elsewhere", transformers: ["namespace"] };
    const file = join(cp.folder, "second.yaml");
    const objects = await kustomizeWith(join(cp.folder, "second"), [], more);
    await writeFile(file, objects.map((object) => stringify(object)).join("---\n"));
    await cp.kubectl("apply", "-f", file);
    assert.deepEqual(await places(), ["elsewhere", "elsewhere"]);
    await assert.rejects(helmIn(cp, ...back), /conflict/);
    await helmIn(cp, ...back, "--force-conflicts");
    await cp.delete({ ...DEPLOYMENT, namespace: "elsewhere" });
    assert.deepEqual(await places(), [NAMESPACE, NAMESPACE]);
    assert.equal(await found(), "Deployment hookpolicy-system/hookpolicy: 0 of 2 available");
  });

  test("an upgrade that changes nothing changes no object", async () => {
    const generation = async (ref: Ref): Promise<number | undefined> =>
      (await cp.get(ref)).metadata.generation;
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: "hookpolicies.hookpolicy.dev",
    };
    const refs = [DEPLOYMENT, crd, WEBHOOKS, EXTENSION];
    const earlier = await Promise.all(refs.map(generation));
    await helmIn(cp, "upgrade", ...RELEASE, CHART);
    assert.deepEqual(await Promise.all(refs.map(generation)), earlier);
  });

  test("an upgrade brings new values, and takes back what was edited by hand in the CRDs", async () => {
    const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/hookpolicies.hookpolicy.dev";
    const edit = JSON.stringify([{ op: "remove", path: "/spec/names/shortNames" }]);
    await cp.request("PATCH", crd, edit, "application/json-patch+json");
    await helmIn(cp, "upgrade", ...RELEASE, CHART, "--set", "replicas=3", "--force-conflicts");
    assert.equal((await cp.get(DEPLOYMENT))["spec"].replicas, 3);
    const { spec } = await cp.request<KubeObject>("GET", crd);
    assert.deepEqual(spec.names.shortNames, ["hkp"]);
  });

  test("CRDs that Helm would delete cannot be left out before it is told to keep them", async () => {
    const upgrade = async (...crds: string[]): Promise<string> =>
      await helmIn(cp, "upgrade", ...RELEASE, CHART, ...crds.flatMap((value) => ["--set", `crds.${value}`]));
    await upgrade("keep=false");
    for (const keep of ["keep=false", "keep=true"])
      await assert.rejects(
        upgrade("enabled=false", keep),
        /every policy with them: upgrade with crds.keep=true first/,
      );
    await upgrade("keep=true");
    await upgrade("enabled=false");
    assert.match(await cp.kubectl("get", "crd", "-o", "name"), /hookpolicies\.hookpolicy\.dev/);
    const annotate = ["annotate", "crd", "hookpolicies.hookpolicy.dev", "--overwrite"];
    await cp.kubectl(...annotate, "meta.helm.sh/release-name=crds", "helm.sh/resource-policy-");
    await upgrade("enabled=false"); // Helm would delete them with that release alone
    await cp.kubectl(...annotate, "meta.helm.sh/release-name-"); // with its field manager
    const enabled = ["--set", "crds.enabled=true", "--take-ownership"];
    await helmIn(cp, "upgrade", ...RELEASE, CHART, ...enabled);
  });

  test("what the operator writes into the webhook's caBundle survives an upgrade", async () => {
    const caBundle = cp.authority.caBundle;
    const patch = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value: caBundle }];
    const token = await cp.tokenFor(NAMESPACE, "hookpolicy");
    await cp.as(token).patch(WEBHOOKS, patch, { type: "json" });
    await helmIn(cp, "upgrade", ...RELEASE, CHART);
    assert.equal((await cp.get(WEBHOOKS))["webhooks"][0].clientConfig.caBundle, caBundle);
  });

  test("only a release that Helm reaches has the Job, which the Deployment's selector leaves out", async () => {
    const hooks = objectsOf(await helmIn(cp, "get", "hooks", ...RELEASE));
    const job = hooks.find(({ kind }) => kind === "Job") ?? assert.fail("no Job");
    const labels = job["spec"].template.metadata.labels;
    const { matchLabels } = (await cp.get(DEPLOYMENT))["spec"].selector;
    assert.ok(Object.entries(matchLabels).some(([key, value]) => labels[key] !== value));
    const off = ["--set", "uninstall.enabled=false", "--dry-run=server"];
    assert.doesNotMatch(await helmIn(cp, "upgrade", ...RELEASE, CHART, ...off), /hookpolicy-uninstall/);
  });

  test("the Job's Pod has the labels, annotations, environment and volumes of the operator's", async () => {
    const values = {
      commonLabels: { team: "platform" },
      podLabels: { "app.kubernetes.io/name": "hookpolicy", "sidecar.istio.io/inject": "false" },
      podAnnotations: { note: "yes" },
      extraEnv: [{ name: "NO_PROXY", value: ".svc" }],
      extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
      extraVolumeMounts: [{ name: "ca", mountPath: "/ca" }],
    };
    const flags = Object.entries(values).flatMap(([name, value]) => [
      "--set-json",
      `${name}=${JSON.stringify(value)}`,
    ]);
    const rendered = await helmIn(cp, "template", ...RELEASE, CHART, "--dry-run=server", ...flags);
    const job = objectsOf(rendered).find(({ kind }) => kind === "Job") ?? assert.fail("no Job");
    const pod = job["spec"].template;
    assert.deepEqual(pod.metadata, {
      labels: {
        "app.kubernetes.io/name": "hookpolicy-uninstall",
        team: "platform",
        "sidecar.istio.io/inject": "false",
      },
      annotations: values.podAnnotations,
    });
    const [{ env, volumeMounts }] = pod.spec.containers;
    assert.deepEqual(
      [env, volumeMounts, pod.spec.volumes],
      [values.extraEnv, values.extraVolumeMounts, values.extraVolumes],
    );
  });

  test("the Job changes nothing when something else than helm uninstall creates it", async () => {
    await readyOperator("first");
    const rendered = ["template", ...RELEASE, CHART, "--dry-run=server"]; // as Pulumi's Chart
    for (const hooks of [await helmIn(cp, ...rendered), await helmIn(cp, "get", "hooks", ...RELEASE)]) {
      const objects = objectsOf(hooks).filter(({ metadata: { name } }) => name === UNINSTALL_JOB.name);
      assert.ok(objects.some(({ kind }) => kind === "Job"));
      await cp.apply(objects);
      await assert.rejects(runUninstallJob(cp), /nothing was changed, because Helm is not seen to uninstall/);
      for (const ref of [EXTENSION, WEBHOOKS]) assert.ok(await cp.find(ref), ref.kind);
      assert.notEqual((await cp.get(DEPLOYMENT))["spec"].replicas, 0);
      for (const object of objects) await cp.delete(refOf(object));
    }
  });

  test("helm uninstall fails while a Cluster is held, and changes nothing", async (t) => {
    operator.daemon.signal("SIGSTOP"); // it takes back what it has not written
    t.after(() => operator.daemon.signal("SIGCONT"));
    await cp.patchStatus(POLICY, { decisions: [HELD_ROW] });
    const uninstalled = helmIn(cp, "uninstall", ...RELEASE);
    await Promise.all([
      assert.rejects(uninstalled, /hookpolicy-uninstall/),
      assert.rejects(
        runUninstallJob(cp),
        /Cluster team-a\/prod-1 at BeforeClusterDelete.*--release-held-clusters/s,
      ),
    ]);
    for (const ref of [EXTENSION, WEBHOOKS]) assert.ok(await cp.find(ref), ref.kind);
    await cp.patchStatus(POLICY, { decisions: [] });
  });

  test("uninstalling unregisters, stops and releases in this order, and keeps CRDs and policies", async () => {
    const dry = await output(
      process.execPath,
      [join(ROOT, "dist/main.js"), "prepare-uninstall", "--dry-run"],
      { KUBECONFIG: cp.adminKubeconfig },
    );
    assert.deepEqual(dry.trimEnd().split("\n"), [
      "would delete ExtensionConfig hookpolicy",
      "would delete ValidatingWebhookConfiguration hookpolicy",
      "would scale Deployment hookpolicy-system/hookpolicy to 0 and wait for its Pods to stop",
      "would remove the finalizer hookpolicy.dev/hold-clusters from 1 policy",
      "would say in the status of 1 policy that the operator is gone",
    ]);
    assert.ok(await cp.find(EXTENSION), "nothing was done");

    const uninstalled = helmIn(cp, "uninstall", ...RELEASE);
    const [printed] = await Promise.all([runUninstallJob(cp), stopReplicas()]);
    assert.equal(printed, dry.replaceAll(/^would (.*)$/gm, "$1 ... done"));
    assert.match(await uninstalled, /release "hookpolicy" uninstalled/);
    for (const ref of [EXTENSION, WEBHOOKS, DEPLOYMENT, UNINSTALL_JOB])
      assert.equal(await cp.find(ref), undefined);
    assert.deepEqual(await finalizers(), ["example.com/other"], "somebody else's stays");
    const left = await cp.kubectl("get", "clusterrole,clusterrolebinding,crd", "-o", "name");
    const ours = left.split("\n").filter((name) => name.includes("hookpolicy"));
    assert.ok(ours.length === 5 && ours.every((name) => name.startsWith("customresourcedefinition")));
  });

  test("the chart installs again over the CRDs that were kept, and policies are held as before", async () => {
    await helmIn(cp, "install", ...RELEASE, CHART);
    await readyOperator("second");
    assert.deepEqual(await finalizers(), ["example.com/other", FINALIZER]);
    await operator.daemon.stop();
  });

  test("over CRDs of another release it installs with --take-ownership, and no policy goes", async () => {
    const { uid } = (await cp.get(POLICY)).metadata;
    await helmIn(cp, "uninstall", ...RELEASE, "--no-hooks");
    assert.ok(await cp.find(EXTENSION), "to delete it is to release what is held");
    const install = ["install", "hooks", CHART, "--namespace", "platform", "--create-namespace"];
    await assert.rejects(helmIn(cp, ...install), /invalid ownership metadata/);
    await helmIn(cp, ...install, "--take-ownership");
    assert.equal((await cp.get(POLICY)).metadata.uid, uid);
  });
});
