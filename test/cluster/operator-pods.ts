/** The operator as Pods of the release's manifests, and what tests look at in them. */

import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { environment } from "../controlplane/processes.ts";
import { conditionOf, isRolledOut } from "./cluster.ts";
import { ROOT } from "./folders.ts";
import { RELEASE } from "./product.ts";

const run = promisify(execFile);

/** Of the release: everything, for kubectl. */
const MANIFEST = "hookpolicy.yaml";

export const NAMESPACE = "hookpolicy-system";
export const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
export const EXTENSION = {
  apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
  kind: "ExtensionConfig",
  name: "hookpolicy",
};
/** With what the operator serves, whoever has issued it. */
export const SERVING = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: NAMESPACE,
  name: "hookpolicy-webhook-service-cert",
};
export const CRDS = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts", "hooktasks"].map(
  (plural) => `${plural}.hookpolicy.dev`,
);
export const SELECTOR = "app.kubernetes.io/name=hookpolicy";

/** As docs/install.md says it for kubectl, also where it is installed already; Cluster API has discovered it when this resolves. */
export async function installRelease(cp: ControlPlane, manifest = MANIFEST): Promise<void> {
  await cp.kubectl("apply", "-f", join(RELEASE, manifest));
  await isInstalled(cp);
}

interface Addition {
  /** A JSON pointer. */
  readonly path: string;
  readonly value: unknown;
}

/** With settings for objects, named `KIND/NAME`, as docs/install.md has them for kubectl. */
export async function installKustomized(
  cp: ControlPlane,
  name: string,
  additions: Readonly<Record<string, readonly Addition[]>>,
): Promise<void> {
  const patches = Object.entries(additions).map(([object, operations]) => {
    const [kind, target] = object.split("/");
    const patch = JSON.stringify(operations.map((operation) => ({ op: "add", ...operation })));
    return { target: { kind, name: target }, patch };
  });
  const folder = join(cp.folder, name);
  await mkdir(folder, { recursive: true });
  await copyFile(join(RELEASE, MANIFEST), join(folder, MANIFEST));
  await writeFile(join(folder, "kustomization.yaml"), JSON.stringify({ resources: [MANIFEST], patches }));
  await cp.kubectl("apply", "-k", folder);
  await isInstalled(cp);
}

export async function isInstalled(cp: ControlPlane): Promise<void> {
  await isRolledOut(cp, NAMESPACE, DEPLOYMENT.name);
  const discovered = async (): Promise<boolean> =>
    conditionOf(await cp.get(EXTENSION), "Discovered") === "True";
  await cp.waitFor("Cluster API to discover the operator", discovered);
}

/** Those that are not being deleted. */
export async function replicas(cp: ControlPlane): Promise<readonly KubeObject[]> {
  const pods = await cp.list({
    apiVersion: "v1",
    kind: "Pod",
    namespace: NAMESPACE,
    labelSelector: SELECTOR,
  });
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export function nodeOf(pod: KubeObject): string {
  return pod["spec"].nodeName;
}

/** And waits until the replicas are available, and no other is left. */
export async function scale(cp: ControlPlane, count: number): Promise<void> {
  await cp.patch(DEPLOYMENT, { spec: { replicas: count } });
  if (count === 0) await cp.kubectl("delete", "pod", "-n", NAMESPACE, "-l", SELECTOR, "--force");
  await cp.waitFor(`${count} replicas`, async () => {
    const pods = await cp.list({
      apiVersion: "v1",
      kind: "Pod",
      namespace: NAMESPACE,
      labelSelector: SELECTOR,
    });
    return pods.length === count && pods.every((pod) => conditionOf(pod, "Ready") === "True");
  });
}

/** What is wrong with the replicas according to Kubernetes: reason, Pod and message of each Warning. */
export async function warnings(cp: ControlPlane): Promise<readonly string[]> {
  const names = new Set((await replicas(cp)).map(({ metadata }) => metadata.name));
  const events = await cp.list({ apiVersion: "v1", kind: "Event", namespace: NAMESPACE });
  return events
    .filter((event) => event["type"] === "Warning" && names.has(event["involvedObject"].name))
    .map((event) => `${event["reason"]} ${event["involvedObject"].name}: ${event["message"]}`);
}

/** What the command line of this checkout prints; rejects with it, where it ends with another code than 0. */
export async function hookpolicy(cp: ControlPlane, ...args: readonly string[]): Promise<string> {
  const argv = [join(ROOT, "dist/main.js"), ...args];
  try {
    const { stdout } = await run(process.execPath, argv, {
      env: environment({ KUBECONFIG: cp.adminKubeconfig }),
    });
    return stdout;
  } catch (error) {
    const said = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    throw new Error(`hookpolicy ${args.join(" ")}: ${said || String(error)}`, { cause: error });
  }
}

/** As docs/install.md says it for kubectl; CRDs and policies, too. */
export async function removeRelease(cp: ControlPlane, manifest = MANIFEST): Promise<void> {
  await hookpolicy(cp, "prepare-uninstall", "--yes", "--release-held-clusters");
  await cp.kubectl("delete", "--ignore-not-found", "-f", join(RELEASE, manifest));
}

const KINDS = `deployment,pod,job,service,serviceaccount,role,rolebinding,configmap,poddisruptionbudget,resourcequota,\
clusterrole,clusterrolebinding,extensionconfig,validatingwebhookconfiguration`;

/** Every object of ours that is still there, besides the CRDs, the policies, and what goes with the namespace. */
export async function leftovers(cp: ControlPlane): Promise<readonly string[]> {
  const names = await cp.kubectl("get", KINDS, "--all-namespaces", "--output=name");
  return names.split("\n").filter((name) => name.includes("hookpolicy"));
}
