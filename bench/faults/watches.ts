/** News that comes late or not at all. */

import { policyRef } from "../../test/controlplane/policies.ts";
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

const silent = onTheWay("watch-stalled", "All watches silently stalled; a new policy meanwhile", (proxy) => {
  proxy.stallWatches();
});
const stalled: Scenario = {
  ...silent,
  arrange: arrangeTeams,
  inject: async (lab) => {
    await silent.inject(lab);
    await protectOther(lab);
  },
};

const unseen: Scenario = {
  id: "policy-unseen",
  title: "A new policy that one replica has not seen yet",
  arrange: arrangeTeams,
  inject: async (lab) => {
    lab.replica(0).proxy.stallWatches(/hookpolicies/);
    await protectOther(lab);
  },
  heal: async (lab) => lab.replica(0).proxy.resume(),
};

/**
 * The API server reads from etcd itself, which forgets what is older than a second or two; every watch begins later
 * than that after its list, and what changes meanwhile has been compacted.
 */
const late = onTheWay("etcd-compaction", "etcd compacted between list and watch", (proxy) => {
  proxy.delay(3000, ({ watch }) => watch);
  proxy.forget();
  proxy.dropConnections();
});
const compacted: Scenario = {
  ...late,
  controlPlane: { apiServerArgs: ["--watch-cache=false", "--etcd-compaction-interval=1s"] },
  inject: async (lab) => {
    await late.inject(lab);
    // A watch goes on from where it was, unless that is too old: only then there is a list.
    await lab.cp.waitFor("watches to be too old", () =>
      lab.replicas.every(({ proxy }) => proxy.count(({ path, watch }) => !watch && LIST.test(path)) > 0),
    );
  },
};

/** Confirmations read single Clusters. */
const LIST = /\/clusters$/;

export const WATCHES: readonly Scenario[] = [stalled, unseen, compacted];
