/** Counts hook calls. prom-client would take eight times as long: it builds and looks up texts of labels and buckets. */

import type { Makers, Sample } from "./metric-makers.ts";

interface Calls {
  readonly byVerdict: Map<string, number>;
  /** How many took at most as long as each bound, but longer than the one before. */
  readonly byBound: number[];
  count: number;
  seconds: number;
}

const DURATION = "hookpolicy_hook_call_duration_seconds";

export class CallMetrics {
  readonly #bounds: readonly number[];
  readonly #byHook = new Map<string, Calls>();

  /** `bounds`: of the buckets, in seconds, the shortest first. */
  constructor({ mirrorCounter }: Pick<Makers, "mirrorCounter">, bounds: readonly number[]) {
    this.#bounds = bounds;
    const help = "Hook calls answered, by verdict.";
    mirrorCounter("hookpolicy_hook_calls_total", help, ["hook", "verdict"]).follow(() => this.#verdicts());
  }

  answered(hook: string, verdict: string, seconds: number): void {
    const calls = this.#of(hook);
    const { byVerdict, byBound } = calls;
    byVerdict.set(verdict, (byVerdict.get(verdict) ?? 0) + 1);
    calls.count += 1;
    calls.seconds += seconds;
    const bound = this.#bounds.findIndex((most) => seconds <= most);
    if (bound >= 0) byBound[bound] = (byBound[bound] ?? 0) + 1;
  }

  /** Shows the count before the first such call. */
  startAtZero(hook: string, verdict: string): void {
    this.#of(hook).byVerdict.set(verdict, 0);
  }

  /** The durations in Prometheus' text format. */
  text(): string {
    const called = [...this.#byHook].filter(([, { count }]) => count > 0);
    return [
      `# HELP ${DURATION} Time from the end of a hook's request to its answer.`,
      `# TYPE ${DURATION} histogram`,
      ...called.flatMap(([hook, calls]) => this.#series(hook, calls)),
      "",
    ].join("\n");
  }

  *#verdicts(): Generator<Sample<"hook" | "verdict">> {
    for (const [hook, { byVerdict }] of this.#byHook)
      for (const [verdict, value] of byVerdict) yield { labels: { hook, verdict }, value };
  }

  #series(hook: string, { byBound, count, seconds }: Calls): readonly string[] {
    let within = 0;
    const bucket = (bound: number | string): string =>
      `${DURATION}_bucket{le="${bound}",hook="${hook}"} ${within}`;
    const buckets = this.#bounds.map((bound, index) => {
      within += byBound[index] ?? 0;
      return bucket(bound);
    });
    within = count;
    return [
      ...buckets,
      bucket("+Inf"),
      `${DURATION}_sum{hook="${hook}"} ${seconds}`,
      `${DURATION}_count{hook="${hook}"} ${count}`,
    ];
  }

  #of(hook: string): Calls {
    const known = this.#byHook.get(hook);
    if (known !== undefined) return known;
    const calls = { byVerdict: new Map(), byBound: this.#bounds.map(() => 0), count: 0, seconds: 0 };
    this.#byHook.set(hook, calls);
    return calls;
  }
}
