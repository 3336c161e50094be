/** Clusters from their creation to their end, each a driver's step at a time; Cluster API's part is played here. */

import { setTimeout as sleep } from "node:timers/promises";
import type { HookName } from "../../src/api/runtimehooks.ts";
import { ApiError, type Client, type KubeObject, type Ref } from "../../test/controlplane/client.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import type { Answer } from "../calls/caller.ts";
import { createdPatch, newCluster } from "../fleet/clusters.ts";
import { deleteCluster } from "../fleet/fleet.ts";
import { requestOf } from "../fleet/requests.ts";
import { MAY_CREATE, MAY_DELETE } from "./policies.ts";

/** In the order of a life. While it is being asked about, a Cluster is held unless it is approved. */
type Stage = "creating" | "create approved" | "running" | "deleting" | "delete approved" | "gone";

export interface Life {
  readonly namespace: string;
  readonly name: string;
  stage: Stage;
  /** performance.now() of its next step. */
  due: number;
  uid: string;
  /** Of the hook that is asked for now. */
  body: string | undefined;
  /** A step is being taken. */
  busy: boolean;
}

export interface Counts {
  born: number;
  gone: number;
  /** A go for a Cluster that was not approved. */
  wrongAllows: number;
  /** Held a minute after it was approved. */
  late: number;
}

/** How long a Cluster stays; with the population it says how often one is born. */
const STAGE_MS = { creating: 60_000, running: 60_000, deleting: 240_000 } as const;
/** One Cluster in so many has the variables of a real ClusterClass. */
const LARGE_EVERY = 4;
const LATE_MS = 60_000;

export class Lives {
  readonly counts: Counts = { born: 0, gone: 0, wrongAllows: 0, late: 0 };
  readonly #api: Client;
  readonly #namespaces: readonly string[];
  readonly #population: number;
  #lives: Life[] = [];
  #next = 0;

  constructor(api: Client, namespaces: readonly string[], population: number) {
    this.#api = api;
    this.#namespaces = namespaces;
    this.#population = population;
  }

  /** Another one each time. */
  any(): Life | undefined {
    return this.#lives[(this.#next * 7) % Math.max(1, this.#lives.length)];
  }

  /** To be asked about now: one after the other. */
  nextAsked(): { life: Life; hook: HookName; body: string } | undefined {
    for (let tries = 0; tries < this.#lives.length; tries++) {
      const life = this.#lives[this.#next++ % this.#lives.length];
      const hook = life && hookOf(life.stage);
      if (life?.body !== undefined && hook !== undefined) return { life, hook, body: life.body };
    }
    return undefined;
  }

  /** Does what is due; call it often. Rejects with what the API server has refused. */
  async advance(): Promise<void> {
    const now = performance.now();
    const due = this.#lives.filter((life) => !life.busy && now >= life.due);
    await Promise.all([...due.map((life) => this.#step(life)), this.#bear()]);
    this.#lives = this.#lives.filter(({ stage }) => stage !== "gone");
  }

  /** Something that no policy looks at: the informer gets news, and the next request has other bytes. */
  async touch(life: Life): Promise<void> {
    if (life.busy || life.stage === "gone") return;
    const annotations = { "soak.example.com/touched": String(Date.now()) };
    await this.#write(life, () => this.#api.patch(refOf(life), { metadata: { annotations } }));
  }

  async judge(life: Life, hook: HookName, answer: Answer): Promise<void> {
    const isGo = answer.status === "Success" && answer.retryAfterSeconds === 0;
    if (!isGo || hookOf(life.stage) !== hook) return;
    if (life.stage === "creating" || life.stage === "deleting") {
      this.counts.wrongAllows += 1;
      return;
    }
    if (life.busy) return; // asked again soon
    const isCreated = life.stage === "create approved";
    life.stage = isCreated ? "running" : "gone";
    life.due = after(STAGE_MS.running);
    const end = { metadata: { finalizers: [] } };
    if (!isCreated) this.counts.gone += 1;
    await this.#write(life, () => this.#api.patch(refOf(life), isCreated ? createdPatch() : end));
  }

  /** A few per second until the population is there; afterwards one for each that is gone. */
  async #bear(): Promise<void> {
    if (this.#lives.length >= this.#population) return;
    const number = this.counts.born++;
    const namespace = this.#namespaces[number % this.#namespaces.length] ?? "";
    const name = `soak-${number}`;
    const due = after(STAGE_MS.creating);
    const life: Life = { namespace, name, stage: "creating", due, uid: "", body: undefined, busy: false };
    this.#lives.push(life);
    const size = number % LARGE_EVERY === 0 ? "26k" : "1k";
    await this.#write(life, () => this.#api.create(newCluster({ namespace, name, size, created: false })));
  }

  async #step(life: Life): Promise<void> {
    switch (life.stage) {
      case "creating":
        return await this.#approve(life, "create approved", { [MAY_CREATE]: "yes" });
      case "running":
        life.stage = "deleting";
        life.due = after(STAGE_MS.deleting);
        return await this.#write(life, () => deleteCluster(this.#api, refOf(life)));
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
    life.stage = stage; // before it is written: from now on a go may be right
    life.due = performance.now() + LATE_MS;
    await this.#write(life, () => this.#api.patch(refOf(life), { metadata: { annotations } }));
  }

  async #write(life: Life, write: () => Promise<KubeObject>): Promise<void> {
    life.busy = true;
    try {
      const stored = await patiently(write);
      life.uid = stored.metadata.uid ?? "";
      const hook = hookOf(life.stage);
      life.body =
        hook === undefined ? undefined : requestOf(stored, { kind: `${hook}Request`, settings: {} });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404 && life.stage === "gone")) throw error;
    } finally {
      life.busy = false;
    }
  }
}

export function refOf({ namespace, name }: Life): Ref {
  return clusterRef(namespace, name);
}

/** An hour is long: what the API server refuses in a bad moment is tried once more. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  return await work().catch(async () => {
    await sleep(1000);
    return await work();
  });
}

function hookOf(stage: Stage): HookName | undefined {
  if (stage === "creating" || stage === "create approved") return "BeforeClusterCreate";
  if (stage === "deleting" || stage === "delete approved") return "BeforeClusterDelete";
  return undefined;
}

/** Spread, so that the Clusters of the beginning do not stay in step. */
function after(ms: number): number {
  return performance.now() + ms * (0.5 + Math.random());
}
