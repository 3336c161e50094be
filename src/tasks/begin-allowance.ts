/** Limits how many tasks of each namespace may begin, so that others keep their share of the leader's time. */

const PER_MINUTE = 20;
const MINUTE_MS = 60_000;

export class BeginAllowance {
  readonly #begun = new Map<string, number[]>();
  readonly #nowMs: () => number;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long the namespace has to wait; 0: one may begin. */
  waitMs(namespace: string): number {
    const recent = this.#recent(namespace);
    return recent.length < PER_MINUTE ? 0 : (recent[0] ?? 0) + MINUTE_MS - this.#nowMs();
  }

  begin(namespace: string): void {
    this.#begun.set(namespace, [...this.#recent(namespace), this.#nowMs()]);
  }

  #recent(namespace: string): readonly number[] {
    const since = this.#nowMs() - MINUTE_MS;
    const recent = (this.#begun.get(namespace) ?? []).filter((at) => at > since).slice(-PER_MINUTE);
    if (recent.length === 0) this.#begun.delete(namespace);
    return recent;
  }
}
