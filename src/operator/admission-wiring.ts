/** Provides what the policy webhook needs from the controller's memory and from the API server. */

import { namespacedName } from "../lib/keys.ts";
import { setImmediate as nextTurn } from "node:timers/promises";

import {
  CLUSTER_ADMISSION_PATH,
  type ClusterDecisions,
  createClusterHandler,
} from "../admission/cluster-handler.ts";
import type { AdmissionServerOptions } from "../admission/admission-server.ts";
import {
  ADMISSION_PATH,
  createAdmissionHandler,
  refuseUnread,
  type ReviewSettings,
} from "../admission/review-handler.ts";
import { Slice } from "../turns/slice.ts";
import type { AdmissionWorld } from "../admission/review-world.ts";
import { ApiServerReviewer, type ReviewClient } from "../adapters/access-reviewer.ts";
import type { Cluster, StoredNamespace } from "../api/meta.ts";
import { type AdmissionRecording, recordAdmission } from "../report/admission-recorder.ts";
import { policyKey } from "../memory/policy-set.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import { matches } from "../policy/decide.ts";
import type { Lister } from "../memory/memory.ts";

/** What reviews read of the memory, and tell it. */
interface AdmissionMemory {
  readonly store: Pick<DecisionStore, "loaded" | "policies" | "requestRefused">;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<StoredNamespace>;
}

export interface AdmissionOptions extends Pick<
  AdmissionRecording,
  "authenticated" | "metrics" | "audit" | "log"
> {
  readonly memory: AdmissionMemory;
  /** A client of its own: callers of the webhook must not use up the connections that confirm releases. */
  readonly client: ReviewClient;
  readonly settings: ReviewSettings;
  readonly clusters: ClusterDecisions;
}

const now = (): Date => new Date();

export type AdmissionRoutes = Pick<AdmissionServerOptions, "routes" | "undecodable">;

export function createAdmission(options: AdmissionOptions): AdmissionRoutes {
  const { memory, client, settings, authenticated, clusters: source, metrics, audit, log } = options;
  const handlePolicy = createAdmissionHandler({
    settings,
    // Other clients learn nothing from memory.
    ...(authenticated && { world: admissionWorld(memory) }),
    reviewer: new ApiServerReviewer(client, { tellsOwn: authenticated }),
    log,
    now,
  });
  const recorder = recordAdmission({ metrics, log, authenticated, policies: memory.store, audit, now });
  const handleCluster = createClusterHandler({ authenticated, source, recorder, now });
  return {
    routes: [
      { path: ADMISSION_PATH, handle: handlePolicy },
      { path: CLUSTER_ADMISSION_PATH, handle: handleCluster },
    ],
    undecodable: refuseUnread,
  };
}

export function admissionWorld({ store, clusters, namespaces }: AdmissionMemory): AdmissionWorld {
  const isMatch = (policy: Parameters<typeof matches>[0], cluster: Cluster): boolean => {
    const namespace = namespaces.get(cluster.metadata.namespace ?? "");
    return matches(policy, { cluster, namespace }) !== "no";
  };
  return {
    loaded: () => store.loaded,
    matchesCluster: async (selection) => {
      const { namespace } = selection.ref;
      const candidates = namespace === undefined ? clusters.list() : clusters.byNamespace(namespace);
      const [slice, end] = [new Slice(), performance.now() + SEARCH_MS];
      for (const cluster of candidates) {
        slice.begin();
        if (isMatch(selection, cluster) || performance.now() > end) return true;
        if (slice.isOver()) await nextTurn();
      }
      return false;
    },
    cluster: (namespace, name) => clusters.get(namespacedName({ namespace, name })),
    policy: (kind, namespace, name) => store.policies.get(policyKey(kind, namespace, name))?.compiled,
    hasRollout: (name) => store.policies.hasRollout(name),
  };
}

/** A warning is not worth more. */
const SEARCH_MS = 500;
