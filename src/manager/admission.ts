/** What the webhook of policies needs to know, from the controller's memory and from the API server. */

import type { AdmissionDeps } from "../admission/handler.ts";
import type { UserInfo } from "../admission/review.ts";
import type { Access, AccessReviewer, AdmissionWorld, LocatedKind } from "../admission/world.ts";
import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import { policyKey } from "../controller/policyset.ts";
import type { DecisionStore, Lister } from "../controller/store.ts";
import { SUBJECT_REVIEWS } from "../kube/builtin.ts";
import type { KubeClient } from "../kube/client.ts";
import { discoverResource } from "../kube/discovery.ts";
import { KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { ServedHooks } from "../policy/compile.ts";
import { matches } from "../policy/decide.ts";
import type { ObjectKind } from "../policy/objects.ts";
import { isSecret, refusalOf, SECRETS_REFUSED } from "./objectrefusal.ts";

/** The controller's, read only. */
export interface Memory {
  readonly store: Pick<DecisionStore, "loaded" | "policies">;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
}

export interface AdmissionOptions {
  readonly memory: Memory;
  /** Of its own: whoever calls the webhook must not use up the connections by which releases are confirmed. */
  readonly client: ReviewClient;
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  readonly log: Logger;
}

export type ReviewClient = Pick<KubeClient, "getPath" | "review">;

export function admissionDeps({ memory, client, log, ...rest }: AdmissionOptions): AdmissionDeps {
  const reviewer = new ApiServerReviewer(client);
  return { ...rest, world: worldOf(memory), reviewer, log, now: () => new Date() };
}

export function worldOf({ store, clusters, namespaces }: Memory): AdmissionWorld {
  const isMatch = (policy: Parameters<typeof matches>[0], cluster: Cluster): boolean => {
    const namespace = namespaces.get(cluster.metadata.namespace ?? "");
    return matches(policy, { cluster, namespace }) !== "no";
  };
  return {
    loaded: () => store.loaded,
    matchesCluster: (policy) => {
      const { namespace } = policy.ref;
      const candidates = namespace === undefined ? clusters.list() : clusters.byNamespace(namespace);
      return Iterator.from(candidates).some((cluster) => isMatch(policy, cluster));
    },
    cluster: (namespace, name) => clusters.get(`${namespace}/${name}`),
    policy: (kind, namespace, name) => store.policies.get(policyKey(kind, namespace, name))?.compiled,
    policiesOf: (cluster) =>
      store.policies
        .candidates(cluster.metadata.namespace ?? "")
        .compiled.filter((policy) => isMatch(policy, cluster)),
  };
}

const SELF_REVIEWS: Resource = {
  ...SUBJECT_REVIEWS,
  plural: "selfsubjectaccessreviews",
  kind: "SelfSubjectAccessReview",
};

export class ApiServerReviewer implements AccessReviewer {
  readonly #client: ReviewClient;

  constructor(client: ReviewClient) {
    this.#client = client;
  }

  async locate(kind: ObjectKind, signal: AbortSignal): Promise<LocatedKind> {
    if (isSecret(kind)) return { problem: SECRETS_REFUSED.message };
    let resource: Resource;
    try {
      resource = await discoverResource(this.#client, kind, signal);
    } catch (error) {
      const refusal = refusalOf(kind, error);
      if (refusal === undefined) throw error;
      return { problem: refusal.message };
    }
    const problem = await this.#ownProblem(kind, resource, signal);
    return { resource, ...(problem !== undefined && { problem }) };
  }

  async may({ username, ...user }: UserInfo, access: Access, signal: AbortSignal): Promise<boolean> {
    const spec = { ...user, user: username, resourceAttributes: access };
    return await this.#isAllowed(SUBJECT_REVIEWS, spec, signal);
  }

  /** As the watch would be refused: it is not there yet, for a kind that no policy has named before. */
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

/** Anything but a plain yes is a no. */
function isAllowed(status: unknown): boolean {
  return typeof status === "object" && status !== null && "allowed" in status && status.allowed === true;
}
