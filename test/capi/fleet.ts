/** The whole system: control plane, Cluster API and HookPolicy. */

import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import { objectOf, type Ref } from "../controlplane/client.ts";
import { type ClusterApi, installClusterApi, type InstallOptions } from "../controlplane/cluster-api.ts";
import { attachControlPlane, type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  installLab,
  provision,
  topologyMessage,
  upgrade,
} from "../controlplane/lab.ts";
import { LAB_CONTROL_PLANE, LAB_INFRASTRUCTURE } from "../controlplane/lab-kinds.ts";
import {
  attachOperator,
  installHookPolicy,
  NAMESPACE,
  type Operator,
  type OperatorOptions,
  startOperator,
} from "../controlplane/operator.ts";
import { applyPolicy, approvalRule, policyRef, policyRow } from "../controlplane/policies.ts";
import { type Proxy, startProxy } from "../controlplane/proxy.ts";
import { type FleetAddress, sharedAddress } from "../controlplane/shared.ts";
import { startTinyExtension, type TinyExtension } from "../controlplane/tiny-extension.ts";

export interface Fleet {
  readonly cp: ControlPlane;
  readonly capi: ClusterApi;
  readonly operator: Operator;
}

export interface FleetOptions {
  readonly operator?: OperatorOptions;
  readonly clusterApi?: InstallOptions;
  /** Of the ExtensionConfig. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** For the operator: its log has a line for every call, which askedAgain() counts. */
export const EVERY_CALL = { "log-level": "debug" } as const;

/** Everything runs and Cluster API has discovered the operator. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const cp = await startControlPlane({ seed: "clusterApi" });
  try {
    await installHookPolicy(cp);
    const flags = { ...EVERY_CALL, ...options.operator?.flags };
    const [capi, operator] = await Promise.all([
      installClusterApi(cp, options.clusterApi),
      startOperator(cp, { ...options.operator, flags }),
    ]);
    await installLab(cp);
    const { settings } = options;
    await registerExtension(cp, { name: "hookpolicy", url: operator.url, ...(settings && { settings }) });
    return { cp, capi, operator };
  } catch (error) {
    await cp.stop();
    throw error;
  }
}

/** Tests must stop no part of it: a test that does needs startFleet(). */
export type SharedFleet = Omit<Fleet, "capi">;

/**
 * A fleet that many files use at the same time, each in namespaces of its own. Its ExtensionConfig has the setting
 * `region: eu`, and a HookOverride lasts 2 h at most.
 */
export async function sharedFleet(): Promise<SharedFleet> {
  const address = await sharedAddress("fleet");
  if (address === undefined) return await startSharedFleet();
  const cp = await attachControlPlane(address.controlPlane);
  return { cp, operator: attachOperator(cp, address.operator) };
}

/** What sharedFleet() attaches to. */
export async function startSharedFleet(): Promise<SharedFleet> {
  return await startFleet({
    operator: { flags: { "max-override-duration": "2h" } },
    settings: { region: "eu" },
  });
}

export function addressOf({ cp, operator: { ports, certDir, daemon } }: SharedFleet): FleetAddress {
  const { name, pid, logFile } = daemon;
  return { controlPlane: cp.address(), operator: { ports, certDir, daemon: { name, pid, logFile } } };
}

/** On the same ports, so that Cluster API finds it again. */
export async function restartOperator(
  fleet: Fleet,
  options: OperatorOptions = {},
  signal: NodeJS.Signals = "SIGTERM",
): Promise<void> {
  const { cp, operator } = fleet;
  await operator.daemon.stop(signal);
  const again = await startOperator(cp, { ports: operator.ports, flags: EVERY_CALL, ...options });
  Object.assign(fleet, { operator: again });
}

/** From now on the operator talks to the API server through something that can break, with the rights of the manifests. */
export async function behindProxy(fleet: Fleet): Promise<Proxy> {
  const { cp } = fleet;
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  await restartOperator(fleet, {
    kubeconfig: await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url }),
  });
  return proxy;
}

/** An extension that Cluster API calls for the Clusters of the namespace alone, until the test ends. */
export async function extensionBeside(
  t: TestContext,
  cp: ControlPlane,
  namespace: string,
  names: readonly string[] = [namespace],
): Promise<TinyExtension> {
  const extension = await startTinyExtension(cp.authority);
  t.after(async () => {
    for (const name of names) await cp.delete(extensionRef(name));
    extension.stop();
  });
  const url = `https://127.0.0.1:${extension.port}/`;
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  for (const name of names) await registerExtension(cp, { name, url, namespaceSelector });
  return extension;
}

/** The policy "protect" of the namespace is for this hook, and c1 runs. */
export async function protectedCluster(cp: ControlPlane, namespace: string, hook: HookName): Promise<Ref> {
  const policy = policyRef(namespace, "protect");
  await applyPolicy(cp, policy, { rules: [approvalRule(hook)] });
  await createCluster(cp, { namespace, name: "c1" });
  await provision(cp, namespace, "c1");
  return policy;
}

/** The policy "protect" of the namespace holds the deletion or the upgrade of c1. */
export async function heldCluster(
  cp: ControlPlane,
  namespace: string,
  hook: "BeforeClusterDelete" | "BeforeClusterUpgrade" = "BeforeClusterDelete",
): Promise<Ref> {
  const policy = await protectedCluster(cp, namespace, hook);
  await (hook === "BeforeClusterDelete" ? deleteCluster : upgrade)(cp, namespace, "c1");
  await policyRow(cp, policy, "c1", hook);
  return policy;
}

/**
 * On a busy machine the garbage collector is late (garbagecollector.go, Sync), and looks at what an owner has once: a part that it
 * learns of later outlives the owner's deletion in the foreground. It learns of objects of a kind in their order.
 */
export async function isSeenByCollector(cp: ControlPlane, ns: string): Promise<void> {
  const namespace = `${ns}-orphans`;
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const absent = { apiVersion: "v1", kind: "ConfigMap", name: "absent", uid: randomUUID() };
  const orphans = [
    { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace, name: "orphan" },
    { apiVersion: LAB_INFRASTRUCTURE, kind: "LabCluster", namespace, name: "orphan" },
  ];
  for (const orphan of orphans) await cp.apply(objectOf({ ...orphan, ownerReferences: [absent] }));
  await cp.waitFor("the garbage collector to have seen the parts", async () => {
    const found = await Promise.all(orphans.map(async (each) => await cp.find(each)));
    return found.every((each) => each === undefined);
  });
}

/** BeforeClusterCreate has let the Cluster go on: the hook that needs the fewest steps to be asked. */
export async function isCreated(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  await cp.waitFor(`Cluster ${namespace}/${name} to be created`, async () => {
    const { spec } = await cp.get(clusterRef(namespace, name));
    return spec.infrastructureRef !== undefined;
  });
}

export async function isNotCreated(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const { spec } = await cp.get(clusterRef(namespace, name));
  if (spec.infrastructureRef !== undefined) throw new Error(`Cluster ${namespace}/${name} was let go on`);
}

/** Waits until Cluster API tells its users that the hooks hold the Cluster for this reason. */
export async function topologySays(
  cp: ControlPlane,
  namespace: string,
  name: string,
  text: RegExp,
): Promise<string> {
  return await cp.waitFor(`Cluster API to say ${text} of ${namespace}/${name}`, async () => {
    const message = await topologyMessage(cp, namespace, name);
    return text.test(message) && message;
  });
}

/**
 * Cluster API has asked about `cluster` (namespace/name) `times` more and was answered: what it does on a hold, it has done.
 * The operator runs with EVERY_CALL.
 */
export async function askedAgain(
  { cp, operator }: SharedFleet,
  cluster: string,
  hook: HookName,
  times = 2,
): Promise<void> {
  const calls = (): number => callsAbout(operator, cluster).filter((name) => name === hook).length;
  const before = calls();
  await cp.waitFor(
    `Cluster API to ask ${times} times more about ${cluster}`,
    () => calls() >= before + times,
  );
}

/** The hooks of a Cluster in the order of the operator's first answers. */
export function hooksCalled(operator: Operator, cluster: string): string[] {
  return [...new Set(callsAbout(operator, cluster))];
}

/** The hook of each answer that the operator's log tells of. */
function callsAbout(operator: Operator, cluster: string): string[] {
  return operator
    .lines()
    .filter((line) => line["cluster"] === cluster && / is called, /.test(line.msg))
    .map(({ msg }) => msg.split(" ")[0] ?? "");
}
