/** The real Cluster API, which asks beside the load and is restarted: what it forgets must let nothing go. */

import { installClusterApi } from "../../test/controlplane/clusterapi.ts";
import { registerExtension } from "../../test/controlplane/extension.ts";
import { clusterRef, installLab } from "../../test/controlplane/lab.ts";
import { HELD, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** Each of them is reconciled by Cluster API, too. */
const CLUSTERS = { held: 24, approved: 4, changing: 3 };

export const CLUSTER_API: Scenario = {
  id: "cluster-api-restarted",
  title: "Cluster API restarted while Clusters are blocked",
  hook: "BeforeClusterCreate",
  arrange: async (lab) => {
    lab.clusterApi = await installClusterApi(lab.cp);
    await installLab(lab.cp);
    await lab.storePolicy();
  },
  settle: async (lab) => {
    const url = `https://127.0.0.1:${lab.service.port}/`;
    await registerExtension(lab.cp, { name: "hookpolicy", url });
    await lab.addSubjects(TEAM, CLUSTERS);
  },
  inject: async ({ clusterApi }) => await clusterApi?.stop("SIGKILL"),
  heal: async ({ clusterApi }) => await clusterApi?.start(),
  /** Cluster API makes a Cluster's parts once BeforeClusterCreate lets it. */
  wrongAllowsBesides: async ({ cp, subjects }) => {
    const held = subjects.filter(({ name }) => name.startsWith(`${HELD}-`));
    const objects = await Promise.all(
      held.map(async ({ namespace, name }) => await cp.get(clusterRef(namespace, name))),
    );
    return objects.filter(({ spec }) => spec.infrastructureRef !== undefined).length;
  },
};
