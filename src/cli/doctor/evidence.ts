/** Reads the evidence of `hookpolicy doctor` once. Nothing is written, as the only creation is a dry run. */

import { fieldsOf, textOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { GROUP, type TaskSpec } from "../../api/hook-policy.ts";
import { CLUSTER_API_GROUP } from "../../api/meta.ts";
import { secretOf } from "./check-certificates.ts";
import {
  type Evidence,
  read,
  type ReadResult,
  type Settings,
  type ExaminedAccount,
  type TaskRight,
} from "./finding.ts";
import { FOREGROUND_POLICY, serviceOf } from "./check-admission.ts";
import { ASSUMED, type Deployment, operators } from "./check-install.ts";
import { rightsOf } from "./check-rights.ts";
import { Fleet, type FleetPolicy } from "../fleet/fleet.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { heldBy } from "../fleet/held.ts";
import { operatorSilence } from "../fleet/operator-life.ts";
import {
  ADMISSION_BINDINGS,
  ADMISSION_POLICIES,
  DEFINITIONS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  HOOK_TASKS,
  NAMESPACES,
  OVERRIDES,
  POLICY_RESOURCES,
  ROLLOUTS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SUBJECT_REVIEWS,
  VALIDATING_WEBHOOKS,
  isAllowed,
} from "../../kube/resources.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { discoverKind, discoverResource } from "../../kube/api-discovery.ts";
import {
  apiResource,
  type KubeObject,
  type ObjectKey,
  type Resource,
  resourceName,
} from "../../kube/resource.ts";
import { isSecret } from "../../objects/object-refusal.ts";
import { extensionConfigs } from "../../kube/extension-configs.ts";
import { PART_GROUPS, viewMetadata } from "../../views/cluster.ts";
import { mergeDemands, type ObjectDemand } from "../../policy/policy.ts";
import { EXTENSION_NAME, type Registration, viewRegistration } from "../../registration/registration.ts";
import { clusterResource, listIfServed, listTyped } from "../fleet/live-objects.ts";
import { isRuntimeSDKOff, unlessNotFound } from "../../kube/kube-error.ts";
import { unless } from "../../lib/thrown.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { accountOf, actionOf } from "../../policy/tasks/compile-task.ts";
import { hasExpression } from "../../policy/tasks/template-text.ts";
import type { TaskRecord } from "../../policy/tasks/task-record.ts";
import { recordsOf } from "../../tasks/stored-task.ts";
import { userOf } from "../../tasks/task-objects.ts";

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
    registrations: read(
      extensionConfigs(client).then(async (kind) => (await listTyped(client, kind)).map(viewRegistration)),
    ),
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
    creation: read(tryCreation(client)),
    secrets: readSecrets(client, first.registrations),
  });
  const user = accountIn(first);
  const objects = [first.policies, first.rollouts].flatMap((each) => (each.ok ? each.value : []));
  const fleet = new Fleet(objects, settings);
  return {
    serverVersion: textOf(fieldsOf(version)["gitVersion"]),
    ...first,
    ...second,
    clusterEndpoints: await readEndpoints(client, second.clusterWebhook),
    rights: await readRights(client, first, user),
    grants: await readGrants(client, fleet.demands(), user),
    taskAccounts: await readTaskAccounts(client, fleet, user),
    hookTasks: await read(readHookTasks(client)),
    ownedUnseen: await isOwnedUnseen(client, user),
    operatorSilence: await operatorSilence(
      client,
      heldBy(objects).held.map(({ row }) => row),
    ),
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

async function tryCreation(client: KubeClient): Promise<boolean> {
  const kind = await extensionConfigs(client);
  const object = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { name: "hookpolicy-doctor" },
    spec: { clientConfig: { service: { namespace: "hookpolicy-system", name: "hookpolicy-doctor" } } },
  };
  const created = client.tryCreate(kind, object).then(() => true);
  return (await unless(isRuntimeSDKOff, created)) ?? false;
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
async function isOwnedUnseen(client: KubeClient, user: string): Promise<boolean> {
  const groups = PART_GROUPS.map(
    async (group) => await missingVerbs(client, user, { group, plural: "*" }, { verbs: ["list", "watch"] }),
  );
  const missing = await read(Promise.all(groups));
  return missing.ok && missing.value.flat().length > 0;
}

function accountIn(deployed: Deployment): string {
  const { namespace, serviceAccount } = operators(deployed)[0] ?? ASSUMED;
  return `system:serviceaccount:${namespace}:${serviceAccount}`;
}

async function readRights(
  client: KubeClient,
  deployed: Deployment,
  user: string,
): Promise<Evidence["rights"]> {
  const needed = operators(deployed).slice(0, 1).flatMap(rightsOf);
  return await Promise.all(
    needed.map(async ({ attributes, ...right }) => {
      return { ...right, granted: await read(mayDo(client, user, attributes)) };
    }),
  );
}

async function readGrants(
  client: KubeClient,
  demands: readonly ObjectDemand[],
  user: string,
): Promise<Evidence["grants"]> {
  const kinds = mergeDemands(demands)
    .values()
    .map(({ kind }) => kind);
  const wanted = kinds.filter((kind) => !isSecret(kind)).toArray();
  return await Promise.all(
    wanted.map(async (kind) => {
      const found = await read(discoverResource(client, kind));
      if (!found.ok) return { resource: `${kind.kind} in ${kind.apiVersion}`, missing: found };
      const verbs = ["get", "list", "watch"];
      const missing = await read(missingVerbs(client, user, found.value, { verbs }));
      return { resource: resourceName(found.value), missing };
    }),
  );
}

async function readHookTasks(client: KubeClient): Promise<readonly TaskRecord[]> {
  const list = await unlessNotFound(client.list(HOOK_TASKS));
  return recordsOf(list?.items ?? []);
}

interface Need {
  readonly account: Pick<ExaminedAccount, "namespace" | "name">;
  readonly policy: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** `undefined`: an expression says where. */
  readonly namespace: string | undefined;
}

/** `operator`: as whom it acts without impersonation. */
async function readTaskAccounts(
  client: KubeClient,
  { policies }: Fleet,
  operator: string,
): Promise<readonly ExaminedAccount[]> {
  const byAccount = Map.groupBy(policies.flatMap(needsOf), ({ account }) => namespacedName(account));
  return await Promise.all(
    [...byAccount.values()].map(async (all) => await readAccount(client, all, operator)),
  );
}

function needsOf({ compiled: { ref, errors }, object: { spec } }: FleetPolicy): Need[] {
  // A policy with errors is not Ready, as another check says.
  const account = errors.length > 0 ? undefined : accountOf(spec, ref);
  if (account === undefined) return [];
  return spec.rules
    .flatMap(({ tasks = [] }) => tasks)
    .map((task) => ({ ...needOf(task, account.namespace), account, policy: policyName(ref) }));
}

/** By verb of a task: what the operator asks the API server for. */
const VERBS = {
  create: ["create", "get", "delete"],
  apply: ["get", "patch", "create"],
  delete: ["get", "delete"],
} as const;

function needOf(task: TaskSpec, standard: string): Omit<Need, "account" | "policy"> {
  const { verb, template } = actionOf(task);
  const place = verb === "delete" ? template : fieldsOf(template["metadata"]);
  const namespace = textOf(place["namespace"]) || standard;
  return {
    apiVersion: textOf(template["apiVersion"]),
    kind: textOf(template["kind"]),
    verbs: [...VERBS[verb], ...(template["selector"] === undefined ? [] : ["list"])],
    namespace: hasExpression(namespace) ? undefined : namespace,
  };
}

async function readAccount(
  client: KubeClient,
  needs: readonly Need[],
  operator: string,
): Promise<ExaminedAccount> {
  const [first] = needs;
  const { namespace = "", name = "" } = first?.account ?? {};
  const impersonate = { group: "", resource: "serviceaccounts", verb: "impersonate", namespace, name };
  const distinct = Map.groupBy(needs, ({ apiVersion, kind, namespace: place }) =>
    JSON.stringify([apiVersion, kind, place]),
  );
  const [exists, optedIn, rights] = await Promise.all([
    read(
      unlessNotFound(client.get(SERVICE_ACCOUNTS, { namespace, name })).then((found) => found !== undefined),
    ),
    read(mayDo(client, operator, impersonate)),
    Promise.all([...distinct.values()].map(async (same) => await readRight(client, same))),
  ]);
  return {
    namespace,
    name,
    policies: [...new Set(needs.map(({ policy }) => policy))],
    exists,
    optedIn,
    rights,
  };
}

async function readRight(client: KubeClient, same: readonly Need[]): Promise<TaskRight> {
  const [first] = same;
  const { apiVersion = "", kind = "", namespace, account = { namespace: "", name: "" } } = first ?? {};
  const verbs = [...new Set(same.flatMap((need) => need.verbs))];
  const policies = [...new Set(same.map(({ policy }) => policy))];
  const found = await read(discoverKind(client, { apiVersion, kind }));
  if (!found.ok) return { resource: `${kind} in ${apiVersion}`, verbs, policies, namespace, missing: found };
  const user = userOf(account);
  const { namespaced } = found.value;
  // Where an expression says where, only the right in all namespaces is known to be enough.
  const place = namespaced ? namespace : undefined;
  const missing = await read(missingVerbs(client, user, found.value, { verbs, namespace: place }));
  return {
    resource: resourceName(found.value),
    verbs,
    policies,
    namespace: namespaced ? namespace : "",
    missing,
  };
}

/** `namespace` absent: in all namespaces. */
async function missingVerbs(
  client: KubeClient,
  user: string,
  { group, plural }: Pick<Resource, "group" | "plural">,
  { verbs, namespace }: { readonly verbs: readonly string[]; readonly namespace?: string | undefined },
): Promise<readonly string[]> {
  const place = namespace === undefined ? {} : { namespace };
  const answers = verbs.map(async (verb) => {
    const may = await mayDo(client, user, { group, resource: plural, verb, ...place });
    return may ? [] : [verb];
  });
  return (await Promise.all(answers)).flat();
}

/** With the groups that the API server gives a ServiceAccount, also one that is impersonated. */
async function mayDo(client: KubeClient, user: string, resourceAttributes: object): Promise<boolean> {
  const [, , namespace = ""] = user.split(":");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  return isAllowed(await client.review(SUBJECT_REVIEWS, { user, groups, resourceAttributes }));
}
