/** Clusters from their creation to their end. The driver plays the user, who approves, and Cluster API, which proceeds. */

import { setTimeout as sleep } from "node:timers/promises";
import type { HookName } from "../../src/api/runtimehooks.ts";
import { ApiError, type Client, type KubeObject, type Ref } from "../../test/controlplane/client.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { createdPatch, newCluster } from "../fleet/clusters.ts";
import { deleteCluster } from "../fleet/fleet.ts";
import { requestOf } from "../fleet/requests.ts";
import { MAY_CREATE, MAY_DELETE } from "./policies.ts";

/** The stages of a life, in their order. In all but "running" Cluster API calls a hook, which holds until the approval. */
type Stage = "creating" | "create approved" | "running" | "deleting" | "delete approved" | "gone";

const HOOKS: Partial<Record<Stage, HookName>> = {
  creating: "BeforeClusterCreate",
  "create approved": "BeforeClusterCreate",
  deleting: "BeforeClusterDelete",
  "delete approved": "BeforeClusterDelete",
};

interface Life {
  readonly namespace: string;
  readonly name: string;
  stage: Stage;
  /** performance.now() of its next step. */
  due: number;
  uid: string;
  /** The request that Cluster API sends now; empty: none. */
  body: string;
  /** A write is under way. */
  busy: boolean;
}

/** A Cluster that is asked about, and the hook. */
export interface Question {
  readonly life: Life;
  readonly hook: HookName;
}

/** How long a Cluster stays in a stage; with the population it says how often one is created. */
const STAGE_MS = { creating: 60_000, running: 60_000, deleting: 240_000 } as const;
/** One Cluster in so many has the variables of a real ClusterClass. */
const LARGE_EVERY = 4;
const LATE_MS = 60_000;

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
  readonly #namespace: (number: number) => string;
  readonly #population: number;
  #lives: Life[] = [];
  #next = 0;

  constructor(api: Client, namespace: (number: number) => string, population: number) {
    this.#api = api;
    this.#namespace = namespace;
    this.#population = population;
  }

  /** Another Cluster each time. */
  any(): Life | undefined {
    return this.#lives[(this.#next * 7) % Math.max(1, this.#lives.length)];
  }

  /** The next Cluster that Cluster API asks about, one after the other. */
  nextAsked(): Question | undefined {
    for (let tries = 0; tries < this.#lives.length; tries++) {
      const life = this.#lives[this.#next++ % this.#lives.length];
      const hook = life && HOOKS[life.stage];
      if (life !== undefined && life.body !== "" && hook !== undefined) return { life, hook };
    }
    return undefined;
  }

  /** Takes the steps that are due. Rejects with what the API server has refused twice. */
  async advance(): Promise<void> {
    const now = performance.now();
    const due = this.#lives.filter((life) => !life.busy && now >= life.due);
    await Promise.all([...due.map(async (life) => await this.#step(life)), this.#create()]);
    this.#lives = this.#lives.filter(({ stage }) => stage !== "gone");
  }

  /** No policy reads this annotation: the informer gets an update, and the next request has other bytes. */
  async annotateOne(): Promise<void> {
    const life = this.any();
    if (life === undefined || life.busy || life.stage === "gone") return;
    const annotations = { "soak.example.com/touched": String(Date.now()) };
    await this.#write(life, async () => await this.#api.patch(refOf(life), { metadata: { annotations } }));
  }

  /** An answer has released the Cluster. */
  async released({ life, hook }: Question): Promise<void> {
    if (HOOKS[life.stage] !== hook) return;
    if (life.stage === "creating" || life.stage === "deleting") {
      this.counts.wrongAllows += 1;
      return;
    }
    if (life.busy) return; // asked again soon
    const isCreated = life.stage === "create approved";
    life.stage = isCreated ? "running" : "gone";
    life.due = after(STAGE_MS.running);
    if (!isCreated) this.counts.gone += 1;
    const patch = isCreated ? createdPatch() : { metadata: { finalizers: [] } };
    await this.#write(life, async () => await this.#api.patch(refOf(life), patch));
  }

  /** One at each call until the population is there; afterwards one for each that is gone. */
  async #create(): Promise<void> {
    if (this.#lives.length >= this.#population) return;
    const number = this.counts.born++;
    const own = { namespace: this.#namespace(number), name: `soak-${number}` };
    const due = after(STAGE_MS.creating);
    const life: Life = { ...own, stage: "creating", due, uid: "", body: "", busy: false };
    this.#lives.push(life);
    const size = number % LARGE_EVERY === 0 ? "26k" : "1k";
    await this.#write(life, async () => await this.#api.create(newCluster({ ...own, size, created: false })));
  }

  async #step(life: Life): Promise<void> {
    switch (life.stage) {
      case "creating":
        return await this.#approve(life, "create approved", { [MAY_CREATE]: "yes" });
      case "running":
        life.stage = "deleting";
        life.due = after(STAGE_MS.deleting);
        return await this.#write(life, async () => await deleteCluster(this.#api, refOf(life)));
      case "deleting":
        return await this.#approve(life, "delete approved", { [MAY_DELETE]: life.uid });
      case "create approved":
      case "delete approved":
        this.counts.late += 1;
        life.due = Infinity;
        return;
      case "gone":
    }
  }

  async #approve(life: Life, stage: Stage, annotations: Record<string, string>): Promise<void> {
    life.stage = stage; // before the write: from now on a release may be right
    life.due = performance.now() + LATE_MS;
    await this.#write(life, async () => await this.#api.patch(refOf(life), { metadata: { annotations } }));
  }

  async #write(life: Life, write: () => Promise<KubeObject>): Promise<void> {
    life.busy = true;
    try {
      const stored = await patiently(write);
      const hook = HOOKS[life.stage];
      life.uid = stored.metadata.uid ?? "";
      life.body = hook === undefined ? "" : requestOf(stored, { kind: `${hook}Request`, settings: {} });
    } catch (error) {
      // The second try finds nothing where the first one has removed the finalizer and its answer was lost.
      if (!(error instanceof ApiError && error.code === 404 && life.stage === "gone")) throw error;
    } finally {
      life.busy = false;
    }
  }
}

export function refOf({ namespace, name }: Pick<Life, "namespace" | "name">): Ref {
  return clusterRef(namespace, name);
}

/** Tries once more what the API server refuses: an hour has bad moments. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  return await work().catch(async () => {
    await sleep(1000);
    return await work();
  });
}

/** Spread, so that the Clusters of the beginning do not stay in step. */
function after(ms: number): number {
  return performance.now() + ms * (0.5 + Math.random());
}
