/**
 * One replica of the operator: the real memory, reconciler, confirmation and handler, with the real adapter to the API
 * server, over a client, watches and a work queue whose every step is somebody's choice.
 */

import assert from "node:assert/strict";
import type { Cluster, Namespace } from "../../../src/api/meta.ts";
import type { HookName } from "../../../src/api/runtime-hooks.ts";
import { PendingOperations } from "../../../src/operations/operation.ts";
import type { Confirmer } from "../../../src/decisions/confirmation.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { PolicyReconciler } from "../../../src/status/policy-reconciler.ts";
import { DecisionStore } from "../../../src/memory/decision-store.ts";
import { AnswerLog } from "../../../src/report/answer-log.ts";
import { createHandler, type HookHandler } from "../../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import { namespacedName } from "../../../src/lib/keys.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { type Change, Store } from "../../../src/kube/object-store.ts";
import { ApiServerAdapter } from "../../../src/adapters/api-server.ts";
import { storedPolicy } from "../../../src/memory/stored-views.ts";
import { ClusterResource } from "../../../src/kube/cluster-resource.ts";
import type { ObjectInformers } from "../../../src/objects/object-informers.ts";
import { viewCluster, viewNamespace } from "../../../src/views/cluster.ts";
import { ALL_HOOKS, MAX_OVERRIDE_MS, NO_OBJECTS } from "../builders.ts";
import { compileOnce } from "../memory/compile-once.ts";
import { silent } from "../memory/fixtures.ts";
import { type ApiModel, clientOf, type Request, type WatchEvent } from "./api-server.ts";
import type { Step } from "./explorer.ts";
import { requestSteps, running, type Task } from "./task.ts";
import { testConfirmer } from "../decisions/confirmer.ts";

export interface Clock {
  now: Date;
}

export interface Surroundings {
  readonly api: ApiModel;
  readonly clock: Clock;
  /** The hook that it is asked. */
  readonly hook: HookName;
  /** Whether its work queue is worked on. */
  readonly reconciles: boolean;
  /** Requests whose way is followed step by step; others are answered at once. */
  readonly follows: RegExp;
  /** Takes away what must be missed. */
  readonly weaken?: ((store: DecisionStore) => void) | undefined;
}

/** The set in which a store has looked last. */
const looked: { in?: PendingOperations } = {};

/** Time passes only where a model says so, and a spec is compiled once. For a thread of its own. */
export function stopClocks(): void {
  compileOnce();
  const never = { unref: () => never };
  Object.assign(globalThis, { setTimeout: () => never, clearTimeout: () => undefined });
  // What is put off for a while is a step that is taken later: no need to wait for it.
  let ms = 0;
  performance.now = () => (ms += 10_000);
  // oxlint-disable-next-line typescript/unbound-method -- called with the `this` of its caller
  const { get } = PendingOperations.prototype;
  PendingOperations.prototype.get = function spied(...args) {
    looked.in = this;
    return get.apply(this, args);
  };
}

/** An informer: what it knows, and how far it has come. */
class Watch<T extends Cluster | Namespace | PolicyObject> {
  readonly store = new Store<T>();
  readonly plural: string;
  readonly #api: ApiModel;
  readonly #project: (raw: KubeObject) => T;
  readonly #onChange: (change: Change<T>) => void;
  /** Events of the API server that it has seen; absent: nothing was read yet. */
  seen: number | undefined;

  constructor(
    api: ApiModel,
    plural: string,
    project: (raw: KubeObject) => T,
    onChange: (change: Change<T>) => void,
  ) {
    this.#api = api;
    this.plural = plural;
    this.#project = project;
    this.#onChange = onChange;
  }

  get ahead(): readonly WatchEvent[] {
    return this.#api.events(this.plural).slice(this.seen ?? 0);
  }

  /** All at once: what has come and gone meanwhile is never seen. */
  list(): void {
    const objects = this.#api
      .list(this.plural)
      .map((raw) => [namespacedName(raw.metadata), this.#project(raw)] as const);
    const changes = this.store.replace(new Map(objects));
    this.seen = this.#api.events(this.plural).length;
    for (const change of changes) this.#onChange(change);
  }

  next(): void {
    const [event] = this.ahead;
    if (event === undefined) return;
    this.seen = (this.seen ?? 0) + 1;
    const { key, object } = event;
    const change = object === undefined ? this.store.remove(key) : this.store.put(key, this.#project(object));
    if (change !== undefined) this.#onChange(change);
  }
}

type Watches = readonly [Watch<PolicyObject>, Watch<Cluster>, Watch<Namespace>];

export class Replica {
  readonly name: string;
  readonly #clock: Clock;
  readonly #watches: Watches;
  readonly #store: DecisionStore;
  readonly #asks: PendingOperations;
  readonly #reconciler: PolicyReconciler;
  readonly #handler: HookHandler;
  readonly #reconciles: boolean;
  readonly #ready = new Set<string>();
  readonly #working = new Map<string, Task>();
  #call: Task | undefined;
  /** What it was asked, with what it knew then: the handler repeats answers to equal questions. */
  readonly #asked: string[] = [];
  #wokenAt: number;
  /** When a confirmation has looked at the clock. */
  #confirmsAt: Date | undefined;

  constructor(name: string, { api, clock, hook, follows, reconciles, weaken }: Surroundings) {
    this.name = name;
    this.#clock = clock;
    this.#reconciles = reconciles;
    this.#wokenAt = clock.now.getTime();
    const client = clientOf(api, (request) => {
      if (follows.test(request.what)) return running.getStore()?.requests.add(request);
      request.perform();
      return request.answer?.deliver();
    });
    const adapter = new ApiServerAdapter({
      client,
      clusters: new ClusterResource(client),
      objects: {} as ObjectInformers,
      memory: () => assert.fail("only rollouts use it"),
    });
    this.#watches = this.#createWatches(api);
    const [, clusters, namespaces] = this.#watches;
    const now = (): Date => clock.now;
    const common = { objects: NO_OBJECTS, log: silent, now, onEvent: () => undefined };
    this.#store = new DecisionStore({
      ...common,
      clusters: clusters.store,
      namespaces: namespaces.store,
      served: ALL_HOOKS,
      maxOverrideMs: MAX_OVERRIDE_MS,
      turnMs: Infinity,
      enqueue: (key) => this.#add(key),
      onStatusWritten: (key) => this.#add(key),
      onDemands: () => undefined,
    });
    this.#asks = asksOf(this.#store, hook, clock.now);
    weaken?.(this.#store);
    this.#reconciler = new PolicyReconciler({
      ...common,
      store: this.#store,
      api: adapter,
      clustersUnavailable: () => undefined,
      tasksUnavailable: () => undefined,
      notCalled: () => undefined,
      onStatusWrite: () => undefined,
    });
    const confirmer = testConfirmer({
      store: this.#store,
      reader: adapter,
      now: () => (this.#confirmsAt = now()),
    });
    this.#handler = this.#createHandler(hook, confirmer);
    this.#store.onClusterGone(this.#handler.forget);
  }

  #createWatches(api: ApiModel): Watches {
    return [
      new Watch(
        api,
        "hookpolicies",
        (raw) => storedPolicy("HookPolicy", raw),
        ({ key, new: object }) => this.#store.policyChanged(`HookPolicy/${key}`, object),
      ),
      new Watch(api, "clusters", viewCluster, ({ old, new: object }) =>
        this.#store.clusterChanged(old, object),
      ),
      new Watch(api, "namespaces", viewNamespace, ({ key }) => {
        this.#store.namespaceChanged(key);
        for (const { key: policy, compiled } of this.#store.policies.entries()) {
          if (compiled.ref.namespace === key) this.#add(policy);
        }
      }),
    ];
  }

  #createHandler(hook: HookName, confirmer: Confirmer): HookHandler {
    const store = this.#store;
    return createHandler(hook, true, {
      source: {
        loaded: () => store.loaded,
        known: () => undefined,
        mayHaveTasks: () => true,
        storeTasks: async () => await Promise.resolve(false),
        inTurn: (_, decide) => decide(),
        ask: (request, at) => store.decider.ask(request, at),
        validity: (request, decision, at) => store.decider.validity(request, decision, at),
        confirm: (request) => confirmer.confirm(request),
      },
      metrics: { answered: () => undefined, unconfirmed: () => undefined, discovered: () => undefined },
      answers: new AnswerLog({ log: silent, everyCall: false }),
      log: silent,
      warnRateLimited: () => undefined,
      now: () => this.#clock.now,
    });
  }

  #handle(body: Buffer): string | Promise<string> {
    const whole = new WholeBody([body]);
    return this.#handler.repeat(whole) ?? this.#handler.handle(whole);
  }

  /** Everything was read, and nothing is left to do. */
  loadAtOnce(): void {
    for (const watch of this.#watches) watch.list();
    this.#store.load();
  }

  /** What it does by itself. */
  steps(): Step[] {
    const own = (name: string, run: () => void): Step => ({ name: `${this.name} ${name}`, own: true, run });
    const unread = this.#watches.find(({ seen }) => seen === undefined);
    const steps = unread === undefined ? [] : [own(`lists ${unread.plural}`, () => this.#list(unread))];
    for (const watch of this.#watches) {
      const [next] = watch.seen === undefined ? [] : watch.ahead;
      if (next !== undefined)
        steps.push(own(`sees ${watch.plural} version ${next.version}`, () => watch.next()));
    }
    for (const key of this.#ready) {
      if (!this.#working.has(key)) steps.push(own(`reconciles ${key}`, () => this.#reconcile(key)));
    }
    if (this.#wokenAt !== this.#clock.now.getTime())
      steps.push(own("looks at the clock", () => this.#wake()));
    for (const task of this.#tasks()) steps.push(...requestSteps(task, own));
    return steps;
  }

  /** Watches that break, and miss what comes and goes until they are back. */
  relists(): Step[] {
    return this.#watches
      .filter(({ seen, ahead }) => seen !== undefined && ahead.length > 1)
      .map((watch) => ({
        name: `${this.name} lists ${watch.plural} again`,
        own: false,
        run: () => watch.list(),
      }));
  }

  get isAwaited(): boolean {
    return this.#call !== undefined;
  }

  /** Requests whose answer may never come; what was not done by then may be done still. */
  failures(onLate: (request: Request) => void): Step[] {
    return this.#tasks().flatMap(({ name, requests }) =>
      [...requests].map((request) => ({
        name: `${this.name} hears nothing of ${request.what} (${name})`,
        own: false,
        run: () => {
          requests.delete(request);
          if (request.answer === undefined) onLate(request);
          request.fail();
        },
      })),
    );
  }

  /** As Cluster API does; the answer comes after some steps, or at once. */
  ask(body: object, onAnswer: (go: boolean) => void): void {
    const said = JSON.stringify(body);
    const heard = [said, this.#known()];
    const task: Task = { name: "answers", heard, requests: new Set(), dirty: false };
    this.#asked.push(`${said} ${this.#known()}`);
    this.#call = task;
    running.run(task, () => {
      void Promise.resolve(this.#handle(Buffer.from(said))).then((reply) => {
        this.#call = undefined;
        const { status, retryAfterSeconds }: { status: string; retryAfterSeconds?: number } =
          JSON.parse(reply);
        onAnswer(status === "Success" && (retryAfterSeconds ?? 0) === 0);
      });
    });
  }

  /** Everything that what it does next depends on. */
  state(): unknown {
    const entries = [...this.#store.policies.entries()].map((entry) => {
      const { key, object, matched, held, hasHeld, known, recent, deadlines } = entry;
      const recorded = entry.recorded.keys();
      return { key, object, matched, held, hasHeld, known, recent, recorded, deadlines };
    });
    return {
      loaded: this.#store.loaded,
      watches: this.#watches.map((watch) => [
        watch.seen === undefined,
        watch.store.list(),
        watch.ahead.map(({ key, object }) => [key, object]),
      ]),
      entries,
      asks: this.#remembered(),
      ready: [...this.#ready].toSorted(),
      tasks: this.#tasks().map(({ name, heard, requests, dirty }) => [
        name,
        heard,
        dirty,
        [...requests].map(({ what, body, answer }) => [what, body, answer?.text]),
      ]),
      asked: this.#asked,
      wokenAt: this.#wokenAt,
      ...(this.#call !== undefined && { confirmsAt: this.#confirmsAt }),
    };
  }

  /** Nothing of it goes on; what the API server was asked for may be done still. */
  stop(): Request[] {
    this.#store.stop();
    return this.#tasks().flatMap(({ requests }) =>
      [...requests].filter(({ answer }) => answer === undefined),
    );
  }

  #remembered(): unknown {
    return this.#watches[1].store.list().map(({ metadata: { uid } }) => this.#asks.of(uid));
  }

  /** Of what is in memory, what work that begins now may remember. */
  #known(): string {
    const clusters = this.#watches[1].store
      .list()
      .map(({ metadata: { resourceVersion } }) => ({ resourceVersion }));
    const policies = [...this.#store.policies.entries()].map(({ object, matched }) => {
      const { uid, resourceVersion } = object.metadata;
      return { uid, resourceVersion, matched };
    });
    return text({ clusters, policies });
  }

  #tasks(): Task[] {
    return [...this.#working.values(), ...(this.#call === undefined ? [] : [this.#call])];
  }

  #add(key: string): void {
    const task = this.#working.get(key);
    if (!this.#reconciles) return;
    if (task === undefined) this.#ready.add(key);
    else task.dirty = true;
  }

  #list(watch: Watches[number]): void {
    watch.list();
    if (this.#watches.every(({ seen }) => seen !== undefined)) this.#store.load();
  }

  #wake(): void {
    this.#wokenAt = this.#clock.now.getTime();
    this.#store.wake();
  }

  /** As the work queue does: one at a time, again where it was added meanwhile, failed, or asked for it. */
  #reconcile(key: string): void {
    const task: Task = {
      name: `reconciles ${key}`,
      heard: [this.#known()],
      requests: new Set(),
      dirty: false,
    };
    this.#ready.delete(key);
    this.#working.set(key, task);
    const end = (again: boolean): void => {
      this.#working.delete(key);
      if (again || task.dirty) this.#ready.add(key);
    };
    running.run(task, () => {
      void this.#reconciler.reconcile(key).then(
        ({ requeueAfterMs }) => end(requeueAfterMs !== undefined),
        () => end(true),
      );
    });
  }
}

/** A store shows nobody what it was asked; as long as it is empty, a decision looks that up and changes nothing. */
function asksOf(store: DecisionStore, hook: HookName, now: Date): PendingOperations {
  const cluster = viewCluster({ metadata: { name: "none", uid: "none", resourceVersion: "" } });
  delete looked.in;
  const world = { cluster, namespace: undefined, objects: NO_OBJECTS, overrides: [] };
  store.decider.decideLive({ call: { hook }, cluster }, world, now);
  if (looked.in === undefined) throw new Error("the store has looked nowhere");
  return looked.in;
}

/** Sets and Maps are equal whatever the order in which they were filled. */
export function text(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (each instanceof Set) return [...each].map((item) => text(item)).toSorted();
    if (each instanceof Map) return [...each].map((item) => text(item)).toSorted();
    return each;
  });
}
