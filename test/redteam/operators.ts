/** Operators without a control plane: real store, confirmation and handlers; what the API server has is set by the test. */

import type { HookOverride, HookPolicyStatus } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import type { WatchedObject } from "../../src/policy/watched-objects.ts";
import { HOOK_NAMES, type HookCall, type HookName, type HookResponse } from "../../src/api/runtime-hooks.ts";
import type { LiveReader } from "../../src/decisions/live-reads.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { AnswerLog } from "../../src/report/answer-log.ts";
import { createHandler, type HookHandler } from "../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../src/server/bodies.ts";
import { clusterKey } from "../../src/views/cluster.ts";
import type { ServedHooks } from "../../src/api/hook-catalog.ts";
import { ALL_HOOKS, namespace, NOW } from "../unit/builders.ts";
import {
  type Fixture,
  keyOf,
  passTo,
  policyList,
  silent,
  statusOf,
  storeWith,
} from "../unit/memory/fixtures.ts";
import { testConfirmer } from "../unit/decisions/confirmer.ts";

export const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

/** That something of this name exists. */
export function configMap(name: string): WatchedObject {
  return { metadata: { name, namespace: "platform", uid: `uid-${name}`, resourceVersion: "9" } };
}

interface Operator {
  readonly fixture: Fixture;
  readonly handlers: ReadonlyMap<HookName, HookHandler>;
}

interface Setup {
  readonly policies: readonly PolicyObject[];
  readonly overrides?: readonly HookOverride[];
  readonly clusters?: readonly Cluster[];
  readonly objects?: readonly WatchedObject[];
  readonly count?: number;
  /** Absent: by the newest Cluster API. */
  readonly served?: ServedHooks;
  /** They decide about each call, whatever they have answered before. */
  readonly decidesAnew?: boolean;
}

/** Of the Clusters, and of the ConfigMaps. */
const NAMESPACES = [namespace(), namespace({ name: "platform", uid: "uid-platform" })];

/** They see each change at once, but for what is only written; and each other's statuses when these are written. */
export class Operators {
  /** What the API server has. */
  readonly clusters = new Map<string, Cluster>();
  /** All ConfigMaps, whatever the namespace. */
  objects: readonly WatchedObject[];
  /** Reads of objects fail. */
  objectsFail = false;
  /** Called before and after each read of a Cluster: what changes there changes between the reads of a confirmation. */
  onRead: () => void = () => undefined;
  afterRead: () => void = () => undefined;
  /** The API server's clock, while the operators' shows `now`; absent: its responses do not tell. */
  serverNow: ((now: Date) => Date) | undefined = (now) => now;
  /** Why releases were not confirmed. */
  readonly unconfirmed: string[] = [];
  /** What memory has of them. */
  #seenObjects: readonly WatchedObject[];
  #unseen: Cluster[] = [];
  readonly policies = new Map<string, PolicyObject>();
  readonly #overrides: readonly HookOverride[];
  readonly #operators: readonly Operator[];
  readonly #served: ServedHooks;
  readonly #decidesAnew: boolean;
  #now = NOW;
  #version = 1000;

  constructor({
    policies,
    overrides = [],
    clusters = [],
    objects = [],
    count = 2,
    served = ALL_HOOKS,
    decidesAnew = false,
  }: Setup) {
    this.objects = objects;
    this.#seenObjects = objects;
    for (const policy of policies) this.policies.set(keyOf(policy), policy);
    for (const cluster of clusters) this.clusters.set(clusterKey(cluster), cluster);
    this.#overrides = overrides;
    this.#served = served;
    this.#decidesAnew = decidesAnew;
    this.#operators = Array.from({ length: count }, () => this.#start());
  }

  #start(): Operator {
    const fixture = storeWith({
      policies: [...this.policies.values()],
      overrides: [...this.#overrides],
      clusters: [...this.clusters.values()],
      namespaces: [...NAMESPACES],
      objects: { find: () => ({ ok: true, namespaced: true, objects: this.#seenObjects }) },
      served: this.#served,
    });
    const { store } = fixture;
    const now = (): Date => this.#now;
    const reader = this.#reader();
    const confirmer = testConfirmer({
      store,
      reader,
      now,
      // Answers must not depend on how fast the machine is.
      ownBudgetMs: Infinity,
    });
    const deps = {
      source: {
        loaded: () => store.loaded,
        known: () => undefined,
        mayHaveTasks: () => true,
        storeTasks: async () => await Promise.resolve(false),
        inTurn: <T>(_: unknown, decide: () => T): T => decide(),
        ask: store.decider.ask.bind(store.decider),
        validity: this.#decidesAnew ? () => undefined : store.decider.validity.bind(store.decider),
        confirm: confirmer.confirm.bind(confirmer),
      },
      metrics: {
        answered: () => undefined,
        unconfirmed: (reason: string) => this.unconfirmed.push(reason),
        discovered: () => undefined,
      },
      answers: new AnswerLog({ log: silent, everyCall: false }),
      log: silent,
      warnRateLimited: () => undefined,
      now,
    };
    const handlers = new Map(
      HOOK_NAMES.map((hook) => [hook, createHandler(hook, this.#served.blocking.has(hook), deps)]),
    );
    return { fixture, handlers };
  }

  #reader(): LiveReader {
    const metadataOf = (kind: string): PolicyObject["metadata"][] =>
      [...this.policies.values()].filter((policy) => policy.kind === kind).map(({ metadata }) => metadata);
    return {
      policies: async (kind) => policyList(metadataOf(kind)),
      cluster: async (ns, name) => {
        this.onRead();
        const cluster = this.clusters.get(`${ns}/${name}`);
        if (cluster === undefined) throw new Error("not found");
        this.afterRead();
        return cluster;
      },
      namespace: async () => namespace(),
      namespaces: async () => NAMESPACES,
      rollouts: async () => [],
      definition: async (kind) => kind,
      overrides: async () => this.#overrides.map(({ metadata }) => metadata),
      objects: async ({ name }) => {
        if (this.objectsFail) throw new Error("500 conversion webhook");
        const objects = this.objects.filter(({ metadata }) => name === undefined || metadata.name === name);
        return { ok: true, namespaced: true, objects };
      },
      tasks: async () => await Promise.reject(new Error("not read")),
      clockAheadMs: (now) => this.serverNow && now.getTime() - this.serverNow(now).getTime(),
      reasonOf: () => "NotFound",
    };
  }

  get now(): Date {
    return this.#now;
  }

  /** In steps, so that what is due is done when it is due. */
  passTo(to: Date, stepMs = 60_000): void {
    while (this.#now < to) {
      this.#now = new Date(Math.min(to.getTime(), this.#now.getTime() + stepMs));
      for (const { fixture } of this.#operators) passTo(fixture, this.#now);
    }
  }

  /** Somebody sets it. */
  setClock(to: Date): void {
    this.#now = to;
    for (const { fixture } of this.#operators) passTo(fixture, to);
  }

  set(cluster: Cluster): void {
    this.write(cluster);
    this.catchUp("watch");
  }

  /** Memory lags behind until it catches up. */
  write(cluster: Cluster): void {
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const stored = { ...cluster, metadata: { ...cluster.metadata, resourceVersion } };
    this.clusters.set(clusterKey(stored), stored);
    this.#unseen.push(stored);
  }

  /** A watch shows every version, a list the last one only. */
  catchUp(by: "watch" | "list"): void {
    const unseen = by === "watch" ? this.#unseen : this.#unseen.slice(-1);
    this.#unseen = [];
    for (const cluster of unseen) for (const { fixture } of this.#operators) fixture.setCluster(cluster);
    if (this.#seenObjects === this.objects) return;
    this.#seenObjects = this.objects;
    for (const { fixture } of this.#operators) {
      fixture.store.objectsChanged(CONFIG_MAP);
      fixture.store.wake();
    }
  }

  remove(key: string): void {
    this.catchUp("watch");
    this.clusters.delete(key);
    for (const { fixture } of this.#operators) fixture.setCluster(undefined, key);
  }

  /** As somebody who may writes it. */
  writeStatus(policy: PolicyObject, status: HookPolicyStatus): void {
    this.#version += 1;
    const key = keyOf(policy);
    const { metadata, ...rest } = this.policies.get(key) ?? policy;
    const written = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) }, status };
    this.policies.set(key, written);
    for (const { fixture } of this.#operators) fixture.setPolicy(written);
  }

  /** All write what they want to, until none does any more. */
  settle(): void {
    for (let round = 0; round < 12; round += 1) if (!this.#writeAll()) return;
    throw new Error("they answer each other's writes for ever");
  }

  #writeAll(): boolean {
    let wrote = false;
    for (const { fixture } of this.#operators) {
      for (const policy of this.policies.values()) {
        const status = statusOf(fixture, policy);
        if (JSON.stringify(status) === JSON.stringify(policy.status)) continue;
        wrote = true;
        this.writeStatus(policy, status);
      }
    }
    return wrote;
  }

  statusOf(policy: PolicyObject): HookPolicyStatus | undefined {
    return this.policies.get(keyOf(policy))?.status;
  }

  /** One of them is asked, in bytes. */
  async ask(index: number, call: HookCall, cluster: Cluster): Promise<HookResponse> {
    return await this.askInBytes(index, call.hook, requestFor(call, cluster));
  }

  async askInBytes(index: number, hook: HookName, body: Buffer): Promise<HookResponse> {
    const handler = this.#operators[index]?.handlers.get(hook);
    if (handler === undefined) throw new Error(`no operator ${index}`);
    const whole = new WholeBody([body]);
    return JSON.parse(handler.repeat(whole) ?? (await handler.handle(whole)));
  }

  /** All that they told, in order, but for when. */
  get told(): readonly string[] {
    return this.#operators.flatMap(({ fixture: { holds, events } }) =>
      [...holds, ...events].map(({ identity, note }) => `${identity}: ${note}`),
    );
  }

  /** Keys of everything that was to be reconciled. */
  get dirty(): readonly string[] {
    return this.#operators.flatMap(({ fixture }) => fixture.dirty);
  }

  usedOverrides(): unknown {
    return this.#operators.map(({ fixture: { store } }) =>
      [...store.overrides.entries()].map(({ used }) => used),
    );
  }

  stop(): void {
    for (const { fixture } of this.#operators) fixture.store.stop();
  }
}

function requestFor({ hook: _, ...versions }: HookCall, cluster: Cluster): Buffer {
  const { metadata, topology, paused, progress } = cluster;
  const raw = {
    metadata,
    spec: {
      paused,
      ...(topology && { topology: { classRef: { name: topology.className }, version: topology.version } }),
    },
    status: {
      conditions: [
        {
          type: "TopologyReconciled",
          status: "False",
          message: `Following hooks are blocking upgrade: ${progress?.heldAt}: no`,
        },
      ],
    },
  };
  return Buffer.from(JSON.stringify({ ...versions, cluster: raw }));
}
