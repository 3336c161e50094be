/**
 * The steps before the operator is removed for good. Without them Cluster API would call a server that does not exist,
 * and policies would keep a finalizer that no controller removes. Every step checks the state first, so the command can
 * be repeated.
 */

import { setTimeout as delay } from "node:timers/promises";
import { counted } from "../../lib/counted.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { FINALIZER, GROUP, CRD_VERSION } from "../../api/hook-policy.ts";
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  OVERRIDES,
  POLICY_RESOURCES,
  ROLLOUTS,
  SECRETS,
  VALIDATING_WEBHOOKS,
} from "../../kube/resources.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { unless } from "../../lib/thrown.ts";
import { isForbidden, unlessNotFound } from "../../kube/kube-error.ts";
import { heldNow, type HeldLine, isDeletionPaused, type Policy } from "./held-now.ts";
import { reportGone, seemsCurrent, writeWhile } from "./operator-gone.ts";
import { namespacedName } from "../../lib/keys.ts";
import { apiResource, type KubeObject, type ObjectKey, type Resource } from "../../kube/resource.ts";
import { ClusterResource } from "../../kube/cluster-resource.ts";
import { viewCluster } from "../../views/cluster.ts";
import type { Cluster } from "../../api/meta.ts";
import { extensionConfigsOf, RUNTIME_GROUP_PATH } from "../../kube/extension-configs.ts";

/** The name of the shipped ExtensionConfig, ValidatingWebhookConfiguration and Deployment. */
const NAME = "hookpolicy";
/** Without the operator, this ValidatingWebhookConfiguration would refuse every deletion of a Cluster. */
const CLUSTERS = "hookpolicy-clusters";

interface UninstallOptions {
  /** The namespace of the Deployment. */
  readonly namespace: string;
  /** The time that the operator's Pods may take to stop. */
  readonly timeoutMs: number;
}

export interface UninstallStep {
  /** An infinitive: "delete ExtensionConfig hookpolicy". */
  readonly does: string;
  /** The removal does not depend on this step: a user without the right to do it leaves it out. */
  readonly optional?: true;
  readonly run: () => Promise<void>;
}

export interface UninstallPlan {
  readonly steps: readonly UninstallStep[];
  /** What these steps release; empty also if Cluster API does not call the operator any more. */
  readonly held: readonly HeldLine[];
}

type Client = Pick<KubeClient, "get" | "getPath" | "list" | "mergePatch" | "replaceStatus" | "delete">;

/** The order matters: Cluster API stops calling, the operator stops answering, and no controller restores a finalizer. */
export async function planUninstall(client: Client, options: UninstallOptions): Promise<UninstallPlan> {
  const policies = await listPolicies(client);
  const [rollouts, overrides] = [await listed(client, ROLLOUTS), await listed(client, OVERRIDES)];
  const deployment = await unlessNotFound(client.get(DEPLOYMENTS, deploymentKey(options)));
  const group = await unlessNotFound(client.getPath(RUNTIME_GROUP_PATH));
  // Without the group, Cluster API is not installed.
  const unregister = group === undefined ? undefined : await deletion(client, extensionConfigsOf(group));
  const steps = [
    unregister,
    await deletion(client, VALIDATING_WEBHOOKS, CLUSTERS),
    await deletion(client, VALIDATING_WEBHOOKS),
    await stop(client, deployment, options),
    release(client, policies),
    reportOperatorGone(client, { policy: policies, rollout: rollouts, override: overrides }),
  ];
  const held =
    unregister === undefined
      ? []
      : heldNow({ policies, rollouts, deployment, paused: await pausedDeletions(client) });
  return { steps: steps.filter((step) => step !== undefined), held };
}

const deploymentKey = ({ namespace }: UninstallOptions): Required<ObjectKey> => ({ namespace, name: NAME });

const PODS = apiResource("pods", "v1", true, "Pod");

async function deletion(client: Client, resource: Resource, name = NAME): Promise<UninstallStep | undefined> {
  const found = await unlessNotFound(client.get(resource, { name }, { metadataOnly: true }));
  if (found === undefined) return undefined;
  return {
    does: `delete ${resource.kind} ${name}`,
    run: async () => {
      await unlessNotFound(client.delete(resource, { name }));
    },
  };
}

/** Without an operator, no controller restores the finalizers that are removed next. */
async function stop(
  client: Client,
  deployment: KubeObject | undefined,
  options: UninstallOptions,
): Promise<UninstallStep | undefined> {
  if (deployment === undefined) return undefined;
  const key = deploymentKey(options);
  const isScaledDown = fieldsOf(deployment.spec)["replicas"] === 0;
  if (isScaledDown && (await podsOf(client, deployment)).length === 0) return undefined;
  return {
    does: `scale Deployment ${namespacedName(key)} to 0 and wait for its Pods to stop`,
    run: async () => {
      // Not the scale subresource, which would need one more RBAC rule for the same effect.
      await client.mergePatch(DEPLOYMENTS, key, { spec: { replicas: 0 } });
      const deadline = Date.now() + options.timeoutMs;
      for (;;) {
        const pods = await podsOf(client, deployment);
        if (pods.length === 0) return;
        if (Date.now() >= deadline)
          throw new Error(
            `still running after --timeout: Pod ${pods.join(", ")}; what was done so far stays done, run it again`,
          );
        await delay(POLL_MS);
      }
    },
  };
}

const POLL_MS = 500;

/** The Pods that the Deployment selects; the shipped one selects by labels only. */
async function podsOf(client: Client, { metadata, spec }: KubeObject): Promise<string[]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server lets no Deployment be without
  const { selector } = spec as { selector: { matchLabels?: Readonly<Record<string, string>> } };
  const wanted = Object.entries(selector.matchLabels ?? {});
  const { namespace = "" } = metadata;
  const { items } = await client.list(PODS, { namespace, metadataOnly: true });
  return items
    .filter(({ metadata: { labels = {} } }) => wanted.every(([key, value]) => labels[key] === value))
    .map((pod) => namespacedName(pod.metadata));
}

/** Empty without the CRDs. */
async function listPolicies(client: Client): Promise<Policy[]> {
  const kinds = ["HookPolicy", "ClusterHookPolicy"] as const;
  const lists = kinds.map(async (kind) => {
    const list = await unlessNotFound(client.list(POLICY_RESOURCES[kind]));
    return (list?.items ?? []).map((object) => ({ ...object, apiVersion: `${GROUP}/${CRD_VERSION}`, kind }));
  });
  return (await Promise.all(lists)).flat();
}

/** `undefined`: the user may not list them. */
async function listed(client: Client, resource: Resource): Promise<readonly KubeObject[] | undefined> {
  const found = unlessNotFound(client.list(resource)).then((list) => list?.items ?? []);
  return await unless(isForbidden, found);
}

/** `undefined`: the user may not list Clusters. */
async function pausedDeletions(client: Client): Promise<readonly Cluster[] | undefined> {
  const found = await unlessNotFound(new ClusterResource(client).resolve());
  if (found === undefined) return [];
  const all = await unless(isForbidden, client.list(found, { project: (raw) => viewCluster(raw) }));
  return all?.items.filter(isDeletionPaused);
}

const isMarked = ({ metadata: { finalizers = [] } }: KubeObject): boolean => finalizers.includes(FINALIZER);

/** The operator may have added further finalizers until it stopped, so the policies are listed again. */
function release(client: Client, policies: readonly Policy[]): UninstallStep | undefined {
  const marked = policies.filter(isMarked).length;
  if (marked === 0) return undefined;
  return {
    does: `remove the finalizer ${FINALIZER} from ${counted(marked, "policy")}`,
    run: async () => {
      for (const policy of (await listPolicies(client)).filter(isMarked)) await unmark(client, policy);
    },
  };
}

function reportOperatorGone(
  client: Client,
  known: Readonly<Record<"policy" | "rollout" | "override", readonly KubeObject[] | undefined>>,
): UninstallStep | undefined {
  const counts = (["policy", "rollout", "override"] as const)
    .map((noun) => [known[noun]?.filter(seemsCurrent).length ?? 0, noun] as const)
    .flatMap(([count, noun]) => (count > 0 ? [counted(count, noun)] : []));
  if (counts.length === 0) return undefined;
  return {
    does: `say in the status of ${counts.join(" and ")} that the operator is gone`,
    optional: true,
    run: async () => {
      for (const policy of await listPolicies(client))
        await reportGone(client, POLICY_RESOURCES[policy.kind], policy);
      for (const resource of [ROLLOUTS, OVERRIDES])
        for (const object of (await listed(client, resource)) ?? [])
          await reportGone(client, resource, object);
    },
  };
}

/** Keeps the finalizers of other controllers, including those added meanwhile. */
async function unmark(client: Client, policy: Policy): Promise<void> {
  const resource = POLICY_RESOURCES[policy.kind];
  await writeWhile(isMarked, client, { resource, object: policy }, async ({ metadata }) => {
    const { resourceVersion, finalizers = [] } = metadata;
    const left = finalizers.filter((finalizer) => finalizer !== FINALIZER);
    await client.mergePatch(resource, policy.metadata, { metadata: { resourceVersion, finalizers: left } });
  });
}

/**
 * Why Helm is not uninstalling the release of that record (a Secret, or a ConfigMap with HELM_DRIVER=configmap); `undefined`: it
 * is. Helm writes the status `uninstalling` into its record before it creates the first hook (pkg/action/uninstall.go and
 * hooks.go: execHook calls recordRelease), so a Job that something else has created does not see it. Only the metadata is read:
 * the record contains the release's values.
 */
export async function helmDoesNotUninstall(
  client: Pick<KubeClient, "get">,
  key: Required<ObjectKey>,
): Promise<string | undefined> {
  for (const resource of [SECRETS, CONFIG_MAPS]) {
    const found = await unlessNotFound(client.get(resource, key, { metadataOnly: true }));
    const { owner, status } = found?.metadata.labels ?? {};
    if (owner !== "helm") continue;
    if (status === "uninstalling") return undefined;
    return `${resource.kind} ${key.namespace}/${key.name} says that the release is ${status}`;
  }
  return `there is no record ${key.namespace}/${key.name}`;
}
