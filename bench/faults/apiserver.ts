/** An API server that is away, slow or refuses, for both replicas. */

import type { Proxy } from "../../test/controlplane/proxy.ts";
import { type Lab, POLICY } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

export function eachProxy(lab: Lab, work: (proxy: Proxy) => void): void {
  for (const { proxy } of lab.replicas) work(proxy);
}

const stopped: Scenario = {
  id: "api-server-stopped",
  title: "API server stopped for 60 s",
  faultMs: 60_000,
  inject: async ({ cp }) => await cp.apiServer.stop("SIGKILL"),
  heal: async ({ cp }) => await cp.apiServer.start(),
};

const frozen: Scenario = {
  id: "api-server-frozen",
  title: "API server frozen: connections stay, nothing answers",
  inject: async ({ cp }) => cp.apiServer.freeze(),
  heal: async ({ cp }) => cp.apiServer.thaw(),
};

const slow: Scenario = {
  id: "api-server-slow",
  title: "API server slow: 2 s for every request",
  inject: async (lab) => eachProxy(lab, (proxy) => proxy.delay(2000)),
  heal: async (lab) => eachProxy(lab, (proxy) => proxy.resume()),
};

/** Watches that are open end, so that they have to be begun anew. */
function answering(code: number, title: string): Scenario {
  return {
    id: `api-server-${code}`,
    title,
    inject: async (lab) =>
      eachProxy(lab, (proxy) => {
        proxy.failAll(code);
        proxy.dropConnections();
      }),
    heal: async (lab) => eachProxy(lab, (proxy) => proxy.resume()),
  };
}

/** Whatever replicas write to the status has been overtaken by then. */
const conflictStorm: Scenario = {
  id: "conflict-storm",
  title: "Conflict storm: the policy changes 50 times a second",
  inject: async (lab) => {
    let changes = 0;
    lab.inBackground(20, async () => {
      const annotations = { "example.com/changes": String((changes += 1)) };
      await lab.cp.patch(POLICY, { metadata: { annotations } });
    });
  },
};

export const API_SERVER: readonly Scenario[] = [
  stopped,
  frozen,
  slow,
  answering(429, "API server answers 429"),
  answering(500, "API server answers 500"),
  answering(410, "API server answers 410"),
  conflictStorm,
];
