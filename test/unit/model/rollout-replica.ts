/**
 * One replica as far as HookRollouts go: the real Rollouts with their claims, the real reconciler, and the real confirmation
 * of policies and rollouts together, over the real adapter to the API server. A policy is there and holds, or is not.
 * Informers bring one object at a time, as it is then.
 */

import assert from "node:assert/strict";
import type { HookRollout } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import type { Confirmer, RolloutComparison } from "../../../src/decisions/confirmation.ts";
import type { DecisionRequest } from "../../../src/policy/world.ts";
import type { RolloutApi } from "../../../src/rollouts/rollout-api.ts";
import { decisionsBy } from "../decisions/confirmer.ts";
import type { TaskBeginner } from "../../../src/decisions/decisions.ts";
import { RolloutReconciler } from "../../../src/rollouts/rollout-reconciler.ts";
import { Rollouts } from "../../../src/rollouts/rollout-decisions.ts";
import { storedRollout } from "../../../src/memory/stored-views.ts";
import { ClusterResource } from "../../../src/kube/cluster-resource.ts";
import { namespacedName } from "../../../src/lib/keys.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { ObjectInformers } from "../../../src/objects/object-informers.ts";
import { ApiServerAdapter } from "../../../src/adapters/api-server.ts";
import { viewCluster } from "../../../src/views/cluster.ts";
import type { Confirmation, Decision } from "../../../src/policy/decision.ts";
import { type CompiledRollout, compileRollout } from "../../../src/rollouts/rollout.ts";
import { ALL_HOOKS, NO_OBJECTS } from "../builders.ts";
import { type ApiModel, clientOf, type Request } from "./api-server.ts";
import type { Step } from "./explorer.ts";
import { minutes, reached, told } from "./rollout-spies.ts";
import { requestSteps, running, type Task } from "./task.ts";

const NO_TASKS: TaskBeginner = {
  begin: async () => await Promise.resolve([]),
  storeAll: async () => await Promise.resolve(true),
};

/** What memory keeps of time is told in minutes: they pass as steps of their own. */
export interface RolloutClock {
  readonly now: () => Date;
  /** The API server's. */
  readonly serverNow: () => Date;
  /** Monotonic; moves a little with each step. */
  readonly nowMs: () => number;
}

/** A fault that is built in: the model must find it. */
export interface Weakness {
  /** What claims and reconcilers use in place of the API server. */
  readonly api?: (api: RolloutApi, replica: RolloutReplica, of: "claims" | "statuses") => RolloutApi;
  /** How many times too fast the clock of the reconciler runs. */
  readonly haste?: number;
  /** Policies are not looked at again once the Cluster has its slot. */
  readonly looksOnce?: boolean;
}

export interface RolloutSurroundings {
  readonly api: ApiModel;
  readonly clock: RolloutClock;
  readonly firstAsked: Date;
  readonly leading: () => boolean;
  /** Requests whose way is followed step by step; others are answered at once. */
  readonly follows: (what: string) => boolean;
  /** A write is done in one step, and heard of in another. */
  readonly isFine: boolean;
  readonly weakness?: Weakness;
}

const HOOK = "BeforeClusterUpgrade";
const KINDS = ["hookrollouts", "clusters"] as const;

type Versions = Map<string, string>;

const compiled = new Map<string, CompiledRollout>();

/** A model starts thousands of replicas with the same few rollouts: half of its time would go to compiling them. */
function compileRolloutOnce(object: HookRollout): CompiledRollout {
  const key = JSON.stringify([{ ...object.metadata, resourceVersion: undefined }, object.spec]);
  const rollout = compiled.get(key) ?? compileRollout(object);
  compiled.set(key, rollout);
  return rollout;
}

export class RolloutReplica {
  readonly name: string;
  readonly clusters = new Map<string, Cluster>();
  readonly rollouts: Rollouts;
  readonly #surroundings: RolloutSurroundings;
  readonly #reconciler: RolloutReconciler;
  readonly #seen: Readonly<Record<(typeof KINDS)[number], Versions>> = {
    hookrollouts: new Map(),
    clusters: new Map(),
  };
  readonly #tasks = new Set<Task>();
  readonly #ended = new Set<Task>();
  /** What the reconciler keeps to itself: since when it has known each claim, and what it found at which minute. */
  readonly #claims = new Map<string, number>();
  readonly #found = new Set<string>();
  readonly #firsts = new Map<string, number>();
  readonly #unhealthy = new Map<string, number>();
  readonly #dirty = new Set<string>();

  constructor(name: string, surroundings: RolloutSurroundings) {
    const { api, clock, firstAsked, leading, follows, weakness = {} } = surroundings;
    this.name = name;
    this.#surroundings = surroundings;
    const send = (request: Request): void => {
      const task = running.getStore();
      if (task !== undefined && follows(request.what)) {
        task.requests.add(request);
        return;
      }
      request.perform();
      // A task keeps what it has listed, also where it reads the rollout again after a conflict.
      if (request.what.startsWith("list clusters"))
        task?.heard.push(JSON.stringify(api.list("clusters").map(({ metadata }) => marksOf(metadata))));
      request.answer?.deliver();
    };
    const aheadMs = (now: Date): number => now.getTime() - clock.serverNow().getTime();
    const client = clientOf(api, send, { aheadMs });
    const clusters = {
      get: (key: string) => this.clusters.get(key),
      byNamespace: () => this.clusters.values(),
      list: () => [...this.clusters.values()],
    };
    const version = (): string => this.#version();
    const memory = {
      ...clusters,
      get version() {
        return version();
      },
      moved: () => assert.fail("it has no time"),
    };
    const adapter: RolloutApi = new ApiServerAdapter({
      client,
      clusters: new ClusterResource(client),
      objects: {} as ObjectInformers,
      memory: () => memory,
      patienceMs: 0,
    });
    const apiOf = (of: "claims" | "statuses"): RolloutApi => weakness.api?.(adapter, this, of) ?? adapter;
    const { haste = 1 } = weakness;
    this.rollouts = new Rollouts({
      ...clock,
      api: apiOf("claims"),
      clusters,
      namespaces: { get: () => undefined, byNamespace: () => [], list: () => [] },
      served: ALL_HOOKS,
      decider: {
        firstAsked: () => firstAsked,
        policiesHold: () => false,
        overridesOf: () => [],
        worldOf: (cluster) => ({ cluster, namespace: undefined, objects: NO_OBJECTS, overrides: [] }),
      },
      enqueue: (rollout) => this.#dirty.add(rollout),
      onDemands: () => undefined,
      onError: () => undefined,
      onStale: () => undefined,
      reasonOf: String,
      turnMs: Infinity,
      compile: compileRolloutOnce,
    });
    this.#reconciler = new RolloutReconciler({
      rollouts: this.rollouts,
      api: apiOf("statuses"),
      clusters,
      served: ALL_HOOKS,
      leading,
      tasks: { known: () => undefined, read: async () => await Promise.resolve(undefined) },
      loaded: () => true,
      now: clock.now,
      nowMs: () => haste * clock.nowMs(),
      onStored: () => undefined,
    });
  }

  /** The deliveries that its informers have before them. */
  unseen(): { readonly name: string; deliver(): void }[] {
    const { api } = this.#surroundings;
    return KINDS.flatMap((kind) => {
      const seen = this.#seen[kind];
      const live = new Map(
        api.list(kind).map((raw) => [namespacedName(raw.metadata), raw.metadata.resourceVersion]),
      );
      return [...new Set([...seen.keys(), ...live.keys()])]
        .filter((key) => seen.get(key) !== live.get(key))
        .map((key) => ({ name: `sees ${kind}/${key}`, deliver: () => this.#see(kind, key) }));
    });
  }

  /** A watch brings every change in order: memory is the state before the first that it has not brought. */
  #version(): string {
    const { api } = this.#surroundings;
    const seen = this.#seen.clusters;
    const missing = api
      .events("clusters")
      .filter(({ key, version }) => version > Number(seen.get(key) ?? 0) && this.#isUnseen(key));
    const [first = api.version("clusters") + 1] = missing.map(({ version }) => version);
    return String(first - 1);
  }

  #isUnseen(key: string): boolean {
    const live = this.#surroundings.api.get("clusters", key);
    return this.#seen.clusters.get(key) !== live?.metadata.resourceVersion;
  }

  #see(kind: (typeof KINDS)[number], key: string): void {
    const raw = this.#surroundings.api.get(kind, key);
    const seen = this.#seen[kind];
    if (raw === undefined) seen.delete(key);
    else seen.set(key, raw.metadata.resourceVersion);
    if (kind === "hookrollouts") {
      this.rollouts.rolloutChanged(key, raw && storedRollout(raw));
      return;
    }
    const before = this.clusters.get(key);
    const now = raw && viewCluster(raw);
    if (now === undefined) this.clusters.delete(key);
    else this.clusters.set(key, now);
    this.rollouts.clusterChanged(before, now);
  }

  /** A poll that finds everything as the last one did does nothing, and is left out. */
  look(): void {
    for (const { rollout } of this.rollouts.entries()) this.#dirty.add(rollout.name);
  }

  rest(): void {
    this.#dirty.clear();
  }

  /** A Cluster left a slot unused, and takes none until a minute has passed. */
  get rests(): boolean {
    const now = minutes(this.#surroundings.clock.nowMs());
    return this.rollouts
      .entries()
      .flatMap(({ queue }) => [...(told.get(queue) ?? [])])
      .some(([what, at]) => what.startsWith("leftUnused") && at === now);
  }

  steps(): Step[] {
    const own = (name: string, run: () => void): Step => ({ name: `${this.name} ${name}`, own: true, run });
    const { isFine } = this.#surroundings;
    const atOnce = (request: Request): boolean => !isFine || !isWrite(request);
    const works = new Set([...this.#tasks].filter((task) => !this.#ended.has(task)).map(({ name }) => name));
    return [
      ...this.unseen().map((each) => own(each.name, () => each.deliver())),
      ...[...this.#dirty]
        .filter((key) => this.#surroundings.leading() && !works.has(`reconciles ${key}`))
        .map((key) => own(`reconciles ${key}`, () => this.#reconcile(key))),
      ...[...this.#tasks].flatMap((task) => requestSteps(task, own, atOnce)),
    ];
  }

  /** Writes whose answer never comes: they were done, or are done later, or never. */
  failures(onLate: (request: Request) => void): Step[] {
    const fails = (task: Task, request: Request, what: string, before: () => void): Step => ({
      name: `${this.name} hears nothing of ${request.what}, ${what} (${task.name})`,
      own: false,
      run: () => {
        before();
        task.requests.delete(request);
        request.fail();
      },
    });
    return [...this.#tasks].flatMap((task) =>
      [...task.requests].filter(isWrite).flatMap((request) => [
        fails(task, request, "which is done", () => {
          if (request.answer === undefined) request.perform();
        }),
        ...(request.answer === undefined
          ? [fails(task, request, "which may be done later", () => onLate(request))]
          : []),
      ]),
    );
  }

  #reconcile(key: string): void {
    this.#dirty.delete(key);
    const entry = this.rollouts.get(key);
    this.#note(entry);
    this.#start(`reconciles ${key}`, this.#reconciler.reconcile.bind(this.#reconciler, key), (failed) => {
      if (failed) this.#dirty.add(key);
    });
  }

  #note(entry: ReturnType<Rollouts["get"]>): void {
    const now = minutes(this.#surroundings.clock.nowMs());
    const claims = entry?.status?.running ?? [];
    const keys = claims.map(({ uid, target, attempts, renewedAt }) =>
      JSON.stringify([uid, target, attempts, renewedAt]),
    );
    for (const key of this.#claims.keys()) if (!keys.includes(key)) this.#claims.delete(key);
    for (const key of keys) if (!this.#claims.has(key)) this.#claims.set(key, now);
    if (entry?.status?.scope === undefined) this.#found.add(`lost at ${now}`);
    this.#noteHealth(entry, now);
  }

  #noteHealth(entry: ReturnType<Rollouts["get"]>, now: number): void {
    for (const [key, cluster] of this.clusters) {
      const isUnhealthy = entry?.health(cluster) === "Unhealthy" && cluster.progress?.begun !== true;
      if (!isUnhealthy) this.#unhealthy.delete(key);
      else if (!this.#unhealthy.has(key)) this.#unhealthy.set(key, now);
    }
  }

  #start<T>(name: string, work: () => Promise<T>, onEnd: (failed: boolean, result?: T) => void): void {
    const task: Task = { name, heard: [], requests: new Set(), dirty: false };
    this.#tasks.add(task);
    running.run(task, () => {
      void work().then(
        (result) => {
          this.#ended.add(task);
          onEnd(false, result);
        },
        () => {
          this.#ended.add(task);
          onEnd(true);
        },
      );
    });
  }

  #requestFor(key: string): DecisionRequest {
    const cluster = viewCluster(this.#surroundings.api.get("clusters", key));
    const toKubernetesVersion = cluster.topology?.version ?? "";
    return { call: { hook: HOOK, fromKubernetesVersion: "v1.34.0", toKubernetesVersion }, cluster };
  }

  #holds(request: DecisionRequest): boolean {
    const { cluster } = request;
    return this.rollouts.ask(
      request,
      released(this.clusters.get(namespacedName(cluster.metadata)) ?? cluster),
    ).holds;
  }

  /** It was asked before the story begins. */
  asked(key: string): void {
    this.#holds(this.#requestFor(key));
  }

  /** As Cluster API calls; the Cluster was just read. */
  ask(key: string, onAnswer: (go: boolean) => void): void {
    const request = this.#requestFor(key);
    const { cluster } = request;
    this.look();
    if (this.#holds(request)) {
      onAnswer(false);
      return;
    }
    this.#start(
      `answers ${key}`,
      async () => await this.#confirm(request, released(cluster)),
      (_, confirmation) => onAnswer(confirmation?.ok === true && !confirmation.decision.holds),
    );
  }

  /** Its memory knows no policy. */
  async #confirm(request: DecisionRequest, decision: Decision): Promise<Confirmation> {
    const { weakness: { looksOnce = false } = {} } = this.#surroundings;
    let looks = 0;
    const confirm: Confirmer["confirm"] = async (_, options) => {
      looks += 1;
      return await Promise.resolve(this.#look(decision, options?.rollouts, looksOnce && looks > 1));
    };
    const releases = decisionsBy({ confirmer: { confirm }, rollouts: this.rollouts, tasks: NO_TASKS });
    return await releases.confirm(request);
  }

  /** At policies and rollouts as they are at one moment. */
  #look(decision: Decision, rollouts: RolloutComparison | undefined, isBlind: boolean): Confirmation {
    const { api, clock } = this.#surroundings;
    if (clock.now().getTime() !== clock.serverNow().getTime()) return { ok: false, reason: "ClockSkewed" };
    const [live, policies] = [api.list("hookrollouts"), api.list("hookpolicies")];
    // Answered at once, but what the confirmation does next depends on it.
    running.getStore()?.heard.push(JSON.stringify([live, policies].map((list) => list.map(metadataOf))));
    if (rollouts?.hasAll(live.map(metadataOf), String(api.version("hookrollouts"))) === false)
      return { ok: false, reason: "RolloutNotInMemory" };
    return { ok: true, decision: { ...decision, holds: policies.length > 0 && !isBlind } };
  }

  /** After each step: whose turn it is, and since when. */
  observe(): void {
    // The requests of one round can be made for those who came later.
    for (const task of this.#ended) if (task.requests.size === 0) this.#tasks.delete(task);
    const now = minutes(this.#surroundings.clock.nowMs());
    for (const { queue, rollout } of this.rollouts.entries()) {
      for (const { metadata } of this.clusters.values()) {
        const key = `${rollout.name} ${metadata.uid}`;
        if (!queue.mayBegin(metadata.uid)) this.#firsts.delete(key);
        else if (!this.#firsts.has(key)) this.#firsts.set(key, now);
      }
    }
  }

  /** Everything that what it does next depends on. */
  state(): unknown {
    const entries = this.rollouts
      .entries()
      .map((entry) => [entry.object, told.get(entry.queue), reached.get(entry)]);
    const tasks = [...this.#tasks].map((task) => {
      const { name, heard, requests } = task;
      const sent = [...requests].map(({ what, body, answer }) => [what, body, answer?.text]);
      return [name, this.#ended.has(task), heard, sent];
    });
    const seen = KINDS.map((kind) => new Set(this.#seen[kind].keys()));
    // A read of the present version and a look at memory are apart only where requests take their time.
    const version = this.#surroundings.isFine ? { resourceVersion: this.#version() } : undefined;
    return [
      version,
      entries,
      this.clusters,
      seen,
      this.#dirty,
      this.#claims,
      this.#firsts,
      this.#found,
      this.#unhealthy,
      tasks,
    ];
  }

  /** Nothing of it goes on; what the API server was asked for may be done still. */
  stop(): Request[] {
    return [...this.#tasks].flatMap(({ requests }) =>
      [...requests].filter((request) => isWrite(request) && request.answer === undefined),
    );
  }
}

/** What a slot is counted by. */
const marksOf = ({ name, annotations, labels }: KubeObject["metadata"]): unknown => [
  name,
  annotations,
  labels,
];

const metadataOf = ({ metadata }: KubeObject): KubeObject["metadata"] => metadata;

function isWrite({ what }: Request): boolean {
  return what.startsWith("put");
}

function released(cluster: Cluster): Decision {
  const world = { cluster, namespace: undefined, objects: NO_OBJECTS, overrides: [] };
  return {
    verdict: "Allowed",
    holds: false,
    retryAfterSeconds: 0,
    message: "",
    trace: [],
    basis: { source: "ApiServer", world, policies: [] },
  };
}
