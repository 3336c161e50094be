/** The shipped webhook on a real API server: what kubectl says to those who apply policies. */

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { GateSpec, ObjectGateSpec } from "../../src/api/hook-policy.ts";
import { ADMISSION_PATH } from "../../src/admission/review-handler.ts";
import { createCertificateAuthority } from "../controlplane/certificates.ts";
import { type AdmissionClient, createAdmissionClient } from "./admission-client.ts";
import { type KubeObject, objectsOf, type Ref, isRefused, refusalOf } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { may, type Question } from "../controlplane/may.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  NAMESPACE,
  type Operator,
  operatorPorts,
  SERVICE_HOST,
  startOperator,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { allow, grant, type PolicyRule } from "../controlplane/rights.ts";

const WEBHOOK: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
const TEAM = "team-a";

let cp: ControlPlane;
let operator: Operator;
let client: AdmissionClient;
let files = 0;

before(async () => {
  client = await createAdmissionClient();
  cp = await startControlPlane({ apiServerArgs: client.apiServerArgs, seed: "cluster" });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
  await mayWritePolicies("jane");
  const ports = await operatorPorts();
  await cp.apply(await shippedWebhook(ports.admission));
  const certDir = join(cp.folder, "hookpolicy-certs");
  await mkdir(certDir);
  await writeFile(join(certDir, "ca.crt"), cp.authority.certificate);
  operator = await startOperator(cp, { ports, flags: client.flags });
  assert.equal(operator.certDir, certDir);
  await untilCaBundle(cp.authority.caBundle);
  await untilCalled();
});
after(async () => {
  await cp?.stop();
  await client?.remove();
});

/** As shipped, but for the Service, of which there is none here. */
async function shippedWebhook(port: number): Promise<KubeObject> {
  const [object] = objectsOf(
    await readFile(join(import.meta.dirname, "../../manifests/webhook.yaml"), "utf8"),
  );
  assert.ok(object);
  const [webhook, ...others] = object["webhooks"];
  assert.deepEqual(others, []);
  const { service } = webhook.clientConfig;
  assert.equal(`${service.name}.${service.namespace}.svc`, SERVICE_HOST);
  assert.equal(service.path, ADMISSION_PATH);
  const clientConfig = { url: `https://127.0.0.1:${port}${service.path}` };
  return { ...object, webhooks: [{ ...webhook, clientConfig }] };
}

async function untilCaBundle(wanted: string): Promise<void> {
  await cp.waitFor("the operator to write the caBundle", async () => {
    const { webhooks } = await cp.get(WEBHOOK);
    return webhooks[0].clientConfig.caBundle === wanted;
  });
}

/** The API server needs a moment to see that a configuration is new. */
async function untilCalled(): Promise<void> {
  const broken = policy([{ name: "broken", expression: "clustr" }]);
  await cp.waitFor("a broken policy to be refused", async () => isRefused(apply(broken, "--dry-run=server")));
}

async function bind(user: string, name: string, ...rules: readonly PolicyRule[]): Promise<void> {
  await cp.apply(grant({ namespace: TEAM, name }, rules, { kind: "User", name: user }));
}

/** The API server's authorizer needs a moment, too. */
async function untilMay(user: string, verb: string, resource: string, name?: string): Promise<void> {
  const question = { verb, resource, namespace: TEAM, ...(name !== undefined && { name }) };
  const allowed = async (): Promise<boolean> => await may(cp, user, question);
  await cp.waitFor(`${user} to be allowed to ${verb} ${resource}`, allowed);
}

async function mayWritePolicies(user: string): Promise<void> {
  const [apiGroup, resource] = ["hookpolicy.dev", "hookpolicies"] as const;
  await bind(user, `${user}-writes-policies`, allow(apiGroup, resource, "get", "create", "patch"));
  await untilMay(user, "patch", `${resource}.${apiGroup}`);
}

function policy(
  until: readonly GateSpec[],
  more: { readonly name?: string; readonly spec?: object } = {},
): KubeObject {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { namespace: TEAM, name: more.name ?? "protect" },
    spec: { rules: [{ name: "upgrade", hooks: ["BeforeClusterUpgrade"], until }], ...more.spec },
  };
}

const QUIET: GateSpec = {
  name: "approved",
  annotation: { key: "example.com/ok", valueFrom: "TargetVersion" },
};

/** As people do it; rejects with what kubectl complains about. */
async function apply(object: KubeObject, ...flags: readonly string[]): Promise<string> {
  const file = join(cp.folder, `policy-${++files}.json`);
  await writeFile(file, JSON.stringify(object));
  return await cp.kubectl("apply", "-f", file, ...flags);
}

/** What kubectl warns of. The object is stored all the same. */
async function warningsOf(object: KubeObject, ...flags: readonly string[]): Promise<string[]> {
  const complaint = (await refusalOf(apply(object, "--warnings-as-errors", ...flags))) ?? "";
  assert.doesNotMatch(complaint, /denied/);
  return complaint.split("\n").flatMap((line) => /Warning: (.*)/.exec(line)?.[1] ?? []);
}

const MISTAKES: Readonly<Record<string, readonly [GateSpec, RegExp]>> = {
  "CEL that does not compile": [
    { name: "canary", expression: "clustr.metadata.name == 'x'" },
    /spec\.rules\[0\]\.until\[0\]\.expression: column 1: unknown variable "clustr"/,
  ],
  "a schedule that is none": [
    { name: "night", window: { timeZone: "UTC", allow: [{ schedule: "0 25 * * *", duration: "1h" }] } },
    /spec\.rules\[0\]\.until\[0\]\.window\.allow\[0\]\.schedule: .*hour "25" cannot be read/,
  ],
  "an unknown zone": [
    {
      name: "night",
      window: { timeZone: "Europe/Berln", allow: [{ schedule: "0 22 * * *", duration: "1h" }] },
    },
    /spec\.rules\[0\]\.until\[0\]\.window\.timeZone: .*did you mean "Europe\/Berlin"/,
  ],
  "a range of versions that is none": [
    { name: "new", version: { range: "1.x >" } },
    /spec\.rules\[0\]\.until\[0\]\.version\.range: found "1\.x >"/,
  ],
};

for (const [mistake, [gate, message]] of Object.entries(MISTAKES)) {
  test(`${mistake} is refused at once, with its path`, async () => {
    const refused = apply(policy([gate], { name: "mistake" }));
    await assert.rejects(refused, message);
    await assert.rejects(refused, /The HookPolicy "mistake" is invalid: /);
    assert.equal(await cp.find({ ...policy([]), name: "mistake", namespace: TEAM }), undefined);
  });
}

test("what is legal but suspicious is a warning, and stored", async () => {
  const presence: GateSpec = { name: "approved", annotation: { key: "example.com/ok" } };
  const nothing = { clusterSelector: { matchLabels: { tier: "none" } } };
  const warnings = await warningsOf(policy([presence], { name: "suspicious", spec: nothing }));
  assert.equal(warnings.length, 2);
  assert.match(
    warnings[0] ?? "",
    /^spec\.rules\[0\]\.until\[0\]\.annotation: example\.com\/ok only has to be present/,
  );
  assert.equal(warnings[1], "spec.clusterSelector: matches no Cluster in this namespace at present");
  await cp.get({ ...policy([]), name: "suspicious", namespace: TEAM });
  assert.deepEqual(await warningsOf(policy([QUIET], { name: "quiet" })), []);
});

test("an override that will do nothing is stored with warnings", async () => {
  const override = {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookOverride",
    metadata: { name: "incident" },
    spec: {
      clusterRef: { namespace: TEAM, name: "gone" },
      hooks: ["BeforeClusterDelete"],
      policyRefs: [{ kind: "ClusterHookPolicy", name: "freeze" }],
      reason: "incident 42",
      expiresAt: new Date(Date.now() + 30 * 86_400_000).toISOString().replace(/\.\d+/, ""),
    },
  };
  const warnings = await warningsOf(override);
  assert.deepEqual(warnings.slice(0, 2), [
    "spec.clusterRef: there is no Cluster team-a/gone",
    "spec.policyRefs[0]: there is no ClusterHookPolicy freeze",
  ]);
  assert.match(warnings[2] ?? "", /^spec\.expiresAt: lasts longer than 168h/);
  await cp.get({ ...override, name: "incident" });
});

const objectGate = (object: ObjectGateSpec): GateSpec => ({ name: "object", object });
const LEASES = objectGate({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", selector: {} });

test("an object gate needs its author's right to read the kind, and the operator's is told of", async () => {
  const looks = policy([LEASES], { name: "looks" });
  await assert.rejects(
    apply(looks, "--as=jane"),
    /Forbidden.*spec\.rules\[0\]\.until\[0\]\.object: user "jane" cannot list resource "leases" in API group "coordination\.k8s\.io" in the namespace "team-a"/,
  );
  await bind("jane", "jane-lists-leases", allow("coordination.k8s.io", "leases", "list"));
  await untilMay("jane", "list", "leases.coordination.k8s.io");
  const [warning, ...others] = await warningsOf(looks, "--as=jane");
  assert.match(
    warning ?? "",
    /object: the operator may not read leases\.coordination\.k8s\.io: bind the verbs get, list and watch/,
  );
  assert.deepEqual(others, []);
});

test("somebody who may not read what a gate looks at may edit the rest of the policy, but not the gate", async () => {
  await mayWritePolicies("bot");
  const [shared, other] = [policy([LEASES], { name: "shared" }), { mode: "Audit" }];
  await apply(shared);
  await apply(policy([LEASES, QUIET], { name: "shared", spec: { ...shared["spec"], ...other } }), "--as=bot");
  const guess = objectGate({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "guessed" });
  await assert.rejects(
    apply(policy([guess], { name: "shared" }), "--as=bot"),
    /user "bot" cannot get resource "leases"/,
  );
});

test("tasks need their author's right to impersonate the ServiceAccount, for whatever changes of the spec", async () => {
  const task = { name: "mark", apply: CONFIG_MAP, succeeded: "true" };
  const rule = { name: "upgrade", hooks: ["BeforeClusterUpgrade"], until: [QUIET], tasks: [task] };
  const of = (name: string, over: object = {}): KubeObject =>
    policy([], { name, spec: { serviceAccountName: "cluster-tasks", rules: [rule], ...over } });
  const refused =
    /Forbidden[^]*spec\.serviceAccountName: user "(jane|bot)" cannot impersonate ServiceAccount "cluster-tasks" in the namespace "team-a"/;
  await assert.rejects(apply(of("tasks"), "--as=jane"), refused);
  const impersonates = { ...allow("", "serviceaccounts", "impersonate"), resourceNames: ["cluster-tasks"] };
  await bind("jane", "jane-impersonates", impersonates);
  // A review that is not answered in time says "try again".
  await cp.waitFor("jane to store it", async () => await apply(of("tasks"), "--as=jane"));
  await assert.rejects(
    apply(of("tasks", { serviceAccountName: "other" }), "--as=jane"),
    /cannot impersonate ServiceAccount "other"/,
  );
  await mayWritePolicies("bot");
  const { until: _, ...open } = rule;
  for (const over of [
    { rules: [open] },
    { clusterSelector: { matchLabels: { a: "b" } } },
    { rules: [{ ...rule, tasks: null }] },
  ])
    await assert.rejects(apply(of("tasks", over), "--as=bot"), refused);
});

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mark" } };

test("a kind that is not served can be named by an administrator only", async () => {
  const backups = objectGate({ apiVersion: "velero.io/v1", kind: "Backup", selector: {} });
  const early = policy([backups], { name: "early" });
  await assert.rejects(
    apply(early, "--as=jane"),
    /it is unknown whether user "jane" may read objects of this kind/,
  );
  assert.match((await warningsOf(early)).join(), /the API server serves no kind Backup in velero\.io\/v1/);
});

test("a new authority is written, and trusted, without a restart", async () => {
  const authority = await createCertificateAuthority();
  const pair = await authority.issue({ commonName: SERVICE_HOST, names: [SERVICE_HOST, "127.0.0.1"] });
  await writeServingCertificate(operator.certDir, pair);
  await writeFile(join(operator.certDir, "ca.crt"), authority.certificate);
  await untilCaBundle(authority.caBundle);
  await untilCalled();
  await writeServingCertificate(operator.certDir, await issueServingCertificate(cp));
});

test("the webhook applied again, as it is shipped, keeps the caBundle", async () => {
  const { webhooks } = await cp.get(WEBHOOK);
  await cp.apply(await shippedWebhook(operator.ports.admission));
  assert.equal(
    (await cp.get(WEBHOOK))["webhooks"][0].clientConfig.caBundle,
    webhooks[0].clientConfig.caBundle,
  );
});

test("without the operator policies are admitted, and with failurePolicy Fail finalizers, labels and the status still change", async () => {
  await operator.daemon.stop();
  const broken = policy([{ name: "broken", expression: "clustr" }], { name: "broken" });
  await apply(broken);
  const ref = { ...broken, name: "broken", namespace: TEAM };
  await cp.patch(WEBHOOK, [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" }], {
    type: "json",
  });
  await cp.waitFor("a change of the spec to be refused", async () => {
    if (await isRefused(cp.patch(ref, { spec: { mode: "Audit" } }))) return true;
    return await isRefused(cp.patch(ref, { spec: { mode: "Enforce" } }));
  });
  await cp.patch(ref, { metadata: { labels: { a: "b" }, finalizers: ["hookpolicy.dev/hold-clusters"] } });
  await cp.patchStatus(ref, { matchedClusters: 7 });
  await cp.delete(ref);
  await cp.patch(ref, { metadata: { finalizers: [] } });
  assert.equal(await cp.find(ref), undefined);
});

test("the operator's ServiceAccount may ask and write exactly this", async () => {
  const operatorMay = async (question: Question): Promise<boolean> =>
    await may(cp, `system:serviceaccount:${NAMESPACE}:hookpolicy`, question);
  const patch = { verb: "patch", resource: "validatingwebhookconfigurations.admissionregistration.k8s.io" };
  assert.ok(await operatorMay({ verb: "create", resource: "subjectaccessreviews.authorization.k8s.io" }));
  assert.ok(await operatorMay({ ...patch, name: "hookpolicy" }));
  assert.ok(await operatorMay({ ...patch, name: "hookpolicy-clusters" }));
  assert.ok(!(await operatorMay({ ...patch, name: "other" })));
  assert.ok(!(await operatorMay({ ...patch, verb: "list" })));
});
