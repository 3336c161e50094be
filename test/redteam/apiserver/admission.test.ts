/** What an adversary finds at admission, with a real API server that calls the operator. */

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request as post } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import { ADMISSION_PATH } from "../../../src/admission/review-handler.ts";
import { DISCOVERY_PATH } from "../../../src/api/hook-catalog.ts";
import { Client, type KubeObject, objectsOf, type Ref } from "../../controlplane/client.ts";
import { installClusterDefinition } from "../../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../../controlplane/control-plane.ts";
import {
  installHookPolicy,
  NAMESPACE,
  type Operator,
  operatorPorts,
  startOperator,
} from "../../controlplane/operator.ts";
import { reviewOf } from "../../unit/admission/reviews.ts";
import { type AdmissionClient, createAdmissionClient } from "../../apiserver/admission-client.ts";

const MANIFESTS = join(import.meta.dirname, "../../../manifests");
const TEAM = "team-a";
const WEBHOOK: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};

let identity: AdmissionClient;
let cp: ControlPlane;
let operator: Operator;
/** A ServiceAccount of the team, which may write HookPolicies there and nothing else. */
let tenant: Client;

before(async () => {
  identity = await createAdmissionClient();
  cp = await startControlPlane({ apiServerArgs: identity.apiServerArgs, seed: "cluster" });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  const metadata = { name: "bot", namespace: TEAM };
  const [apiGroup, name] = ["rbac.authorization.k8s.io", "bot"];
  const verbs = ["get", "create", "update", "patch", "delete"];
  await cp.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: ["hookpolicy.dev"], resources: ["hookpolicies"], verbs }],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: TEAM }],
    },
  ]);
  const { url } = cp.apiServer;
  tenant = new Client({ url, ca: cp.authority.certificate, token: await cp.tokenFor(TEAM, "bot") });
  const ports = await operatorPorts();
  await cp.apply(await webhookAt(ports.admission));
  const certDir = join(cp.folder, "hookpolicy-certs");
  await mkdir(certDir);
  await writeFile(join(certDir, "ca.crt"), cp.authority.certificate);
  operator = await startOperator(cp, { ports, flags: identity.flags });
  await brokenRefused();
});
/** With another name each time: a policy that was stored is not reviewed again, because its spec does not change. */
let probes = 0;
async function brokenRefused(): Promise<void> {
  await cp.waitFor("a broken policy to be refused", async () =>
    tenant.apply(policy(`probe-${++probes}`, [{ name: "broken", expression: "clustr" }])).then(
      () => false,
      () => true,
    ),
  );
}

after(async () => {
  tenant?.close();
  await cp?.stop();
  await identity?.remove();
});

/** As shipped, but for the Service, of which there is none here. */
async function webhookAt(port: number): Promise<KubeObject> {
  const [object] = objectsOf(await readFile(join(MANIFESTS, "webhook.yaml"), "utf8"));
  assert.ok(object);
  const [webhook] = object["webhooks"];
  const { path } = webhook.clientConfig.service;
  return {
    ...object,
    webhooks: [{ ...webhook, clientConfig: { url: `https://127.0.0.1:${port}${path}` } }],
  };
}

function policy(name: string, until: readonly GateSpec[], finalizers: readonly string[] = []): KubeObject {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { namespace: TEAM, name, finalizers },
    spec: { rules: [{ name: "upgrade", hooks: ["BeforeClusterUpgrade"], until }] },
  };
}

const OWN: GateSpec = { name: "approved", annotation: { key: "example.com/ok", valueFrom: "TargetVersion" } };
const SPY: GateSpec = {
  name: "spy",
  object: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "secret" },
};
const FINALIZER = "example.com/mine";

/** The refusal of what is sent, by one who does as "try again" says. */
async function refusal(send: () => Promise<unknown>): Promise<string> {
  return await cp.waitFor("a refusal", async () => {
    const message = await send().then(
      () => assert.fail("it was not refused"),
      (error: unknown) => String(error),
    );
    return message.includes("try again") ? undefined : message;
  });
}

test("a deleted policy with a finalizer of the tenant's own cannot be edited to name what the tenant may not read", async () => {
  const object = policy("spy", [OWN], [FINALIZER]);
  const ref = { ...object, name: "spy", namespace: TEAM };
  assert.match(await refusal(() => tenant.apply(policy("direct", [SPY]))), /cannot get resource "leases"/);
  await tenant.apply(object);
  await tenant.delete(ref);
  assert.ok((await cp.get(ref)).metadata["deletionTimestamp"]);
  const { spec } = policy("spy", [SPY]);
  assert.match(
    await refusal(() => tenant.patch(ref, { spec })),
    /user "system:serviceaccount:team-a:bot" cannot get resource "leases"/,
  );
  assert.doesNotMatch(JSON.stringify((await cp.get(ref))["spec"]), /Lease/);
  await tenant.patch(ref, { metadata: { finalizers: null } });
  assert.equal(await cp.find(ref), undefined);
});

test("a policy is not stored unreviewed because its labels make its review too large", async () => {
  const labels = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`l${index}`, ""]));
  const { metadata, ...object } = policy("large", [SPY]);
  await assert.rejects(
    tenant.create({ ...object, metadata: { ...metadata, labels } }),
    /the object is too large to be checked/,
  );
});

test("the finalizer goes from a deleted policy that the operator cannot evaluate", async () => {
  const object = policy("unclear", [OWN], [FINALIZER]);
  const ref = { ...object, name: "unclear", namespace: TEAM };
  // Stored while nobody reviewed it.
  const [webhook] = (await cp.get(WEBHOOK))["webhooks"];
  const rules = (value: unknown): Promise<unknown> =>
    cp.patch(WEBHOOK, [{ op: "replace", path: "/webhooks/0/rules", value }], { type: "json" });
  await rules([]);
  const broken = policy("unclear", [{ name: "broken", expression: "clustr" }], [FINALIZER]);
  await cp.waitFor("a broken policy to be stored", async () =>
    tenant.apply(broken).then(
      () => true,
      () => false,
    ),
  );
  await rules(webhook.rules);
  await brokenRefused();
  await tenant.delete(ref);
  await tenant.patch(ref, { metadata: { labels: { a: "b" } } });
  await tenant.patch(ref, { metadata: { finalizers: null } });
  assert.equal(await cp.find(ref), undefined);
});

async function ask(port: number, path: string): Promise<{ status: number | undefined; text: string }> {
  const options = { method: "POST", ca: cp.authority.certificate, agent: false as const };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    post(`https://127.0.0.1:${port}${path}`, options, resolve)
      .once("error", reject)
      .end(JSON.stringify(reviewOf(policy("x", [SPY]))));
  });
  return { status: response.statusCode, text: await text(response) };
}

test("the hook port knows nothing of admission, and the admission port tells a stranger nothing at all", async () => {
  const { webhook, admission } = operator.ports;
  assert.equal((await ask(webhook, ADMISSION_PATH)).status, 404);
  assert.equal((await ask(webhook, DISCOVERY_PATH)).status, 200);
  for (const path of [ADMISSION_PATH, DISCOVERY_PATH, "/"]) {
    assert.deepEqual(await ask(admission, path), {
      status: 401,
      text: '{"error":"a client certificate is required"}\n',
    });
  }
});

test("a process that was taken over changes nothing of its webhook but the caBundle", async () => {
  const policies = objectsOf(await readFile(join(MANIFESTS, "admission/own-webhook/webhook.yaml"), "utf8"));
  await cp.apply(policies);
  const { url } = cp.apiServer;
  const token = await cp.tokenFor(NAMESPACE, "hookpolicy");
  const taken = new Client({ url, ca: cp.authority.certificate, token });
  const write = async (path: string, value: unknown, op = "replace"): Promise<unknown> =>
    await taken.patch(WEBHOOK, [{ op, path, value }], { type: "json" });
  const everything = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }];
  const [webhook] = (await cp.get(WEBHOOK))["webhooks"];
  try {
    let seconds = 0;
    await cp.waitFor("the policy to count", async () =>
      write("/webhooks/0/timeoutSeconds", 1 + (seconds++ % 4)).then(
        () => false,
        () => true,
      ),
    );
    const refused: Record<string, unknown> = {
      "/webhooks/0/rules": everything,
      "/webhooks/0/clientConfig/url": "https://example.com/",
      "/webhooks/0/failurePolicy": "Fail",
      "/webhooks/0/matchConditions": [],
      "/webhooks": [],
      "/metadata/annotations": { a: "b" },
    };
    for (const [path, value] of Object.entries(refused)) {
      await assert.rejects(
        write(path, value, "add"),
        /may change nothing of its webhook but the caBundle/,
        path,
      );
    }
    const added = { ...webhook, name: "another.hookpolicy.dev", rules: everything };
    await assert.rejects(write("/webhooks/-", added, "add"), /nothing of its webhook but the caBundle/);
    await write("/webhooks/0/clientConfig/caBundle", webhook.clientConfig.caBundle, "add");
    const other = cp.authority.caBundle;
    await write(
      "/webhooks/0/clientConfig/caBundle",
      Buffer.from(`${Buffer.from(other, "base64").toString()}\n`).toString("base64"),
      "add",
    );
  } finally {
    taken.close();
  }
});
