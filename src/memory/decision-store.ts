/**
 * The decisions in memory: the pending operations of each Cluster, and what every policy says about each of them now.
 * Changes of policies, Clusters, Namespaces, objects, overrides and the time are applied as they arrive, without waiting
 * for a call; answers.ts answers calls and confirmations.
 */

import { isDeepStrictEqual } from "node:util";
import type { HookOverride, HookRollout } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { clusterKey } from "../policy/cluster.ts";
import type { Decision } from "../policy/decision.ts";
import { type ObjectKind, objectKindKey } from "../policy/objects.ts";
import type { CompiledPolicy, ObjectDemand } from "../policy/policy.ts";
import type { MarkReaders } from "../policy/settable.ts";
import type { PendingOperation } from "../operations/operation.ts";
import { PendingOperations } from "../operations/operations.ts";
import { Alarm } from "../turns/alarm.ts";
import { Compiling } from "./compiling.ts";
import { Evaluator } from "./evaluator.ts";
import { demandsInTurns } from "./kind-shares.ts";
import { overrideKey, OverrideSet } from "./override-set.ts";
import { type PolicyObject, PolicySet } from "./policy-set.ts";
import { OperationLife } from "./operation-life.ts";
import { isSameLife, isSameSpec, sameCluster } from "./same-object.ts";
import { windowEdge, windowTransitions } from "./transitions.ts";
import type { DecisionRequest, StoreOptions } from "./ports.ts";
import { keyOf, ofOperation, ownerOf, perform, type Schedule, type Works } from "./work-schedule.ts";
import { Answers } from "./answers.ts";
import type { PolicyEntry } from "./policy-entry.ts";

export class DecisionStore {
  readonly policies = new PolicySet();
  readonly overrides: OverrideSet;
  readonly answers: Answers;
  readonly #options: StoreOptions;
  readonly #operations = new PendingOperations();
  readonly #schedule: Schedule;
  readonly #evaluator: Evaluator;
  readonly #life: OperationLife;
  readonly #compiling: Compiling;
  #loaded = false;
  #clusterGone: (uid: string) => void = () => undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.overrides = new OverrideSet(options.maxOverrideMs);
    this.#compiling = new Compiling(options.served, options.compileMs ?? options.turnMs);
    this.#schedule = new Alarm({
      now: options.now,
      keyOf,
      ownerOf,
      onDue: (due, at) => this.#evaluator.because(at, () => perform(this.#works, due)),
      onSetBack: () => this.#evaluateAll(),
      turnMs: options.alarmMs,
    });
    const { policies, overrides } = this;
    const { clusters, namespaces, objects, tasks, served } = options;
    const operations = this.#operations;
    const schedule = this.#schedule;
    const known = { policies, overrides, operations, clusters, namespaces, objects, schedule };
    const memory = { ...known, ...(tasks !== undefined && { tasks }) };
    this.#evaluator = new Evaluator(memory, options);
    this.#life = new OperationLife(memory, this.#evaluator, options);
    this.answers = new Answers(memory, served);
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** The listener gets the uid of each Cluster that is gone. Calls about that Cluster may still come. */
  onClusterGone(listener: (uid: string) => void): void {
    this.#clusterGone = listener;
  }

  /** Resolves when every policy that the informers have delivered is compiled, and the needed objects are known. */
  async compiled(): Promise<void> {
    await new Promise<void>((resolve) => this.#compiling.afterAll(resolve));
  }

  /** Whether memory has a newer spec of the policy than the one that decides. */
  compiles(policy: string): boolean {
    return this.#compiling.newest(policy) !== undefined;
  }

  /** The newest copy of the policy that memory has been told of; its spec may not be compiled yet. */
  newest({ key, object }: PolicyEntry): PolicyObject {
    return this.#compiling.newest(key) ?? object;
  }

  /** Every informer holds its first list: once the policies are compiled, what is not in memory does not exist. */
  load(): void {
    this.#compiling.afterAll(() => this.#load());
  }

  #load(): void {
    this.#loaded = true;
    const { clusters, served, now, onDirty } = this.#options;
    for (const cluster of clusters.list()) this.#operations.begin(cluster, { now: now(), served });
    for (const entry of this.policies.entries()) this.#evaluator.adoptRows(entry);
    for (const cluster of clusters.list()) this.#life.adopt(cluster);
    for (const cluster of clusters.list()) this.clusterChanged(undefined, cluster);
    for (const entry of this.policies.entries()) onDirty(entry.key);
  }

  stop(): void {
    this.#schedule.stop();
  }

  /** Runs what is due by the clock; the schedule also does so by itself. */
  wake(): void {
    this.#schedule.ring();
  }

  policyChanged(key: string, object: PolicyObject | undefined): void {
    this.#evaluator.because(this.#options.now(), () => this.#policyChanged(key, object));
  }

  #policyChanged(key: string, object: PolicyObject | undefined): void {
    const { onDirty, onStatusWritten } = this.#options;
    const before = this.policies.get(key);
    if (before !== undefined && before.compiled.uid !== object?.metadata.uid) {
      this.#operations.forgetPolicy(before.compiled.uid);
    }
    if (object === undefined) return this.#policyGone(key);
    if (before === undefined || !isSameSpec(before.object, object) || this.compiles(key)) {
      this.#compiling.wait(key, object);
      if (!this.#compiling.isLate) return this.#compile(key);
      return this.#schedule.set({ what: "compile", policy: key }, this.#options.now());
    }
    const statusOnly = isSameLife(before.object, object);
    const entry = this.policies.set(key, object, before.compiled);
    if (this.#loaded) this.#evaluator.adoptWritten(entry);
    if (statusOnly) onStatusWritten(key);
    else onDirty(key);
  }

  /** Until the spec is compiled the old one decides, and no release is confirmed. */
  #compile(key: string): void {
    const object = this.#compiling.take(key);
    if (object === undefined) return;
    this.#specChanged(key, object, this.#compiling.compile(key, object));
    this.#options.onDirty(key);
    this.#compiling.ended(key);
  }

  #policyGone(key: string): void {
    this.#schedule.set({ what: "compile", policy: key }, undefined);
    const readers = this.#readers();
    const gone = this.policies.get(key);
    this.policies.delete(key);
    this.#readersChanged(readers);
    this.#tooLargeChanged(gone);
    this.#schedule.set({ what: "windows", policy: key }, undefined);
    this.#options.onDemands();
    this.#options.onDirty(key);
    this.#compiling.ended(key);
  }

  #specChanged(key: string, object: PolicyObject, compiled: CompiledPolicy): void {
    const before = this.policies.get(key);
    const readers = this.#readers();
    const { demands } = before ?? {}; // policies.set() may change `before`
    const wasTooLarge = before?.compiled.tooLarge;
    if (before !== undefined) this.#operations.policyEdited(compiled.uid, before.object.spec, object.spec);
    const entry = this.policies.set(key, object, compiled);
    if (!isDeepStrictEqual(demands, entry.demands)) this.#options.onDemands();
    this.#watchWindows(entry);
    this.#tooLargeChanged(entry, wasTooLarge);
    if (this.#loaded) this.#evaluator.evaluatePolicy(entry);
    this.#readersChanged(readers);
  }

  /** `undefined` while loading, which would compute them for each policy. */
  #readers(): MarkReaders | undefined {
    return this.#loaded ? this.policies.readers : undefined;
  }

  /** Messages of HookPolicies have no command for a mark that the platform's gates read. */
  #readersChanged(before: MarkReaders | undefined): void {
    if (isDeepStrictEqual(before, this.#readers())) return;
    for (const cluster of this.#options.clusters.list())
      if (this.#operations.has(cluster.metadata.uid)) this.#evaluator.visitCluster(cluster);
  }

  rolloutChanged(name: string, object: HookRollout | undefined): void {
    const readers = this.#readers();
    this.policies.rolloutChanged(name, object);
    this.#evaluator.because(this.#options.now(), () => this.#readersChanged(readers));
  }

  /** Thousands of policies can become too large at once. */
  #tooLargeChanged(entry: PolicyEntry | undefined, was = entry?.compiled.tooLarge): void {
    const { ref: { namespace } = {}, tooLarge } = entry?.compiled ?? {};
    if (namespace !== undefined && (tooLarge === true || was === true))
      this.#schedule.set({ what: "speech", namespace }, this.#options.now());
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    this.#evaluator.because(this.#options.now(), () => this.#clusterChanged(before, now));
  }

  #clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    if (!this.#loaded) return;
    const withStatus = this.policies.haveExpressions;
    if (before !== undefined && now !== undefined && sameCluster(before, now, { withStatus })) return;
    const { ended, hasBegun, isGone } = this.#life.clusterChanged(before, now);
    for (const operation of ended) this.#schedule.set(ofOperation("operation", operation), undefined);
    if (before !== undefined && isGone) {
      this.#clusterGone(before.metadata.uid);
      this.#finalizeTooLarge(before.metadata.namespace ?? "");
    }
    if (now === undefined) return;
    if (hasBegun) this.#evaluator.adoptRowsOf(now);
    this.#evaluator.evaluateCluster(now);
  }

  /** Policies that are too large do not know which Clusters they match, so the last Cluster tells them. */
  #finalizeTooLarge(namespace: string): void {
    for (const _ of this.#options.clusters.byNamespace(namespace)) return;
    for (const { key, compiled } of this.policies.entries())
      if (compiled.tooLarge === true && compiled.ref.namespace === namespace) this.#options.onDirty(key);
  }

  /** Selectors match the labels of a Namespace, and gates may look at it and at the objects in it. */
  namespaceChanged(name: string): void {
    if (!this.#loaded) return;
    const now = this.#options.now();
    for (const { key, selectsNamespaces } of this.policies.entries())
      if (selectsNamespaces) this.#schedule.set({ what: "objects", policy: key }, now);
    this.#evaluator.because(now, () => {
      for (const cluster of this.#options.clusters.byNamespace(name)) this.#evaluator.visitCluster(cluster);
    });
  }

  /** What Clusters of the namespace own is being deleted, or is not any more. */
  partsChanged(namespace: string): void {
    if (this.#loaded) this.#operationsDue(namespace);
  }

  #operationsDue(namespace: string): void {
    const now = this.#options.now();
    for (const { metadata } of this.#options.clusters.byNamespace(namespace))
      for (const operation of this.#operations.of(metadata.uid))
        this.#schedule.set(ofOperation("operation", operation), now);
  }

  /** The settings with which Cluster API calls have changed. */
  settingsChanged(): void {
    const now = this.#options.now();
    for (const { key, compiled } of this.policies.entries())
      if (compiled.hasExpressions) this.#schedule.set({ what: "objects", policy: key }, now);
  }

  /**
   * The operator told the API server to refuse a request. The refusal of a new Cluster is not recorded: no object shows
   * Events about it, and each attempt has another uid.
   */
  requestRefused(request: DecisionRequest, decision: Decision): void {
    if (this.answers.knows(request.cluster)) this.#life.refused(request, decision);
  }

  overrideChanged(name: string, object: HookOverride | undefined): void {
    const key = overrideKey(name);
    const before = this.overrides.get(key);
    const clusters = this.overrides.set(name, object);
    const expiresAt = this.overrides.get(key)?.compiled.expiresAt;
    const now = this.#options.now();
    this.#schedule.set({ what: "override", name }, expiresAt && expiresAt > now ? expiresAt : undefined);
    if (before === undefined || object === undefined || !isSameSpec(before.object, object)) {
      for (const cluster of clusters) this.#schedule.set({ what: "cluster", cluster }, now);
    }
    this.#options.onDirty(key);
  }

  /** What a HookTask of the Cluster says has changed. */
  tasksChanged(cluster: string): void {
    if (this.#loaded) this.#schedule.set({ what: "cluster", cluster }, this.#options.now());
  }

  /** Whether HookTasks can be read has changed. */
  allTasksChanged(): void {
    const haveTasks = [...this.policies.entries()].some(({ compiled }) => compiled.account !== undefined);
    if (this.#loaded && haveTasks) this.#evaluateAll();
  }

  /** Objects of a kind can change by the hundred, so policies are re-evaluated once for many changes. */
  objectsChanged(kind: ObjectKind): void {
    this.#schedule.set({ what: "kind", kind: objectKindKey(kind) }, this.#options.now());
  }

  /** Policies of a namespace share their steps, so none of them is evaluated alone. */
  #kindDue(kindKey: string): void {
    const now = this.#options.now();
    for (const { key, demands, compiled } of this.policies.entries()) {
      if (!demands.has(kindKey)) continue;
      const { namespace } = compiled.ref;
      if (namespace === undefined) this.#schedule.set({ what: "objects", policy: key }, now);
      else this.#schedule.set({ what: "seen", namespace, kind: kindKey }, now);
    }
  }

  #objectsSeen(namespace: string, kindKey: string): void {
    if (!this.#loaded) return;
    this.#operationsDue(namespace);
    // Whether the objects can be read at all is part of the status.
    for (const { key, demands, compiled } of this.policies.candidates(namespace).entries) {
      if (compiled.ref.namespace !== undefined && demands.has(kindKey)) this.#options.onDirty(key);
    }
  }

  /** The kinds to watch, the most important first: there may be too many. */
  demands(): ObjectDemand[] {
    return demandsInTurns(this.policies.entries());
  }

  /** Evaluates every pending operation while this turn has time, and the rest in later turns. */
  #evaluateAll(): void {
    for (const cluster of this.#options.clusters.list())
      if (this.#operations.has(cluster.metadata.uid))
        this.#schedule.set({ what: "cluster", cluster: clusterKey(cluster) }, this.#options.now());
  }

  readonly #works: Works = {
    compile: ({ policy }) => this.#compile(policy),
    windows: ({ policy }) => this.#forPolicy(policy, (entry) => this.#watchWindows(entry)),
    kind: ({ kind }) => this.#kindDue(kind),
    seen: ({ namespace, kind }) => this.#objectsSeen(namespace, kind),
    objects: ({ policy }) => this.#forPolicy(policy, (entry) => this.#objectsDue(entry)),
    rest: ({ policy }) => this.#forPolicy(policy, (entry) => this.#evaluator.evaluateRest(entry)),
    rows: ({ policy }) => this.#forPolicy(policy, (entry) => this.#evaluator.adoptRest(entry)),
    speech: ({ namespace }) => this.#evaluator.passSpeech(namespace, this.#loaded),
    passed: ({ clusterUID, namespace }) => this.#life.recordRest(clusterUID, namespace),
    override: ({ name }) => this.#options.onDirty(overrideKey(name)),
    cluster: ({ cluster }) => this.clusterChanged(undefined, this.#options.clusters.get(cluster)),
    operation: ({ clusterUID, hook }) =>
      this.#forOperation(clusterUID, hook, (operation) => this.#evaluator.evaluateOperation(operation)),
    forecast: ({ clusterUID, hook }) =>
      this.#forOperation(clusterUID, hook, (operation) => this.#evaluator.foreseeRest(operation)),
  };

  #forPolicy(key: string, work: (entry: PolicyEntry) => void): void {
    const entry = this.policies.get(key);
    if (entry !== undefined) work(entry);
  }

  #forOperation(clusterUID: string, hook: HookName, work: (operation: PendingOperation) => void): void {
    const operation = this.#operations.get(clusterUID, hook);
    if (operation !== undefined) work(operation);
  }

  /** Reports every edge of the policy's windows, whether or not an operation waits for it. */
  #watchWindows(entry: PolicyEntry): void {
    const now = this.#options.now();
    for (const transition of windowTransitions(entry, now)) this.#options.onTransition(transition);
    this.#schedule.set({ what: "windows", policy: entry.key }, windowEdge(entry, now));
    this.#options.onDirty(entry.key);
  }

  #objectsDue(entry: PolicyEntry): void {
    if (!this.#loaded) return;
    this.#evaluator.evaluateMatched(entry);
    // Whether the objects can be read at all is part of the status.
    this.#options.onDirty(entry.key);
  }
}
