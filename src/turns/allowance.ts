/**
 * The milliseconds that a namespace may use for evaluations that no call waits for. One whose policies and Clusters change
 * all the time gets a tenth of a core in the long run, and its own rows and Events come later. The burst is enough to
 * evaluate a few thousand Clusters together. No wait is longer than a second: on a busy machine a step can take long
 * without using much time.
 */
const [RATE, BURST_MS, DEBT_MS] = [0.1, 1_000, 100];

interface Account {
  used: number;
  at: number;
}

export type TimeAllowance = Pick<Allowance, "spend" | "restMs">;

export class Allowance {
  readonly #clock: () => number;
  /** Owners that have used something lately. */
  readonly #accounts = new Map<string, Account>();

  /** `clock`: in milliseconds, monotonic. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  spend(owner: string, ms: number): void {
    const account = this.#refilled(owner) ?? { used: 0, at: this.#clock() };
    account.used = Math.min(account.used + ms, BURST_MS + DEBT_MS);
    this.#accounts.set(owner, account);
  }

  /** How long the owner has to wait before it may begin more work; 0: not at all. */
  restMs(owner: string): number {
    const account = this.#refilled(owner);
    return account === undefined ? 0 : Math.max(0, account.used - BURST_MS) / RATE;
  }

  #refilled(owner: string): Account | undefined {
    const account = this.#accounts.get(owner);
    if (account === undefined) return undefined;
    const now = this.#clock();
    account.used -= (now - account.at) * RATE;
    account.at = now;
    if (account.used > 0) return account;
    this.#accounts.delete(owner);
    return undefined;
  }
}
