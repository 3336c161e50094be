/** A real API server, the operator behind a proxy, and no Cluster API: the test calls the hooks itself. */

import type { HookName, HookResponse } from "../../src/api/runtime-hooks.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { ApiError, type KubeObject, type Ref, isRefused } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import type { SeedName } from "../controlplane/seed.ts";
import { clusterRef, FIRST_VERSION, isGone, NEXT_VERSION } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  NAMESPACE,
  type Operator,
  type OperatorOptions,
  startOperator,
} from "../controlplane/operator.ts";
import { type Proxy, type SeenRequest, startProxy } from "../controlplane/proxy.ts";

type StartOptions = OperatorOptions & { readonly waitReady?: boolean };

export class Lab {
  readonly cp: ControlPlane;
  readonly proxy: Proxy;
  /** Of the shipped ServiceAccount, by way of the proxy. */
  readonly kubeconfig: string;
  #operator: Operator | undefined;
  #starts = 0;

  constructor(cp: ControlPlane, proxy: Proxy, kubeconfig: string) {
    this.cp = cp;
    this.proxy = proxy;
    this.kubeconfig = kubeconfig;
  }

  get operator(): Operator {
    if (this.#operator === undefined) throw new Error("the operator was not started");
    return this.#operator;
  }

  /** Ends the one that runs. Every start has a log file of its own. */
  async start(options: StartOptions = {}): Promise<Operator> {
    await this.#operator?.daemon.stop();
    this.#starts += 1;
    const name = `hookpolicy-${this.#starts}`;
    this.#operator = asClusterApi(
      this.cp,
      await startOperator(this.cp, { kubeconfig: this.kubeconfig, name, ...options }),
    );
    return this.#operator;
  }

  /** Calls the hook about the Cluster as it is now, as Cluster API does. */
  async ask(hook: HookName, namespace: string, name: string): Promise<HookResponse> {
    return await this.operator.ask(hook, await this.requestFor(namespace, name));
  }

  /** Waits for the hook to be released. */
  async releases(what: string, hook: HookName, namespace: string, name: string): Promise<void> {
    await this.cp.waitFor(what, async () => (await this.ask(hook, namespace, name)).retryAfterSeconds === 0);
  }

  /** Good for every hook: the Cluster without status and managedFields, and all versions. */
  async requestFor(namespace: string, name: string): Promise<object> {
    const { status: _, ...cluster } = await this.cp.get(clusterRef(namespace, name));
    return {
      cluster: { ...cluster, metadata: { ...cluster.metadata, managedFields: undefined } },
      fromKubernetesVersion: FIRST_VERSION,
      toKubernetesVersion: NEXT_VERSION,
      kubernetesVersion: NEXT_VERSION,
    };
  }

  async stop(): Promise<void> {
    await this.cp.stop();
    await this.proxy.stop();
  }
}

/** An answer that holds is written into the condition of the Cluster, as Cluster API does it: nothing is remembered of a call alone. */
export function asClusterApi(cp: ControlPlane, operator: Operator): Operator {
  const ask: Operator["ask"] = async (hook, request) => {
    const answer = await operator.ask(hook, request);
    const { cluster } = request as { cluster?: KubeObject };
    if ((answer.retryAfterSeconds ?? 0) > 0 && cluster !== undefined) await showHeld(cp, hook, cluster);
    return answer;
  };
  return { ...operator, ask };
}

/** What Cluster API writes when an answer holds. */
export async function showHeld(
  cp: ControlPlane,
  hook: HookName,
  { metadata }: Pick<KubeObject, "metadata">,
): Promise<void> {
  const { namespace = "", name, uid } = metadata;
  const found = await cp.find(clusterRef(namespace, name));
  const message = `Following hooks are blocking upgrade: ${hook}: held`;
  if (found === undefined || found.metadata.uid !== uid) return;
  const conditions: { type: string; message?: string }[] = found["status"]?.conditions ?? [];
  if (conditions.some((condition) => condition.message === message)) return;
  const now = new Date().toISOString();
  const condition = {
    type: "TopologyReconciled",
    status: "False",
    reason: "ClusterUpgrading",
    message,
    observedGeneration: found.metadata.generation,
    lastTransitionTime: now.replace(/\.\d+Z$/, "Z"),
  };
  const others = conditions.filter(({ type }) => type !== condition.type);
  await cp.patchStatus(clusterRef(namespace, name), { conditions: [...others, condition] });
}

/** What Cluster API writes when it goes on after BeforeClusterUpgrade. */
export async function beginUpgrade(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const annotations = { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" };
  await cp.patch(clusterRef(namespace, name), { metadata: { annotations } });
}

/** The operator runs and is ready. `seed: undefined` for those who remove what is installed, and install it again. */
export async function startLab(
  { seed }: { readonly seed: SeedName | undefined } = { seed: "cluster" },
): Promise<Lab> {
  const cp = await startControlPlane(seed === undefined ? {} : { seed });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
    const lab = new Lab(cp, proxy, kubeconfig);
    await lab.start();
    return lab;
  } catch (error) {
    await cp.stop();
    throw error;
  }
}

export const HOOK_POLICY_DEFINITION: Ref = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "hookpolicies.hookpolicy.dev",
};

export async function removeDefinition(cp: ControlPlane, definition: Ref): Promise<void> {
  const { spec } = await cp.get(definition);
  const versions: readonly { name: string; served: boolean }[] = spec.versions;
  const paths = versions
    .filter(({ served }) => served)
    .map(({ name }) => `/apis/${spec.group}/${name}/${spec.names.plural}`);
  await cp.delete(definition);
  await isGone(cp, definition);
  // For a moment the API server still lists what is not defined any more, and says that there is none.
  await cp.waitFor(`${definition.name} to be served no more`, async () => {
    const unserved = await Promise.all(
      paths.map(async (path) => await isRefused(cp.request("GET", path), 404)),
    );
    return !unserved.includes(false);
  });
}

/** What the operator has written so far to paths that begin so. */
export function writesOf({ proxy }: Lab, path = "/"): readonly SeenRequest[] {
  return proxy.requests.filter((seen) => seen.method !== "GET" && seen.path.startsWith(path));
}

export function policyPath(namespace: string, name: string): string {
  return `/apis/hookpolicy.dev/v1alpha1/namespaces/${namespace}/hookpolicies/${name}`;
}

/** At most `limit` at a time, as the API server wants it. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 400 || error.code === 422);
}
