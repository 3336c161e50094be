/**
 * The decisions in memory: the pending operations of each Cluster, and what every policy says about each of them now.
 * Changes of policies, Clusters, Namespaces, objects, overrides and the time are applied as they arrive, without waiting
 * for a call; decider.ts decides about calls and confirmations.
 */

import { isDeepStrictEqual } from "node:util";
import type { HookOverride, HookRollout } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { WorkSteps } from "../lib/work-steps.ts";
import { clusterKey } from "../views/cluster.ts";
import { compileInSteps } from "../policy/compile.ts";
import type { Decision } from "../policy/decision.ts";
import { type ObjectKind, objectKindKey } from "../policy/watched-objects.ts";
import { CAUSE, type CompiledPolicy, type ObjectDemand } from "../policy/policy.ts";
import type { MarkReaders } from "../policy/mark.ts";
import { PendingOperations } from "../operations/operation.ts";
import { Slice } from "../turns/slice.ts";
import { Evaluator } from "./evaluator.ts";
import { overrideKey, OverrideSet } from "./override-set.ts";
import { demandsInTurns, isPolicyKey, parsePolicyKey, type PolicyObject, PolicySet } from "./policy-set.ts";
import { OperationLife } from "./operation-life.ts";
import { isSameLife, isSameSpec, sameCluster } from "./same-object.ts";
import { Revisions, type StoreOptions } from "./memory.ts";
import { windowEdge, windowTransitions } from "./transitions.ts";
import type { DecisionRequest } from "../policy/world.ts";
import { EvaluationScheduler } from "./evaluation-scheduler.ts";
import { Decider } from "./decider.ts";
import type { PolicyEntry } from "./policy-entry.ts";

interface Compilation {
  readonly object: PolicyObject;
  readonly steps: WorkSteps<CompiledPolicy>;
}

export class DecisionStore {
  readonly policies = new PolicySet();
  readonly overrides: OverrideSet;
  readonly decider: Decider;
  readonly #options: StoreOptions;
  readonly #operations = new PendingOperations();
  readonly #revisions = new Revisions();
  readonly #scheduler: EvaluationScheduler;
  readonly #evaluator: Evaluator;
  readonly #life: OperationLife;
  readonly #slice: Slice;
  /** The newest copies of policies that are not compiled; one that another replaces before it is begun never is. */
  readonly #uncompiled = new Map<string, PolicyObject>();
  /** Those under way, which may take many turns. */
  readonly #compilations = new Map<string, Compilation>();
  /** The work to do once these policies are compiled or gone. */
  #awaiting: { readonly keys: Set<string>; readonly work: () => void }[] = [];
  /** Namespaces in which policies that are too large came or went: another one may represent them. */
  readonly #unrepresented = new Set<string>();
  #loaded = false;
  #clusterGone: (uid: string) => void = () => undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.overrides = new OverrideSet(options.maxOverrideMs);
    this.#slice = new Slice(options.compileMs ?? options.turnMs);
    this.#scheduler = new EvaluationScheduler({
      ...options,
      stepsOf: (key) => (isPolicyKey(key) ? this.#policySteps(key) : this.#clusterSteps(key)),
      onSetBack: () => {
        // Compilations under way were due at instants that are ahead again.
        for (const key of this.#uncompiled.keys()) this.#scheduler.soon(key);
        this.#evaluateAll();
      },
    });
    const { policies, overrides } = this;
    const { clusters, namespaces, objects, tasks } = options;
    const operations = this.#operations;
    const known = { policies, overrides, operations, clusters, namespaces, objects };
    const memory = { ...known, ...(tasks !== undefined && { tasks }) };
    this.#evaluator = new Evaluator(memory, this.#scheduler, this.#revisions, options);
    this.#life = new OperationLife(memory, options);
    this.decider = new Decider(memory, this.#revisions, options);
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** The listener gets the uid of each Cluster that is gone. Calls about that Cluster may still come. */
  onClusterGone(listener: (uid: string) => void): void {
    this.#clusterGone = listener;
  }

  /** Resolves when a spec of every policy that the informers have delivered is compiled, and the needed objects are known. */
  async compiled(): Promise<void> {
    await new Promise<void>((resolve) => this.#afterCompiling(resolve));
  }

  /** Whether memory has a newer spec of the policy than the one that decides. */
  compiles(policy: string): boolean {
    return this.#uncompiled.has(policy);
  }

  /** The newest copy of the policy that memory has been told of; its spec may not be compiled yet. */
  newest({ key, object }: PolicyEntry): PolicyObject {
    return this.#uncompiled.get(key) ?? object;
  }

  /** Every informer holds its first list: once the policies are compiled, what is not in memory does not exist. */
  load(): void {
    this.#afterCompiling(() => this.#load());
  }

  #afterCompiling(work: () => void): void {
    const keys = new Set(this.#uncompiled.keys());
    if (keys.size === 0) work();
    else this.#awaiting.push({ keys, work });
  }

  #compiled(key: string): void {
    for (const { keys } of this.#awaiting) keys.delete(key);
    const over = this.#awaiting.filter(({ keys }) => keys.size === 0);
    this.#awaiting = this.#awaiting.filter(({ keys }) => keys.size > 0);
    for (const { work } of over) work();
  }

  #load(): void {
    this.#loaded = true;
    const { clusters, served, now, enqueue } = this.#options;
    for (const cluster of clusters.list()) this.#operations.begin(cluster, { now: now(), served });
    for (const entry of this.policies.entries()) this.#evaluator.adoptRows(entry);
    for (const cluster of clusters.list()) this.clusterChanged(undefined, cluster);
    for (const entry of this.policies.entries()) enqueue(entry.key);
  }

  stop(): void {
    this.#scheduler.alarm.stop();
  }

  /** Runs what is due by the clock. The alarm does the same when it rings. */
  wake(): void {
    this.#scheduler.alarm.ring();
  }

  policyChanged(key: string, object: PolicyObject | undefined): void {
    this.#scheduler.because(this.#options.now(), () => this.#policyChanged(key, object));
  }

  #policyChanged(key: string, object: PolicyObject | undefined): void {
    const { enqueue, onStatusWritten } = this.#options;
    const before = this.policies.get(key);
    if (before !== undefined && before.compiled.uid !== object?.metadata.uid) {
      this.#operations.forgetPolicy(before.compiled.uid);
      this.#revisions.changed(before.compiled.ref.namespace);
    }
    if (object === undefined) return this.#policyGone(key);
    if (before === undefined || !isSameSpec(before.object, object) || this.compiles(key)) {
      this.#uncompiled.set(key, object);
      return this.#slice.isOver() ? this.#scheduler.soon(key) : this.#scheduler.unlessAtRest(key);
    }
    const statusOnly = isSameLife(before.object, object);
    const entry = this.policies.set(key, object, before.compiled);
    if (this.#loaded) this.#evaluator.adoptWritten(entry);
    if (statusOnly) onStatusWritten(key);
    else enqueue(key);
  }

  #policyGone(key: string): void {
    const readers = this.#readers();
    const gone = this.policies.get(key);
    this.policies.delete(key);
    this.#readersChanged(readers);
    this.#tooLargeChanged(key, gone);
    this.#options.onDemands();
    this.#options.enqueue(key);
    this.#uncompiled.delete(key);
    this.#compilations.delete(key);
    this.#compiled(key);
  }

  *#policySteps(key: string): WorkSteps {
    const uncompiled = this.#uncompiled.get(key);
    if (uncompiled !== undefined) yield* this.#compile(key, uncompiled);
    else this.#updateRepresentatives(parsePolicyKey(key).namespace);
    const entry = this.policies.get(key);
    if (entry === undefined) return;
    this.#watchWindows(entry);
    if (entry.isStale) this.#evaluateStale(entry);
    yield* this.#evaluator.policySteps(entry);
  }

  *#clusterSteps(key: string): WorkSteps {
    while (this.#life.record(key)) yield;
    yield* this.#evaluator.clusterSteps(key);
  }

  /**
   * Until the spec is compiled the old one decides, and no release is confirmed. A compilation that is under way ends before
   * that of a newer edit begins, or a policy that is edited all the time would never be compiled.
   */
  *#compile(key: string, newest: PolicyObject): WorkSteps {
    const { object, steps } = this.#compilationOf(key, newest);
    let step: IteratorResult<void, CompiledPolicy>;
    try {
      // Not `yield*`, which would end the compilation with this turn.
      for (step = steps.next(); step.done !== true; step = steps.next()) if (this.#slice.isOver()) yield;
    } catch (error) {
      this.#compilations.delete(key);
      throw error;
    }
    this.#compilations.delete(key);
    const { [CAUSE]: error } = step.value;
    if (error !== undefined) this.#options.log.error("Failed to compile a policy", { policy: key, error });
    const isNewest = isSameSpec(object, newest);
    this.#specChanged(key, isNewest ? newest : object, step.value);
    this.#options.enqueue(key);
    if (isNewest) this.#uncompiled.delete(key);
    else this.#scheduler.soon(key);
    this.#compiled(key);
  }

  #compilationOf(key: string, newest: PolicyObject): Compilation {
    const known = this.#compilations.get(key);
    // Another uid: the policy was deleted and made again meanwhile.
    if (known !== undefined && known.object.metadata.uid === newest.metadata.uid) return known;
    const begun = { object: newest, steps: this.compile(key, newest) };
    this.#compilations.set(key, begun);
    return begun;
  }

  compile(key: string, object: PolicyObject): WorkSteps<CompiledPolicy> {
    return compileInSteps(parsePolicyKey(key).kind, object, this.#options.served);
  }

  #specChanged(key: string, object: PolicyObject, compiled: CompiledPolicy): void {
    const before = this.policies.get(key);
    const readers = this.#readers();
    const { demands } = before ?? {}; // policies.set() may change `before`
    const wasTooLarge = before?.compiled.tooLarge;
    if (before !== undefined) this.#operations.policyEdited(compiled.uid, before.object.spec, object.spec);
    const entry = this.policies.set(key, object, compiled);
    this.#revisions.changed(compiled.ref.namespace);
    if (!isDeepStrictEqual(demands, entry.demands)) this.#options.onDemands();
    this.#tooLargeChanged(key, entry, wasTooLarge);
    if (this.#loaded) this.#evaluator.compareAll(entry);
    this.#readersChanged(readers);
  }

  /** `undefined` while loading, which would compute them for each policy. */
  #readers(): MarkReaders | undefined {
    return this.#loaded ? this.policies.readers : undefined;
  }

  /** Messages of HookPolicies have no command for a mark that the platform's gates read. */
  #readersChanged(before: MarkReaders | undefined): void {
    if (isDeepStrictEqual(before, this.#readers())) return;
    this.#revisions.changed(undefined);
    for (const cluster of this.#options.clusters.list())
      if (this.#operations.has(cluster.metadata.uid)) this.#evaluator.evaluate(cluster);
  }

  rolloutChanged(name: string, object: HookRollout | undefined): void {
    const readers = this.#readers();
    this.policies.rolloutChanged(name, object);
    this.#scheduler.because(this.#options.now(), () => this.#readersChanged(readers));
  }

  /** Thousands of policies can become too large at once. */
  #tooLargeChanged(key: string, entry: PolicyEntry | undefined, was = entry?.compiled.tooLarge): void {
    const { ref: { namespace } = {}, tooLarge } = entry?.compiled ?? {};
    if (namespace === undefined || (tooLarge !== true && was !== true)) return;
    this.#unrepresented.add(namespace);
    this.#scheduler.soon(key);
  }

  #updateRepresentatives(namespace = ""): void {
    if (this.#unrepresented.delete(namespace)) this.#evaluator.updateRepresentatives(namespace, this.#loaded);
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    const changed = now ?? before;
    if (changed !== undefined) this.#revisions.changed(clusterKey(changed));
    this.#scheduler.because(this.#options.now(), () => this.#clusterChanged(before, now));
  }

  #clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    if (!this.#loaded) return;
    const withStatus = this.policies.readStatus;
    if (before !== undefined && now !== undefined && sameCluster(before, now, { withStatus })) return;
    const { ended, hasBegun, isGone } = this.#life.clusterChanged(before, now);
    for (const operation of ended) this.#evaluator.forget(operation);
    if (before !== undefined && isGone) {
      this.#clusterGone(before.metadata.uid);
      this.#finalizeTooLarge(before.metadata.namespace ?? "");
    }
    if (now !== undefined) {
      if (hasBegun) this.#evaluator.adoptRowsOf(now);
      this.#evaluator.clusterChanged(now);
    }
    this.#lookAt(now ?? before);
  }

  #lookAt(cluster: Cluster | undefined): void {
    if (cluster === undefined) return;
    const key = clusterKey(cluster);
    if (this.#life.hasProceeded(key) || this.#operations.has(cluster.metadata.uid))
      this.#scheduler.inTime(key);
  }

  /** Policies that are too large do not know which Clusters they match, so the last Cluster tells them. */
  #finalizeTooLarge(namespace: string): void {
    const [another] = this.#options.clusters.byNamespace(namespace);
    if (another !== undefined) return;
    for (const { key, compiled } of this.policies.entries())
      if (compiled.tooLarge === true && compiled.ref.namespace === namespace) this.#options.enqueue(key);
  }

  /** Selectors match the labels of a Namespace, and gates may look at it and at the objects in it. */
  namespaceChanged(name: string): void {
    this.#revisions.changed(name);
    if (!this.#loaded) return;
    for (const entry of this.policies.entries()) if (entry.readsNamespaces) this.#setStale(entry);
    this.#scheduler.because(this.#options.now(), () => {
      for (const cluster of this.#options.clusters.byNamespace(name)) this.#evaluator.compare(cluster);
    });
  }

  /** What Clusters of the namespace own is being deleted, or is not any more. */
  partsChanged(namespace: string): void {
    if (!this.#loaded) return;
    for (const cluster of this.#options.clusters.byNamespace(namespace))
      this.#evaluator.evaluateLater(cluster);
  }

  /** Only expressions read the settings. */
  settingsChanged(): void {
    for (const entry of this.policies.entries()) if (entry.compiled.readsStatus) this.#setStale(entry);
  }

  /**
   * The operator told the API server to refuse a request. The refusal of a new Cluster is not recorded: no object shows
   * Events about it, and each attempt has another uid.
   */
  requestRefused(request: DecisionRequest, decision: Decision): void {
    if (this.decider.known(request.cluster) !== undefined) this.#life.refused(request, decision);
  }

  overrideChanged(name: string, object: HookOverride | undefined): void {
    const key = overrideKey(name);
    const before = this.overrides.get(key);
    const clusters = this.overrides.set(name, object);
    for (const cluster of clusters) this.#revisions.changed(cluster);
    if (before === undefined || object === undefined || !isSameSpec(before.object, object))
      for (const cluster of clusters) this.#evaluateLater(cluster);
    this.#options.enqueue(key);
  }

  tasksChanged(cluster: string): void {
    this.#evaluateLater(cluster);
  }

  #evaluateLater(key: string): void {
    const cluster = this.#options.clusters.get(key);
    if (this.#loaded && cluster !== undefined) this.#evaluator.evaluateLater(cluster);
  }

  /** Whether HookTasks can be read has changed. */
  allTasksChanged(): void {
    const haveTasks = [...this.policies.entries()].some(({ compiled }) => compiled.account !== undefined);
    if (this.#loaded && haveTasks) this.#evaluateAll();
  }

  /** Objects of a kind can change by the hundred, so policies are re-evaluated once for many changes. */
  objectsChanged(kind: ObjectKind): void {
    const changed = objectKindKey(kind);
    for (const entry of this.policies.entries()) if (entry.demands.has(changed)) this.#setStale(entry);
  }

  #setStale(entry: PolicyEntry): void {
    if (entry.isStale) return;
    entry.isStale = true;
    this.#scheduler.soon(entry.key);
  }

  #evaluateStale(entry: PolicyEntry): void {
    entry.isStale = false;
    if (!this.#loaded) return;
    this.#evaluator.evaluateAgain(entry);
    // Whether the objects can be read at all is part of the status.
    this.#options.enqueue(entry.key);
  }

  demands(): ObjectDemand[] {
    return demandsInTurns(this.policies.entries());
  }

  #evaluateAll(): void {
    for (const cluster of this.#options.clusters.list()) this.#evaluator.evaluateLater(cluster);
  }

  /** Reports every edge of the policy's windows, whether or not an operation waits for it. */
  #watchWindows(entry: PolicyEntry): void {
    const now = this.#options.now();
    const before = entry.windows;
    for (const event of windowTransitions(entry, now)) this.#options.onEvent(event);
    if (!isDeepStrictEqual(before, entry.windows)) this.#options.enqueue(entry.key);
    const edge = windowEdge(entry, now);
    if (edge !== undefined) this.#scheduler.at(entry.key, edge);
  }
}
