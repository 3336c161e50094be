/** Reads whether the tasks of policies can act: their ServiceAccounts, the opt-in, and the rights for each template. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { discoverKind } from "../../kube/api-discovery.ts";
import { unlessNotFound } from "../../kube/kube-error.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { type Resource, resourceName } from "../../kube/resource.ts";
import { isAllowed, SERVICE_ACCOUNTS, SUBJECT_REVIEWS } from "../../kube/resources.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { userOf } from "../../tasks/task-objects.ts";
import { policyKind, type RawObject } from "../fleet/kinds.ts";
import type { ReadResult, TaskAccount, TaskRight } from "./doctor.ts";
import { read } from "./read.ts";

/** What a task needs, as its template says. */
interface Need {
  readonly account: Pick<TaskAccount, "namespace" | "name">;
  readonly policy: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** `undefined`: an expression says where. */
  readonly namespace: string | undefined;
}

/** `operator`: as whom it acts without impersonation. */
export async function readTaskAccounts(
  client: KubeClient,
  policies: ReadResult<readonly RawObject[]>,
  operator: string,
): Promise<readonly TaskAccount[]> {
  const needs = policies.ok ? policies.value.flatMap(needsOf) : [];
  const byAccount = Map.groupBy(needs, ({ account: { namespace, name } }) => `${namespace}/${name}`);
  return await Promise.all(
    [...byAccount.values()].map(async (all) => await readAccount(client, all, operator)),
  );
}

function needsOf(policy: RawObject): Need[] {
  const kind = policyKind(policy);
  const spec = fieldsOf(policy["spec"]);
  const { name, namespace = "" } = viewMetadata(policy["metadata"]);
  if (kind === undefined) return [];
  const account =
    kind === "HookPolicy"
      ? { namespace, name: textOf(spec["serviceAccountName"]) }
      : {
          namespace: textOf(fieldsOf(spec["serviceAccount"])["namespace"]),
          name: textOf(fieldsOf(spec["serviceAccount"])["name"]),
        };
  // Such a policy is not Ready, as another check says.
  if (account.name === "" || account.namespace === "") return [];
  const owner = policyName({ kind, ...(kind === "HookPolicy" && { namespace }), name });
  return listOf(spec["rules"])
    .flatMap((rule) => listOf(fieldsOf(rule)["tasks"]))
    .flatMap((task) => needOf(fieldsOf(task), account.namespace))
    .map((need) => ({ ...need, account, policy: owner }));
}

/** By verb of a task: what the operator asks the API server for. */
const VERBS = {
  create: ["create", "get", "delete"],
  apply: ["get", "patch", "create"],
  delete: ["get", "delete"],
} as const;

function needOf(
  task: Readonly<Record<string, unknown>>,
  standard: string,
): Omit<Need, "account" | "policy">[] {
  return (["create", "apply", "delete"] as const).flatMap((verb) => {
    if (task[verb] === undefined) return [];
    const template = fieldsOf(task[verb]);
    const place = verb === "delete" ? template : fieldsOf(template["metadata"]);
    const namespace = textOf(place["namespace"]) || standard;
    return [
      {
        apiVersion: textOf(template["apiVersion"]),
        kind: textOf(template["kind"]),
        verbs: [...VERBS[verb], ...(template["selector"] === undefined ? [] : ["list"])],
        namespace: namespace.includes("<<") ? undefined : namespace,
      },
    ];
  });
}

async function readAccount(
  client: KubeClient,
  needs: readonly Need[],
  operator: string,
): Promise<TaskAccount> {
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
  const found = await read(discoverKind(client, { apiVersion, kind }));
  if (!found.ok)
    return { resource: `${kind} in ${apiVersion}`, verbs, namespace, missing: found, strays: [] };
  const user = userOf(account);
  const { namespaced } = found.value;
  // Where an expression says where, only the right in all namespaces is known to be enough.
  const place = namespaced ? namespace : undefined;
  const missing = await read(missingVerbs(client, user, found.value, { verbs, namespace: place }));
  const strays = namespaced ? [] : same.filter(({ policy }) => policy.startsWith("HookPolicy "));
  return {
    resource: resourceName(found.value),
    verbs,
    namespace: namespaced ? namespace : "",
    missing,
    strays: [...new Set(strays.map(({ policy }) => policy))],
  };
}

/** `namespace` absent: in all namespaces. */
export async function missingVerbs(
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
