/** Before the files of test/cluster, in the nodes' network: nodes are Ready, names are resolved, Cluster API runs. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { installLab } from "../controlplane/lab.ts";
import { attachCluster, isRolledOut, nodesAreReady } from "./cluster.ts";
import { installClusterApiPods } from "./cluster-api-pods.ts";
import { NODES_FOLDER } from "./folders.ts";

export async function globalSetup(): Promise<void> {
  const cluster = await attachCluster();
  try {
    const ready = async (): Promise<boolean> => (await cluster.request("GET", "/readyz")) === "ok";
    await cluster.waitFor("the API server to be ready", ready);
    await cluster.apply(await readFile(join(NODES_FOLDER, "dns.yaml"), "utf8"));
    await nodesAreReady(cluster);
    await isRolledOut(cluster, "kube-system", "coredns");
    await installClusterApiPods(cluster);
    const lab = async (): Promise<boolean> => {
      await installLab(cluster);
      return true;
    };
    await cluster.waitFor("kube-proxy to route to Cluster API's webhooks", lab);
  } finally {
    await cluster.stop();
  }
}
