/** The operator as Pods of the release's manifests, and what tests look at in them. */

import { join } from "node:path";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { conditionOf, isRolledOut } from "./cluster.ts";
import { RELEASE } from "./product.ts";

export const NAMESPACE = "hookpolicy-system";
export const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
const EXTENSION = {
  apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
  kind: "ExtensionConfig",
  name: "hookpolicy",
};
const SELECTOR = "app.kubernetes.io/name=hookpolicy";

/** As docs/install.md says it for kubectl; Cluster API has discovered it when this resolves. */
export async function installRelease(cp: ControlPlane): Promise<void> {
  await cp.kubectl("apply", "-f", join(RELEASE, "hookpolicy.yaml"));
  await isInstalled(cp);
}

export async function isInstalled(cp: ControlPlane): Promise<void> {
  await isRolledOut(cp, NAMESPACE, DEPLOYMENT.name);
  const discovered = async (): Promise<boolean> =>
    conditionOf(await cp.get(EXTENSION), "Discovered") === "True";
  await cp.waitFor("Cluster API to discover the operator", discovered, 120_000);
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

/** What is wrong according to Kubernetes: reason, object and message of each Warning in the operator's namespace. */
export async function warnings(cp: ControlPlane): Promise<readonly string[]> {
  const events = await cp.list({ apiVersion: "v1", kind: "Event", namespace: NAMESPACE });
  return events
    .filter((event) => event["type"] === "Warning")
    .map((event) => `${event["reason"]} ${event["involvedObject"].name}: ${event["message"]}`);
}
