/** What a person can do with a demo that goes on (KEEP=1), in lines to copy. */

import { join } from "node:path";
import { programFolders } from "../capi/programs.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface Played {
  readonly namespace: string;
  readonly cluster: string;
  readonly policy: string;
}

export async function jobs(cp: ControlPlane, { namespace, cluster, policy }: Played): Promise<string> {
  const folders = await programFolders(cp);
  const deny = '[{ "op": "add", "path": "/spec/rules/0/admission", "value": "Deny" }]';
  const remove = `kubectl delete -n ${namespace} clusters.cluster.x-k8s.io ${cluster} --wait=false`;
  return `
Everything keeps running until Ctrl-C. In another terminal:

  cd '${ROOT}'
  export KUBECONFIG='${cp.adminKubeconfig}' PATH='${folders.join(":")}':"$PATH"
  hookpolicy doctor
  hookpolicy ui

Hold a Cluster, ask why, and release it:

  kubectl apply -f test/demo/cluster.yaml
  ${remove}
  hookpolicy explain ${namespace}/${cluster}
  hookpolicy approve ${namespace}/${cluster}

Refuse the deletion itself:

  kubectl patch hookpolicy -n ${namespace} ${policy} --type json -p '${deny}'
  kubectl apply -f test/demo/cluster.yaml
  ${remove}
  hookpolicy approve ${namespace}/${cluster} --hook BeforeClusterDelete
  ${remove}

Any policy and any Cluster of the class lab will do: change copies of test/demo/policies.yaml and test/demo/cluster.yaml. Another
spec.topology.version begins an upgrade. The demo plays the providers of all Clusters, and a Node for each replica.
There are no kubelets: HookPolicy and Cluster API run as processes, and their Deployments are there for those who read them.
`;
}
