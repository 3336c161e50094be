/** The API server fails, is slow or refuses, for both replicas. */

import type { Proxy } from "../../test/controlplane/proxy.ts";
import { POLICY } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** A fault between both replicas and the API server. */
export function onTheWay(id: string, title: string, harm: (proxy: Proxy) => void): Scenario {
  return {
    id,
    title,
    inject: async ({ replicas }) => replicas.forEach(({ proxy }) => harm(proxy)),
    heal: async ({ replicas }) => replicas.forEach(({ proxy }) => proxy.resume()),
  };
}

/** Open watches end, so that the replicas have to begin new ones. */
function answering(code: number): Scenario {
  return onTheWay(`api-server-${code}`, `API server answers ${code}`, (proxy) => {
    proxy.failAll(code);
    proxy.dropConnections();
  });
}

export const API_SERVER: readonly Scenario[] = [
  {
    id: "api-server-stopped",
    title: "API server stopped for 60 s",
    faultMs: 60_000,
    inject: async ({ cp }) => await cp.apiServer.stop("SIGKILL"),
    heal: async ({ cp }) => await cp.apiServer.start(),
  },
  {
    id: "api-server-frozen",
    title: "API server frozen: connections stay, nothing answers",
    inject: async ({ cp }) => cp.apiServer.freeze(),
    heal: async ({ cp }) => cp.apiServer.thaw(),
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
];
