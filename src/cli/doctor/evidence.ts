/** Reads the evidence of `hookpolicy doctor` once. Nothing is written, as the only creation is a dry run. */

import { fieldsOf, textOf } from "../../lib/fields.ts";
import { GROUP } from "../../api/hook-policy.ts";
import { CLUSTER_API_GROUP } from "../../api/meta.ts";
import { secretOf } from "./check-certificate.ts";
import { kindsIn } from "./check-coverage.ts";
import type { Evidence, Grant, ReadResult, Settings } from "./doctor.ts";
import { serviceOf } from "./check-admission.ts";
import { FOREGROUND_POLICY } from "./check-foreground.ts";
import { operators } from "./check-install.ts";
import { read } from "./read.ts";
import { missingVerbs, readTaskAccounts } from "./task-evidence.ts";
import type { RawObject } from "../fleet/kinds.ts";
import {
  ADMISSION_BINDINGS,
  ADMISSION_POLICIES,
  DEFINITIONS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  HOOK_TASKS,
  MUTATING_WEBHOOKS,
  SECRETS,
  VALIDATING_WEBHOOKS,
  NAMESPACES,
  OVERRIDES,
  POLICY_RESOURCES,
  ROLLOUTS,
} from "../../kube/resources.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { discoverResource } from "../../kube/api-discovery.ts";
import {
  apiResource,
  type KubeObject,
  type ObjectKey,
  type Resource,
  resourceName,
} from "../../kube/resource.ts";
import { isSecret } from "../../objects/object-refusal.ts";
import { extensionConfigs } from "../../kube/extension-configs.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { PART_GROUPS } from "../../policy/owned-parts.ts";
import type { ObjectKind } from "../../policy/objects.ts";
import { EXTENSION_NAME, type Registration, viewRegistration } from "../../hooks/registration.ts";
import { clusterResource, listIfServed, listTyped } from "../fleet/live-objects.ts";

const PROVIDERS = apiResource("providers", "clusterctl.cluster.x-k8s.io/v1alpha3", true, "Provider");
const CORE_PROVIDERS = apiResource(
  "coreproviders",
  "operator.cluster.x-k8s.io/v1alpha2",
  true,
  "CoreProvider",
);

/** Rejects if the API server does not answer; any other failure becomes part of the evidence. */
export async function gather(client: KubeClient, settings: Settings): Promise<Evidence> {
  const version = await client.getPath("/version");
  const first = await allOf({
    deployments: read(listTyped(client, DEPLOYMENTS)),
    providers: read(listTyped(client, PROVIDERS)),
    coreProviders: read(listTyped(client, CORE_PROVIDERS)),
    registrations: read(listRegistrations(client)),
    policies: read(listAll(client, Object.values(POLICY_RESOURCES))),
    overrides: read(listTyped(client, OVERRIDES)),
    rollouts: read(listIfServed(client, ROLLOUTS)),
  });
  const second = await allOf({
    definitions: readDefinitions(client),
    clusterDefinition: read(client.get(DEFINITIONS, { name: `clusters.${CLUSTER_API_GROUP}` }).then(raw)),
    clusters: read(clusterResource(client).then(async (clusters) => await listTyped(client, clusters))),
    namespaces: read(listTyped(client, NAMESPACES)),
    webhook: read(client.get(VALIDATING_WEBHOOKS, { name: EXTENSION_NAME }).then(raw)),
    clusterWebhook: read(client.get(VALIDATING_WEBHOOKS, { name: `${EXTENSION_NAME}-clusters` }).then(raw)),
    foregroundPolicy: read(client.get(ADMISSION_POLICIES, { name: FOREGROUND_POLICY }).then(raw)),
    policyBindings: read(listTyped(client, ADMISSION_BINDINGS)),
    webhooks: read(listAll(client, [MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS])),
    creation: read(tryCreation(client)),
    secrets: readSecrets(client, first.registrations),
  });
  return {
    serverVersion: textOf(fieldsOf(version)["gitVersion"]),
    ...first,
    ...second,
    clusterEndpoints: await readEndpoints(client, second.clusterWebhook),
    grants: await readGrants(client, kindsIn(first, settings), first),
    taskAccounts: await readTaskAccounts(client, first.policies, accountIn(first)),
    ownedUnseen: await isOwnedUnseen(client, first),
  };
}

/** Promise.all() for an object of promises. */
async function allOf<T extends object>(work: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  const entries = Object.entries<Promise<unknown>>(work).map(async ([name, each]) => [name, await each]);
  return Object.fromEntries(await Promise.all(entries));
}

const raw = (object: KubeObject): RawObject => ({ ...object });

async function listRegistrations(client: KubeClient): Promise<Registration[]> {
  return (await listTyped(client, await extensionConfigs(client))).map(viewRegistration);
}

async function listAll(client: KubeClient, kinds: readonly Resource[]): Promise<readonly RawObject[]> {
  return (await Promise.all(kinds.map(async (kind) => await listTyped(client, kind)))).flat();
}

async function readEndpoints(
  client: KubeClient,
  webhook: ReadResult<RawObject>,
): Promise<Evidence["clusterEndpoints"]> {
  const service = webhook.ok ? serviceOf(webhook.value) : undefined;
  if (service === undefined) return { ok: false, why: "NotFound", message: "it names no Service" };
  const { namespace, name } = service;
  const slices = await read(listTyped(client, ENDPOINT_SLICES, namespace));
  if (!slices.ok) return slices;
  const own = slices.value.filter(
    ({ metadata }) => viewMetadata(metadata).labels?.["kubernetes.io/service-name"] === name,
  );
  return { ok: true, value: own };
}

async function readDefinitions(client: KubeClient): Promise<Evidence["definitions"]> {
  const kinds = [...Object.values(POLICY_RESOURCES), OVERRIDES, ROLLOUTS, HOOK_TASKS];
  const entries = kinds.map(async ({ kind, plural }) => {
    const found = await read(client.get(DEFINITIONS, { name: `${plural}.${GROUP}` }).then(raw));
    return [kind, found] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Cluster API's webhook rejects ExtensionConfigs while the feature gate RuntimeSDK is off. */
async function tryCreation(client: KubeClient): Promise<true> {
  const kind = await extensionConfigs(client);
  const object = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { name: "hookpolicy-doctor" },
    spec: { clientConfig: { service: { namespace: "hookpolicy-system", name: "hookpolicy-doctor" } } },
  };
  await client.tryCreate(kind, object);
  return true;
}

async function readSecrets(
  client: KubeClient,
  registrations: ReadResult<readonly Registration[]>,
): Promise<Evidence["secrets"]> {
  const keys = registrations.ok ? registrations.value.map(secretOf).filter((key) => key !== undefined) : [];
  const entries = [...new Set(keys)].map(async (key) => {
    const [namespace = "", name = ""] = key.split("/");
    return [key, await read(readSecret(client, { namespace, name }))] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Leaves out the private key. */
async function readSecret(client: KubeClient, key: ObjectKey): Promise<Record<string, string>> {
  const secret = raw(await client.get(SECRETS, key));
  return Object.fromEntries(
    Object.entries(fieldsOf(secret["data"]))
      .filter(([name]) => name.endsWith(".crt"))
      .map(([name, value]) => [name, Buffer.from(String(value), "base64").toString("utf8")]),
  );
}

/** `false` also if that is not known. */
async function isOwnedUnseen(client: KubeClient, deployed: Pick<Evidence, "deployments">): Promise<boolean> {
  const user = accountIn(deployed);
  const kinds = PART_GROUPS.map((group) => ({ group, plural: "*" }));
  const missing = await read(
    Promise.all(
      kinds.map(async (each) => await missingVerbs(client, user, each, { verbs: ["list", "watch"] })),
    ),
  );
  return missing.ok && missing.value.flat().length > 0;
}

function accountIn(deployed: Pick<Evidence, "deployments">): string {
  const { namespace = "hookpolicy-system", serviceAccount = "hookpolicy" } = operators(deployed)[0] ?? {};
  return `system:serviceaccount:${namespace}:${serviceAccount}`;
}

async function readGrants(
  client: KubeClient,
  kinds: readonly ObjectKind[],
  deployed: Pick<Evidence, "deployments">,
): Promise<readonly Grant[]> {
  const user = accountIn(deployed);
  const wanted = kinds.filter((kind) => !isSecret(kind));
  return await Promise.all(wanted.map(async (kind) => await readGrant(client, kind, user)));
}

async function readGrant(client: KubeClient, kind: ObjectKind, user: string): Promise<Grant> {
  const found = await read(discoverResource(client, kind));
  if (!found.ok) return { resource: `${kind.kind} in ${kind.apiVersion}`, missing: found };
  const missing = await read(missingVerbs(client, user, found.value, { verbs: ["get", "list", "watch"] }));
  return { resource: resourceName(found.value), missing };
}
