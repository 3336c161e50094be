import { type Logger, SayOnce } from "../lib/logger.ts";
import { type BackoffOptions, backoffMs } from "../lib/signals.ts";
import { isGone, isNotFound, isThrottled, type KubeError } from "./kube-error.ts";

/** Every duration of an informer; the defaults suit production, tests shorten them. */
export interface InformerTuning {
  /** A watch without an event or a bookmark for this long is stalled: kube-apiserver sends a bookmark every minute. */
  readonly idleTimeoutMs: number;
  /** A random value in this range per watch, so that informers do not reconnect together. */
  readonly watchTimeoutSeconds: readonly [min: number, max: number];
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A watch that lived this long counts as working. */
  readonly healthyWatchMs: number;
  /** refresh() lists at most this often; longer than healthyWatchMs, or its lists look like a storm. */
  readonly refreshIntervalMs: number;
}

export const DEFAULT_TUNING: InformerTuning = {
  idleTimeoutMs: 90_000,
  watchTimeoutSeconds: [300, 580],
  backoffMinMs: 500,
  backoffMaxMs: 15_000,
  healthyWatchMs: 2_000,
  refreshIntervalMs: 5_000,
};

export interface RecoveryOptions {
  readonly tuning: InformerTuning;
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
}

/** How an informer continues after a failure. */
interface Reconnect {
  /** List again instead of watching from the last position. */
  readonly relist: boolean;
  readonly pauseMs: number;
}

/** After this many failures in a row without an event, the next attempt is a list, because the position may be bad. */
const FRUITLESS_WATCHES = 2;

/** Tracks whether an informer is in contact, and how fast it may reconnect. */
export class Recovery {
  /** Failures so far. */
  restarts = 0;
  failure: KubeError | undefined;
  readonly #options: RecoveryOptions;
  readonly #backoff: BackoffOptions;
  /** Failures since a list, or a watch that worked. */
  #retries = 0;
  /** Lists without a working watch between them: pauses between them prevent a storm when a 410 follows each list. */
  #relists = 0;
  #fruitless = 0;
  readonly #trouble = new SayOnce();
  #contactAt: number;
  #nextListAt = -Infinity;
  #openedAt = Infinity;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { backoffMinMs: minMs, backoffMaxMs: maxMs } = options.tuning;
    this.#backoff = { minMs, maxMs, random: options.random };
    this.#contactAt = options.now();
  }

  contactAgeMs(): number {
    return this.#options.now() - this.#contactAt;
  }

  untilListMs(): number {
    return Math.max(0, this.#nextListAt - this.#options.now());
  }

  listed(startedAt: number): void {
    this.#nextListAt = startedAt + backoffMs(this.#relists++, this.#backoff);
    this.#retries = 0;
    this.heard();
  }

  watchOpened(): void {
    if (this.failure !== undefined) this.#options.log.info("In contact with the API server again");
    this.failure = undefined;
    this.#trouble.reset();
    this.#openedAt = this.#options.now();
  }

  /** True when the watch lived long enough to count as working, however it ended. */
  watchEnded(): boolean {
    const lived = this.#options.now() - this.#openedAt >= this.#options.tuning.healthyWatchMs;
    this.#openedAt = Infinity;
    if (!lived) return false;
    this.#retries = this.#relists = 0;
    this.#nextListAt = -Infinity;
    return true;
  }

  /** Records contact: an event, a bookmark, or the regular end of a working watch. */
  heard(): void {
    this.#contactAt = this.#options.now();
    this.#fruitless = 0;
  }

  /** `wasWatching`: the watch failed, not the list. */
  after(error: KubeError, wasWatching: boolean): Reconnect {
    this.restarts++;
    this.#fruitless++;
    const relist = this.#fruitless >= FRUITLESS_WATCHES || isRefusal(error);
    // Lists have their own spacing, and an expired position is not a loss of contact.
    if (wasWatching && isGone(error)) return { relist, pauseMs: 0 };
    this.#report(error);
    this.failure = error;
    const asked = (error.retryAfterSeconds ?? 0) * 1000;
    return { relist, pauseMs: Math.max(backoffMs(this.#retries++, this.#backoff), asked) };
  }

  /**
   * The same reason is the same trouble. A first "too many requests" causes no warning: the API server asks to come later when it is
   * busy, and for a kind that has just been installed, until it has read its storage.
   */
  #report(error: KubeError): void {
    const { log } = this.#options;
    const { reason, message } = error;
    if (isThrottled(error) && (this.failure === undefined || isNotFound(this.failure)))
      return log.info("The API server asks to come later", { error: message });
    this.#trouble.warn(log, "Lost contact with the API server", { error: message }, reason);
  }
}

/**
 * Errors that only a list can resolve: the API server rejects the request as it is (no longer served, forbidden, too
 * old), or an event may have been lost (an ERROR event has the code of a Status, an unreadable line has none).
 */
function isRefusal(error: KubeError): boolean {
  if (isGone(error) || error.reason === "InvalidResponse" || error.reason === "ResponseTooLarge") return true;
  return error.code >= 400 && error.code < 500 && !isThrottled(error);
}
