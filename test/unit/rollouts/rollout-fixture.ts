/** A `Rollouts` of one replica with its informers, and the API server that it reads and writes. */

import { servedHooks } from "../../../src/api/hook-catalog.ts";
import type { HookRollout, HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster, Namespace, StoredNamespace } from "../../../src/api/meta.ts";
import type { Lister, NotCalled } from "../../../src/memory/memory.ts";
import type { DecisionRequest, Override, World } from "../../../src/policy/world.ts";
import type { RolloutApi } from "../../../src/rollouts/rollout-api.ts";
import { RolloutReconciler } from "../../../src/rollouts/rollout-reconciler.ts";
import { scopeOf } from "../../../src/rollouts/rollout.ts";
import { Rollouts, type RolloutsOptions } from "../../../src/rollouts/rollout-decisions.ts";
import type { Confirmation, Decision } from "../../../src/policy/decision.ts";
import { NOTHING_READ } from "../../../src/policy/watched-objects.ts";
import { clusterMeta, hookRollout, NOW, readyStatus, TARGET, waitingCluster } from "./fixtures.ts";

export { waitingCluster } from "./fixtures.ts";

/** Of the API server; a test may replace any of its answers. */
class FakeApi implements RolloutApi {
  readonly stored = new Map<string, HookRollout>();
  readonly clusters = new Map<string, Cluster>();
  readonly present = new Map<string, Namespace>();
  readonly requests: string[] = [];
  /** Happens before the next write is looked at. */
  beforeWrite: () => void = () => undefined;
  /** Happens after the next write was applied. */
  afterWrite: () => void = () => undefined;
  /** Of the API server, while the replica's clock shows `now`; `undefined`: its responses do not tell. */
  serverNow: ((now: Date) => Date) | undefined = (now) => now;
  #version = 10;

  clockAheadMs(now: Date): number | undefined {
    return this.serverNow && now.getTime() - this.serverNow(now).getTime();
  }

  get version(): string {
    return String(this.#version);
  }

  put(object: HookRollout): HookRollout {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const stored = { ...object, metadata };
    this.stored.set(metadata.name, stored);
    return stored;
  }

  running(name: string): readonly string[] {
    return this.stored.get(name)?.status?.running?.map((claim) => claim.name) ?? [];
  }

  /** As a confirmation lists them. */
  async rollouts() {
    this.requests.push("list rollouts");
    return await Promise.resolve([...this.stored.values()].map(({ metadata }) => metadata));
  }

  async getRollout(name: string) {
    this.requests.push(`get ${name}`);
    return await Promise.resolve(this.stored.get(name));
  }

  async members() {
    this.requests.push("list members");
    return await Promise.resolve([...this.clusters.values()].map(({ metadata }) => metadata));
  }

  async namespaces() {
    this.requests.push("list namespaces");
    return await Promise.resolve([...this.present.values()]);
  }

  async findCluster(namespace: string, name: string) {
    return await Promise.resolve(this.clusters.get(`${namespace}/${name}`));
  }

  async replaceRolloutStatus(object: HookRollout, status: HookRolloutStatus) {
    this.requests.push(`write ${object.metadata.name}`);
    await Promise.resolve();
    this.beforeWrite();
    const known = this.stored.get(object.metadata.name);
    if (known === undefined) return undefined;
    if (known.metadata.resourceVersion !== object.metadata.resourceVersion) throw new Error("conflict");
    const stored = this.put({ ...known, status });
    this.afterWrite();
    return stored;
  }

  isConflict(error: unknown): boolean {
    return error instanceof Error && error.message === "conflict";
  }
}

export const marked = (name: string, labels = {}): Cluster =>
  waitingCluster(name, { metadata: clusterMeta(name, labels, true), progress: { begun: true } });

function lister<T>(map: ReadonlyMap<string, T>): Lister<T> {
  return { get: (key) => map.get(key), byNamespace: () => map.values(), list: () => map.values() };
}

export interface Setup {
  readonly specs?: Readonly<Record<string, Partial<HookRolloutSpec>>>;
  readonly status?: HookRolloutStatus;
  readonly clusters?: readonly Cluster[];
  /** How long the slots may take; default: for ever. */
  readonly budgetMs?: number;
  readonly compile?: RolloutsOptions["compile"];
  readonly turnMs?: number;
  /** The minor version of Cluster API. */
  readonly capi?: number;
}

export type Replica = ReturnType<typeof replicaOf>;

/** The rollouts are in memory and in the API server, as are the Clusters. */
export function replicaOf({
  specs = { upgrades: {} },
  status = readyStatus(),
  clusters = [],
  budgetMs = Infinity,
  compile,
  turnMs = Infinity,
  capi = 14,
}: Setup) {
  const api = new FakeApi();
  const known = new Map<string, Cluster>();
  const namespace: Namespace = { metadata: { name: "fleet", uid: "fleet", resourceVersion: "1" } };
  const namespaces = new Map<string, StoredNamespace>([["fleet", namespace]]);
  api.present.set("fleet", namespace);
  const time = { now: NOW, nowMs: 0 };
  const errors: unknown[] = [];
  const policiesHold = new Set<string>();
  const seen = { dirty: 0, demands: 0, stale: 0, transitions: 0 };
  const world = {
    clusters: lister(known),
    namespaces: lister(namespaces),
    served: servedHooks(capi),
    decider: {
      firstAsked: () => NOW,
      overridesOf: () => [],
      policiesHold: (cluster: Cluster) => policiesHold.has(cluster.metadata.name),
      worldOf: (cluster: Cluster): World => ({ cluster, namespace, objects: NOTHING_READ, overrides: [] }),
    },
    now: () => time.now,
    nowMs: () => time.nowMs,
    // How much is done at a time must not depend on how fast the machine is.
    turnMs,
    ...(compile !== undefined && { compile }),
  };
  const rollouts = new Rollouts({
    ...world,
    api,
    enqueue: () => (seen.dirty += 1),
    onDemands: () => (seen.demands += 1),
    onError: (error) => errors.push(error),
    onStale: () => (seen.stale += 1),
    reasonOf: (error) => (error instanceof Error ? error.message : "unknown"),
  });
  const leader = { leads: true };
  const calls: { notCalled: NotCalled } = { notCalled: undefined };
  const reconciler = new RolloutReconciler({
    rollouts,
    api,
    clusters: world.clusters,
    served: world.served,
    leading: () => leader.leads,
    tasks: { known: () => undefined, read: async () => await Promise.resolve(undefined) },
    loaded: () => true,
    notCalled: () => calls.notCalled,
    now: world.now,
    nowMs: world.nowMs,
    onStored: () => (seen.transitions += 1),
  });
  const put = (cluster: Cluster): void => {
    const key = `fleet/${cluster.metadata.name}`;
    const before = known.get(key);
    known.set(key, cluster);
    api.clusters.set(key, cluster);
    rollouts.clusterChanged(before, cluster);
  };
  const load = (name: string, spec: Partial<HookRolloutSpec>, generation = 1, has = status): void => {
    const object = hookRollout(spec, has);
    const metadata = { ...object.metadata, name, uid: `rollout-${name}`, generation };
    rollouts.rolloutChanged(name, api.put({ ...object, metadata }));
  };
  for (const [name, spec] of Object.entries(specs)) load(name, spec);
  clusters.forEach(put);
  const remove = (name: string): void => {
    const before = known.get(`fleet/${name}`);
    known.delete(`fleet/${name}`);
    api.clusters.delete(`fleet/${name}`);
    rollouts.clusterChanged(before, undefined);
  };
  const storedStatus = (): HookRolloutStatus => api.stored.get("upgrades")?.status ?? {};
  return {
    api,
    budgetMs,
    /** Of the rollout "upgrades", as the API server has it. */
    status: storedStatus,
    /** The same, once it was reconciled. */
    reconciled: async (): Promise<HookRolloutStatus> => {
      await reconciler.reconcile("upgrades");
      return storedStatus();
    },
    rollouts,
    reconciler,
    leader,
    calls,
    time,
    errors,
    seen,
    put,
    load,
    remove,
    known,
    namespace,
    namespaces,
    policiesHold,
  };
}

/** Its rollout "upgrades" has this spec, and a status that was computed for it. */
export function scopedReplica(
  spec: Partial<HookRolloutSpec>,
  status: Partial<HookRolloutStatus>,
  clusters: readonly Cluster[],
): Replica {
  const scope = scopeOf(hookRollout(spec).spec);
  return replicaOf({ specs: { upgrades: spec }, status: readyStatus({ scope, ...status }), clusters });
}

const CALL = { hook: "BeforeClusterUpgrade", toKubernetesVersion: TARGET } as const;

export function requestOf(cluster: Cluster, call: DecisionRequest["call"] = CALL): DecisionRequest {
  return { call, cluster };
}

/** Every policy releases the Cluster. */
export function released(
  cluster: Cluster,
  overrides: readonly Override[] = [],
  namespace: Namespace = { metadata: { name: "fleet", uid: "fleet", resourceVersion: "1" } },
): Decision {
  const world: World = {
    cluster,
    namespace,
    objects: { find: () => ({ ok: false, reason: "ObjectsNotRead", message: "" }) },
    overrides,
  };
  return {
    verdict: "Allowed",
    holds: false,
    retryAfterSeconds: 0,
    message: "",
    trace: [],
    basis: { source: "ApiServer", world, policies: [] },
  };
}

/** After the rollouts were listed with the policies (decisions/confirmation.ts). */
export async function confirmAfterList(
  { api, rollouts, budgetMs }: Replica,
  request: DecisionRequest,
  decision: Decision,
): Promise<Confirmation> {
  const snapshot = rollouts.snapshot(request.call.hook);
  const live = await api.rollouts();
  if (snapshot?.hasAll(live, api.version) === false) return { ok: false, reason: "RolloutNotInMemory" };
  return await rollouts.takeSlots(request, decision, snapshot, budgetMs);
}

/** Memory has released it, and says that it is its turn: what the API server says. */
export async function confirm(
  replica: Replica,
  cluster: Cluster,
  overrides: readonly Override[] = [],
  namespace?: Namespace,
): Promise<Confirmation> {
  const { rollouts } = replica;
  const queues = rollouts.entries().map(({ queue }) => queue);
  for (const queue of queues) queue.mayBegin = () => true;
  try {
    return await confirmAfterList(replica, requestOf(cluster), released(cluster, overrides, namespace));
  } finally {
    for (const queue of queues) Reflect.deleteProperty(queue, "mayBegin");
  }
}

export function reasonOf(confirmation: Confirmation): string {
  if (!confirmation.ok) return confirmation.reason;
  const { holds, rollout } = confirmation.decision;
  return holds ? (rollout?.reason ?? "held") : "go";
}

export function ask({ rollouts }: Replica, cluster: Cluster, overrides: readonly Override[] = []): string {
  const { holds, rollout } = rollouts.ask(requestOf(cluster), released(cluster, overrides));
  return holds ? (rollout?.reason ?? "held") : "go";
}
