/** What is shipped in manifests/, as a real API server sees it. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { ADMISSION_PATH } from "../../src/admission/review-handler.ts";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { may } from "../controlplane/may.ts";
import { type PolicyRule, readGrant } from "../controlplane/rights.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { kustomizeWith } from "../install/tools.ts";

const MANIFESTS = join(import.meta.dirname, "../../manifests");
const NAMESPACE = "hookpolicy-system";
const OPERATOR = `system:serviceaccount:${NAMESPACE}:hookpolicy`;

interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
}

const cp = await sharedControlPlane();
after(async () => await cp.stop());
const rendered = objectsOf(await cp.kubectl("kustomize", MANIFESTS));

function find(kind: string): KubeObject {
  const object = rendered.find((o) => o.kind === kind);
  assert.ok(object, kind);
  return object;
}

for (const flag of ["-f", "-k"]) {
  test(`kubectl apply ${flag} crds/ takes the definitions, and nothing else`, async () => {
    const output = await cp.kubectl(
      "apply",
      "--server-side",
      "--dry-run=server",
      flag,
      join(MANIFESTS, "../crds"),
    );
    assert.deepEqual(
      output
        .trim()
        .split("\n")
        .map((line) => line.replace(/ .*/, ""))
        .toSorted(),
      ["clusterhookpolicies", "hookoverrides", "hookpolicies", "hookrollouts", "hooktasks"].map(
        (plural) => `customresourcedefinition.apiextensions.k8s.io/${plural}.hookpolicy.dev`,
      ),
    );
  });
}

test("every object is accepted, without unknown fields or warnings", async () => {
  const output = await cp.kubectl(
    "apply",
    "--server-side",
    "--force-conflicts",
    "--dry-run=server",
    "--validate=strict",
    "-k",
    MANIFESTS,
  );
  assert.equal(output.trim().split("\n").length, rendered.length);
  const counts = Map.groupBy(rendered, ({ kind }) => kind);
  assert.deepEqual(Object.fromEntries([...counts].map(([kind, all]) => [kind, all.length])), {
    ClusterRole: 11,
    ClusterRoleBinding: 4,
    CustomResourceDefinition: 5,
    Deployment: 1,
    ExtensionConfig: 1,
    Namespace: 1,
    PodDisruptionBudget: 1,
    ResourceQuota: 1,
    Role: 2,
    RoleBinding: 2,
    Service: 1,
    ServiceAccount: 1,
    ValidatingAdmissionPolicy: 1,
    ValidatingAdmissionPolicyBinding: 1,
    ValidatingWebhookConfiguration: 1,
  });
});

test("a Pod of the Deployment is admitted to the restricted namespace", async () => {
  const { metadata, spec } = find("Deployment")["spec"].template;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: "probe", namespace: NAMESPACE },
    spec,
  };
  await cp.request(
    "POST",
    `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All&fieldValidation=Strict`,
    JSON.stringify(pod),
  );
  const privileged = structuredClone(pod);
  privileged.spec.containers[0].securityContext.allowPrivilegeEscalation = true;
  await assert.rejects(
    cp.request("POST", `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, JSON.stringify(privileged)),
    /violates PodSecurity "restricted/,
  );
});

test("the parts name each other", () => {
  const { spec } = find("Deployment");
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const labels = spec.template.metadata.labels;
  const matches = (selector: object): boolean =>
    Object.entries(selector).every(([key, value]) => labels[key] === value);
  assert.ok(matches(spec.selector.matchLabels));
  assert.ok(matches(find("Service")["spec"].selector));
  assert.ok(matches(find("PodDisruptionBudget")["spec"].selector.matchLabels));

  const ports = Object.fromEntries(
    container.ports.map(({ name, containerPort }: ContainerPort) => [name, containerPort]),
  );
  assert.deepEqual(ports, { webhook: 9443, admission: 9444, health: 9440, metrics: 8443 });
  const [hooks, admission] = find("Service")["spec"].ports;
  assert.deepEqual([hooks.port, hooks.targetPort], [443, "webhook"]);
  assert.deepEqual([admission.port, admission.targetPort], [8443, "admission"]);
  assert.equal(pod.serviceAccountName, find("ServiceAccount").metadata.name);

  const extension = find("ExtensionConfig");
  const { service } = extension["spec"].clientConfig;
  assert.equal(service.name, find("Service").metadata.name);
  assert.equal(service.namespace, find("Service").metadata.namespace);
  const { secretName } = pod.volumes[0].secret;
  assert.equal(
    extension.metadata.annotations?.["runtime.cluster.x-k8s.io/inject-ca-from-secret"],
    `${NAMESPACE}/${secretName}`,
  );
  const [webhook] = find("ValidatingWebhookConfiguration")["webhooks"];
  assert.deepEqual(webhook.clientConfig.service, { ...service, port: admission.port, path: ADMISSION_PATH });
  assert.ok(container.args.includes(`--webhook-cert-dir=${container.volumeMounts[0].mountPath}`));
});

const operatorMay = async (verb: string, resource: string): Promise<boolean> =>
  await may(cp, OPERATOR, { verb, resource });

test("the operator may not create, update or delete policies, nor see Secrets, ConfigMaps, Pods and Events", async () => {
  const own = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts"].map(
    (plural) => `${plural}.hookpolicy.dev`,
  );
  for (const plural of ["clusterhookpolicies", "hookoverrides", "hookrollouts"])
    assert.ok(!(await operatorMay("patch", `${plural}.hookpolicy.dev`)), plural);
  for (const verb of ["create", "update", "delete"]) {
    for (const resource of own) assert.ok(!(await operatorMay(verb, resource)), `${verb} ${resource}`);
  }
  for (const resource of ["secrets", "configmaps", "pods", "events"]) {
    for (const verb of ["get", "list", "create"])
      assert.ok(!(await operatorMay(verb, resource)), `${verb} ${resource}`);
  }
  const { rules } = find("ClusterRole");
  const clusters = rules.filter(({ apiGroups }: PolicyRule) => apiGroups.includes("cluster.x-k8s.io"));
  assert.deepEqual(clusters, [
    { apiGroups: ["cluster.x-k8s.io"], resources: ["clusters"], verbs: ["get", "list", "watch"] },
  ]);
  assert.doesNotMatch(JSON.stringify(rules), /\*/);
});

test("the operator serves its metrics securely, and nobody is granted them yet", () => {
  const [container] = find("Deployment")["spec"].template.spec.containers;
  assert.ok(container.args.includes("--metrics-secure=true"));
  const reader = rendered.find(({ metadata }) => metadata.name === "hookpolicy-metrics-reader");
  assert.deepEqual(reader?.["rules"], [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
  const bound = rendered.filter(({ roleRef }) => roleRef?.name === reader.metadata.name);
  assert.deepEqual(bound, []);
});

test("the operator may look at what a labelled ClusterRole grants, for as long as there is one", async () => {
  const granted = readGrant("leases", "coordination.k8s.io");
  const leases = "leases.coordination.k8s.io";
  assert.ok(!(await operatorMay("list", leases)));
  await cp.apply(granted);
  await cp.waitFor("the grant to work", async () => await operatorMay("list", leases));
  assert.ok((await operatorMay("get", leases)) && (await operatorMay("watch", leases)));
  assert.ok(!(await operatorMay("update", leases)));
  const roles = rendered.filter(({ kind }) => kind === "ClusterRole");
  await cp.apply(roles);
  assert.ok(await operatorMay("list", leases), "the manifests applied again take nothing away");
  await cp.delete({ ...granted, ...granted.metadata });
  await cp.waitFor("the grant to end", async () => !(await operatorMay("list", leases)));
});

test("the cert-manager component renders a certificate for the Service", async () => {
  const folder = join(cp.folder, "with-cert-manager");
  await mkdir(folder);
  const [resources, components] = [MANIFESTS, join(MANIFESTS, "cert-manager")].map((path) => [
    relative(folder, path),
  ]);
  await writeFile(join(folder, "kustomization.yaml"), JSON.stringify({ resources, components }));
  const objects = objectsOf(await cp.kubectl("kustomize", folder));
  const named = (kind: string, name: string): KubeObject | undefined =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
  const certificate = named("Certificate", "hookpolicy-webhook-service-cert");
  const { name, namespace } = find("Service").metadata;
  assert.ok(certificate);
  assert.ok(certificate["spec"].dnsNames.includes(`${name}.${namespace}.svc`));
  assert.equal(
    certificate["spec"].secretName,
    find("Deployment")["spec"].template.spec.volumes[0].secret.secretName,
  );
  const webhook = objects.find((object) => object.kind === "ValidatingWebhookConfiguration");
  assert.equal(
    webhook?.metadata.annotations?.["cert-manager.io/inject-ca-from"],
    `${certificate.metadata.namespace}/${certificate.metadata.name}`,
  );
  // Signed by an authority that outlives it: a leaf that signs itself would be distrusted at each renewal.
  const issuer = named("Issuer", certificate["spec"].issuerRef.name);
  const authority = objects.find(
    ({ kind, spec }) => kind === "Certificate" && spec.secretName === issuer?.["spec"].ca.secretName,
  );
  assert.equal(authority?.["spec"].isCA, true);
  assert.equal(authority["spec"].privateKey.rotationPolicy, "Never");
  // And the operator leaves it to cert-manager.
  const [container] = named("Deployment", "hookpolicy")?.["spec"].template.spec.containers ?? [];
  assert.equal(
    container.args.findLast((arg: string) => arg.startsWith("--cert-management=")),
    "--cert-management=Files",
  );
  const secrets = ({ kind, rules }: KubeObject): boolean =>
    kind === "Role" && JSON.stringify(rules).includes('"secrets"');
  assert.ok(rendered.some(secrets));
  assert.ok(!objects.some(secrets));
  // It cannot change its webhook then, either.
  const patches = ({ rules = [] }: KubeObject): boolean =>
    rules.some(
      (granted: { readonly resources?: string[]; readonly verbs: string[] }) =>
        granted.resources?.includes("validatingwebhookconfigurations") && granted.verbs.includes("patch"),
    );
  assert.ok(rendered.some(patches));
  assert.ok(!objects.some(patches));
});

test("the network-policy component selects the Pods, by ports that they have", async () => {
  const objects = await kustomizeWith(join(cp.folder, "with-network-policy"), ["network-policy"]);
  const policy = objects.find(({ kind }) => kind === "NetworkPolicy");
  assert.ok(policy);
  assert.equal(objects.length, rendered.length + 1);
  await cp.request(
    "POST",
    `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies?dryRun=All&fieldValidation=Strict`,
    JSON.stringify(policy),
  );
  const { template } = find("Deployment")["spec"];
  assert.deepEqual(policy["spec"].podSelector.matchLabels, find("Deployment")["spec"].selector.matchLabels);
  const named = policy["spec"].ingress.flatMap(({ ports }: { ports: { port: string }[] }) =>
    ports.map(({ port }) => port),
  );
  const own = template.spec.containers[0].ports.map(({ name }: ContainerPort) => name);
  // Probes come from the node, which no NetworkPolicy keeps out.
  assert.deepEqual(named.toSorted(), own.filter((name: string) => name !== "health").toSorted());
});

const COMPONENTS = [
  "admission",
  "cluster-admission",
  "cert-manager",
  "monitoring",
  "network-policy",
  "clusterctl",
];

for (const components of [[], ...COMPONENTS.map((each) => [each]), COMPONENTS]) {
  test(`another namespace reaches every object of ${components.join(", ") || "the manifests"}`, async () => {
    const folder = join(cp.folder, `elsewhere-${components.join("-")}`);
    const moved = await kustomizeWith(folder, components, {
      namespace: "platform-hooks",
      transformers: ["namespace"],
    });
    assert.doesNotMatch(JSON.stringify(moved), new RegExp(NAMESPACE));
    const as = await kustomizeWith(`${folder}-default`, components);
    const back = JSON.parse(JSON.stringify(moved).replaceAll("platform-hooks", NAMESPACE));
    // kustomize believes that kinds which it does not know have a namespace; the API server ignores it.
    const plain = (objects: readonly KubeObject[]): unknown =>
      objects.map(({ metadata: { namespace: _, ...metadata }, ...rest }) => ({ ...rest, metadata }));
    assert.deepEqual(plain(back), plain(as));
  });
}
