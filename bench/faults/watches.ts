/** News that comes late or not at all. */

import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { policyRef } from "../../test/controlplane/policies.ts";
import { eachProxy } from "./apiserver.ts";
import { COUNTS, FEW, type Lab, OTHER_TEAM, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";
import { assume } from "./subjects.ts";

/** Nothing holds the other team's Clusters yet. */
async function arrangeTeams(lab: Lab): Promise<void> {
  await installClusterDefinition(lab.cp);
  await lab.addSubjects(TEAM, COUNTS);
  await lab.addSubjects(OTHER_TEAM, FEW);
  assume(lab.of(OTHER_TEAM), { inForce: "No" });
  await lab.storePolicy();
}

async function protectOther(lab: Lab): Promise<void> {
  const ref = policyRef(OTHER_TEAM, "protect");
  await lab.change(lab.of(OTHER_TEAM), { inForce: "Yes" }, async () => await lab.storePolicy(ref));
}

const stalled: Scenario = {
  id: "watch-stalled",
  title: "All watches silently stalled; a new policy meanwhile",
  arrange: arrangeTeams,
  inject: async (lab) => {
    eachProxy(lab, (proxy) => proxy.stallWatches());
    await protectOther(lab);
  },
  heal: async (lab) => eachProxy(lab, (proxy) => proxy.resume()),
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
const compacted: Scenario = {
  id: "etcd-compaction",
  title: "etcd compacted between list and watch",
  controlPlane: { apiServerArgs: ["--watch-cache=false", "--etcd-compaction-interval=1s"] },
  inject: async (lab) => {
    eachProxy(lab, (proxy) => {
      proxy.delay(3000, ({ watch }) => watch);
      proxy.forget();
      proxy.dropConnections();
    });
    // A watch goes on from where it was, unless that is too old: only then there is a list.
    await lab.cp.waitFor("watches to be too old", () =>
      lab.replicas.every(({ proxy }) => proxy.count(({ path, watch }) => !watch && LIST.test(path)) > 0),
    );
  },
  heal: async (lab) => eachProxy(lab, (proxy) => proxy.resume()),
};

/** Confirmations read single Clusters. */
const LIST = /\/clusters$/;

export const WATCHES: readonly Scenario[] = [stalled, unseen, compacted];
