/** Watches deliver changes late or not at all. */

import { policyRef } from "../../test/controlplane/policies.ts";
import type { SeenRequest } from "../../test/controlplane/proxy.ts";
import { onTheWay } from "./apiserver.ts";
import { arrangeDefault, FEW, type Lab, OTHER_TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";
import { assume } from "./subjects.ts";

/** Nothing holds the other team's Clusters yet. */
async function arrangeTeams(lab: Lab): Promise<void> {
  await arrangeDefault(lab);
  await lab.addSubjects(OTHER_TEAM, FEW);
  assume(lab.of(OTHER_TEAM), { inForce: "No" });
}

async function protectOther(lab: Lab): Promise<void> {
  const ref = policyRef(OTHER_TEAM, "protect");
  await lab.change(lab.of(OTHER_TEAM), { inForce: "Yes" }, async () => await lab.storePolicy(ref));
}

const stalled = onTheWay("watch-stalled", "All watches silently stalled; a new policy meanwhile", (proxy) => {
  proxy.stallWatches();
});

const late = onTheWay("etcd-compaction", "etcd compacted between list and watch", (proxy) => {
  proxy.delay(3000, ({ watch }) => watch);
  proxy.forget();
  proxy.dropConnections();
});

/** Only a watch that is too old makes the operator list Clusters again; confirmations read single ones. */
const isList = ({ path, watch }: SeenRequest): boolean => !watch && path.endsWith("/clusters");

export const WATCHES: readonly Scenario[] = [
  {
    ...stalled,
    arrange: arrangeTeams,
    inject: async (lab) => {
      await stalled.inject(lab);
      await protectOther(lab);
    },
  },
  {
    id: "policy-unseen",
    title: "A new policy that one replica has not seen yet",
    arrange: arrangeTeams,
    inject: async (lab) => {
      lab.firstReplica.proxy.stallWatches(/hookpolicies/);
      await protectOther(lab);
    },
    heal: async (lab) => lab.firstReplica.proxy.resume(),
  },
  {
    // The API server reads from etcd itself, which soon forgets old versions. Each watch begins later than that after its
    // list, and what changes meanwhile has been compacted.
    ...late,
    controlPlane: { apiServerArgs: ["--watch-cache=false", "--etcd-compaction-interval=1s"] },
    inject: async (lab) => {
      await late.inject(lab);
      await lab.cp.waitFor("watches to be too old", () =>
        lab.replicas.every(({ proxy }) => proxy.count(isList) > 0),
      );
    },
  },
];
