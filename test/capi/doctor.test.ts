/** What keeps policies from holding anything, one thing after the other, and each cured by what `doctor` says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import test, { after, describe } from "node:test";
import { Ajv } from "ajv";
import { diagnose } from "../../src/cli/doctor/command.ts";
import type { Check } from "../../src/cli/doctor/finding.ts";
import { type KubeObject, type Ref, objectOf } from "../controlplane/client.ts";
import { objectsOf } from "../controlplane/client.ts";
import { createCertificateAuthority } from "../controlplane/certificates.ts";
import { type ClusterApi, FEATURE_GATES, installClusterApi } from "../controlplane/cluster-api.ts";
import { startConnectProxy } from "../controlplane/connect-proxy.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { MANAGER, managerDeployment, OPERATOR, setAvailable } from "../controlplane/deployments.ts";
import { extensionRef } from "../controlplane/extension.ts";
import { clusterRef, createCluster, installLab } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  NAMESPACE,
  type Operator,
  operatorPorts,
  SERVICE_HOST,
  startOperator,
} from "../controlplane/operator.ts";
import {
  applyPolicy,
  approvalRule,
  clusterPolicyRef,
  condition,
  conditionIs,
  eventAbout,
  policyRef,
  storePolicy,
  storeOverride,
} from "../controlplane/policies.ts";
import { createAccountWith } from "../controlplane/rights.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const OFF = "ClusterTopology=true,RuntimeSDK=false";
const PROTECT = policyRef("team-a", "protect");
const SECRET = "hookpolicy-webhook-service-cert";

interface Diagnosis {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let capi: ClusterApi;
let operator: Operator;
const cp = await startControlPlane();
const ports = await operatorPorts();
// No kubelet, no Service: Cluster API honours HTTPS_PROXY, and the proxy connects as a Service would.
const service = await startConnectProxy({ [`${SERVICE_HOST}:443`]: ports.webhook });
after(async () => {
  await cp.stop();
  await service.stop();
});

describe("doctor", () => {
  const doctor = async (...args: readonly string[]): Promise<Diagnosis> =>
    await new Promise((done) => {
      const argv = [join(ROOT, "dist/main.js"), "doctor", "--kubeconfig", cp.adminKubeconfig, ...args];
      execFile(process.execPath, argv, (error, stdout, stderr) => {
        done({ code: Number(error?.code ?? 0), stdout, stderr });
      });
    });
  /** Here, and not in a process, which would take half a second of work each time. */
  const checks = async (): Promise<Check[]> => await diagnose({ kubeconfig: cp.adminKubeconfig });
  const check = async (name: string): Promise<Check> => {
    const found = (await checks()).find((each) => each.name === name);
    assert.ok(found !== undefined, name);
    return found;
  };
  /** The finding that is wrong, with its remedy. */
  const finds = async (name: string, state: string, detail: RegExp): Promise<string> => {
    const found = await check(name);
    assert.equal(found.state, state, JSON.stringify(found));
    assert.match([found.detail, ...(found.problems ?? []).map((each) => each.detail)].join("\n"), detail);
    return found.remedy ?? "";
  };
  const cured = async (name: string): Promise<void> => {
    let last: Check | undefined;
    await cp
      .waitFor(`${name} to be ok`, async () => {
        last = await check(name);
        return last.state === "ok";
      })
      .catch((error: unknown) => assert.fail(`${String(error)}: ${JSON.stringify(last)}`));
  };
  /** A remedy that is a command of kubectl's, or has one at its end, as a person would type it. */
  const follow = async (remedy: string): Promise<void> => {
    const command = remedy.slice(remedy.indexOf("kubectl "));
    for (const each of command.split(" && ")) {
      const words = [...each.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
      await cp.kubectl(
        ...words.slice(1).map((word) => word.replace(/^(crds|manifests\/)/, join(ROOT, "$1"))),
      );
    }
  };
  const rendered = async (kind: string): Promise<KubeObject[]> =>
    objectsOf(await cp.kubectl("kustomize", join(ROOT, "manifests"))).filter((each) => each.kind === kind);
  const secret = async (authority: { certificate: string }): Promise<void> => {
    const { certificate, key } = await issueServingCertificate(cp);
    const stringData = { "ca.crt": authority.certificate, "tls.crt": certificate, "tls.key": key };
    await cp.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: SECRET, namespace: NAMESPACE },
      stringData,
    });
  };
  const gates = async (value: string): Promise<void> => {
    const args = [`--feature-gates=${value}`];
    await capi.restart({ env: { HTTPS_PROXY: service.url, NO_PROXY: "127.0.0.1,localhost" }, args });
  };

  test("says what is missing where there is nothing", async () => {
    assert.equal((await doctor()).code, 1);
    const remedy = await finds("CRDs", "error", /no CustomResourceDefinition of HookPolicy/);
    await finds("operator", "error", /no Deployment with the label/);
    await finds("Cluster API", "error", /serves no Clusters/);
    await follow(remedy);
    await cured("CRDs");
    const [crd] = await rendered("CustomResourceDefinition");
    const versions = structuredClone(crd?.["spec"].versions);
    delete versions[0].schema.openAPIV3Schema.properties.spec.properties.failurePolicy;
    const ref = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: crd?.metadata.name ?? "",
    };
    await cp.patch(ref, { spec: { versions } });
    await follow(await finds("CRDs", "error", /older than this program: it lacks spec\.failurePolicy$/));
    await cured("CRDs");
  });

  test("looks for replicas that answer", async () => {
    await installHookPolicy(cp);
    operator = await startOperator(cp, { ports });
    await cp.apply(await rendered("Deployment"));
    await finds("operator", "error", /0 of 2 available/);
    await setAvailable(cp, OPERATOR, 2);
    await cured("operator");
    await cp.patch(OPERATOR, { spec: { replicas: 0 } });
    await follow(await finds("operator", "error", /2 of 0 available/));
    await cured("operator");
  });

  test("asks whether the operator has its rights, by a verb that is taken away", async () => {
    await cured("rights");
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "hookpolicy" };
    const { rules } = await cp.get(role);
    const without = (rules as readonly { resources: string[]; verbs: string[] }[]).map((rule) =>
      rule.resources.includes("clusters") ? { ...rule, verbs: ["list", "watch"] } : rule,
    );
    await cp.patch(role, { rules: without });
    await cp.waitFor("it to be refused", async () => (await check("rights")).state === "error");
    const missing = /may not get clusters\.cluster\.x-k8s\.io: no release is confirmed/;
    await follow(await finds("rights", "error", missing));
    await cured("rights");
  });

  test("sees by Cluster API's webhook, and by its flags, that the feature gates are off", async () => {
    const env = { HTTPS_PROXY: service.url, NO_PROXY: "127.0.0.1,localhost" };
    capi = await installClusterApi(cp, { env, args: [`--feature-gates=${OFF}`] });
    await installLab(cp);
    await finds("feature gates", "error", /Cluster API are off.*: RuntimeSDK/);
    await finds("Cluster API", "unknown", /its version is unknown/);
    await gates(FEATURE_GATES);
    await cured("feature gates");
    await cp.apply(managerDeployment("v1.14.2", `MachinePool=true,${OFF}`));
    const remedy = await finds("feature gates", "error", /Cluster API are off.*: RuntimeSDK/);
    const [flag = ""] = /--feature-gates=\S+/.exec(remedy) ?? [];
    const path = "/spec/template/spec/containers/0/args/0";
    await cp.patch(MANAGER, [{ op: "replace", path, value: flag }], { type: "json" });
    await cured("feature gates");
    assert.equal((await check("Cluster API")).detail, "Cluster API v1.14.2");
  });

  test("and the policy itself say that nobody asks", async () => {
    await cp.apply(
      objectOf({ apiVersion: "v1", kind: "Namespace", name: "team-a", labels: { hooks: "on" } }),
    );
    await applyPolicy(cp, PROTECT, { rules: [approvalRule("BeforeWorkersUpgrade")] });
    await conditionIs(cp, PROTECT, "NotCalled", "NotRegistered");
    const event = await eventAbout(cp, PROTECT, "NotCalled");
    assert.equal(event["type"], "Warning");
    assert.equal(await operator.metric("hookpolicy_policies_not_called", 'reason="NotRegistered"'), 1);
    await finds("calls", "error", /HookPolicy team-a\/protect: NotRegistered/);
    await follow(await finds("ExtensionConfig", "error", /no ExtensionConfig points to the operator/));
    await cured("ExtensionConfig");
    await conditionIs(cp, PROTECT, "NotCalled", "NotDiscovered");
    await finds("discovery", "error", /Discovered is /);
    await finds("certificate", "error", /has no caBundle/);
    await secret(cp.authority);
    for (const name of ["discovery", "certificate", "calls", "handlers", "namespaces"]) await cured(name);
    assert.equal(condition(await cp.get(PROTECT), "NotCalled"), undefined);
    await eventAbout(cp, PROTECT, "Called");
    assert.equal(await operator.metric("hookpolicy_policies_not_called"), 0);
  });

  test("compares the authority with the certificate that is served", async () => {
    await secret(await createCertificateAuthority());
    await cp.waitFor("Cluster API to copy it", async () => (await check("certificate")).state === "error");
    const remedy = await finds("certificate", "error", /does not hold the authority that signed tls\.crt/);
    assert.match(remedy, /^put that authority into ca\.crt of Secret hookpolicy-system/);
    await cp.waitFor("discovery to fail", async () => (await check("discovery")).state === "error");
    await finds(
      "discovery",
      "error",
      /Discovered is False: .*x509.* \(Cluster API calls what it knew before/,
    );
    const failed = async (): Promise<boolean> => (await operator.metric("hookpolicy_discovery_failed")) === 1;
    await cp.waitFor("the operator to see it", failed);
    assert.equal(await operator.metric("hookpolicy_policies_not_called"), 0);
    assert.equal(condition(await cp.get(PROTECT), "NotCalled"), undefined);
    await secret(cp.authority);
    for (const name of ["certificate", "discovery"]) await cured(name);
    await cp.waitFor("the operator to see that", async () => !(await failed()));
  });

  test("finds the namespaces that are left out", async () => {
    const selector = { namespaceSelector: { matchLabels: { hooks: "off" } } };
    await cp.patch(extensionRef("hookpolicy"), { spec: selector });
    await conditionIs(cp, PROTECT, "NotCalled", "NamespaceNotSelected");
    const remedy = await finds("namespaces", "error", /hold nothing there: team-a$/);
    await cp.kubectl("label", "namespace", "team-a", "hooks=off", "--overwrite");
    await cured("namespaces");
    await cured("calls");
    await cp.kubectl("label", "namespace", "team-a", "hooks=on", "--overwrite");
    await conditionIs(cp, PROTECT, "NotCalled", "NamespaceNotSelected");
    await follow(remedy);
    await cured("namespaces");
    await cured("calls");
  });

  /** Of an operator that serves six, before one that serves all. Whether Cluster API has not discovered that, too. */
  async function learnsSixHandlers(attempt: number): Promise<boolean> {
    const handlers = async (): Promise<number> =>
      (await cp.get(extensionRef("hookpolicy"))).status.handlers.length;
    await operator.daemon.stop();
    operator = await startOperator(cp, { ports, flags: { "capi-version": "1.11" } });
    const annotations = { "hookpolicy.dev/discover": String(attempt) };
    await cp.patch(extensionRef("hookpolicy"), { metadata: { annotations } });
    await cp.waitFor("six handlers", async () => (await handlers()) === 6);
    // What it writes then makes Cluster API discover once more, or twice.
    await cp.waitFor("that", async () => (await operator.metric("hookpolicy_discovery_calls_total")) >= 2);
    await operator.daemon.stop();
    operator = await startOperator(cp, { ports });
    return (
      (await cp.waitFor("the policy to tell, or Cluster API to know all", async () => {
        const told = condition(await cp.get(PROTECT), "NotCalled")?.reason === "HookNotRegistered";
        return told ? "told" : (await handlers()) > 6 && "knows";
      })) === "told"
    );
  }

  async function runsManager(image: string): Promise<void> {
    const spec = { template: { spec: { containers: [{ name: "manager", image }] } } };
    await cp.patch(MANAGER, { spec }, { type: "strategic-merge" });
  }

  test("finds hooks that Cluster API has not learnt of, or would not know", async () => {
    let found: Check | undefined;
    // A discovery that met no operator is tried again, and may be so at any moment.
    for (let attempt = 1; found?.state !== "error"; attempt += 1) {
      assert.ok(attempt <= 10, JSON.stringify(found));
      if (await learnsSixHandlers(attempt)) found = await check("handlers");
    }
    assert.match(found.detail, /knows no handler for BeforeControlPlaneUpgrade/);
    await follow(found.remedy ?? "");
    await cured("handlers");
    await cured("calls");
    await runsManager("cluster-api-controller:v1.11.3");
    const remedy = await finds(
      "handlers",
      "error",
      /1\.11 refuses all of them because of BeforeControlPlaneUpgrade/,
    );
    const [value = ""] = /--capi-version=\S+/.exec(remedy) ?? [];
    const argument = { op: "add", path: "/spec/template/spec/containers/0/args/-", value };
    await cp.patch(OPERATOR, [argument], { type: "json" });
    await cured("handlers");
    await cp.apply(await rendered("Deployment"));
    await runsManager("c:v1.14.2");
    await cured("handlers");
  });

  test("finds an operator that is registered twice", async () => {
    const again = await cp.get(extensionRef("hookpolicy"));
    await cp.create({
      apiVersion: again.apiVersion,
      kind: again.kind,
      metadata: { name: "again" },
      spec: again["spec"],
    });
    await follow(await finds("ExtensionConfig", "warning", /2 ExtensionConfigs lead to the operator/));
    await cured("ExtensionConfig");
  });

  test("finds policies that hold nothing, and Clusters that nothing holds", async () => {
    await finds("effect", "warning", /1 policy without a Cluster\nHookPolicy team-a\/protect/);
    await createCluster(cp, { namespace: "team-a", name: "c1" });
    await cured("effect");
    await createCluster(cp, { namespace: "team-b", name: "c1" });
    await finds("coverage", "warning", /no policy matches 1 Cluster: team-b\/c1/);
    const everywhere = clusterPolicyRef("everywhere");
    await applyPolicy(cp, everywhere, {
      namespaceSelector: {},
      rules: [approvalRule("BeforeClusterUpgrade")],
    });
    await cured("coverage");
    const plain = {
      infrastructureRef: { apiGroup: "infrastructure.cluster.x-k8s.io", kind: "LabCluster", name: "x" },
    };
    const metadata = { namespace: "team-b", name: "plain", labels: { plain: "yes" } };
    await cp.create({ ...clusterRef("team-b", "plain"), metadata, spec: plain });
    await finds("topology", "error", /policies match 1 Cluster without spec\.topology.*team-b\/plain/);
    await cp.waitFor(
      "the metric",
      async () => (await operator.metric("hookpolicy_clusters", "matched_without")) === 1,
    );
    const selector = { matchExpressions: [{ key: "plain", operator: "DoesNotExist" }] };
    await cp.patch(everywhere, { spec: { clusterSelector: selector } });
    const remedy = await finds("topology", "warning", /1 Cluster \(team-b\/plain\)/);
    await follow(remedy);
    await cp.delete(clusterRef("team-b", "plain"));
    await cured("topology");
  });

  test("tells of policies that are not Ready, of overrides and of grants that are missing", async () => {
    const odd = policyRef("team-b", "odd");
    const object = {
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      selector: {},
      minCount: 1,
      expression: "true",
    };
    const rule = (gate: object): object => ({
      name: "r",
      hooks: ["BeforeClusterDelete"],
      until: [{ name: "g", ...gate }],
    });
    await storePolicy(cp, odd, { rules: [rule({ object })] });
    await finds("grants", "error", /serves no Certificate in cert-manager.io\/v1/);
    await conditionIs(cp, odd, "Ready", "ObjectKindUnknown");
    await finds("policies", "error", /HookPolicy team-b\/odd/);
    await cp.patch(odd, {
      spec: { rules: [rule({ object: { ...object, apiVersion: "apps/v1", kind: "StatefulSet" } })] },
    });
    await follow(await finds("grants", "error", /may not get, list, watch statefulsets\.apps/));
    await cured("grants");
    await cured("policies");
    await storeOverride(cp, "o", {
      clusterRef: { namespace: "team-a", name: "c1" },
      hooks: ["BeforeClusterDelete"],
    });
    const remedy = await finds("overrides", "warning", /o \(team-a\/c1 until /);
    await follow(remedy);
    await cured("overrides");
  });

  test("wants the webhook to be trusted", async () => {
    await follow(await finds("webhook", "warning", /no ValidatingWebhookConfiguration/));
    await finds("webhook", "warning", /has no caBundle/);
    const { webhooks } = await cp.get(WEBHOOK);
    const [first] = webhooks;
    const caBundle = cp.authority.caBundle;
    await cp.patch(WEBHOOK, { webhooks: [{ ...first, clientConfig: { ...first.clientConfig, caBundle } }] });
    await cured("webhook");
  });

  test("exits with 0 when all is well, and says so for programs", async () => {
    await cp.waitFor("all to be well", async () => (await checks()).every(({ state }) => state === "ok"));
    const { code, stdout } = await doctor("-o", "json", "--fail-on", "warning");
    assert.equal(code, 0);
    const report: { readonly checks: unknown } = JSON.parse(stdout);
    assert.deepEqual(report.checks, JSON.parse(JSON.stringify(await checks())));
    const ajv = new Ajv();
    const schema: object = JSON.parse(await readFile(join(ROOT, "schemas/output/doctor.json"), "utf8"));
    assert.ok(ajv.validate(schema, report), ajv.errorsText());
    const text = await doctor();
    assert.match(text.stdout, /^STATE +CHECK +FOUND\nok +API server +Kubernetes v1/);
    assert.match(text.stdout, /\n28 ok\n$/);
  });

  test("cannot look without permission, or without an API server", async () => {
    await createAccountWith(cp, "default", "nobody");
    const nobody = await doctor("--kubeconfig", await cp.kubeconfigFor("default", "nobody"), "-o", "json");
    assert.equal(nobody.code, 2, nobody.stdout);
    const states = new Set(JSON.parse(nobody.stdout).checks.map((each: Check) => each.state));
    assert.deepEqual(states, new Set(["ok", "unknown"]));
    const gone = await cp.kubeconfigFor("default", "nobody", { server: "https://127.0.0.1:1" });
    const lost = await doctor("--kubeconfig", gone);
    assert.equal(lost.code, 2);
    assert.match(lost.stderr, /^error: .*\n$/);
  });
});

const WEBHOOK: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
