/** Replicas end, in order, by force or for lack of memory, and one loses the lease. */

import { inParallel } from "../../test/apiserver/operator-lab.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../../test/controlplane/lab.ts";
import { NAMESPACE } from "../../test/controlplane/operator.ts";
import { type Lab, numbered, OTHER_TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: NAMESPACE,
  name: "hookpolicy",
};

/** The limit of V8's old space: enough for the run, too little for the fillers. */
const HEAP_MIB = 64;
const FILLER_BYTES = 200 * 1024;
const FILLERS = numbered(400, "filler");
/** The kubelet's first pause before it starts a container again. */
const RESTART_MS = 10_000;

const ended = (signal: "SIGKILL" | "SIGTERM"): Scenario => ({
  id: signal.toLowerCase(),
  title: `${signal} of a replica`,
  inject: (lab) => lab.firstReplica.operator.daemon.stop(signal),
  heal: (lab) => lab.firstReplica.restart(),
});

async function takeLease({ cp }: Lab): Promise<void> {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  await cp.patch(LEASE, { spec: { holderIdentity: "another-process", renewTime } });
}

export const REPLICAS: readonly Scenario[] = [
  ended("SIGKILL"),
  ended("SIGTERM"),
  {
    // As a Deployment with maxSurge 1 and maxUnavailable 0 does it.
    id: "rolling-restart",
    title: "Rolling restart",
    inject: async (lab) => {
      for (const old of lab.replicas.slice()) {
        await lab.addReplica();
        await old.operator.daemon.stop();
      }
    },
  },
  {
    id: "lease-lost",
    title: "Lease lost to another process",
    inject: async (lab) => {
      await takeLease(lab);
      lab.inBackground(1000, async () => await takeLease(lab));
    },
  },
  {
    // V8's limit, as the shipped --max-old-space-size-percentage sets one below the container's.
    id: "out-of-memory",
    title: "Memory limit of a replica reached",
    faultMs: 20_000,
    replica: (_lab, index) => ({ nodeFlags: index === 0 ? [`--max-old-space-size=${HEAP_MIB}`] : [] }),
    inject: async (lab) => {
      const replica = lab.firstReplica;
      const annotations = { "example.com/filler": "x".repeat(FILLER_BYTES) };
      await inParallel(FILLERS, 2, async (name) => {
        if (!replica.operator.daemon.running()) return;
        await createCluster(lab.cp, { namespace: OTHER_TEAM, name, version: NEXT_VERSION, annotations });
      });
      await lab.cp.waitFor("the replica to run out of memory", () => !replica.operator.daemon.running());
      lab.inBackground(RESTART_MS, async () => {
        if (!replica.operator.daemon.running()) await replica.restart({ waitReady: false });
      });
    },
    heal: async (lab) => {
      await lab.firstReplica.operator.daemon.stop("SIGKILL");
      await inParallel(FILLERS, 8, async (name) => await lab.cp.delete(clusterRef(OTHER_TEAM, name)));
      await lab.firstReplica.restart();
    },
  },
];
