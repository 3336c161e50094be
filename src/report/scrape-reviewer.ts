/** Asks the API server which clients may scrape the metrics. */

import { isFields, fieldsOf } from "../lib/fields.ts";
import type { Logger } from "../lib/logger.ts";
import { SUBJECT_REVIEWS, TOKEN_REVIEWS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isForbidden, KubeError } from "../kube/kube-error.ts";
import { type Resource, resourceName } from "../kube/resource.ts";
import { ScrapeGuard, type ScrapeReviewer, type User } from "./scrape-guard.ts";
import { isAllowed } from "../kube/access-review.ts";

type Client = Pick<KubeClient, "review">;

/** `clock`: in milliseconds; default: the process's monotonic clock. */
export function createScrapeGuard({
  client,
  log,
  clock = () => performance.now(),
}: {
  readonly client: Client;
  readonly log: Logger;
  readonly clock?: () => number;
}): ScrapeGuard {
  return new ScrapeGuard({ reviewer: createReviewer(client), log, clock });
}

function createReviewer(client: Client): ScrapeReviewer {
  const review = async (resource: Resource, spec: object): Promise<unknown> =>
    await client.review(resource, spec).catch((error: unknown) => {
      throw withoutAnswer(error, resource);
    });
  return {
    userOf: async (token) => {
      const status = await review(TOKEN_REVIEWS, { token });
      if (!isFields(status)) throw new Error("the API server's TokenReview has no status");
      return status["authenticated"] === true ? userIn(status["user"]) : undefined;
    },
    mayScrape: async ({ username, ...user }) => {
      const nonResourceAttributes = { path: "/metrics", verb: "get" };
      return isAllowed(await review(SUBJECT_REVIEWS, { ...user, user: username, nonResourceAttributes }));
    },
  };
}

/** Drops the API server's text, which could quote the token. */
function withoutAnswer(error: unknown, resource: Resource): unknown {
  if (!(error instanceof KubeError) || error.code === 0) return error;
  const remedy = isForbidden(error) ? "; apply the ClusterRole hookpolicy-metrics-auth of the manifests" : "";
  return new Error(`create ${resourceName(resource)}: ${error.reason} (${error.code})${remedy}`);
}

function userIn(user: unknown): User {
  const { username = "", uid, groups, extra } = fieldsOf(user);
  if (typeof username !== "string" || username === "") {
    throw new Error("the API server's TokenReview has no user");
  }
  return { username, uid, groups, extra };
}
