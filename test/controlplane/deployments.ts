/** The Deployments of programs that run as processes here: what a kubelet would run, and say of it. */

import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { NAMESPACE } from "./operator.ts";

export const OPERATOR: Ref = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
export const MANAGER: Ref = { ...OPERATOR, namespace: "capi-system", name: "capi-controller-manager" };

/** Of Cluster API's manager, with what others read of it. */
export function managerDeployment(version: string, featureGates: string): KubeObject {
  const { apiVersion, kind, namespace = "", name } = MANAGER;
  const labels = { "cluster.x-k8s.io/provider": "cluster-api" };
  const container = {
    name: "manager",
    image: `cluster-api-controller:${version}`,
    args: [`--feature-gates=${featureGates}`],
  };
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

export async function setAvailable(cp: ControlPlane, ref: Ref, replicas: number): Promise<void> {
  const counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
  await cp.patchStatus(ref, Object.fromEntries(counts.map((count) => [count, replicas])));
}
