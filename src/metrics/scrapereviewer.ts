/** Asks the API server which clients may scrape the metrics. */

import { Turns } from "../server/turns.ts";
import { isFields, fieldsOf } from "../api/fields.ts";
import type { Logger } from "../api/logger.ts";
import { SUBJECT_REVIEWS, TOKEN_REVIEWS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { isForbidden, KubeError } from "../kube/kubeerror.ts";
import { type Resource, resourceName } from "../kube/resource.ts";
import { ScrapeGuard, type ScrapeReviewer, type User } from "./scrapeguard.ts";
import { isAllowed } from "../kube/accessreview.ts";

export interface ScrapeOptions {
  readonly client: Pick<KubeClient, "review">;
  readonly log: Logger;
  /** In milliseconds; default: the process's monotonic clock. */
  readonly clock?: () => number;
}

/** Each address has one review at a time; a Prometheus replica needs one per minute. */
const OTHERS = { atOnce: 2, waiting: 32, waitingOfOne: 4, waitMs: 1_500, perSecond: 1, burst: 10 };
const READERS = { ...OTHERS, perSecond: 5 };

export function createScrapeGuard({
  client,
  log,
  clock = () => performance.now(),
}: ScrapeOptions): ScrapeGuard {
  return new ScrapeGuard({
    reviewer: new ApiServerScrapeReviewer(client),
    turns: { readers: new Turns(READERS), others: new Turns(OTHERS) },
    log,
    clock,
  });
}

class ApiServerScrapeReviewer implements ScrapeReviewer {
  readonly #client: ScrapeOptions["client"];

  constructor(client: ScrapeOptions["client"]) {
    this.#client = client;
  }

  async userOf(token: string): Promise<User | undefined> {
    const status = await this.#review(TOKEN_REVIEWS, { token });
    if (!isFields(status)) throw new Error("the API server's TokenReview has no status");
    return status["authenticated"] === true ? userIn(status["user"]) : undefined;
  }

  async mayScrape({ username, ...user }: User): Promise<boolean> {
    const nonResourceAttributes = { path: "/metrics", verb: "get" };
    return isAllowed(await this.#review(SUBJECT_REVIEWS, { ...user, user: username, nonResourceAttributes }));
  }

  async #review(resource: Resource, spec: object): Promise<unknown> {
    return await this.#client.review(resource, spec).catch((error: unknown) => {
      throw withoutAnswer(error, resource);
    });
  }
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
