/**
 * The decisions in memory: per Cluster and hook what was asked, since when, and what every policy says of
 * it now. Changes of policies, Clusters and Namespaces are applied as they arrive, without waiting for a call.
 */

import { isDeepStrictEqual } from "node:util";
import type { LogFields, Logger } from "../api/logger.ts";
import type { Cluster, Namespace } from "../api/meta.ts";
import type { DecisionRow, RecentResult } from "../api/hookpolicy.ts";
import { MAX_RECENT } from "../api/hookpolicy.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { newerOf, newerThan } from "../policy/cluster.ts";
import { compilePolicy, type ServedHooks } from "../policy/compile.ts";
import { decide, matches } from "../policy/decide.ts";
import type { Decision, PolicyTrace } from "../policy/decision.ts";
import type { World } from "../policy/world.ts";
import { targetVersion } from "../policy/gates.ts";
import { policyName } from "../policy/policy.ts";
import { type Ask, askFromRow, askKey, deletionAsk, hasEnded, newAsk } from "./asks.ts";
import { type PolicyEntry, type PolicyObject, parsePolicyKey, policyKey, PolicySet } from "./policyset.ts";
import { type HeldRow, heldRow, resultKey, timestamp } from "./status.ts";

/** The read side of an informer. */
export interface Lister<T> {
  get(key: string): T | undefined;
  byNamespace(namespace: string): Iterable<T>;
  list(): Iterable<T>;
}

export interface StoreOptions {
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly served: ServedHooks;
  readonly log: Logger;
  readonly now: () => Date;
  /** The policy's status or finalizer may have to change: reconcile it. */
  readonly onDirty: (policyKey: string) => void;
  /** Somebody wrote the status; whoever learnt something wrote it, so there is no hurry to look. */
  readonly onStatusWritten: (policyKey: string) => void;
}

/** What a caller of the hook tells. */
export interface AskRequest {
  readonly call: Ask["call"];
  readonly cluster: Cluster;
}

/** Asks about Clusters that the informer has not seen: new ones, or invented by whoever reaches the port. */
const MAX_UNKNOWN_ASKS = 1000;
/** Per policy; beyond it a result may be recorded twice. */
const MAX_RECORDED = 10_000;

export class DecisionStore {
  readonly policies = new PolicySet();
  readonly #options: StoreOptions;
  /** By Cluster uid, then hook. */
  readonly #asks = new Map<string, Map<HookName, Ask>>();
  readonly #unknown = new Map<string, Ask>();
  #loaded = false;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** Every informer holds its first list: from now on what is not in memory does not exist. */
  load(): void {
    this.#loaded = true;
    for (const entry of this.policies.entries()) this.#evaluatePolicy(entry);
    for (const cluster of this.#options.clusters.list()) this.clusterChanged(undefined, cluster);
    for (const entry of this.policies.entries()) this.#options.onDirty(entry.key);
  }

  policyChanged(key: string, object: PolicyObject | undefined): void {
    if (object === undefined) {
      this.policies.delete(key);
      return this.#options.onDirty(key);
    }
    const before = this.policies.get(key);
    const sameSpec = before !== undefined && isSameSpec(before.object, object);
    const compiled = sameSpec
      ? before.compiled
      : compilePolicy(parsePolicyKey(key).kind, object, this.#options.served);
    const statusOnly = sameSpec && isSameLife(before.object, object);
    const entry = this.policies.set(key, object, compiled);
    if (this.#loaded) {
      if (sameSpec) this.#adoptRows(entry);
      else this.#evaluatePolicy(entry);
    }
    if (statusOnly) this.#options.onStatusWritten(key);
    else this.#options.onDirty(key);
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    if (!this.#loaded) return;
    if (before !== undefined && now !== undefined && sameCluster(before, now)) return;
    const gone = before !== undefined && before.metadata.uid !== now?.metadata.uid;
    if (gone) this.#forget(before);
    if (now === undefined) return;
    this.#endAsks(now);
    this.#beginAsks(now);
    this.#evaluateCluster(now);
  }

  /** Its labels select policies, and gates may look at it. */
  namespaceChanged(name: string): void {
    if (!this.#loaded) return;
    for (const cluster of this.#options.clusters.byNamespace(name)) this.#evaluateCluster(cluster);
  }

  /** The decision from memory; remembers that the operation was asked for. */
  ask({ call, cluster: requested }: AskRequest, now: Date): Decision {
    const namespace = requested.metadata.namespace ?? "";
    const known = this.#options.clusters.get(`${namespace}/${requested.metadata.name}`);
    const cluster = newerOf(requested, known);
    const world = this.#world(cluster);
    const { entries, compiled } = this.policies.candidates(namespace);
    const decision = decide(compiled, world, call, now);
    if (!this.#options.served.blocking.has(call.hook)) return decision;
    if (!decision.trace.some(({ rules }) => rules.length > 0)) return decision;
    const { uid } = cluster.metadata;
    const before = this.#asks.get(uid)?.get(call.hook) ?? this.#unknown.get(askKey(uid, call.hook));
    const ask = newAsk(call, requested, now, before);
    if (known?.metadata.uid !== uid) this.#putUnknown(ask);
    else if (!hasEnded(ask, known)) {
      this.#put(ask);
      this.#report(ask, entries, decision, now);
    }
    return decision;
  }

  /** The decision for objects that were just read; where memory has learnt more since, that must let go, too. */
  decideLive({ call }: AskRequest, live: World, now: Date): Decision {
    const { clusters, namespaces } = this.#options;
    const namespace = live.cluster.metadata.namespace ?? "";
    const { compiled } = this.policies.candidates(namespace);
    const decision = decide(compiled, live, call, now);
    if (decision.holds) return decision;
    const learnt = {
      cluster: newerThan(live.cluster, clusters.get(clusterKey(live.cluster))),
      namespace: live.namespace && newerThan(live.namespace, namespaces.get(namespace)),
    };
    return decide(compiled, learnt, call, now);
  }

  /** A go was answered: every policy that spoke about it records the result. */
  released({ call, cluster }: AskRequest, decision: Decision, now: Date): void {
    for (const trace of decision.trace) {
      const { kind, namespace, name } = trace.policy;
      const entry = this.policies.get(policyKey(kind, namespace, name));
      if (entry === undefined || trace.rules.length === 0) continue;
      const result = recentResult({ call, cluster }, trace, now);
      if (result !== undefined) this.#record(entry, result);
    }
  }

  #record(entry: PolicyEntry, result: RecentResult): void {
    const key = resultKey(result);
    if (entry.recorded.has(key)) return;
    if (entry.recorded.size >= MAX_RECORDED) entry.recorded.clear();
    entry.recorded.add(key);
    entry.recent = [result, ...entry.recent].slice(0, MAX_RECENT);
    this.#options.onDirty(entry.key);
  }

  /** Distinct Clusters that at least one policy holds, by hook: for the metric. */
  heldByHook(): Map<HookName, number> {
    const uids = new Map<HookName, Set<string>>();
    for (const { held } of this.policies.entries()) {
      for (const { hook, holds, clusterUID } of held.values()) {
        if (holds) uids.set(hook, (uids.get(hook) ?? new Set()).add(clusterUID));
      }
    }
    return new Map([...uids].map(([hook, set]) => [hook, set.size]));
  }

  #world(cluster: Cluster): World {
    return { cluster, namespace: this.#options.namespaces.get(cluster.metadata.namespace ?? "") };
  }

  #evaluatePolicy(entry: PolicyEntry): void {
    const { ref } = entry.compiled;
    const { clusters } = this.#options;
    this.#adoptRows(entry);
    entry.matched.clear();
    const inScope = ref.namespace === undefined ? clusters.list() : clusters.byNamespace(ref.namespace);
    for (const cluster of inScope) {
      this.#match(entry, cluster);
      this.#evaluateAsks(cluster, { entries: [entry], compiled: [entry.compiled] });
    }
  }

  #evaluateCluster(cluster: Cluster): void {
    const candidates = this.policies.candidates(cluster.metadata.namespace ?? "");
    for (const entry of candidates.entries) this.#match(entry, cluster);
    this.#evaluateAsks(cluster, candidates);
  }

  #match(entry: PolicyEntry, cluster: Cluster): void {
    const key = clusterKey(cluster);
    const before = entry.matched.has(key);
    const now = matches(entry.compiled, this.#world(cluster)) !== "no";
    if (now === before) return;
    if (now) entry.matched.add(key);
    else entry.matched.delete(key);
    this.#options.onDirty(entry.key);
  }

  #evaluateAsks(cluster: Cluster, { entries, compiled }: ReturnType<PolicySet["candidates"]>): void {
    const asks = this.#asks.get(cluster.metadata.uid);
    if (asks === undefined) return;
    const now = this.#options.now();
    const world = this.#world(cluster);
    for (const ask of asks.values()) this.#report(ask, entries, decide(compiled, world, ask.call, now), now);
  }

  /** What each policy holds now, and whether that is news. */
  #report(ask: Ask, entries: readonly PolicyEntry[], decision: Decision, now: Date): void {
    const key = askKey(ask.clusterUID, ask.call.hook);
    for (const [index, trace] of decision.trace.entries()) {
      const entry = entries[index];
      if (entry === undefined) continue;
      const before = entry.held.get(key);
      const row = heldRow(ask, trace, before, now);
      if (sameRow(before, row)) continue;
      if (row === undefined) entry.held.delete(key);
      else entry.held.set(key, row);
      this.#logChange(entry, ask, before, row);
      this.#options.onDirty(entry.key);
    }
  }

  #logChange(entry: PolicyEntry, ask: Ask, before: HeldRow | undefined, row: HeldRow | undefined): void {
    const from = before?.verdict ?? "Allowed";
    const to = row?.verdict ?? "Allowed";
    if (from === to && before?.rule === row?.rule) return;
    const shown = row ?? before;
    const fields: LogFields = {
      hook: ask.call.hook,
      cluster: `${ask.namespace}/${ask.cluster}`,
      policy: policyName(entry.compiled.ref),
      rule: shown?.rule,
      from,
      to,
      ...(row !== undefined && { reason: row.reason }),
    };
    this.#options.log.info("Decision changed", fields);
  }

  /** Rows that other replicas, or this one before a restart, have written. */
  #adoptRows(entry: PolicyEntry): void {
    for (const result of entry.object.status?.recent ?? []) entry.recorded.add(resultKey(result));
    for (const row of entry.object.status?.decisions ?? []) {
      const cluster = this.#options.clusters.get(`${row.namespace}/${row.cluster}`);
      if (cluster !== undefined && cluster.metadata.uid === row.clusterUID)
        this.#adoptRow(entry, row, cluster);
    }
  }

  #adoptRow(entry: PolicyEntry, row: DecisionRow, cluster: Cluster): void {
    const adopted = askFromRow(row, cluster);
    if (adopted === undefined || !this.#options.served.blocking.has(row.hook)) return;
    const known = this.#asks.get(row.clusterUID)?.get(row.hook);
    const ask = known === undefined ? adopted : merge(known, adopted);
    if (hasEnded(ask, cluster)) return;
    if (ask !== known) this.#put(ask);
    const key = askKey(row.clusterUID, row.hook);
    const mine = entry.held.get(key);
    // Evaluated as if it had been here before, so that `since` stays what users have seen.
    if (mine === undefined) entry.held.set(key, { ...row, holds: false });
    else if (mine.verdict === row.verdict && mine.rule === row.rule)
      entry.held.set(key, { ...mine, since: row.since });
    const now = this.#options.now();
    const decision = decide([entry.compiled], this.#world(cluster), ask.call, now);
    this.#report(ask, [entry], decision, now);
  }

  #beginAsks(cluster: Cluster): void {
    const { uid } = cluster.metadata;
    for (const [key, ask] of this.#unknown) {
      if (ask.clusterUID !== uid) continue;
      this.#unknown.delete(key);
      if (!hasEnded(ask, cluster)) this.#put(ask);
    }
    if (!this.#options.served.blocking.has("BeforeClusterDelete")) return;
    if (this.#asks.get(uid)?.has("BeforeClusterDelete") === true) return;
    const ask = deletionAsk(cluster);
    if (ask !== undefined) this.#put(ask);
  }

  #endAsks(cluster: Cluster): void {
    const asks = this.#asks.get(cluster.metadata.uid);
    for (const ask of asks?.values() ?? []) {
      if (hasEnded(ask, cluster)) this.#end(ask);
    }
  }

  #end(ask: Ask): void {
    const asks = this.#asks.get(ask.clusterUID);
    asks?.delete(ask.call.hook);
    if (asks?.size === 0) this.#asks.delete(ask.clusterUID);
    const key = askKey(ask.clusterUID, ask.call.hook);
    for (const entry of this.policies.candidates(ask.namespace).entries) {
      if (entry.held.delete(key)) this.#options.onDirty(entry.key);
    }
  }

  /** The Cluster is gone, or another one has its name. */
  #forget(cluster: Cluster): void {
    for (const ask of this.#asks.get(cluster.metadata.uid)?.values() ?? []) this.#end(ask);
    const key = clusterKey(cluster);
    for (const entry of this.policies.candidates(cluster.metadata.namespace ?? "").entries) {
      if (entry.matched.delete(key)) this.#options.onDirty(entry.key);
    }
  }

  #put(ask: Ask): void {
    const asks = this.#asks.get(ask.clusterUID) ?? new Map<HookName, Ask>();
    asks.set(ask.call.hook, ask);
    this.#asks.set(ask.clusterUID, asks);
  }

  #putUnknown(ask: Ask): void {
    this.#unknown.set(askKey(ask.clusterUID, ask.call.hook), ask);
    const oldest = this.#unknown.keys().next();
    if (this.#unknown.size > MAX_UNKNOWN_ASKS && oldest.done !== true) this.#unknown.delete(oldest.value);
  }
}

export function clusterKey({ metadata: { namespace, name } }: Cluster): string {
  return `${namespace}/${name}`;
}

/** Of one operation, the first question; of two operations, the later one: every replica comes to the same. */
function merge(known: Ask, adopted: Ask): Ask {
  if (targetVersion(known.call) !== targetVersion(adopted.call)) {
    return adopted.firstAsked > known.firstAsked ? adopted : known;
  }
  return adopted.firstAsked < known.firstAsked ? { ...known, firstAsked: adopted.firstAsked } : known;
}

function sameRow(a: HeldRow | undefined, b: HeldRow | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.verdict === b.verdict &&
    a.holds === b.holds &&
    a.rule === b.rule &&
    a.gate === b.gate &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.firstAsked === b.firstAsked &&
    a.targetVersion === b.targetVersion
  );
}

function recentResult(
  { call, cluster }: AskRequest,
  trace: PolicyTrace,
  now: Date,
): RecentResult | undefined {
  const { verdict } = trace;
  if (verdict !== "Allowed" && verdict !== "Observed" && verdict !== "WouldBlock") return undefined;
  const { namespace = "", name, uid } = cluster.metadata;
  const version = targetVersion(call);
  return {
    namespace,
    cluster: name,
    clusterUID: uid,
    hook: call.hook,
    verdict,
    time: timestamp(now),
    ...(version !== undefined && { targetVersion: version }),
  };
}

/** Compared as a whole: another version of the CRD can change what a generation reads like. */
function isSameSpec(a: PolicyObject, b: PolicyObject): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    isDeepStrictEqual(a.spec, b.spec)
  );
}

function isSameLife({ metadata: a }: PolicyObject, { metadata: b }: PolicyObject): boolean {
  return a.deletionTimestamp === b.deletionTimestamp && isDeepStrictEqual(a.finalizers, b.finalizers);
}

/** Most changes of a Cluster are of its status, which no policy sees. */
function sameCluster({ metadata: a, ...restA }: Cluster, { metadata: b, ...restB }: Cluster): boolean {
  const { resourceVersion: _a, generation: _ga, ...metaA } = a;
  const { resourceVersion: _b, generation: _gb, ...metaB } = b;
  return isDeepStrictEqual(metaA, metaB) && isDeepStrictEqual(restA, restB);
}
