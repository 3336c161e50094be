/** The API server fails, is slow or refuses, and watches deliver changes late or not at all. */

import { policyRef } from "../../test/controlplane/policies.ts";
import type { Proxy, SeenRequest } from "../../test/controlplane/proxy.ts";
import { arrangeDefault, assume, FEW, type Lab, OTHER_TEAM, POLICY } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** A fault between both replicas and the API server. */
function onTheWay(id: string, title: string, harm: (proxy: Proxy) => void): Scenario {
  return {
    id,
    title,
    inject: ({ replicas }) => replicas.forEach(({ proxy }) => harm(proxy)),
    heal: ({ replicas }) => replicas.forEach(({ proxy }) => proxy.resume()),
  };
}

/** Open watches end, so that the replicas have to begin new ones. */
function answering(code: number): Scenario {
  return onTheWay(`api-server-${code}`, `API server answers ${code}`, (proxy) => {
    proxy.failAll(code);
    proxy.dropConnections();
  });
}

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

export const API_SERVER: readonly Scenario[] = [
  {
    id: "api-server-stopped",
    title: "API server stopped for 60 s",
    faultMs: 60_000,
    inject: ({ cp }) => cp.apiServer.stop("SIGKILL"),
    heal: ({ cp }) => cp.apiServer.start(),
  },
  {
    id: "api-server-frozen",
    title: "API server frozen: connections stay, nothing answers",
    inject: ({ cp }) => cp.apiServer.freeze(),
    heal: ({ cp }) => cp.apiServer.thaw(),
  },
  onTheWay("api-server-slow", "API server slow: 2 s for every request", (proxy) => proxy.delay(2000)),
  answering(429),
  answering(500),
  answering(410),
  {
    // By the time a replica writes the status, the policy has a newer resourceVersion.
    id: "conflict-storm",
    title: "Conflict storm: the policy changes 50 times a second",
    inject: async (lab) => {
      let changes = 0;
      lab.inBackground(20, async () => {
        const annotations = { "example.com/changes": String((changes += 1)) };
        await lab.cp.patch(POLICY, { metadata: { annotations } });
      });
    },
  },
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
