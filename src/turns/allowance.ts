/**
 * How much time each namespace may use for evaluations that no call waits for. A namespace whose policies and Clusters
 * change all the time gets a tenth of a core in the long run, and its own rows and Events come later.
 */

const SHARE = 0.1;
/** A namespace that was quiet may use this much at once: enough to evaluate a few thousand Clusters together. */
const BURST_MS = 1_000;
/** A namespace waits for a second at most: on a busy machine a step can take long without using much time. */
const MAX_DEBT_MS = 100;

interface Account {
  /** In milliseconds; above `BURST_MS` the namespace has to wait. */
  used: number;
  at: number;
}

export type TimeAllowance = Pick<Allowance, "spend" | "restMs">;

export class Allowance {
  readonly #clock: () => number;
  /** Namespaces that have used time lately. */
  readonly #accounts = new Map<string, Account>();

  /** `clock`: in milliseconds, monotonic. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** The owner "" means no namespace and is not limited: administrators wrote its policies. */
  spend(owner: string, ms: number): void {
    if (owner === "") return;
    const account = this.#refilled(owner) ?? { used: 0, at: this.#clock() };
    account.used = Math.min(account.used + ms, BURST_MS + MAX_DEBT_MS);
    this.#accounts.set(owner, account);
  }

  /** How long the owner has to wait before it may begin more work; 0: not at all. */
  restMs(owner: string): number {
    const account = this.#refilled(owner);
    return account === undefined ? 0 : Math.max(0, account.used - BURST_MS) / SHARE;
  }

  #refilled(owner: string): Account | undefined {
    const account = this.#accounts.get(owner);
    if (account === undefined) return undefined;
    const now = this.#clock();
    account.used -= (now - account.at) * SHARE;
    account.at = now;
    if (account.used > 0) return account;
    this.#accounts.delete(owner);
    return undefined;
  }
}
