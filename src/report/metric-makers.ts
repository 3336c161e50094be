/** Makes the metrics of one registry. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** One series of a metric that mirrors state. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

type SampleReader<Label extends string> = () => Iterable<Sample<Label>> | Promise<Iterable<Sample<Label>>>;

/** A metric that is read only when it is scraped. */
interface Mirror<Label extends string> {
  /** `read` runs once per scrape and returns every series; a series that it no longer returns disappears. */
  follow(read: SampleReader<Label>): void;
}

const nothing = (): [] => [];

function mirrorOf<Label extends string>(
  metricWith: (collect: () => Promise<void>) => Counter<Label> | Gauge<Label>,
): Mirror<Label> {
  let read: SampleReader<Label> = nothing;
  const metric: Pick<Gauge<Label>, "reset" | "remove" | "inc"> = metricWith(async () => {
    // Before the reset: another scrape may read in the meantime.
    const samples = await read();
    metric.reset();
    metric.remove({}); // a metric without labels starts at 0, and an unknown value is not 0
    for (const { labels, value } of samples) metric.inc(labels, value);
  });
  return { follow: (reader) => void (read = reader) };
}

interface Config<Label extends string> {
  readonly help: string;
  readonly labelNames?: Label[];
}

export type Makers = ReturnType<typeof makers>;

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- they are those of the metrics
export function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string = never>(name: string, config: Config<Label>): Counter<Label> =>
      new Counter({ name, ...config, registers }),
    histogram: <Label extends string = never>(
      name: string,
      config: Config<Label> & { readonly buckets: number[] },
    ): Histogram<Label> => new Histogram({ name, ...config, registers }),
    mirror: <Label extends string = never>(name: string, config: Config<Label>): Mirror<Label> =>
      mirrorOf((collect) => new Gauge({ name, ...config, registers, collect })),
    mirrorCounter: <Label extends string>(name: string, config: Config<Label>): Mirror<Label> =>
      mirrorOf((collect) => new Counter({ name, ...config, registers, collect })),
  };
}
