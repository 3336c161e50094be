/** The real tools of those who install, and what they need to find in the API server. */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { clusterctlBinary, controlPlaneBinaries, helmBinary } from "../controlplane/binaries.ts";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { clusterApiDefinition } from "../controlplane/cluster-api.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { goEnvironment } from "../controlplane/processes.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";

const run = promisify(execFile);

export const ROOT = join(import.meta.dirname, "../..");
export const CHART = join(ROOT, "manifests/helm/hookpolicy");
export const NAMESPACE = "hookpolicy-system";

/** What the program prints; rejects with what it complains about. */
export async function output(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const options = { env: goEnvironment(env), maxBuffer: 64 * 1024 * 1024, timeout: DEFINITION_GONE_MS };
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
  const said = await output(await clusterctlBinary(), [...args, "--config", config], env);
  if (args[0] === "init") await noTestNamespace(cp);
  return said;
}

/** clusterctl tries cert-manager in it, and takes one that is just going for a broken cert-manager. */
export async function noTestNamespace(cp: ControlPlane): Promise<void> {
  const ref = { apiVersion: "v1", kind: "Namespace", name: "cert-manager-test" };
  await cp.waitFor("the namespace to be gone", async () => (await cp.find(ref)) === undefined);
}

export async function kustomize(folder: string): Promise<readonly KubeObject[]> {
  const { kubectl } = await controlPlaneBinaries();
  return objectsOf(await output(kubectl, ["kustomize", folder]));
}

export async function extensionConfigCrd(): Promise<KubeObject> {
  return await clusterApiDefinition("extensionconfigs.runtime.cluster.x-k8s.io");
}

/** For clusterctl and for a dry run it is enough that the kind is served. */
export function certManagerDefinition(kind: string): KubeObject {
  const singular = kind.toLowerCase();
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${singular}s.cert-manager.io` },
    spec: {
      group: "cert-manager.io",
      scope: "Namespaced",
      names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

/** clusterctl takes no image without a registry. */
export const IMAGE = "registry.example.com/hookpolicy";

/** `kubectl kustomize` of manifests/ with some of its components, that image and what else is given, in a folder of its own. */
export async function kustomizeWith(
  folder: string,
  components: readonly string[],
  { namespace, transformers = [] }: { readonly namespace?: string; readonly transformers?: string[] } = {},
): Promise<readonly KubeObject[]> {
  await mkdir(folder, { recursive: true });
  const path = (below: string): string => relative(folder, join(ROOT, "manifests", below));
  const kustomization = {
    resources: [path(".")],
    components: components.map(path),
    transformers: transformers.map(path),
    ...(namespace !== undefined && { namespace }),
    images: [{ name: "hookpolicy", newName: IMAGE }],
  };
  await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization)); // JSON is YAML
  return await kustomize(folder);
}
