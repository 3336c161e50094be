/** Asks the API server what an author of policies, and the operator itself, may read. */

import type { UserInfo } from "../admission/review-validators.ts";
import type { Access, AccessReviewer, KindLocation } from "../admission/review-world.ts";
import { discoverResource } from "../kube/api-discovery.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { KubeError } from "../kube/kube-error.ts";
import type { Resource } from "../kube/resource.ts";
import { isAllowed, SELF_REVIEWS, SUBJECT_REVIEWS } from "../kube/resources.ts";
import { isSecret, refusalOf, SECRETS_REFUSED } from "../objects/object-refusal.ts";
import type { ObjectKind } from "../policy/watched-objects.ts";
import { FairTurns } from "../turns/fair-queue.ts";

export type ReviewClient = Pick<KubeClient, "getPath" | "review">;

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
    if (allowed.every(Boolean)) return undefined;
    const forbidden = new KubeError("not granted", { code: 403, reason: "Forbidden" });
    return refusalOf(kind, forbidden, resource)?.message;
  }

  async #isAllowed(resource: Resource, spec: object, signal: AbortSignal): Promise<boolean> {
    return isAllowed(await this.#client.review(resource, spec, { signal }));
  }
}
