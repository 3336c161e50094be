/** Two replicas behind what a Service is, Clusters that a policy holds, and somebody who approves some of them. */

import type { HookName } from "../../src/api/runtimehooks.ts";
import { inParallel } from "../../test/apiserver/operatorlab.ts";
import type { Balancer } from "../../test/controlplane/balancer.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { type ClusterApi, installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef, createCluster, type LabCluster, NEXT_VERSION } from "../../test/controlplane/lab.ts";
import { createProcesses, type Processes } from "../../test/controlplane/processes.ts";
import { APPROVED, approvalRule, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import { repeat } from "../calls/pace.ts";
import type { Facts } from "./expectation.ts";
import { createReplica, type Replica, type ReplicaOptions } from "./replica.ts";
import { assume, newSubject, seen, type Subject, uncertain } from "./subjects.ts";

export const TEAM = "team-a";
/** Where scenarios keep Clusters of their own. */
export const OTHER_TEAM = "team-b";
export const POLICY = policyRef(TEAM, "protect");

/** In one namespace. */
interface Counts {
  readonly held: number;
  readonly approved: number;
  /** Approved, and not any more, again and again. */
  readonly changing: number;
}
const COUNTS: Counts = { held: 60, approved: 8, changing: 6 };
export const FEW: Counts = { held: 10, approved: 2, changing: 2 };

/** Begins the names of those that addSubjects() makes and nothing approves. */
export const HELD = "held";
const GATED: Facts = { inForce: "Yes", evaluable: "Yes", satisfied: "No" };
const MIND_MS = 700;

export class Lab {
  readonly cp: ControlPlane;
  readonly service: Balancer;
  readonly hook: HookName;
  /** Shorter, to try it out. */
  readonly quick: boolean;
  readonly subjects: Subject[] = [];
  readonly replicas: Replica[] = [];
  /** PEM of the authorities that callers trust. */
  trusted: string;
  /** The real one, in scenarios that install it. */
  clusterApi: ClusterApi | undefined;
  readonly #processes: Processes;
  readonly #changing: Subject[] = [];
  readonly #cleanups: (() => Promise<void> | void)[] = [];
  readonly #background = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(cp: ControlPlane, service: Balancer, options: { hook: HookName; quick: boolean }) {
    this.cp = cp;
    this.service = service;
    this.hook = options.hook;
    this.quick = options.quick;
    this.trusted = cp.authority.certificate;
    // An end of one is no failure of the run here.
    this.#processes = createProcesses(cp.folder);
  }

  /** Resolves when calls go there. */
  async addReplica(options: ReplicaOptions = {}): Promise<Replica> {
    const name = `replica-${this.replicas.length + 1}`;
    const replica = await createReplica(this.cp, name, { ...options, processes: this.#processes });
    this.replicas.push(replica);
    await replica.start({ waitReady: true });
    this.service.add(replica.ports);
    await this.cp.waitFor("the Service to know it", () => this.service.ready(replica.ports));
    return replica;
  }

  replica(index: number): Replica {
    const replica = this.replicas[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  }

  /** Held by the policy of the namespace until they are approved. */
  async addSubjects(namespace: string, counts: Counts): Promise<void> {
    await this.addClusters(namespace, numbered(counts.held, HELD));
    await this.addClusters(namespace, numbered(counts.approved, "approved"), {
      cluster: { annotations: { [APPROVED]: "true" } },
      facts: { satisfied: "Yes" },
    });
    this.#changing.push(...(await this.addClusters(namespace, numbered(counts.changing, "changing"))));
  }

  async addClusters(
    namespace: string,
    names: readonly string[],
    more: { readonly cluster?: Partial<LabCluster>; readonly facts?: Partial<Facts> } = {},
  ): Promise<readonly Subject[]> {
    const added: Subject[] = [];
    await inParallel(names, 10, async (name) => {
      const object = await createCluster(this.cp, {
        namespace,
        name,
        version: NEXT_VERSION,
        workers: true,
        ...more.cluster,
      });
      added.push(newSubject(object, { ...GATED, ...more.facts }));
    });
    this.subjects.push(...added);
    return added;
  }

  of(namespace: string): readonly Subject[] {
    return this.subjects.filter((subject) => subject.namespace === namespace);
  }

  /** POLICY, or one like it elsewhere; replicas may hear of it later. */
  async storePolicy(ref = POLICY): Promise<KubeObject> {
    return await storePolicy(this.cp, ref, { rules: [approvalRule(this.hook)] });
  }

  /** Writes, however often it takes; nobody knows before the API server has said yes which facts are so. */
  async change(
    subjects: readonly Subject[],
    facts: Partial<Facts>,
    write: () => Promise<unknown>,
  ): Promise<void> {
    assume(subjects, uncertain(facts));
    await this.cp.waitFor("the API server to take a write", async () => {
      await write();
      return true;
    });
    assume(subjects, facts);
  }

  /** Approves and takes it back, Cluster by Cluster, until `signal` aborts. */
  async changeMinds(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#changing.map(async (subject) => {
        let approved = false;
        await repeat(MIND_MS, signal, async () => {
          approved = !approved;
          await this.#approve(subject, approved);
        });
      }),
    );
  }

  async #approve(subject: Subject, approved: boolean): Promise<void> {
    const ref = clusterRef(subject.namespace, subject.name);
    const patch = { metadata: { annotations: { [APPROVED]: approved ? "true" : null } } };
    await this.change([subject], { satisfied: approved ? "Yes" : "No" }, async () => {
      seen(subject, await this.cp.patch(ref, patch));
    });
  }

  /** Again and again, until the fault is healed; what fails is tried again. */
  inBackground(everyMs: number, work: () => Promise<unknown>): void {
    const { signal } = this.#background;
    this.#running.push(repeat(everyMs, signal, async () => await work().catch(() => undefined)));
  }

  async endBackground(): Promise<void> {
    this.#background.abort();
    await Promise.all(this.#running);
  }

  onStop(cleanup: () => Promise<void> | void): void {
    this.#cleanups.push(cleanup);
  }

  async stop(): Promise<void> {
    await this.endBackground();
    await this.#processes.stopAll();
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
    for (const { proxy } of this.replicas) await proxy.stop();
    await this.service.stop();
    await this.cp.stop();
  }
}

export function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

export async function arrangeDefault(lab: Lab): Promise<void> {
  await installClusterDefinition(lab.cp);
  await lab.addSubjects(TEAM, COUNTS);
  await lab.storePolicy();
}
