/** Operators without a control plane: real store, confirmation and handlers; what the API server has is set by the test. */

import { hash } from "node:crypto";
import type { HookOverride, HookPolicyStatus } from "../../src/api/hookpolicy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import { HOOK_NAMES, type HookCall, type HookName, type HookResponse } from "../../src/api/runtimehooks.ts";
import { Confirmer } from "../../src/controller/confirmation.ts";
import type { LiveReader } from "../../src/controller/livereads.ts";
import type { PolicyObject } from "../../src/controller/policyset.ts";
import { AnswerLog } from "../../src/hooks/answerlog.ts";
import { createHandler, type HookHandler } from "../../src/hooks/handler.ts";
import { describeTransition } from "../../src/manager/eventtext.ts";
import { clusterKey } from "../../src/policy/cluster.ts";
import type { ServedHooks } from "../../src/policy/compile.ts";
import { ALL_HOOKS, namespace, NOW } from "../unit/builders.ts";
import { type Fixture, keyOf, passTo, silent, statusOf, storeWith } from "../unit/controller/fixtures.ts";

interface Operator {
  readonly fixture: Fixture;
  readonly handlers: ReadonlyMap<HookName, HookHandler>;
}

interface Given {
  readonly policies: readonly PolicyObject[];
  readonly overrides?: readonly HookOverride[];
  readonly clusters?: readonly Cluster[];
  readonly count?: number;
  /** Absent: by the newest Cluster API. */
  readonly served?: ServedHooks;
}

/** They see each change at once, and each other's statuses when these are written. */
export class Operators {
  readonly clusters = new Map<string, Cluster>();
  readonly policies = new Map<string, PolicyObject>();
  readonly #overrides: readonly HookOverride[];
  readonly #operators: readonly Operator[];
  readonly #served: ServedHooks;
  #now = NOW;
  #version = 1000;

  constructor({ policies, overrides = [], clusters = [], count = 2, served = ALL_HOOKS }: Given) {
    for (const policy of policies) this.policies.set(keyOf(policy), policy);
    for (const cluster of clusters) this.clusters.set(clusterKey(cluster), cluster);
    this.#overrides = overrides;
    this.#served = served;
    this.#operators = Array.from({ length: count }, () => this.#start());
  }

  #start(): Operator {
    const fixture = storeWith({
      policies: [...this.policies.values()],
      overrides: [...this.#overrides],
      clusters: [...this.clusters.values()],
      served: this.#served,
    });
    const { store } = fixture;
    const now = (): Date => this.#now;
    const reader = this.#reader();
    const confirmer = new Confirmer({ store, reader, log: silent, now, onStale: () => undefined });
    const deps = {
      source: {
        loaded: () => store.loaded,
        ask: store.ask.bind(store),
        standing: store.standing.bind(store),
        confirm: confirmer.confirm.bind(confirmer),
      },
      metrics: { answered: () => undefined, unconfirmed: () => undefined, discovered: () => undefined },
      answers: new AnswerLog({ log: silent, everyCall: false }),
      log: silent,
      complain: () => undefined,
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
      policies: async (kind) => metadataOf(kind),
      cluster: async (ns, name) => {
        const cluster = this.clusters.get(`${ns}/${name}`);
        if (cluster === undefined) throw new Error("not found");
        return cluster;
      },
      namespace: async () => namespace(),
      overrides: async () => this.#overrides.map(({ metadata }) => metadata),
      objects: async () => ({ ok: true, namespaced: true, objects: [] }),
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

  set(cluster: Cluster): void {
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const stored = { ...cluster, metadata: { ...cluster.metadata, resourceVersion } };
    this.clusters.set(clusterKey(stored), stored);
    for (const { fixture } of this.#operators) fixture.setCluster(stored);
  }

  remove(key: string): void {
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
    const body = requestFor(call, cluster);
    const digest = hash("sha256", body);
    const handler = this.#operators[index]?.handlers.get(call.hook);
    if (handler === undefined) throw new Error(`no operator ${index}`);
    return JSON.parse(handler.repeat?.(digest) ?? (await handler.handle(body, digest)));
  }

  /** All that they told, in order, but for when. */
  get told(): readonly string[] {
    return this.#operators.flatMap(({ fixture: { holds, transitions } }) =>
      [...holds, ...transitions].map(describeTransition).map(({ identity, note }) => `${identity}: ${note}`),
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

export function requestFor({ hook: _, ...versions }: HookCall, cluster: Cluster): Buffer {
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
