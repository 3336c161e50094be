/** Which replica runs the tasks that only one of them should run. */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "../api/logger.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { ALWAYS_LEADING, LeaderElection, type Leadership } from "../kube/leaderelection.ts";
import { ownNamespace } from "../kube/ownnamespace.ts";
import { LEADER_LEASE } from "../kube/resources.ts";
import type { Options } from "./options.ts";

export interface RunningLeadership extends Leadership {
  /** Runs until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** Without --leader-elect every process considers itself the only one. */
export function createLeadership(options: Options, client: KubeClient, log: Logger): RunningLeadership {
  if (!options.leaderElect) return { ...ALWAYS_LEADING, run: async () => undefined };
  const lease = { namespace: ownNamespace(options), name: LEADER_LEASE };
  // More than the Pod's name: a restarted container must not take its old lease for its own.
  const identity = `${hostname()}_${randomUUID()}`;
  return new LeaderElection({ client, lease, identity, log });
}
