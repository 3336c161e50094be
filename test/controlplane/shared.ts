/**
 * Control planes that many test files use at the same time, each in namespaces or under names of its own. test/setup.ts
 * starts them before the files of a run, whose processes find them by the environment; a file that runs alone starts
 * its own.
 */
import { objectsOf } from "./client.ts";
import { clusterApiBinaries } from "./binaries.ts";
import { installClusterDefinition } from "./clusterapi.ts";
import {
  attachControlPlane,
  type ControlPlane,
  type ControlPlaneAddress,
  startControlPlane,
} from "./controlplane.ts";
import { installHookPolicy, type OperatorAddress } from "./operator.ts";

/** Environment variables that hold the address of what is shared, as JSON. */
const VARIABLES = {
  apiServer: "HOOKPOLICY_TEST_API_SERVER",
  fleet: "HOOKPOLICY_TEST_FLEET",
} as const;

export interface FleetAddress {
  readonly controlPlane: ControlPlaneAddress;
  readonly operator: OperatorAddress;
}

interface Addresses {
  readonly apiServer: ControlPlaneAddress;
  readonly fleet: FleetAddress;
}

/** For the processes that this one starts from now on. */
export function share<What extends keyof Addresses>(what: What, address: Addresses[What]): void {
  process.env[VARIABLES[what]] = JSON.stringify(address);
}

/** `undefined`: nothing is shared, the file runs alone. */
export function sharedAddress<What extends keyof Addresses>(what: What): Addresses[What] | undefined {
  const text = process.env[VARIABLES[what]];
  return text === undefined ? undefined : (JSON.parse(text) as Addresses[What]);
}

/**
 * An API server with HookPolicy's CRDs, roles and namespace and the definitions of Cluster and ExtensionConfig; neither an operator
 * nor Cluster API run there: an operator would look at everybody's objects.
 */
export async function sharedControlPlane(): Promise<ControlPlane> {
  const address = sharedAddress("apiServer");
  return address === undefined ? await startDefinitions() : await attachControlPlane(address);
}

/** What sharedControlPlane() attaches to. */
export async function startDefinitions(): Promise<ControlPlane> {
  const cp = await startControlPlane();
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const { manifests } = await clusterApiBinaries();
    const extensionConfig = objectsOf(manifests).filter(
      ({ metadata }) => metadata.name === "extensionconfigs.runtime.cluster.x-k8s.io",
    );
    // Without the conversion webhook, behind which nothing answers here.
    await cp.apply(
      extensionConfig.map((crd) => ({ ...crd, spec: { ...crd["spec"], conversion: undefined } })),
    );
    return cp;
  } catch (error) {
    await cp.stop();
    throw error;
  }
}
