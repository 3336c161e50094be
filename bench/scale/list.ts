/** The least that the operator has to do at its start: lists the same objects, drops them, and prints when it was done. */

import { KubeClient } from "../../src/kube/kubeclient.ts";
import { loadKubeConfig } from "../../src/kube/kubeconfig.ts";
import { ClusterResource } from "../../src/kube/clusterresource.ts";
import { NAMESPACES, OVERRIDES, POLICY_RESOURCES } from "../../src/kube/resources.ts";

const [, , kubeconfig = ""] = process.argv;
const client = new KubeClient(loadKubeConfig({ kubeconfig }));
const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
const whole = [HookPolicy, ClusterHookPolicy, OVERRIDES, new ClusterResource(client).current];
const project = (): undefined => undefined;
await Promise.all([
  ...whole.map(async (resource) => await client.list(resource, { project })),
  client.list(NAMESPACES, { metadataOnly: true, project }),
]);
process.stdout.write(String(Date.now()));
await client.close();
