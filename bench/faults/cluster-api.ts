/** The real Cluster API calls the hooks beside the load, and is restarted: what it forgets must release nothing. */

import { installClusterApi } from "../../test/controlplane/cluster-api.ts";
import { registerExtension } from "../../test/controlplane/extension.ts";
import { clusterRef, installLab } from "../../test/controlplane/lab.ts";
import { APPROVED } from "../../test/controlplane/policies.ts";
import { HELD, numbered, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const APPROVED_AT_ONCE = { annotations: { [APPROVED]: "true" } };

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
    await registerExtension(lab.cp, { name: "hookpolicy", url: `https://127.0.0.1:${lab.service.port}/` });
    await lab.addClusters(TEAM, numbered(24, HELD));
    // Once Cluster API has begun to create one, no release is wanted any more, and a call about it is held.
    await lab.addClusters(TEAM, numbered(7, "approved"), { satisfied: "Maybe" }, APPROVED_AT_ONCE);
  },
  inject: ({ clusterApi }) => clusterApi?.stop("SIGKILL"),
  heal: ({ clusterApi }) => clusterApi?.start(),
  /** Cluster API creates the parts of a Cluster once BeforeClusterCreate has released it. */
  wrongAllowsBesides: async ({ cp, subjects }) => {
    const held = subjects.filter(({ name }) => name.startsWith(`${HELD}-`));
    const objects = held.map(async ({ namespace, name }) => await cp.get(clusterRef(namespace, name)));
    return (await Promise.all(objects)).filter(({ spec }) => spec.infrastructureRef !== undefined).length;
  },
};
