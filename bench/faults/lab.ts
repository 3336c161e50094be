/** Two replicas behind a balancer that acts as their Service, and Clusters that a policy holds. */

import type { HookName } from "../../src/api/runtime-hooks.ts";
import { inParallel } from "../../test/apiserver/operator-lab.ts";
import type { Balancer } from "../../test/controlplane/balancer.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { type ClusterApi, installClusterDefinition } from "../../test/controlplane/cluster-api.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import {
  clusterRef,
  createCluster,
  FIRST_VERSION,
  type LabCluster,
  NEXT_VERSION,
} from "../../test/controlplane/lab.ts";
import {
  NAMESPACE,
  type Operator,
  type OperatorOptions,
  operatorPorts,
} from "../../test/controlplane/operator.ts";
import { createProcesses, type Processes } from "../../test/controlplane/processes.ts";
import { APPROVED, approvalRule, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import { type Proxy, startProxy } from "../../test/controlplane/proxy.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import { repeat } from "../calls/pace.ts";
import { requestOf } from "../fleet/requests.ts";
import { type Facts, mayGo, Timeline } from "./judge.ts";

export const TEAM = "team-a";
/** The namespace of the Clusters that scenarios add. */
export const OTHER_TEAM = "team-b";
export const POLICY = policyRef(TEAM, "protect");

interface Counts {
  readonly held: number;
  readonly approved: number;
  /** Their approval is given and taken back again and again. */
  readonly changing: number;
}
const COUNTS: Counts = { held: 60, approved: 8, changing: 6 };
export const FEW: Counts = { held: 10, approved: 2, changing: 2 };

/** Prefix of the names of Clusters that are never approved. */
export const HELD = "held";
const CHANGE_MS = 700;

export interface Subject {
  readonly namespace: string;
  readonly name: string;
  readonly timeline: Timeline;
  facts: Facts;
  /** Request bodies: of the newest copy, and of the one before, which Cluster API's cache may still have. */
  bodies: readonly [newest: string, older: string];
}

function newSubject(object: KubeObject, facts: Facts): Subject {
  const { namespace = "", name } = object.metadata;
  const body = bodyOf(object);
  const subject: Subject = { namespace, name, timeline: new Timeline(), facts, bodies: [body, body] };
  assume([subject], facts);
  return subject;
}

/** These facts are true from now on. */
export function assume(subjects: readonly Subject[], facts: Partial<Facts>): void {
  const at = performance.now();
  for (const subject of subjects) {
    subject.facts = { ...subject.facts, ...facts };
    subject.timeline.set(at, mayGo(subject.facts));
  }
}

/** The body has what the requests of all hooks need. */
function bodyOf(cluster: KubeObject): string {
  return requestOf(cluster, {
    fromKubernetesVersion: FIRST_VERSION,
    toKubernetesVersion: NEXT_VERSION,
    kubernetesVersion: NEXT_VERSION,
  });
}

/** The flags of the shipped Deployment, with a shorter delay: the balancer hears of the shutdown sooner than a Service. */
const FLAGS = { "leader-elect": "true", namespace: NAMESPACE, "shutdown-delay-duration": "3s" };

export interface ReplicaOptions extends Pick<OperatorOptions, "flags" | "nodeFlags"> {
  readonly direct?: boolean;
}

export interface Replica {
  readonly name: string;
  readonly proxy: Proxy;
  operator: Operator;
  /** Starts it again on the same ports, with a log of its own. */
  readonly restart: (options?: { readonly waitReady: boolean }) => Promise<void>;
}

async function startReplica(
  cp: ControlPlane,
  name: string,
  { direct = false, ...options }: ReplicaOptions & Pick<OperatorOptions, "processes">,
): Promise<Replica> {
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", direct ? {} : { server: proxy.url });
  const flags = { ...FLAGS, ...options.flags };
  const ports = await operatorPorts();
  let starts = 0;
  const start = async (waitReady = true): Promise<Operator> =>
    await startShipped(cp, { ...options, flags, kubeconfig, ports, name: `${name}-${++starts}`, waitReady });
  const replica: Replica = {
    name,
    proxy,
    operator: await start(),
    restart: async ({ waitReady } = { waitReady: true }) => {
      replica.operator = await start(waitReady);
    },
  };
  return replica;
}

export class Lab {
  readonly cp: ControlPlane;
  readonly service: Balancer;
  readonly hook: HookName;
  readonly subjects: Subject[] = [];
  readonly replicas: Replica[] = [];
  /** PEM of the authorities that callers trust. */
  trusted: string;
  clusterApi: ClusterApi | undefined;
  /** A replica that ends does not fail the run. */
  readonly #processes: Processes;
  readonly #changing: Subject[] = [];
  readonly #cleanups: (() => Promise<void>)[] = [];
  readonly #background = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(cp: ControlPlane, service: Balancer, hook: HookName) {
    this.cp = cp;
    this.service = service;
    this.hook = hook;
    this.trusted = cp.authority.certificate;
    this.#processes = createProcesses(cp.folder);
  }

  /** Resolves when calls reach the new replica. */
  async addReplica(options: ReplicaOptions = {}): Promise<void> {
    const name = `replica-${this.replicas.length + 1}`;
    const replica = await startReplica(this.cp, name, { ...options, processes: this.#processes });
    this.replicas.push(replica);
    const { ports } = replica.operator;
    this.service.add(ports);
    await this.cp.waitFor("the Service to know it", () => this.service.ready(ports));
  }

  get firstReplica(): Replica {
    const [replica] = this.replicas;
    if (replica === undefined) throw new Error("there is no replica");
    return replica;
  }

  /** Adds Clusters that the policy of the namespace holds until they are approved. */
  async addSubjects(namespace: string, counts: Counts): Promise<void> {
    const approved = { annotations: { [APPROVED]: "true" } };
    await this.addClusters(namespace, numbered(counts.held, HELD));
    await this.addClusters(namespace, numbered(counts.approved, "approved"), { satisfied: "Yes" }, approved);
    this.#changing.push(...(await this.addClusters(namespace, numbered(counts.changing, "changing"))));
  }

  async addClusters(
    namespace: string,
    names: readonly string[],
    facts: Partial<Facts> = {},
    more: Partial<LabCluster> = {},
  ): Promise<readonly Subject[]> {
    const added: Subject[] = [];
    await inParallel(names, 10, async (name) => {
      const cluster = { namespace, name, version: NEXT_VERSION, workers: true, ...more };
      const object = await createCluster(this.cp, cluster);
      added.push(newSubject(object, { inForce: "Yes", evaluable: "Yes", satisfied: "No", ...facts }));
    });
    this.subjects.push(...added);
    return added;
  }

  /** From now on, calls are about the Clusters as they are. */
  async readAgain(): Promise<void> {
    await inParallel(this.subjects, 10, async (subject) => {
      const body = bodyOf(await this.cp.get(clusterRef(subject.namespace, subject.name)));
      subject.bodies = [body, body];
    });
  }

  of(namespace: string): readonly Subject[] {
    return this.subjects.filter((subject) => subject.namespace === namespace);
  }

  /** Stores POLICY, or one like it elsewhere; replicas may hear of it later. */
  async storePolicy(ref = POLICY): Promise<KubeObject> {
    return await storePolicy(this.cp, ref, { rules: [approvalRule(this.hook)] });
  }

  /** Repeats a write until the API server takes it. Until then the facts that it changes are Maybe. */
  async change(
    subjects: readonly Subject[],
    facts: Partial<Facts>,
    write: () => Promise<unknown>,
  ): Promise<void> {
    assume(subjects, Object.fromEntries(Object.keys(facts).map((fact) => [fact, "Maybe"])));
    await this.cp.waitFor("the API server to take a write", async () => {
      await write();
      return true;
    });
    assume(subjects, facts);
  }

  /** Approves each changing Cluster and takes the approval back, until `signal` aborts. */
  async changeApprovals(signal: AbortSignal): Promise<void> {
    const changing = this.#changing.map(async (subject) => {
      let approved = false;
      await repeat(CHANGE_MS, signal, async () => {
        approved = !approved;
        await this.#approve(subject, approved);
      });
    });
    await Promise.all(changing);
  }

  async #approve(subject: Subject, approved: boolean): Promise<void> {
    const ref = clusterRef(subject.namespace, subject.name);
    const patch = { metadata: { annotations: { [APPROVED]: approved ? "true" : null } } };
    await this.change([subject], { satisfied: approved ? "Yes" : "No" }, async () => {
      subject.bodies = [bodyOf(await this.cp.patch(ref, patch)), subject.bodies[0]];
    });
  }

  /** Repeats `work` until the fault is healed, also where it fails. */
  inBackground(everyMs: number, work: () => Promise<unknown>): void {
    const { signal } = this.#background;
    this.#running.push(repeat(everyMs, signal, async () => await work().catch(() => undefined)));
  }

  async endBackground(): Promise<void> {
    this.#background.abort();
    await Promise.all(this.#running);
  }

  onStop(cleanup: () => Promise<void>): void {
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
