/** Makes the metrics of one registry. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** One series of a gauge that mirrors state. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

type SampleReader<Label extends string> = () => Iterable<Sample<Label>> | Promise<Iterable<Sample<Label>>>;

/** A metric that is read only when it is scraped. */
class Mirror<Label extends string> {
  #read: SampleReader<Label> = () => [];

  /** `read` runs once per scrape and returns every series; a series that it no longer returns disappears. */
  follow(read: SampleReader<Label>): void {
    this.#read = read;
  }

  async collect(
    reset: () => void,
    put: (labels: Sample<Label>["labels"], value: number) => void,
  ): Promise<void> {
    // Before the reset: another scrape may read in the meantime.
    const samples = await this.#read();
    reset();
    for (const { labels, value } of samples) put(labels, value);
  }
}

export type Makers = ReturnType<typeof makers>;

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- they are those of the metrics
export function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string = never>(
      name: string,
      help: string,
      labelNames: Label[] = [],
    ): Counter<Label> => new Counter({ name, help, labelNames, registers }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ): Histogram<Label> => new Histogram({ name, help, buckets, labelNames, registers }),
    mirror: <Label extends string = never>(
      name: string,
      help: string,
      labelNames: Label[] = [],
    ): Mirror<Label> => {
      const mirror = new Mirror<Label>();
      const gauge = new Gauge<Label>({
        name,
        help,
        labelNames,
        registers,
        collect: async () => await mirror.collect(reset, (labels, value) => gauge.set(labels, value)),
      });
      const reset = (): void => {
        gauge.reset();
        // A gauge without labels starts at 0; an unknown value is not 0.
        if (labelNames.length === 0) gauge.remove();
      };
      return mirror;
    },
    mirrorCounter: <Label extends string>(name: string, help: string, labelNames: Label[]): Mirror<Label> => {
      const mirror = new Mirror<Label>();
      const counter = new Counter<Label>({
        name,
        help,
        labelNames,
        registers,
        collect: async () =>
          await mirror.collect(
            () => counter.reset(),
            (labels, value) => counter.inc(labels, value),
          ),
      });
      return mirror;
    },
  };
}
