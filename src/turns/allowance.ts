/** How much of something each owner may use, which is a burst at once, and a steady rate in the long run. */

export interface Rate {
  readonly perMs: number;
  /** An owner that has used more has to wait. */
  readonly burst: number;
  /** The most that an owner can use beyond that. */
  readonly debt: number;
}

/**
 * The milliseconds that a namespace may use for evaluations that no call waits for. One whose policies and Clusters change
 * all the time gets a tenth of a core in the long run, and its own rows and Events come later. The burst is enough to
 * evaluate a few thousand Clusters together. No wait is longer than a second: on a busy machine a step can take long
 * without using much time.
 */
const OF_EVALUATIONS: Rate = { perMs: 0.1, burst: 1_000, debt: 100 };

interface Account {
  used: number;
  at: number;
}

export type TimeAllowance = Pick<Allowance, "spend" | "restMs">;

export class Allowance {
  readonly #rate: Rate;
  /** Of the owners that have used something lately. */
  readonly #accounts = new Map<string, Account>();

  constructor(rate: Rate = OF_EVALUATIONS) {
    this.#rate = rate;
  }

  spend(owner: string, amount: number): void {
    const account = this.#refilled(owner) ?? { used: 0, at: performance.now() };
    this.#accounts.delete(owner); // so that the first one has spent nothing for the longest time, and may never again
    const [first = owner] = this.#accounts.keys();
    this.#refilled(first);
    account.used = Math.min(account.used + amount, this.#rate.burst + this.#rate.debt);
    this.#accounts.set(owner, account);
  }

  /** How long the owner has to wait before it may begin more work; 0: not at all. */
  restMs(owner: string): number {
    const account = this.#refilled(owner);
    return account === undefined ? 0 : Math.max(0, account.used - this.#rate.burst) / this.#rate.perMs;
  }

  #refilled(owner: string): Account | undefined {
    const account = this.#accounts.get(owner);
    if (account === undefined) return undefined;
    const now = performance.now();
    account.used -= (now - account.at) * this.#rate.perMs;
    account.at = now;
    if (account.used > 0) return account;
    this.#accounts.delete(owner);
    return undefined;
  }
}
