/** The whole system: control plane, Cluster API and HookPolicy. */

import type { HookName } from "../../src/api/runtime-hooks.ts";
import { type ClusterApi, installClusterApi, type InstallOptions } from "../controlplane/cluster-api.ts";
import { attachControlPlane, type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, installLab, topologyMessage } from "../controlplane/lab.ts";
import {
  attachOperator,
  installHookPolicy,
  type Operator,
  type OperatorOptions,
  startOperator,
} from "../controlplane/operator.ts";
import { type FleetAddress, sharedAddress } from "../controlplane/shared.ts";

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
