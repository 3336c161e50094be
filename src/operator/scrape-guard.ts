/**
 * Decides which clients may read /metrics: those with a bearer token that the API server accepts (TokenReview), of a
 * user who may `get` that path (SubjectAccessReview), as controller-runtime does (WithAuthenticationAndAuthorization in
 * pkg/metrics/filters). While the API server does not answer, nothing is served. Every client that reaches the port can
 * cause reviews: addresses take turns.
 */

import { hash } from "node:crypto";

import { entryOf } from "../lib/entry-of.ts";
import { fieldsOf, isFields } from "../lib/fields.ts";
import { type Logger, rateLimited } from "../lib/logger.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isForbidden, KubeError } from "../kube/kube-error.ts";
import { type Resource, resourceName } from "../kube/resource.ts";
import { isAllowed, SUBJECT_REVIEWS, TOKEN_REVIEWS } from "../kube/resources.ts";
import type { TextRequest } from "../server/text-server.ts";
import { Turns } from "../turns/turns.ts";

/** As in a TokenReview; every field except the name is only passed back to the API server. */
export interface User {
  readonly username: string;
  readonly uid?: unknown;
  readonly groups?: unknown;
  readonly extra?: unknown;
}

export interface ScrapeGuardOptions {
  readonly client: Pick<KubeClient, "review">;
  readonly log: Logger;
}

export type Scrape = Omit<TextRequest, "query">;

type Verdict = ScrapeRefusal | "allowed";

export interface ScrapeRefusal {
  readonly code: 401 | 403 | 429 | 500;
  /** The text for the client; repeats nothing that the client has sent. */
  readonly message: string;
}

/** How long a verdict holds: an accepted token as long as in controller-runtime; a refused one less, as the API server may err. */
const LIFE_MS = { allowed: 60_000, 403: 30_000, 401: 10_000, 429: 0, 500: 0 } as const;

const MAX_TOKENS = 256;

/** One address has one review at a time; a Prometheus replica needs one a minute. */
const TURNS = { places: 2, waitingOfOne: 4, waitMs: 1_500 };

const NO_TOKEN: ScrapeRefusal = { code: 401, message: "unauthorized: a bearer token is required" };
const BAD_TOKEN: ScrapeRefusal = {
  code: 401,
  message: "unauthorized: the API server does not accept the token",
};
const TOO_MANY: ScrapeRefusal = { code: 429, message: "too many requests" };
const FAILED: ScrapeRefusal = { code: 500, message: "internal error" };

export class ScrapeGuard {
  readonly #options: ScrapeGuardOptions;
  readonly #warnings = new Map<ScrapeRefusal["code"], Logger["warn"]>();
  /** By the digest of the token, the oldest first; the token itself is not kept. */
  readonly #verdicts = new Map<string, { readonly verdict: Promise<Verdict>; readonly end: number }>();
  readonly #turns = new Turns(TURNS);

  constructor(options: ScrapeGuardOptions) {
    this.#options = options;
  }

  /** `undefined`: the scrape is answered. Never rejects. */
  async refusal({ authorization, address }: Scrape): Promise<ScrapeRefusal | undefined> {
    const token = bearerToken(authorization);
    if (token === undefined) return this.#tell(NO_TOKEN, address);
    const digest = hash("sha256", token, "base64");
    const known = this.#verdicts.get(digest);
    const isKnown = known !== undefined && known.end > performance.now();
    const verdict = await (isKnown ? known.verdict : this.#inTurn(address, digest, token));
    return verdict === "allowed" ? undefined : this.#tell(verdict, address);
  }

  /** Concurrent requests with the same token share one review. */
  async #inTurn(address: string, digest: string, token: string): Promise<Verdict> {
    const review = this.#turns.run(address, async () => await this.#judge(token));
    const verdict = review.then((outcome) => ("refused" in outcome ? TOO_MANY : outcome.result));
    this.#verdicts.set(digest, { verdict, end: Infinity });
    const found = await verdict;
    const lifeMs = LIFE_MS[found === "allowed" ? found : found.code];
    this.#verdicts.delete(digest);
    if (lifeMs > 0) this.#verdicts.set(digest, { verdict, end: performance.now() + lifeMs });
    const oldest = this.#verdicts.keys().next();
    if (this.#verdicts.size > MAX_TOKENS && oldest.done !== true) this.#verdicts.delete(oldest.value);
    return found;
  }

  async #judge(token: string): Promise<Verdict> {
    try {
      const user = await this.#userOf(token);
      if (user === undefined) return BAD_TOKEN;
      return (await this.#mayScrape(user)) ? "allowed" : forbidden(user);
    } catch (error) {
      this.#warn(500, "Failed to check who reads /metrics", { error });
      return FAILED;
    }
  }

  /** `undefined`: the API server does not accept the token. */
  async #userOf(token: string): Promise<User | undefined> {
    const status = await this.#review(TOKEN_REVIEWS, { token });
    if (!isFields(status)) throw new Error("the API server's TokenReview has no status");
    return status["authenticated"] === true ? userIn(status["user"]) : undefined;
  }

  async #mayScrape({ username, ...user }: User): Promise<boolean> {
    const nonResourceAttributes = { path: "/metrics", verb: "get" };
    return isAllowed(await this.#review(SUBJECT_REVIEWS, { ...user, user: username, nonResourceAttributes }));
  }

  async #review(resource: Resource, spec: object): Promise<unknown> {
    return await this.#options.client.review(resource, spec).catch((error: unknown) => {
      throw withoutAnswer(error, resource);
    });
  }

  #tell(refusal: ScrapeRefusal, address: string): ScrapeRefusal {
    // The log already has the reason of a failed review.
    if (refusal !== FAILED)
      this.#warn(refusal.code, "Refused to serve /metrics", { reason: refusal.message, address });
    return refusal;
  }

  #warn(code: ScrapeRefusal["code"], ...said: Parameters<Logger["warn"]>): void {
    entryOf(this.#warnings, code, () => rateLimited(this.#options.log))(...said);
  }
}

/** Parses the header as k8s.io/apiserver does: pkg/authentication/request/bearertoken. */
function bearerToken(authorization = ""): string | undefined {
  const [scheme = "", token = ""] = authorization.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function forbidden({ username }: User): ScrapeRefusal {
  return { code: 403, message: `forbidden: user ${JSON.stringify(username)} cannot get path "/metrics"` };
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
