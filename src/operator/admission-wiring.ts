/** Provides what the policy webhook needs from the controller's memory and from the API server. */

import { namespacedName } from "../lib/keys.ts";
import { setImmediate as nextTurn } from "node:timers/promises";

import {
  CLUSTER_ADMISSION_PATH,
  type ClusterDecisions,
  createClusterHandler,
} from "../admission/cluster-handler.ts";
import type { UserInfo } from "../admission/review-validators.ts";
import type { AdmissionServerOptions } from "../admission/admission-server.ts";
import {
  ADMISSION_PATH,
  createAdmissionHandler,
  refuseUnread,
  type Settings,
} from "../admission/review-handler.ts";
import { FairTurns } from "../turns/fair-queue.ts";
import { Slice } from "../turns/slice.ts";
import type {
  Access,
  AccessReviewer,
  AdmissionWorld,
  KindLocation,
  Selection,
} from "../admission/review-world.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import { type AdmissionRecording, recordAdmission } from "../report/admission-recorder.ts";
import { policyKey } from "../memory/policy-set.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import { isAllowed, SELF_REVIEWS, SUBJECT_REVIEWS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { discoverResource } from "../kube/api-discovery.ts";
import { KubeError } from "../kube/kube-error.ts";
import type { Resource } from "../kube/resource.ts";
import { matches } from "../policy/decide.ts";
import type { ObjectKind } from "../policy/objects.ts";
import { compileSelector } from "../api/selector.ts";
import { isSecret, refusalOf, SECRETS_REFUSED } from "../objects/object-refusal.ts";
import type { Lister } from "../memory/ports.ts";

/** The controller's memory. */
export interface Memory {
  readonly store: Pick<DecisionStore, "loaded" | "policies" | "requestRefused">;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
}

type ReadMemory = Omit<Memory, "store"> & { readonly store: Omit<Memory["store"], "requestRefused"> };

export interface AdmissionOptions extends Pick<
  AdmissionRecording,
  "authenticated" | "metrics" | "audit" | "log"
> {
  readonly memory: Memory;
  /** A client of its own: callers of the webhook must not use up the connections that confirm releases. */
  readonly client: ReviewClient;
  readonly settings: Settings;
  readonly clusters: ClusterDecisions;
}

export type ReviewClient = Pick<KubeClient, "getPath" | "review">;

const now = (): Date => new Date();

export type AdmissionRoutes = Pick<AdmissionServerOptions, "routes" | "undecodable">;

export function createAdmission(options: AdmissionOptions): AdmissionRoutes {
  const { memory, client, settings, authenticated, clusters: source, metrics, audit, log } = options;
  const handlePolicy = createAdmissionHandler({
    settings,
    // Other clients learn nothing from memory.
    ...(authenticated && { world: worldOf(memory) }),
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

export function worldOf({ store, clusters, namespaces }: ReadMemory): AdmissionWorld {
  const isMatch = (policy: Parameters<typeof matches>[0], cluster: Cluster): boolean => {
    const namespace = namespaces.get(cluster.metadata.namespace ?? "");
    return matches(policy, { cluster, namespace }) !== "no";
  };
  return {
    loaded: () => store.loaded,
    matchesCluster: async (selection) => {
      const { namespace } = selection;
      const candidates = namespace === undefined ? clusters.list() : clusters.byNamespace(namespace);
      const policy = selectorsOf(selection);
      const [slice, end] = [new Slice(), performance.now() + SEARCH_MS];
      for (const cluster of candidates) {
        slice.begin();
        if (isMatch(policy, cluster) || performance.now() > end) return true;
        if (slice.isOver()) await nextTurn();
      }
      return false;
    },
    cluster: (namespace, name) => clusters.get(namespacedName({ namespace, name })),
    policy: (kind, namespace, name) => store.policies.get(policyKey(kind, namespace, name))?.compiled,
    policiesOf: (cluster) =>
      store.policies
        .candidates(cluster.metadata.namespace ?? "")
        .compiled.filter((policy) => isMatch(policy, cluster)),
  };
}

function selectorsOf(selection: Selection): Parameters<typeof matches>[0] {
  const { namespace, clusterSelector, namespaceSelector } = selection;
  const selectsCluster = compileSelector(clusterSelector);
  if (namespace !== undefined) return { ref: { kind: "HookPolicy", namespace, name: "" }, selectsCluster };
  const selectsNamespace = compileSelector(namespaceSelector);
  return { ref: { kind: "ClusterHookPolicy", name: "" }, selectsCluster, selectsNamespace };
}

/** A warning is not worth more. */
const SEARCH_MS = 500;

/** Concurrent reviews sent to the API server, half of them about one user: one admission review can need hundreds. */
const QUESTIONS = 8;

export class ApiServerReviewer implements AccessReviewer {
  readonly #client: ReviewClient;
  readonly #tellsOwn: boolean;

  /** `tellsOwn`: whether to report what the operator itself may not read. */
  constructor(client: ReviewClient, { tellsOwn }: { readonly tellsOwn: boolean }) {
    const turns = new FairTurns(QUESTIONS);
    this.#client = {
      getPath: async (path, options) => await turns.run("", async () => await client.getPath(path, options)),
      review: async (resource, spec, options) => {
        const user = "user" in spec ? String(spec.user) : "";
        return await turns.run(user, async () => await client.review(resource, spec, options));
      },
    };
    this.#tellsOwn = tellsOwn;
  }

  async locate(kind: ObjectKind, signal: AbortSignal): Promise<KindLocation> {
    if (isSecret(kind)) return { problem: SECRETS_REFUSED.message };
    let resource: Resource;
    try {
      resource = await discoverResource(this.#client, kind, signal);
    } catch (error) {
      const refusal = refusalOf(kind, error);
      if (refusal === undefined) throw error;
      return { problem: refusal.message };
    }
    const problem = this.#tellsOwn ? await this.#ownProblem(kind, resource, signal) : undefined;
    return { resource, ...(problem !== undefined && { problem }) };
  }

  async may({ username, ...user }: UserInfo, access: Access, signal: AbortSignal): Promise<boolean> {
    const spec = { ...user, user: username, resourceAttributes: access };
    return await this.#isAllowed(SUBJECT_REVIEWS, spec, signal);
  }

  /** Checks the operator's own permission as the watch would need it: a new kind has no watch yet. */
  async #ownProblem(kind: ObjectKind, resource: Resource, signal: AbortSignal): Promise<string | undefined> {
    const { group, plural } = resource;
    const verbs = ["list", "watch", "get"] as const;
    const allowed = await Promise.all(
      verbs.map(async (verb) => {
        const spec = { resourceAttributes: { verb, group, resource: plural } };
        return await this.#isAllowed(SELF_REVIEWS, spec, signal);
      }),
    );
    const verb = verbs.find((_, index) => allowed[index] === false);
    if (verb === undefined) return undefined;
    const forbidden = new KubeError("not granted", { code: 403, reason: "Forbidden" });
    return refusalOf(kind, forbidden, { verb, resource })?.message;
  }

  async #isAllowed(resource: Resource, spec: object, signal: AbortSignal): Promise<boolean> {
    return isAllowed(await this.#client.review(resource, spec, { signal }));
  }
}
