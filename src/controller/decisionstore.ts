/**
 * The decisions in memory: per Cluster and hook what was asked, since when, and what every policy says of
 * it now. Changes of policies, Clusters, Namespaces, objects, overrides and the time are applied as they
 * come, without waiting for a call.
 */

import { isDeepStrictEqual } from "node:util";
import type { HookOverride } from "../api/hookpolicy.ts";
import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import type { HookCall } from "../api/runtimehooks.ts";
import { asRequested, clusterKey, isNewer, newerThan } from "../policy/cluster.ts";
import { compileInSteps } from "../policy/compile.ts";
import type { ServedHooks } from "../api/hookcatalog.ts";
import { decide, matches } from "../policy/decide.ts";
import type { Decision } from "../policy/decision.ts";
import { objectQueries } from "../policy/gates/objectqueries.ts";
import { type ObjectKind, objectKindKey, type ObjectReader } from "../policy/objects.ts";
import type { CompiledPolicy, ObjectDemand, ObjectQuery } from "../policy/policy.ts";
import type { LiveWorld } from "../policy/world.ts";
import { Alarm } from "./alarm.ts";
import { ownerOf } from "./alarmkeys.ts";
import { passedCall } from "../operations/call.ts";
import { hasEnded } from "../operations/ended.ts";
import { answering, type Ask, askKey } from "../operations/operation.ts";
import { passedHooks } from "../operations/shows.ts";
import { AskSet } from "../operations/operations.ts";
import { Compiling } from "./compiling.ts";
import { isSameLife, isSameSpec } from "./samespec.ts";
import { askAlarm, Evaluator } from "./evaluator.ts";
import { demandsInTurns } from "./kindshares.ts";
import { overrideKey, OverrideSet } from "./overrideset.ts";
import { type PolicyEntry, type PolicyObject, parsePolicyKey, PolicySet } from "./policyset.ts";
import { decidePassed, PassedOperations } from "./passed.ts";
import { Results } from "./results.ts";
import { type Inputs, type Standing, standing } from "./standingdecision.ts";
import { sameCluster } from "./samecluster.ts";
import { type Transition, windowEdge, windowTransitions } from "./transitions.ts";

/** The read side of an informer. */
export interface Lister<T> {
  get(key: string): T | undefined;
  byNamespace(namespace: string): Iterable<T>;
  list(): Iterable<T>;
}

export interface StoreOptions {
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly objects: ObjectReader;
  readonly served: ServedHooks;
  /** Longer HookOverrides have no effect. */
  readonly maxOverrideMs: number;
  /** Those with which Cluster API calls about the Clusters of a namespace; `undefined`: nobody can tell. */
  readonly settings?: (namespace: string) => HookCall["settings"];
  readonly log: Logger;
  readonly now: () => Date;
  /** The status or finalizer of the policy, or the status of the override, may have to change: reconcile it. */
  readonly onDirty: (key: string) => void;
  /** Somebody wrote the status; whoever learnt something wrote it, so there is no hurry to look. */
  readonly onStatusWritten: (policyKey: string) => void;
  /** The kinds of objects that gates look at may be others now. */
  readonly onDemands: () => void;
  /** Something that people are told of: once, when it happens. */
  readonly onTransition: (transition: Transition) => void;
  /** What a policy says in memory is another, so long after what changed it was seen, or was due. */
  readonly onAnswerChanged?: (latencyMs: number) => void;
  /** How long evaluations may keep the event loop from answering calls. */
  readonly turnMs?: number;
  /** How long the compilation of policies may; absent: as long. */
  readonly compileMs?: number;
}

/** What a caller of the hook tells. */
export interface AskRequest {
  readonly call: Ask["call"];
  readonly cluster: Cluster;
}

export class DecisionStore {
  readonly policies = new PolicySet();
  readonly overrides: OverrideSet;
  readonly #options: StoreOptions;
  readonly #asks = new AskSet();
  readonly #alarm: Alarm;
  readonly #evaluator: Evaluator;
  readonly #results: Results;
  readonly #passed = new PassedOperations();
  readonly #inputs: Inputs;
  readonly #compiling: Compiling;
  #loaded = false;
  /** What is to be done when these policies are compiled. */
  #awaited: { readonly keys: Set<string>; readonly work: () => void }[] = [];
  #clusterGone: (uid: string) => void = () => undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.overrides = new OverrideSet(options.maxOverrideMs);
    this.#compiling = new Compiling(options.compileMs ?? options.turnMs);
    this.#alarm = new Alarm({
      now: options.now,
      ownerOf,
      onDue: (key, at) => this.#evaluator.because(at, () => this.#onDue(key)),
      onSetBack: () => this.#evaluateAll(),
    });
    const { policies, overrides } = this;
    const { clusters, namespaces } = options;
    this.#evaluator = new Evaluator({ policies, overrides, asks: this.#asks, alarm: this.#alarm }, options);
    this.#results = new Results({ policies, overrides }, options);
    this.#inputs = { policies, overrides, asks: this.#asks, clusters, namespaces };
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** The Cluster is in memory: its names are no invention of a caller. */
  knows({ metadata: { namespace, name, uid } }: Cluster): boolean {
    return this.#options.clusters.get(`${namespace}/${name}`)?.metadata.uid === uid;
  }

  /** Who is told the uids of Clusters that are gone; another one may have the name. Late calls may still come. */
  onClusterGone(listener: (uid: string) => void): void {
    this.#clusterGone = listener;
  }

  /** Resolves when every policy that memory has been told of is compiled: then it is known which objects are needed. */
  async compiled(): Promise<void> {
    await new Promise<void>((resolve) => this.#afterCompiling(resolve));
  }

  /** A newer spec of the policy than the one that decides is known. */
  compiles(policy: string): boolean {
    return this.#compiling.has(policy);
  }

  /** Every informer holds its first list: from now on, or as soon as they are compiled, what is not in memory does not exist. */
  load(): void {
    this.#afterCompiling(() => this.#load());
  }

  #load(): void {
    this.#loaded = true;
    for (const cluster of this.#options.clusters.list()) this.#begin(cluster);
    for (const entry of this.policies.entries()) this.#evaluator.adoptRows(entry);
    for (const cluster of this.#options.clusters.list()) this.clusterChanged(undefined, cluster);
    for (const entry of this.policies.entries()) this.#options.onDirty(entry.key);
  }

  #afterCompiling(work: () => void): void {
    const keys = new Set(this.#compiling.keys());
    if (keys.size === 0) return work();
    this.#awaited.push({ keys, work });
  }

  #isCompiled(key: string): void {
    for (const { keys } of this.#awaited) keys.delete(key);
    const over = this.#awaited.filter(({ keys }) => keys.size === 0);
    this.#awaited = this.#awaited.filter(({ keys }) => keys.size > 0);
    for (const { work } of over) work();
  }

  stop(): void {
    this.#alarm.stop();
  }

  /** What is due by the clock; the alarm does it by itself. */
  wake(): void {
    this.#alarm.ring();
  }

  policyChanged(key: string, object: PolicyObject | undefined): void {
    this.#evaluator.because(this.#options.now(), () => this.#policyChanged(key, object));
  }

  #policyChanged(key: string, object: PolicyObject | undefined): void {
    const { onDirty, onStatusWritten } = this.#options;
    const before = this.policies.get(key);
    if (before !== undefined && before.compiled.uid !== object?.metadata.uid) {
      this.#asks.forgetPolicy(before.compiled.uid);
    }
    if (object === undefined) return this.#policyGone(key);
    if (this.#compiling.isNewer(key, object)) return;
    if (before === undefined || !isSameSpec(before.object, object)) {
      const { kind } = parsePolicyKey(key);
      this.#compiling.begin(key, object, compileInSteps(kind, object, this.#options.served));
      return this.#compile(key);
    }
    const statusOnly = isSameLife(before.object, object);
    const entry = this.policies.set(key, object, before.compiled);
    if (this.#loaded) this.#evaluator.adoptWritten(entry);
    if (statusOnly) onStatusWritten(key);
    else onDirty(key);
  }

  /** As far as there is time in this turn; until then the spec before decides, and confirmations tell that it is old. */
  #compile(key: string): void {
    const finished = this.#compiling.continue(key);
    if (finished === undefined) {
      if (this.#compiling.has(key)) this.#alarm.set(`compile ${key}`, this.#options.now());
      return;
    }
    const { object, compiled, next } = finished;
    this.#specChanged(key, object, compiled);
    this.#options.onDirty(key);
    if (next !== undefined) this.#policyChanged(key, next);
    this.#isCompiled(key);
  }

  #policyGone(key: string): void {
    this.#compiling.drop(key);
    this.#alarm.set(`compile ${key}`, undefined);
    this.policies.delete(key);
    this.#alarm.set(`policy ${key}`, undefined);
    this.#options.onDemands();
    this.#options.onDirty(key);
    this.#isCompiled(key);
  }

  #specChanged(key: string, object: PolicyObject, compiled: CompiledPolicy): void {
    const before = this.policies.get(key);
    const demands = before?.demands;
    if (before !== undefined) this.#asks.policyEdited(compiled.uid, before.object.spec, object.spec);
    const entry = this.policies.set(key, object, compiled);
    if (!isDeepStrictEqual(demands, entry.demands)) this.#options.onDemands();
    // Of the old spec, and asked again turn by turn: a restart must not find them under the new generation.
    for (const [ask, { timers, ...row }] of entry.held) if (timers !== undefined) entry.held.set(ask, row);
    // What an edit opens or closes is not an edge.
    entry.windows = new Map();
    this.#watchWindows(entry);
    if (this.#loaded) this.#evaluator.evaluatePolicy(entry);
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    this.#evaluator.because(this.#options.now(), () => this.#clusterChanged(before, now));
  }

  #clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    if (!this.#loaded) return;
    const withStatus = this.policies.haveExpressions;
    if (before !== undefined && now !== undefined && sameCluster(before, now, { withStatus })) return;
    const gone = before !== undefined && before.metadata.uid !== now?.metadata.uid;
    if (before !== undefined) this.#recordPassed(before, gone ? undefined : now);
    if (gone) this.#forget(before);
    if (now !== undefined) this.#follow(now);
  }

  /** Operations end and begin as the Cluster shows it, and are evaluated again. */
  #follow(cluster: Cluster): void {
    for (const ask of this.#asks.of(cluster.metadata.uid))
      if (hasEnded(ask, cluster, this.#options.served)) this.#end(ask);
    if (this.#begin(cluster)) this.#evaluator.adoptRowsOf(cluster);
    this.#evaluator.evaluateCluster(cluster);
  }

  #begin(cluster: Cluster): boolean {
    const { served, now } = this.#options;
    return this.#asks.begin(cluster, served.blocking, { now: now(), served });
  }

  /** Who asked, and what was answered, does not count: the Cluster shows what became of it. */
  #recordPassed(before: Cluster, now: Cluster | undefined): void {
    const { served } = this.#options;
    const cluster = now ?? before;
    const { namespace = "", uid } = cluster.metadata;
    for (const hook of passedHooks(before, now, served)) {
      if (!served.advertised.has(hook)) continue;
      const ask = this.#asks.get(uid, hook);
      const call = this.#evaluator.withSettings(ask?.call ?? passedCall(hook, before), namespace);
      const at = this.#options.now();
      const world = this.#evaluator.world(cluster, answering(ask, call, at));
      const { entries, compiled: policies } = this.policies.candidates(namespace);
      const held = entries.filter(({ hasHeld }) => hasHeld.delete(askKey(uid, hook)));
      const heldBy = new Set(held.map(({ key }) => key));
      this.#passed.add(uid, { request: { call, cluster }, policies, world, at, heldBy });
    }
    this.#recordWaiting(uid, namespace);
  }

  /** What finds no time in this turn of the event loop is left to the alarm. */
  #recordWaiting(uid: string, namespace: string): void {
    while (!this.#passed.isEmpty(uid)) {
      if (this.#evaluator.isTurnOver())
        return this.#alarm.set(`passed ${uid} - ${namespace}`, this.#options.now());
      this.#recordOne(uid);
    }
  }

  #recordOne(uid: string): void {
    const passed = this.#passed.take(uid);
    if (passed !== undefined) this.#results.record(passed, decidePassed(passed));
  }

  /** Its labels select policies, and gates may look at it. */
  namespaceChanged(name: string): void {
    if (!this.#loaded) return;
    this.#evaluator.because(this.#options.now(), () => {
      for (const cluster of this.#options.clusters.byNamespace(name)) this.#evaluator.visitCluster(cluster);
    });
  }

  /** Those with which Cluster API calls. */
  settingsChanged(): void {
    const now = this.#options.now();
    for (const { key, compiled } of this.policies.entries())
      if (compiled.hasExpressions) this.#alarm.set(`objects ${key}`, now);
  }

  overrideChanged(name: string, object: HookOverride | undefined): void {
    const key = overrideKey(name);
    const before = this.overrides.get(key);
    const clusters = this.overrides.set(name, object);
    const expiresAt = this.overrides.get(key)?.compiled.expiresAt;
    this.#alarm.set(`override ${name}`, expiresAt && expiresAt > this.#options.now() ? expiresAt : undefined);
    if (before === undefined || object === undefined || !isSameSpec(before.object, object)) {
      for (const cluster of clusters) this.#alarm.set(`cluster ${cluster}`, this.#options.now());
    }
    this.#options.onDirty(key);
  }

  /** Soon, and once for many changes: objects of a kind can change by the hundred. */
  objectsChanged(kind: ObjectKind): void {
    this.#alarm.set(`kind ${objectKindKey(kind)}`, this.#options.now());
  }

  /** Policies of a namespace share their steps, so none of them is evaluated alone. */
  #kindDue(kindKey: string): void {
    const now = this.#options.now();
    for (const { key, demands, compiled } of this.policies.entries()) {
      if (!demands.has(kindKey)) continue;
      const { namespace } = compiled.ref;
      this.#alarm.set(namespace === undefined ? `objects ${key}` : `seen ${namespace} ${kindKey}`, now);
    }
  }

  #objectsSeen(namespace: string, kindKey: string): void {
    if (!this.#loaded) return;
    const now = this.#options.now();
    for (const { metadata } of this.#options.clusters.byNamespace(namespace))
      for (const ask of this.#asks.of(metadata.uid)) this.#alarm.set(askAlarm(ask), now);
    // Whether the objects can be read at all is part of the status.
    for (const { key, demands, compiled } of this.policies.candidates(namespace).entries) {
      if (compiled.ref.namespace !== undefined && demands.has(kindKey)) this.#options.onDirty(key);
    }
  }

  /** In the order in which they are watched, where there are too many. */
  demands(): ObjectDemand[] {
    return demandsInTurns(this.policies.entries());
  }

  /** Every pending operation, as far as there is time, and the rest in later turns. */
  #evaluateAll(): void {
    for (const cluster of this.#options.clusters.list())
      if (this.#asks.has(cluster.metadata.uid))
        this.#alarm.set(`cluster ${clusterKey(cluster)}`, this.#options.now());
  }

  #onDue(alarm: string): void {
    const [what = "", key = "", second = "", third = ""] = alarm.split(" ");
    this.#works[what]?.(key, second, third);
  }

  readonly #works: Readonly<Record<string, (key: string, second: string, third: string) => void>> = {
    compile: (key) => this.#compile(key),
    policy: (key) => this.#watchWindows(this.policies.get(key)),
    kind: (apiVersion, kind) => this.#kindDue(`${apiVersion} ${kind}`),
    seen: (namespace, apiVersion, kind) => this.#objectsSeen(namespace, `${apiVersion} ${kind}`),
    objects: (key) => this.#objectsDue(this.policies.get(key)),
    rest: (key) => this.#restDue(this.policies.get(key)),
    rows: (key) => this.#rowsDue(this.policies.get(key)),
    passed: (uid, _, namespace) => {
      this.#recordOne(uid);
      this.#recordWaiting(uid, namespace);
    },
    override: (name) => this.#options.onDirty(overrideKey(name)),
    cluster: (key) => this.clusterChanged(undefined, this.#options.clusters.get(key)),
    ask: (uid, hook) => this.#forAsk(uid, hook, (ask) => this.#evaluator.evaluateAsk(ask)),
    forecast: (uid, hook) => this.#forAsk(uid, hook, (ask) => this.#evaluator.foreseeRest(ask)),
  };

  #forAsk(clusterUID: string, hook: string, work: (ask: Ask) => void): void {
    for (const ask of this.#asks.of(clusterUID)) if (ask.call.hook === hook) work(ask);
  }

  /** Windows are the same for every Cluster: their edges count, whether anything waits for them or not. */
  #watchWindows(entry: PolicyEntry | undefined): void {
    if (entry === undefined) return;
    const now = this.#options.now();
    for (const transition of windowTransitions(entry, now)) this.#options.onTransition(transition);
    this.#alarm.set(`policy ${entry.key}`, windowEdge(entry, now));
    this.#options.onDirty(entry.key);
  }

  #restDue(entry: PolicyEntry | undefined): void {
    if (entry !== undefined) this.#evaluator.evaluateRest(entry);
  }

  #rowsDue(entry: PolicyEntry | undefined): void {
    if (entry !== undefined) this.#evaluator.adoptRest(entry);
  }

  #objectsDue(entry: PolicyEntry | undefined): void {
    if (entry === undefined || !this.#loaded) return;
    this.#evaluator.evaluateMatched(entry);
    // Whether the objects can be read at all is part of the status.
    this.#options.onDirty(entry.key);
  }

  /**
   * The decision from memory. A question changes nothing in it: the request tells the operation, and the Cluster only
   * where memory has no such one.
   */
  ask({ call, cluster: requested }: AskRequest, now: Date): Decision {
    const known = this.#known(requested);
    const cluster = known ?? asRequested(requested);
    const { compiled } = this.policies.candidates(cluster.metadata.namespace ?? "");
    const ask = known && this.#asks.get(known.metadata.uid, call.hook);
    const world = this.#evaluator.world(cluster, answering(ask, call, now));
    const source = { source: "Memory" as const, ...(known === undefined && { fromRequest: true as const }) };
    return { ...decide(compiled, world, call, now), basis: { ...source, world, policies: compiled } };
  }

  #known(requested: Cluster): Cluster | undefined {
    const known = this.#options.clusters.get(clusterKey(requested));
    return known?.metadata.uid === requested.metadata.uid ? known : undefined;
  }

  /**
   * Tells, of what ask() has just decided, whether it would decide the same again; it would if all that it was made
   * from is still the very same. `undefined`: nobody can tell.
   */
  standing({ call, cluster }: AskRequest, decision: Decision, at: Date): Standing | undefined {
    const known = this.#known(cluster);
    const ask = known && this.#asks.get(known.metadata.uid, call.hook);
    // Only what is remembered stays the same.
    if (known === undefined || ask === undefined || decision.basis?.world.asked !== ask) return undefined;
    return standing(this.#inputs, known, { decision, hook: call.hook, at });
  }

  /**
   * The decision for objects that were just read; where memory has learnt more since, that must release, too. What is
   * remembered of the operation counts only if the Cluster that was read shows the same one. Nothing is remembered of
   * it: a call says when these reads are made.
   */
  decideLive({ call }: AskRequest, live: LiveWorld, now: Date): Decision {
    const { clusters, namespaces, objects } = this.#options;
    const namespace = live.cluster.metadata.namespace ?? "";
    const { compiled } = this.policies.candidates(namespace);
    const remembered = this.#asks.get(live.cluster.metadata.uid, call.hook);
    const isOver = remembered !== undefined && hasEnded(remembered, live.cluster, this.#options.served);
    const ask = isOver ? undefined : remembered;
    const asked = answering(ask, call, now);
    const world = { ...live, asked };
    const basis = { source: "ApiServer" as const, world, policies: compiled };
    const decision = decide(compiled, world, call, now);
    if (decision.holds) return { ...decision, basis };
    const learnt = {
      cluster: newerThan(live.cluster, clusters.get(clusterKey(live.cluster))),
      namespace: live.namespace && newerThan(live.namespace, namespaces.get(namespace)),
      overrides: live.overrides,
      objects,
      asked,
    };
    return { ...decide(compiled, learnt, call, now), basis };
  }

  /** The API server has newer copies than memory, which has not seen what happened in between. */
  isBehind({ cluster, namespace }: LiveWorld): boolean {
    const { clusters, namespaces } = this.#options;
    const known = clusters.get(clusterKey(cluster));
    const knownNamespace = namespaces.get(cluster.metadata.namespace ?? "");
    return (
      (known !== undefined && isNewer(cluster, known)) ||
      (namespace !== undefined && knownNamespace !== undefined && isNewer(namespace, knownNamespace))
    );
  }

  /**
   * The objects that policies which may hold the operation look at: what Audit policies look at holds nothing. Throws
   * where the steps of a decision do not suffice to tell: then nothing is confirmed.
   */
  objectQueries({ call }: AskRequest, world: LiveWorld, now: Date): readonly ObjectQuery[] {
    const { compiled } = this.policies.candidates(world.cluster.metadata.namespace ?? "");
    const holding = compiled.filter((policy) => policy.mode === "Enforce" && matches(policy, world) !== "no");
    const queries = objectQueries(holding, world, call, now);
    if (queries === undefined) throw new Error("to find the objects that gates look at takes too many steps");
    return queries;
  }

  /** The Cluster is gone, or another one has its name. */
  #forget(cluster: Cluster): void {
    for (const ask of this.#asks.of(cluster.metadata.uid)) this.#end(ask);
    const { uid, namespace = "" } = cluster.metadata;
    const key = clusterKey(cluster);
    for (const entry of this.policies.candidates(namespace).entries) {
      entry.recorded.forget(uid);
      if (entry.matched.delete(key)) this.#options.onDirty(entry.key);
    }
    this.#clusterGone(uid);
  }

  #end(ask: Ask): void {
    this.#asks.delete(ask);
    const key = askKey(ask.clusterUID, ask.call.hook);
    this.#alarm.set(askAlarm(ask), undefined);
    for (const entry of this.policies.candidates(ask.namespace).entries) {
      entry.deadlines.delete(key);
      entry.hasHeld.delete(key);
      entry.unforeseen.delete(key);
      if (entry.held.delete(key)) this.#options.onDirty(entry.key);
    }
  }
}
