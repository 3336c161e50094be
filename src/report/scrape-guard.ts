/**
 * Decides which clients may read /metrics: those with a bearer token that the API server accepts (TokenReview), of a
 * user who may `get` that path (SubjectAccessReview), as controller-runtime does (WithAuthenticationAndAuthorization in
 * pkg/metrics/filters). While the API server does not answer, nothing is served. Every client that reaches the port can
 * cause reviews: addresses take turns.
 */

import { hash } from "node:crypto";

import type { Logger } from "../lib/logger.ts";
import { rateLimited } from "../lib/rate-limited.ts";
import type { PageRequest } from "../server/pages.ts";
import { Turns } from "../turns/turns.ts";

/** As in a TokenReview; every field except the name is only passed back to the API server. */
export interface User {
  readonly username: string;
  readonly uid?: unknown;
  readonly groups?: unknown;
  readonly extra?: unknown;
}

/** Sends reviews to the API server; rejects when it does not answer. */
export interface ScrapeReviewer {
  /** `undefined`: the API server does not accept the token. */
  userOf(token: string): Promise<User | undefined>;
  mayScrape(user: User): Promise<boolean>;
}

export interface ScrapeGuardOptions {
  readonly reviewer: ScrapeReviewer;
  readonly log: Logger;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
}

export type Scrape = Omit<PageRequest, "query">;

type Verdict = Refusal | "allowed";

export interface Refusal {
  readonly code: 401 | 403 | 429 | 500;
  /** The text for the client; repeats nothing that the client has sent. */
  readonly message: string;
}

const SECOND_MS = 1000;
/** How long an accepted token stays accepted, as in controller-runtime. */
const ALLOWED_MS = 60 * SECOND_MS;
const DENIED_MS = 30 * SECOND_MS;
/** Shorter than in controller-runtime, because the API server may have refused because of a problem of its own. */
const REFUSED_MS = 10 * SECOND_MS;

const MAX_TOKENS = 256;
const MAX_NAME_LENGTH = 256;

/** One address has one review at a time; a Prometheus replica needs one a minute. */
const TURNS = { places: 2, waitingOfOne: 4, waitMs: 1_500 };

const NO_TOKEN: Refusal = { code: 401, message: "unauthorized: a bearer token is required" };
const BAD_TOKEN: Refusal = { code: 401, message: "unauthorized: the API server does not accept the token" };
const TOO_MANY: Refusal = { code: 429, message: "too many requests" };
const FAILED: Refusal = { code: 500, message: "internal error" };

export class ScrapeGuard {
  readonly #options: ScrapeGuardOptions;
  readonly #warnRateLimited: Readonly<Record<Refusal["code"], Logger["warn"]>>;
  /** By the digest of the token; the token itself is not kept. */
  readonly #verdicts: ExpiringMap<Verdict>;
  readonly #turns = new Turns(TURNS);
  readonly #underWay = new Map<string, Promise<Verdict>>();

  constructor(options: ScrapeGuardOptions) {
    const { log, clock } = options;
    this.#options = options;
    this.#warnRateLimited = {
      401: rateLimited(log),
      403: rateLimited(log),
      429: rateLimited(log),
      500: rateLimited(log),
    };
    this.#verdicts = new ExpiringMap(MAX_TOKENS, clock);
  }

  /** `undefined`: the scrape is answered. Never rejects. */
  async refusal({ authorization, address }: Scrape): Promise<Refusal | undefined> {
    const token = bearerToken(authorization);
    if (token === undefined) return this.#tell(NO_TOKEN, address);
    const digest = hash("sha256", token, "base64");
    const verdict = this.#verdicts.get(digest) ?? (await this.#inTurn(address, digest, token));
    return verdict === "allowed" ? undefined : this.#tell(verdict, address);
  }

  /** Concurrent requests with the same token share one review. */
  async #inTurn(address: string, digest: string, token: string): Promise<Verdict> {
    const shared = this.#underWay.get(digest);
    if (shared !== undefined) return await shared;
    const review = this.#turns.run(address, async () => await this.#review(digest, token));
    const verdict = review.then((outcome) => ("refused" in outcome ? TOO_MANY : outcome.result));
    this.#underWay.set(digest, verdict);
    try {
      return await verdict;
    } finally {
      this.#underWay.delete(digest);
    }
  }

  async #review(digest: string, token: string): Promise<Verdict> {
    const { reviewer } = this.#options;
    try {
      const user = await reviewer.userOf(token);
      if (user === undefined) return this.#remember(digest, BAD_TOKEN, REFUSED_MS);
      if (await reviewer.mayScrape(user)) return this.#remember(digest, "allowed", ALLOWED_MS);
      return this.#remember(digest, forbidden(user), DENIED_MS);
    } catch (error) {
      this.#warnRateLimited[500]("Failed to check who reads /metrics", { error });
      return FAILED;
    }
  }

  #remember(digest: string, verdict: Verdict, lifeMs: number): Verdict {
    this.#verdicts.set(digest, verdict, lifeMs);
    return verdict;
  }

  #tell(refusal: Refusal, address: string): Refusal {
    // The log already has the reason of a failed review.
    if (refusal !== FAILED) {
      this.#warnRateLimited[refusal.code]("Refused to serve /metrics", { reason: refusal.message, address });
    }
    return refusal;
  }
}

/** Parses the header as k8s.io/apiserver does: pkg/authentication/request/bearertoken. */
function bearerToken(authorization = ""): string | undefined {
  const [scheme = "", token = ""] = authorization.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function forbidden({ username }: User): Refusal {
  const user = JSON.stringify(username.slice(0, MAX_NAME_LENGTH));
  return { code: 403, message: `forbidden: user ${user} cannot get path "/metrics"` };
}

/** Values by key, each with its own expiry; beyond `limit` the oldest is dropped. */
class ExpiringMap<V> {
  readonly #limit: number;
  /** In milliseconds. */
  readonly #clock: () => number;
  readonly #entries = new Map<string, { readonly value: V; readonly end: number }>();

  constructor(limit: number, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.end > this.#clock()) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, lifeMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, end: this.#clock() + lifeMs });
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#limit && oldest.done !== true) this.#entries.delete(oldest.value);
  }
}
