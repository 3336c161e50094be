/** Clusters from their creation to their end. The driver plays the user, who approves, and Cluster API, which proceeds. */

import { setTimeout as sleep } from "node:timers/promises";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import { ApiError, type Client, type KubeObject, type Ref } from "../../test/controlplane/client.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { createdPatch, newCluster } from "../fleet/clusters.ts";
import { deleteCluster, inTurn, range } from "../fleet/fleet.ts";
import { requestOf } from "../fleet/requests.ts";
import { MAY_CREATE, MAY_DELETE } from "./policies.ts";

export interface Life {
  readonly ref: Ref;
  hook: HookName | undefined;
  body: string;
  uid: string;
  /** The hook may release the Cluster. */
  approved: boolean;
  released: boolean;
}

/** How long a Cluster stays in a stage at the pace of ordinary life; with the population it says how often one is created. */
const STAGE_MS = { creating: 60_000, running: 60_000, deleting: 240_000 } as const;
/** One Cluster in so many has the variables of a real ClusterClass. */
const LARGE_EVERY = 4;
const LATE_MS = 60_000;
/** The pause between the first Clusters, and between two looks whether one is released. */
const STEP_MS = 500;

export class Lives {
  readonly counts = {
    born: 0,
    gone: 0,
    /** Releases of a Cluster that was not approved. */
    wrongAllows: 0,
    /** Clusters that were still held a minute after the approval. */
    late: 0,
  };
  readonly #api: Client;
  readonly #namespaces: readonly string[];
  readonly #pace: number;
  readonly #lives = new Set<Life>();
  #next = 0;

  constructor(api: Client, namespaces: readonly string[], pace: number) {
    this.#api = api;
    this.#namespaces = namespaces;
    this.#pace = pace;
  }

  any(): Life | undefined {
    return [...this.#lives][(this.#next * 7) % this.#lives.size];
  }

  /** The next of the Clusters that Cluster API asks about. */
  nextAsked(): Life | undefined {
    const asked = [...this.#lives].filter(({ hook }) => hook !== undefined);
    return asked[this.#next++ % asked.length];
  }

  /** An answer to a call of that hook has released the Cluster. */
  release(life: Life, hook: HookName): void {
    if (life.hook !== hook) return; // the Cluster has proceeded meanwhile
    if (life.approved) life.released = true;
    else this.counts.wrongAllows += 1;
  }

  /** Keeps so many Clusters until `signal` aborts. Rejects with what the API server has refused twice. */
  async run(population: number, signal: AbortSignal): Promise<void> {
    const running = range(population).map(async (index) => {
      await sleep(index * STEP_MS, undefined, { signal });
      for (;;) await this.#live(signal);
    });
    await Promise.all(running).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** No policy reads this annotation: the informer gets an update, and the next request has other bytes. */
  async annotateOne(): Promise<void> {
    const life = this.any();
    if (life?.hook === undefined) return;
    const { hook } = life;
    const annotations = { "soak.example.com/touched": String(Date.now()) };
    const stored = await patiently(async () => await this.#annotate(life, annotations)).catch(isGone);
    // The Cluster may have proceeded meanwhile.
    if (stored !== undefined && life.hook === hook) life.body = bodyOf(stored, hook);
  }

  async #live(signal: AbortSignal): Promise<void> {
    const number = this.counts.born++;
    const own = { namespace: inTurn(this.#namespaces, number), name: `soak-${number}` };
    const ref = clusterRef(own.namespace, own.name);
    const state = { hook: undefined, body: "", uid: "", approved: false, released: false };
    const life: Life = { ref, ...state };
    const size = number % LARGE_EVERY === 0 ? "26k" : "1k";
    const create = newCluster({ ...own, size, created: false });
    this.#lives.add(life);
    await this.#write(life, "BeforeClusterCreate", async () => await this.#api.create(create));
    await this.#stay("creating", signal);
    await this.#untilReleased(life, "BeforeClusterCreate", { [MAY_CREATE]: "yes" }, signal);
    await patiently(async () => await this.#api.patch(ref, createdPatch()));
    await this.#stay("running", signal);
    await this.#write(life, "BeforeClusterDelete", async () => await deleteCluster(this.#api, ref));
    await this.#stay("deleting", signal);
    await this.#untilReleased(life, "BeforeClusterDelete", { [MAY_DELETE]: life.uid }, signal);
    this.#lives.delete(life);
    await patiently(async () => await this.#api.patch(ref, { metadata: { finalizers: [] } })).catch(isGone);
    this.counts.gone += 1;
  }

  /** Spread, so that the Clusters of the beginning do not remain in step. */
  async #stay(stage: keyof typeof STAGE_MS, signal: AbortSignal): Promise<void> {
    await sleep((STAGE_MS[stage] / this.#pace) * (0.5 + Math.random()), undefined, { signal });
  }

  /** Approves the Cluster, and resolves once an answer has released it. */
  async #untilReleased(
    life: Life,
    hook: HookName,
    approval: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    life.approved = true; // before the write: from now on a release may be right
    await this.#write(life, hook, async () => await this.#annotate(life, approval));
    let lateAt = performance.now() + LATE_MS;
    while (!life.released) {
      await sleep(STEP_MS, undefined, { signal });
      if (performance.now() < lateAt) continue;
      this.counts.late += 1;
      lateAt = Infinity;
    }
    life.hook = undefined;
    life.approved = false;
    life.released = false;
  }

  async #annotate({ ref }: Life, annotations: Readonly<Record<string, string>>): Promise<KubeObject> {
    return await this.#api.patch(ref, { metadata: { annotations } });
  }

  /** Afterwards Cluster API calls that hook about the Cluster as it is stored. */
  async #write(life: Life, hook: HookName, write: () => Promise<KubeObject>): Promise<void> {
    const stored = await patiently(write);
    life.uid = stored.metadata.uid ?? "";
    life.body = bodyOf(stored, hook);
    life.hook = hook;
  }
}

function bodyOf(stored: KubeObject, hook: HookName): string {
  return requestOf(stored, { kind: `${hook}Request`, settings: {} });
}

/** The second try finds nothing where the first one has removed the finalizer and its answer was lost. */
function isGone(error: unknown): undefined {
  if (!(error instanceof ApiError && error.code === 404)) throw error;
}

/** Tries once more what the API server refuses: an hour has bad moments. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  return await work().catch(async () => {
    await sleep(1000);
    return await work();
  });
}
