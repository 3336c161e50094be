/** A fleet that is upgraded under a HookRollout: the part of its providers, and an observer of its own. */

import { setTimeout as sleep } from "node:timers/promises";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import {
  GROUP,
  type HookRolloutSpec,
  type HookRolloutStatus,
  CRD_VERSION,
} from "../../src/api/hook-policy.ts";
import type { KubeObject, ListRef, Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import {
  createCluster,
  finishControlPlaneUpgrade,
  isAvailable,
  makeReachable,
  NEXT_VERSION,
  provision,
} from "../controlplane/lab.ts";
import { CLUSTER_API } from "../controlplane/lab-kinds.ts";

export const REGION = "example.com/region";
export const WAVE = "wave";
const ORDER = "example.com/order";

function rolloutRef(name: string): Ref {
  return { apiVersion: `${GROUP}/${CRD_VERSION}`, kind: "HookRollout", name };
}

/** Over all Clusters of the namespaces. */
export async function applyRollout(
  cp: ControlPlane,
  name: string,
  namespaces: string | readonly string[],
  spec: Partial<HookRolloutSpec>,
): Promise<void> {
  const values = typeof namespaces === "string" ? [namespaces] : namespaces;
  const matchExpressions = [{ key: "kubernetes.io/metadata.name", operator: "In", values }];
  await cp.apply({
    apiVersion: `${GROUP}/${CRD_VERSION}`,
    kind: "HookRollout",
    metadata: { name },
    spec: {
      operation: "Upgrade",
      namespaceSelector: { matchExpressions },
      retryAfterSeconds: 5,
      progressDeadline: "1h",
      ...spec,
    },
  });
}

export async function rolloutStatus(cp: ControlPlane, name: string): Promise<HookRolloutStatus> {
  return (await cp.get(rolloutRef(name))).status ?? {};
}

/** A wait that fails says what the rollout says. */
export async function waitForRollout(
  { cp, name }: { readonly cp: ControlPlane; readonly name: string },
  what: string,
  is: () => boolean | Promise<boolean>,
  ms?: number,
): Promise<void> {
  await cp.waitFor(what, is, ms).catch(async (error: unknown) => {
    const { conditions = [], ...status } = await rolloutStatus(cp, name);
    const now = new Date().toISOString();
    throw new Error(
      `${String(error)} HookRollout ${name} says at ${now} ${JSON.stringify({ ...status, conditions })}`,
      { cause: error },
    );
  });
}

export interface Wave {
  readonly wave: string;
  readonly count: number;
  /** Default: that of the fleet. */
  readonly namespace?: string;
  readonly workers?: boolean;
}

/** Clusters wave-0, wave-1, … that are Available, in two regions in turn, in the order of their last to their first. */
export async function createFleet(
  cp: ControlPlane,
  fleet: string,
  waves: readonly Wave[],
): Promise<readonly string[]> {
  const named = waves.flatMap(({ wave, count, namespace = fleet, workers = false }) =>
    Array.from({ length: count }, (_, index) => ({
      namespace,
      name: `${wave}-${index}`,
      labels: { [WAVE]: wave, [REGION]: "ab"[index % 2] ?? "a", [ORDER]: String(count - index) },
      workers,
    })),
  );
  for (const wave of waves) {
    // Cluster API is not asked for all of them at once.
    const own = named.filter((each) => each.labels[WAVE] === wave.wave);
    for (const cluster of own) {
      await createCluster(cp, cluster);
      await makeReachable(cp, cluster.namespace, cluster.name);
    }
    await Promise.all(own.map(({ namespace, name }) => provision(cp, namespace, name)));
  }
  await Promise.all(
    named.map(({ namespace, name }) =>
      cp.waitFor(`Cluster ${namespace}/${name} to be Available`, () => isAvailable(cp, namespace, name)),
    ),
  );
  return named.map(({ name }) => name);
}

/** What the API server showed at an instant: the Clusters whose upgrade had begun and not ended. */
export interface Sight {
  readonly running: readonly { readonly name: string; readonly wave: string; readonly region: string }[];
  readonly done: readonly string[];
}

export interface Providers {
  /** How long the control planes take. */
  readonly upgradeMs: number;
  /** Absent: they work at once. */
  readonly from?: Promise<unknown>;
  /** Clusters whose control planes never get there. */
  readonly stuck?: readonly string[];
}

/** Sees every change of the fleet until it is stopped, and plays the providers' part. */
export class FleetObserver {
  readonly sights: Sight[] = [];
  readonly #cp: ControlPlane;
  readonly #namespaces: ReadonlySet<string>;
  readonly #list: ListRef;
  readonly #begun = new Map<string, Date>();
  readonly #ended = new Map<string, Date>();
  readonly #finishing = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(cp: ControlPlane, ...namespaces: readonly string[]) {
    this.#cp = cp;
    this.#namespaces = new Set(namespaces);
    // One request, so that a sight is of one instant; without what other tests have there.
    const [namespace = "", ...others] = namespaces;
    this.#list = {
      apiVersion: CLUSTER_API,
      kind: "Cluster",
      labelSelector: WAVE,
      ...(others.length === 0 && { namespace }),
    };
  }

  /** In the order in which their marks were seen. */
  get begun(): readonly string[] {
    return [...this.#begun.keys()];
  }

  /** When the mark of each Cluster was first seen… */
  get begins(): ReadonlyMap<string, Date> {
    return this.#begun;
  }

  /** …and when it was first seen to be at its version. */
  get ends(): ReadonlyMap<string, Date> {
    return this.#ended;
  }

  run(providers: Providers): void {
    this.#running = this.#look(providers);
  }

  /** The largest number of Clusters whose upgrade ran at the same time. */
  get most(): number {
    return Math.max(0, ...this.sights.map(({ running }) => running.length));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.allSettled(this.#finishing.values());
  }

  async #look(providers: Providers): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted)
      for await (const all of this.#cp.follow(this.#list, signal)) this.#see(all, providers);
  }

  #see(all: readonly KubeObject[], providers: Providers): void {
    const clusters = all.filter(({ metadata }) => this.#namespaces.has(metadata.namespace ?? ""));
    const at = new Date();
    const running = clusters.filter(isUpgrading);
    const done = clusters.filter(isDone).map(({ metadata }) => metadata.name);
    this.sights.push({
      running: running.map(({ metadata: { name, labels = {} } }) => ({
        name,
        wave: labels[WAVE] ?? "",
        region: labels[REGION] ?? "",
      })),
      done,
    });
    for (const name of done) if (!this.#ended.has(name)) this.#ended.set(name, at);
    for (const { metadata } of running) {
      const { namespace = "", name } = metadata;
      if (!this.#begun.has(name)) this.#begun.set(name, at);
      if (!this.#finishing.has(name) && providers.stuck?.includes(name) !== true)
        this.#finishing.set(name, this.#finish(namespace, name, providers));
    }
  }

  async #finish(namespace: string, name: string, { upgradeMs, from }: Providers): Promise<void> {
    await from;
    await sleep(upgradeMs);
    await finishControlPlaneUpgrade(this.#cp, namespace, name);
  }
}

/** A Cluster that is being deleted is upgraded no more. */
function isUpgrading(cluster: KubeObject): boolean {
  return cluster.metadata.deletionTimestamp === undefined && isPending(cluster, "AfterClusterUpgrade");
}

export function isPending({ metadata }: KubeObject, hook: string): boolean {
  return (metadata.annotations?.[PENDING_HOOKS_ANNOTATION] ?? "").split(",").includes(hook);
}

function isDone(cluster: KubeObject): boolean {
  const { spec, status, metadata } = cluster;
  const reconciled = (status?.conditions ?? []).find(
    ({ type }: { type: string }) => type === "TopologyReconciled",
  );
  return (
    spec.topology.version === NEXT_VERSION &&
    !isUpgrading(cluster) &&
    reconciled?.status === "True" &&
    reconciled.observedGeneration === metadata["generation"]
  );
}

/** Whose creation Cluster API has begun, and not ended. */
export async function runningCreations(cp: ControlPlane, namespace: string): Promise<readonly string[]> {
  const clusters = await cp.list({ apiVersion: CLUSTER_API, kind: "Cluster", namespace });
  return clusters
    .filter((cluster) => isPending(cluster, "AfterControlPlaneInitialized"))
    .map(({ metadata }) => metadata.name);
}
