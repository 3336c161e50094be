/** A fleet that is upgraded under a HookRollout: the part of its providers, and an observer of its own. */

import { setTimeout as sleep } from "node:timers/promises";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { GROUP, VERSION } from "../../src/api/hookpolicy.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { createCluster, finishControlPlaneUpgrade, NEXT_VERSION, provision } from "../controlplane/lab.ts";
import { CLUSTER_API } from "../controlplane/labkinds.ts";

export const REGION = "example.com/region";
export const WAVE = "wave";
/** A Cluster with this label is not healthy. */
export const UNHEALTHY = "unhealthy";

export function rolloutRef(name: string): Ref {
  return { apiVersion: `${GROUP}/${VERSION}`, kind: "HookRollout", name };
}

/** What a rollout may look at here: the lab's Clusters have no workload API server, so they never become Available. */
export const HEALTHY = [
  {
    name: "control-plane",
    expression:
      "cluster.status.conditions.exists(c, c.type == 'ControlPlaneAvailable' && c.status == 'True') && !('unhealthy' in cluster.metadata.labels)",
  },
];

export interface Wave {
  readonly wave: string;
  readonly count: number;
}

/** Provisioned Clusters wave-0, wave-1, …, in two regions in turn. */
export async function createFleet(
  cp: ControlPlane,
  namespace: string,
  waves: readonly Wave[],
): Promise<readonly string[]> {
  const named = waves.flatMap(({ wave, count }) =>
    Array.from({ length: count }, (_, index) => ({
      wave,
      name: `${wave}-${index}`,
      region: "ab"[index % 2] ?? "a",
    })),
  );
  for (const { wave, name, region } of named)
    await createCluster(cp, { namespace, name, labels: { [WAVE]: wave, [REGION]: region } });
  await Promise.all(named.map(({ name }) => provision(cp, namespace, name)));
  return named.map(({ name }) => name);
}

/** What the API server showed at an instant: the Clusters whose upgrade had begun and not ended. */
export interface Sight {
  readonly running: readonly { readonly name: string; readonly wave: string; readonly region: string }[];
  readonly done: readonly string[];
}

/** Looks at the fleet until it is stopped, and plays the providers' part. */
export class FleetObserver {
  readonly sights: Sight[] = [];
  readonly #cp: ControlPlane;
  readonly #namespace: string;
  readonly #begun: string[] = [];
  readonly #finishing = new Map<string, Promise<void>>();
  #stopped = false;
  #running: Promise<void> | undefined;

  constructor(cp: ControlPlane, namespace: string) {
    this.#cp = cp;
    this.#namespace = namespace;
  }

  /** In the order in which their marks were seen. */
  get begun(): readonly string[] {
    return this.#begun;
  }

  /** `upgradeMs`: how long the control planes take; `stuck`: never. */
  run({ upgradeMs, stuck = [] }: { readonly upgradeMs: number; readonly stuck?: readonly string[] }): void {
    this.#running = this.#look(upgradeMs, new Set(stuck));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await Promise.allSettled(this.#finishing.values());
  }

  async #look(upgradeMs: number, stuck: ReadonlySet<string>): Promise<void> {
    while (!this.#stopped) {
      const clusters = await this.#cp.list({
        apiVersion: CLUSTER_API,
        kind: "Cluster",
        namespace: this.#namespace,
      });
      const running = clusters.filter(isUpgrading);
      this.sights.push({
        running: running.map(({ metadata: { name, labels = {} } }) => ({
          name,
          wave: labels[WAVE] ?? "",
          region: labels[REGION] ?? "",
        })),
        done: clusters.filter(isDone).map(({ metadata }) => metadata.name),
      });
      for (const { metadata } of running) {
        const { name } = metadata;
        if (!this.#begun.includes(name)) this.#begun.push(name);
        if (!this.#finishing.has(name) && !stuck.has(name))
          this.#finishing.set(name, this.#finish(name, upgradeMs));
      }
      await sleep(100);
    }
  }

  async #finish(name: string, upgradeMs: number): Promise<void> {
    await sleep(upgradeMs);
    await finishControlPlaneUpgrade(this.#cp, this.#namespace, name);
  }
}

function isUpgrading({ metadata }: KubeObject): boolean {
  return (metadata.annotations?.[PENDING_HOOKS_ANNOTATION] ?? "").split(",").includes("AfterClusterUpgrade");
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
