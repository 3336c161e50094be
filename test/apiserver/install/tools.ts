/** The real tools of those who install, and what they need to find in the API server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  clusterApiBinaries,
  clusterctlBinary,
  controlPlaneBinaries,
  helmBinary,
} from "../../controlplane/binaries.ts";
import { type KubeObject, objectsOf } from "../../controlplane/client.ts";
import type { ControlPlane } from "../../controlplane/controlplane.ts";
import { environment } from "../../controlplane/processes.ts";

const run = promisify(execFile);

export const ROOT = join(import.meta.dirname, "../../..");
export const CHART = join(ROOT, "manifests/helm/hookpolicy");
export const NAMESPACE = "hookpolicy-system";

/** What the program prints; rejects with what it complains about. */
export async function output(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const options = { env: environment(env), maxBuffer: 64 * 1024 * 1024, timeout: 120_000 };
    return (await run(command, args, options)).stdout;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`${args.join(" ")}: ${said || String(error)}`, { cause: error });
  }
}

export async function helm(...args: readonly string[]): Promise<string> {
  return await output(await helmBinary(), args);
}

/** Of that cluster, with a home of its own. */
export async function helmIn(cp: ControlPlane, ...args: readonly string[]): Promise<string> {
  return await output(await helmBinary(), args, { KUBECONFIG: cp.adminKubeconfig, HOME: cp.folder });
}

export async function clusterctlIn(
  cp: ControlPlane,
  config: string,
  ...args: readonly string[]
): Promise<string> {
  const env = { KUBECONFIG: cp.adminKubeconfig, HOME: cp.folder, CLUSTERCTL_DISABLE_VERSIONCHECK: "true" };
  return await output(await clusterctlBinary(), [...args, "--config", config], env);
}

export async function kustomize(folder: string): Promise<readonly KubeObject[]> {
  const { kubectl } = await controlPlaneBinaries();
  return objectsOf(await output(kubectl, ["kustomize", folder]));
}

/** Without the conversion webhook, behind which nothing answers here. */
export async function extensionConfigCrd(): Promise<KubeObject> {
  const { manifests } = await clusterApiBinaries();
  const crd = objectsOf(manifests).find(
    ({ metadata }) => metadata.name === "extensionconfigs.runtime.cluster.x-k8s.io",
  );
  assert.ok(crd);
  return { ...crd, spec: { ...crd["spec"], conversion: undefined } };
}
