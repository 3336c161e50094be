/** What a person can do with a demo that goes on (KEEP=1), in lines to copy. */

import { join } from "node:path";
import { programFolders } from "../capi/programs.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";

const CLUSTERS = "clusters.cluster.x-k8s.io";
const ROOT = join(import.meta.dirname, "../..");

export interface DemoNames {
  readonly namespace: string;
  readonly cluster: string;
  readonly policy: string;
}

export async function jobs(cp: ControlPlane, { namespace, cluster, policy }: DemoNames): Promise<string> {
  const folders = await programFolders(cp);
  const deny = '[{ "op": "add", "path": "/spec/rules/0/admission", "value": "Deny" }]';
  const remove = `kubectl delete -n ${namespace} ${CLUSTERS} ${cluster}`;
  return `
Everything keeps running until Ctrl-C. In another terminal:

  cd '${ROOT}'
  export KUBECONFIG='${cp.adminKubeconfig}' PATH='${folders.join(":")}':"$PATH"
  hookpolicy doctor
  hookpolicy ui

Hold a Cluster, ask why, and release it:

  ${remove} --wait=false
  hookpolicy explain ${namespace}/${cluster}
  hookpolicy approve ${namespace}/${cluster}
  kubectl wait -n ${namespace} ${CLUSTERS}/${cluster} --for=delete --timeout=5m

Refuse the deletion itself, until it is approved:

  kubectl apply -f test/demo/cluster.yaml
  kubectl patch hookpolicy -n ${namespace} ${policy} --type json -p '${deny}'
  ${remove}
  hookpolicy approve ${namespace}/${cluster} --hook BeforeClusterDelete
  ${remove}

If the API server refuses one of them because a webhook timed out ("context deadline exceeded"), nothing was stored: run it again.

Then write a policy of your own: change a copy of test/demo/policies.yaml, or take one of docs/recipes. Any Cluster of the class
lab will do, as in test/demo/cluster.yaml; another spec.topology.version begins an upgrade. The demo plays the providers of all
these Clusters, and a Node for each replica. Nothing here is a Pod: HookPolicy and Cluster API run as processes, and their
Deployments only describe them.
`;
}
