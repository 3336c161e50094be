/** What shows that the operator lacks a permission: for each verb that the manifests grant. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubeObject, type Ref, isRefused } from "../controlplane/client.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { NAMESPACE, scrapeSecurely } from "../controlplane/operator.ts";
import {
  approvalRule,
  clusterPolicyRef,
  policyRef,
  storeOverride,
  storePolicy,
  storeRollout,
} from "../controlplane/policies.ts";
import { askAdmission } from "./admission-call.ts";
import type { Case } from "./grants.ts";
import { kustomize, ROOT } from "../install/tools.ts";
import { beginUpgrade, type Lab } from "./operator-lab.ts";
import { taskCases } from "./task-grants.ts";

export const ACCOUNT = "hookpolicy";
export const TEAM = "team-a";
const FINALIZER = "hookpolicy.dev/hold-clusters";
const SERVING = "hookpolicy-webhook-service-cert";
const LEASES = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
const LEASE: Ref = { ...LEASES, namespace: NAMESPACE, name: "hookpolicy" };

export const rendered = await kustomize(join(ROOT, "manifests"));
/** Of the tests, once it has started. */
export let lab: Lab;
let made = 0;

export function use(started: Lab): void {
  lab = started;
}

export const nextName = (): string => `made-${(made += 1)}`;

async function newPolicy(ref = policyRef(TEAM, nextName())): Promise<Ref> {
  const namespaceSelector = ref.kind === "ClusterHookPolicy" ? { namespaceSelector: {} } : {};
  await storePolicy(lab.cp, ref, { ...namespaceSelector, rules: [approvalRule("BeforeClusterDelete")] });
  return ref;
}

async function newOverride(cluster: string): Promise<Ref> {
  const clusterRef = { namespace: TEAM, name: cluster };
  return await storeOverride(lab.cp, nextName(), { clusterRef, hooks: ["BeforeClusterUpgrade"] });
}

/** In mode Audit it holds none of the other tests' Clusters. */
const newRollout = async (): Promise<Ref> => await storeRollout(lab.cp, nextName(), { mode: "Audit" });

/** The operator's next write of its status is a conflict: somebody has changed the object, and it does not know yet. */
async function changeUnseen(ref: Ref, plural: string): Promise<void> {
  lab.proxy.stallWatches(new RegExp(`/${plural}\\?`));
  await lab.cp.patch(ref, { metadata: { labels: { changed: randomUUID() } } });
}

async function conflictOf(ref: Ref, plural: string): Promise<void> {
  await isObserved(ref);
  await changeUnseen(ref, plural);
  await createCluster(lab.cp, { namespace: TEAM, name: nextName() }); // one more that it matches
}

async function isObserved(ref: Ref): Promise<KubeObject> {
  return await lab.cp.waitFor(`${ref.name} to be observed`, async () => {
    const object = await lab.cp.get(ref);
    return object["status"]?.observedGeneration === object.metadata.generation && object;
  });
}

/** A Cluster that no policy lets go goes on by an override: a status, an Event. */
async function useOverride(meanwhile: (override: Ref) => Promise<void> = async () => {}): Promise<void> {
  const name = nextName();
  await createCluster(lab.cp, { namespace: TEAM, name, version: NEXT_VERSION });
  const override = await newOverride(name);
  await isObserved(override);
  await meanwhile(override);
  await lab.ask("BeforeClusterUpgrade", TEAM, name);
  await beginUpgrade(lab.cp, TEAM, name);
}

async function review(): Promise<string> {
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "ready" };
  const rules = [{ ...approvalRule("BeforeClusterDelete"), until: [{ name: "there", object }] }];
  return await askAdmission(lab, {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { namespace: TEAM, name: "reviewed" },
    spec: { rules },
  });
}

/** Each time with a token that the operator has not seen. */
async function scrape(): Promise<number | undefined> {
  const fresh = await lab.cp.tokenFor(NAMESPACE, ACCOUNT);
  return (await scrapeSecurely(lab.operator.ports, lab.cp.authority.certificate, fresh)).response.statusCode;
}

const secureMetrics = { "metrics-secure": "true" };

const webhook = rendered.find(({ kind }) => kind === "ValidatingWebhookConfiguration");

/** As shipped, without a caBundle; it would call a Service that is not there. */
async function webhookWithoutBundle(name: string): Promise<void> {
  assert.ok(webhook);
  await lab.cp.delete({ ...webhook, ...webhook.metadata, name });
  await lab.cp.apply({
    ...webhook,
    metadata: { ...webhook.metadata, name },
    webhooks: webhook["webhooks"].map((each: object) => ({ ...each, rules: [] })),
  });
}

async function withAuthorityFile(): Promise<Record<string, string>> {
  const certDir = join(lab.cp.folder, `certificates-${nextName()}`);
  await mkdir(certDir);
  for (const file of ["tls.crt", "tls.key"]) {
    await writeFile(join(certDir, file), await readFile(join(lab.operator.certDir, file)));
  }
  await writeFile(join(certDir, "ca.crt"), lab.cp.authority.certificate);
  return { "webhook-cert-dir": certDir };
}

async function ownCertificates(): Promise<Record<string, string>> {
  const certDir = join(lab.cp.folder, `empty-${nextName()}`);
  await mkdir(certDir);
  return { "webhook-cert-dir": certDir, "cert-management": "Self", namespace: NAMESPACE };
}

const secretRef = (name: string): Ref => ({ apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name });

/** Ours by its label, and not to be used: to be written anew. */
async function brokenSecret(name: string): Promise<void> {
  await lab.cp.delete(secretRef(name));
  const labels = { "app.kubernetes.io/managed-by": "hookpolicy", "app.kubernetes.io/name": "hookpolicy" };
  const data = { "tls.crt": "", "tls.key": "" };
  const metadata = { namespace: NAMESPACE, name, labels };
  await lab.cp.create({ apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data });
}

async function noSecrets(): Promise<void> {
  for (const name of [SERVING, `${SERVING}-ca`]) await lab.cp.delete(secretRef(name));
}

const leading = { "leader-elect": "true", namespace: NAMESPACE };

const logs =
  (pattern: RegExp): Case["shows"] =>
  async (operator) =>
    operator.lines().some((line) => pattern.test(JSON.stringify(line)));

const waitsFor =
  (kind: string): Case["shows"] =>
  async ({ ports }) =>
    (await (await fetch(`http://127.0.0.1:${ports.health}/readyz`)).text()).includes(kind);

const reconcileFails: Case["shows"] = async (operator) =>
  (await operator.metric("hookpolicy_reconcile_errors_total", 'reason="Forbidden"')) > failedBefore;
let failedBefore = 0;

const unconfirmed: Case["shows"] = async (operator) => {
  const { retryAfterSeconds } = await lab.ask("BeforeClusterUpgrade", TEAM, "free");
  const refused = await operator.metric("hookpolicy_unconfirmed_releases_total", 'reason="Forbidden"');
  return (retryAfterSeconds ?? 0) > 0 && refused > 0;
};

const notServing: Case["shows"] = async (operator) =>
  (await logs(/No serving certificate in files/)(operator)) &&
  (await isRefused(fetch(`http://127.0.0.1:${operator.ports.health}/healthz`)));

const loads = (kind: string): Case => ({
  when: "start",
  together: "list",
  sees: "every Cluster is held (/readyz names the kind for the first 10 s)",
  shows: waitsFor(kind),
});

const follows = (kind: string): Case => ({
  when: "start",
  together: "watch",
  sees: "a log line “Lost contact with the API server”, and changes that come late",
  shows: logs(new RegExp(`Lost contact.*cannot watch resource .*${kind.split(".")[0]}`)),
});

const unwritten = (does: () => Promise<unknown>): Case => ({
  when: "run",
  does,
  sees: "hookpolicy_reconcile_errors_total, and a status that is not written",
  shows: reconcileFails,
});

const confirms: Case = {
  when: "run",
  does: async () => await lab.ask("BeforeClusterUpgrade", TEAM, "free"),
  sees: "NotConfirmed: a Cluster that could be released is held",
  shows: unconfirmed,
};

const trusted: Omit<Case, "does"> = {
  when: "start",
  flags: withAuthorityFile,
  sees: "a log line “Cannot keep the caBundle of webhooks current”",
  shows: logs(/Cannot keep the caBundle.*grant get and patch/),
};

const leads = (does: () => Promise<unknown>): Case => ({
  when: "start",
  does,
  flags: () => leading,
  sees: "a log line “Cannot get or renew the lease”, and no replica leads",
  shows: logs(/Cannot get or renew the lease.*grant get, create and patch/),
});

const issues = (does: () => Promise<unknown>): Case => ({
  when: "start",
  does,
  flags: ownCertificates,
  sees: "no serving certificate: it does not start",
  shows: notServing,
});

const DEFINITIONS = ["hookpolicies", "clusterhookpolicies", "hookrollouts"].map(
  (plural) => `list customresourcedefinitions.apiextensions.k8s.io named ${plural}.hookpolicy.dev`,
);
const TO_CONFIRM = ["get clusters.cluster.x-k8s.io", "get namespaces", ...DEFINITIONS];

export const NEEDED: Readonly<Record<string, Case>> = {
  "get hookpolicies.hookpolicy.dev": unwritten(
    async () => await conflictOf(await newPolicy(), "hookpolicies"),
  ),
  "list hookpolicies.hookpolicy.dev": loads("hookpolicies.hookpolicy.dev"),
  "watch hookpolicies.hookpolicy.dev": follows("hookpolicies"),
  "get clusterhookpolicies.hookpolicy.dev": unwritten(
    async () => await conflictOf(await newPolicy(clusterPolicyRef(nextName())), "clusterhookpolicies"),
  ),
  "list clusterhookpolicies.hookpolicy.dev": loads("clusterhookpolicies.hookpolicy.dev"),
  "watch clusterhookpolicies.hookpolicy.dev": follows("clusterhookpolicies"),
  "get hookoverrides.hookpolicy.dev": unwritten(
    async () => await useOverride(async (override) => await changeUnseen(override, "hookoverrides")),
  ),
  "list hookoverrides.hookpolicy.dev": loads("hookoverrides.hookpolicy.dev"),
  "watch hookoverrides.hookpolicy.dev": follows("hookoverrides"),
  "get hookrollouts.hookpolicy.dev": unwritten(async () => await newRollout()),
  "list hookrollouts.hookpolicy.dev": loads("hookrollouts.hookpolicy.dev"),
  "watch hookrollouts.hookpolicy.dev": follows("hookrollouts"),
  "update hookpolicies.hookpolicy.dev/status": unwritten(async () => await newPolicy()),
  "update clusterhookpolicies.hookpolicy.dev/status": unwritten(
    async () => await newPolicy(clusterPolicyRef(nextName())),
  ),
  "update hookoverrides.hookpolicy.dev/status": unwritten(async () => await newOverride("free")),
  "update hookrollouts.hookpolicy.dev/status": unwritten(async () => await newRollout()),
  "patch hookpolicies.hookpolicy.dev": {
    when: "run",
    does: async () => (unmarked = await newPolicy()),
    sees: "hookpolicy_reconcile_errors_total, and no finalizer on a policy that holds deletions",
    shows: async (operator) => {
      const { metadata } = await lab.cp.get(unmarked);
      return metadata.finalizers?.includes(FINALIZER) !== true && (await reconcileFails(operator));
    },
  },
  ...taskCases({ lab: () => lab, namespace: TEAM, nextName, logs, follows, reconcileFails }),
  ...Object.fromEntries(TO_CONFIRM.map((permission) => [permission, confirms])),
  "list clusters.cluster.x-k8s.io": loads("clusters.cluster.x-k8s.io"),
  "watch clusters.cluster.x-k8s.io": follows("clusters"),
  "list namespaces": loads("namespaces"),
  "watch namespaces": follows("namespaces"),
  "list extensionconfigs.runtime.cluster.x-k8s.io": {
    when: "start",
    together: "list",
    sees: "a log line “Lost contact with the API server”, and no condition NotCalled",
    shows: logs(/Lost contact.*cannot list resource .*extensionconfigs/),
  },
  "watch extensionconfigs.runtime.cluster.x-k8s.io": follows("extensionconfigs"),
  "create events.events.k8s.io": {
    when: "run",
    does: async () => await useOverride(),
    sees: "a log line “Failed to write an Event”",
    shows: logs(/Failed to write an Event/),
  },
  "create tokenreviews.authentication.k8s.io": {
    when: "start",
    flags: () => secureMetrics,
    afterwards: scrape,
    sees: "status 500 at /metrics, and a log line “Failed to check who reads /metrics”",
    shows: async (operator) =>
      (await logs(/Failed to check who reads .metrics.*tokenreviews.*hookpolicy-metrics-auth/)(operator)) &&
      (await scrape()) === 500,
  },
  "create subjectaccessreviews.authorization.k8s.io": {
    when: "start",
    flags: () => secureMetrics,
    afterwards: async () => {
      await review();
      await scrape();
    },
    sees: "a log line “Failed to check what the author of a policy may read”, and no policy with a new object gate; status 500 at /metrics",
    shows: async (operator) =>
      (await logs(/Failed to check what the author of a policy may read/)(operator)) &&
      (await scrape()) === 500,
  },
  ...Object.fromEntries(
    ["hookpolicy", "hookpolicy-clusters"].flatMap((name) =>
      ["get", "patch"].map((verb) => [
        `${verb} validatingwebhookconfigurations.admissionregistration.k8s.io named ${name}`,
        { ...trusted, does: async (): Promise<void> => await webhookWithoutBundle(name) },
      ]),
    ),
  ),
  "create leases.coordination.k8s.io": leads(async () => await lab.cp.delete(LEASE)),
  "get leases.coordination.k8s.io named hookpolicy": leads(async () => {}),
  "patch leases.coordination.k8s.io named hookpolicy": leads(async () => {
    const metadata = { namespace: NAMESPACE, name: LEASE.name };
    await lab.cp.apply({ ...LEASES, metadata, spec: { holderIdentity: "" } });
  }),
  "create secrets": issues(noSecrets),
  [`get secrets named ${SERVING}`]: issues(noSecrets),
  [`get secrets named ${SERVING}-ca`]: issues(noSecrets),
  [`patch secrets named ${SERVING}`]: issues(async () => await brokenSecret(SERVING)),
  [`patch secrets named ${SERVING}-ca`]: issues(async () => await brokenSecret(`${SERVING}-ca`)),
};
let unmarked: Ref;

/** Makes the operator need it. */
export async function provoke({ when, does, afterwards, flags }: Case): Promise<void> {
  if (when === "start") {
    await lab.operator.daemon.stop(); // or it mends what is broken for the next one
    await does?.();
    await lab.start({ waitReady: afterwards !== undefined, flags: (await flags?.()) ?? {} });
    await afterwards?.();
    return;
  }
  failedBefore = await lab.operator.metric("hookpolicy_reconcile_errors_total", 'reason="Forbidden"');
  await does?.();
}
