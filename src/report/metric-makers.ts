/** Makes the metrics of one registry. Those that mirror state read it from one world when they are scraped. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { Informer } from "../kube/informer.ts";
import type { InformerObject } from "../kube/object-store.ts";
import type { WorkQueue } from "../kube/work-queue.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Lister, NotCalled } from "../memory/memory.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import type { TaskMemory } from "../tasks/task-memory.ts";

export type AnyInformer = Pick<
  Informer<InformerObject>,
  "contactAgeMs" | "restarts" | "size" | "tooLarge" | "synced" | "whenSynced" | "run"
>;

export type InformerEntry = readonly [name: string, informer: AnyInformer];

/** The state that metrics mirror. */
export interface MetricsWorld {
  readonly store: DecisionStore;
  readonly clusters: Pick<Lister<Cluster>, "list">;
  readonly rollouts: Pick<Rollouts, "entries">;
  readonly tasks: Pick<TaskMemory, "all">;
  readonly queue: Pick<WorkQueue, "depth">;
  readonly informers: () => readonly InformerEntry[];
  readonly notCalled: (policy: CompiledPolicy) => NotCalled;
  /** Why Cluster API does not call the hook in any namespace. */
  readonly hookNotCalled: (hook: HookName) => NotCalled;
  readonly discoveryFailed: () => boolean | undefined;
  readonly expiries: () => readonly Sample<"certificate">[];
  /** False: there is no leader election. */
  readonly leading: false | (() => boolean);
  /** Whether series may name Clusters. */
  readonly clusterNames: boolean;
  readonly now: () => Date;
}

/** One series of a metric that mirrors state. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

type Samples<Label extends string> = Iterable<Sample<Label>>;

/** Runs once per scrape and returns every series; a series that it no longer returns disappears. */
type Reader<Label extends string> = (world: MetricsWorld) => Samples<Label> | Promise<Samples<Label>>;

interface Config<Label extends string> {
  readonly help: string;
  readonly labelNames?: Label[];
}

interface Buckets {
  readonly buckets: number[];
}

type Mirror = <L extends string = never>(name: string, read: Reader<NoInfer<L>>, config: Config<L>) => void;

export interface Makers {
  readonly counter: <L extends string = never>(name: string, config: Config<L>) => Counter<L>;
  readonly histogram: <L extends string = never>(name: string, config: Config<L> & Buckets) => Histogram<L>;
  readonly mirror: Mirror;
  readonly mirrorCounter: Mirror;
}

/** Without a world, metrics that mirror it have no series. */
export function makers(registry: Registry, world: () => MetricsWorld | undefined): Makers {
  const registers = [registry];
  const collecting = <Label extends string>(read: Reader<Label>) =>
    async function collect(this: Pick<Gauge<Label>, "reset" | "remove" | "inc">): Promise<void> {
      const now = world();
      // Before the reset: another scrape may read in the meantime.
      const samples = now === undefined ? [] : await read(now);
      this.reset();
      this.remove({}); // a metric without labels starts at 0, and an unknown value is not 0
      for (const { labels, value } of samples) this.inc(labels, value);
    };
  return {
    counter: (name, config) => new Counter({ name, ...config, registers }),
    histogram: (name, config) => new Histogram({ name, ...config, registers }),
    mirror: (name, read, config) => void new Gauge({ name, ...config, registers, collect: collecting(read) }),
    mirrorCounter: (name, read, config) =>
      void new Counter({ name, ...config, registers, collect: collecting(read) }),
  };
}
