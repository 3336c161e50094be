/** A policy in memory, and what is known about its Clusters. */

import {
  type ClusterHookPolicy,
  type DecisionRow,
  type HookPolicy,
  MAX_RECENT,
  type RecentResult,
} from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { entryOf } from "../lib/entry-of.ts";
import { LARGEST_FLEET } from "../lib/kept.ts";
import { operationKey } from "../operations/operation.ts";
import { type PolicyRow, holdsOperation, resultKey, saysTheSame } from "../operations/rows.ts";
import {
  type CompiledPolicy,
  demandsOf,
  mergeDemands,
  type ObjectDemand,
  readsNamespaces,
} from "../policy/policy.ts";

/** The share of the deadline's time that has passed, in per cent; "Near": less than the rule's warnBefore is left. */
export type DeadlineStep = 50 | 80 | "Near" | 100;

export interface WindowLook {
  readonly rule: string;
  readonly gate: string;
  readonly open: boolean;
  /** Absent: the window never changes again. */
  readonly changesAt?: Date;
}

/** What a replica knows without the stored status: see mayHideRows() in policy-status.ts. */
export interface RowSets {
  /** By operationKey. */
  readonly rows: ReadonlySet<string>;
  /** By uid of the Cluster. */
  readonly blocked: ReadonlySet<string>;
  readonly wouldBlock: ReadonlySet<string>;
}

export const NOTHING_KNOWN: RowSets = { rows: new Set(), blocked: new Set(), wouldBlock: new Set() };

/** `keys`: the operationKey of each row. A caller that has them passes them: ten thousand take longer than all the rest. */
export function rowSetsOf(
  held: readonly PolicyRow[],
  keys: Iterable<string> = held.map(({ clusterUID, hook }) => operationKey(clusterUID, hook)),
): RowSets {
  const [blocked, wouldBlock] = [new Set<string>(), new Set<string>()];
  for (const { clusterUID, holds, verdict } of held) {
    if (holds) blocked.add(clusterUID);
    if (verdict === "WouldBlock") wouldBlock.add(clusterUID);
  }
  return { rows: new Set(keys), blocked, wouldBlock };
}

export class PolicyEntry {
  readonly key: string;
  object: HookPolicy | ClusterHookPolicy;
  compiled: CompiledPolicy;
  /** False: another policy that is too large represents it (policy-set.ts), and it remembers nothing. */
  isEvaluated: boolean;
  /** When memory learnt of the spec, in monotonic milliseconds; -Infinity before everything was read. */
  editedAt = -Infinity;
  /** Keys of the Clusters that it matches. */
  readonly matched = new Set<string>();
  /** Keys of Clusters for which it has still to be evaluated; the last one comes first. */
  toEvaluate: string[] = [];
  /** Keys of Clusters that have still to be compared with its selectors; the last one comes first. */
  toCompare: string[] = [];
  /** Rows of its status that have still to be adopted; the last one comes first. */
  toAdopt: DecisionRow[] = [];
  /** Rows in `held` whose forecast has still to be made, by operationKey. */
  readonly awaitingForecast = new Set<string>();
  /** Since when there have been any, in monotonic milliseconds. */
  awaitingForecastSince = -Infinity;
  /** Whether what it looks at has changed since its last evaluation. */
  isStale = false;
  /** The kinds of objects that its gates look at, by objectKindKey. */
  demands: ReadonlyMap<string, ObjectDemand>;
  /** Whether other Namespaces than the Cluster's own matter to one of its gates. */
  readsNamespaces: boolean;
  /** What it holds, would hold or cannot evaluate, by operationKey. */
  readonly held = new Map<string, PolicyRow>();
  /** Operations that it has held and that have not ended, by operationKey: users who saw a hold begin see it end. */
  readonly hasHeld = new Set<string>();
  /** This replica's knowledge when it last computed the status. */
  known: RowSets = NOTHING_KNOWN;
  /** The last results, for the status; merging them again changes nothing. */
  recent: readonly RecentResult[] = [];
  readonly recorded = new RecordedResults();
  /** How many operations it would have held, since this replica has known it. */
  readonly wouldHaveHeld = new Map<HookName, number>();
  /** The step that each running deadline has passed, 0 before the first: by operationKey, then rule. */
  readonly deadlines = new Map<string, ReadonlyMap<string, DeadlineStep | 0>>();
  /** Whether each window was open at the last look, by rule and gate. */
  windows: ReadonlyMap<string, WindowLook> = new Map();

  constructor(key: string, object: PolicyEntry["object"], compiled: CompiledPolicy) {
    this.key = key;
    this.object = object;
    this.compiled = compiled;
    this.isEvaluated = representsItself(compiled);
    this.demands = mergeDemands(demandsOf(compiled));
    this.readsNamespaces = readsNamespaces(compiled);
  }

  /** Takes a newer copy of the same policy, and keeps what is known about its Clusters. */
  replace(object: PolicyEntry["object"], compiled: CompiledPolicy): void {
    this.object = object;
    if (this.compiled === compiled) return;
    this.compiled = compiled;
    this.demands = mergeDemands(demandsOf(compiled));
    this.readsNamespaces = readsNamespaces(compiled);
    this.isEvaluated = representsItself(compiled);
    if (compiled.tooLarge === true) return this.forgetAll();
    // The status must not show timers of the old spec under the new one, or a restart would adopt them.
    for (const [operation, held] of this.held) {
      if (held.timers === undefined) continue; // ten thousand copies would take longer than all the rest
      const { timers: _, ...row } = held;
      this.held.set(operation, row);
    }
    // A window that an edit opens or closes is not an edge.
    this.windows = new Map();
  }

  setEvaluated(isEvaluated: boolean): void {
    this.isEvaluated = isEvaluated;
    if (!isEvaluated) this.forgetAll();
  }

  /** What is known about its Clusters takes memory, too. */
  forgetAll(): void {
    [this.toEvaluate, this.toCompare, this.toAdopt, this.windows] = [[], [], [], new Map()];
    for (const each of [this.matched, this.awaitingForecast, this.held, this.hasHeld, this.deadlines])
      each.clear();
  }

  /** All these Clusters have to be compared with its selectors, and evaluated. */
  compareAll(clusterKeys: readonly string[]): void {
    this.toEvaluate = [];
    this.toCompare = clusterKeys.toReversed();
    this.editedAt = performance.now();
  }

  /** It has to be re-evaluated for all Clusters that it matches; those that have waited longest come first. */
  evaluateAgain(): void {
    const waiting = new Set(this.toEvaluate);
    this.toEvaluate = [...[...this.matched].filter((key) => !waiting.has(key)), ...this.toEvaluate];
  }

  /** Returns whether that has changed. */
  match(clusterKey: string, matches: boolean): boolean {
    if (matches === this.matched.has(clusterKey)) return false;
    if (matches) this.matched.add(clusterKey);
    else this.matched.delete(clusterKey);
    return true;
  }

  /** Sets what the policy says about the operation now. */
  setRow(operation: string, row: PolicyRow | undefined): void {
    this.awaitingForecast.delete(operation);
    if (row === undefined) return void this.held.delete(operation);
    this.held.set(operation, row);
    if (this.awaitingForecast.size === 0) this.awaitingForecastSince = performance.now();
    this.awaitingForecast.add(operation);
  }

  /** Takes the row as if it had been here before, so that `since` stays what users have seen. */
  adopt(operation: string, row: DecisionRow): void {
    const mine = this.held.get(operation);
    const holds = holdsOperation(row, this.compiled);
    if (holds) this.hasHeld.add(operation);
    if (mine === undefined) this.held.set(operation, { ...row, holds, basis: "" });
    else if (saysTheSame(mine, row)) this.held.set(operation, { ...mine, since: row.since });
  }

  /** Returns whether the result is new. */
  keep(result: RecentResult): boolean {
    if (!this.recorded.add(result)) return false;
    this.recent = [result, ...this.recent].slice(0, MAX_RECENT);
    const { verdict, hook } = result;
    if (verdict === "WouldBlock") this.wouldHaveHeld.set(hook, (this.wouldHaveHeld.get(hook) ?? 0) + 1);
    return true;
  }

  /** Records the steps that the deadlines of the operation have passed. */
  setDeadlines(operation: string, deadlines: readonly { rule: string; step: DeadlineStep | 0 }[]): void {
    if (deadlines.length === 0) this.deadlines.delete(operation);
    else this.deadlines.set(operation, new Map(deadlines.map(({ rule, step }) => [rule, step])));
  }

  /** The operation has ended. Returns whether that changes the status. */
  end(operation: string): boolean {
    this.deadlines.delete(operation);
    this.hasHeld.delete(operation);
    this.awaitingForecast.delete(operation);
    return this.held.delete(operation);
  }

  /** The Cluster is gone. Returns whether the policy matched it. */
  forget(clusterUID: string, clusterKey: string): boolean {
    this.recorded.forget(clusterUID);
    return this.matched.delete(clusterKey);
  }
}

function representsItself({ tooLarge, ref }: CompiledPolicy): boolean {
  return tooLarge !== true || ref.kind === "ClusterHookPolicy";
}

/** A user can name any version, so a Cluster with this many results gets no further ones of these. */
const MAX_WITH_ANY_VERSION = 32;
const OF_ANY_VERSION: ReadonlySet<RecentResult["verdict"]> = new Set(["Refused", "NotAsked"]);

class RecordedResults {
  /** resultKeys, by the Cluster's uid. */
  readonly #byCluster = new Map<string, Set<string>>();

  keys(): string[] {
    return [...this.#byCluster.values()].flatMap((keys) => [...keys]);
  }

  /** Returns whether it is new. */
  add(result: RecentResult): boolean {
    const { clusterUID, verdict } = result;
    const key = resultKey(result);
    const known = this.#byCluster.get(clusterUID);
    if (known?.has(key) === true) return false;
    if (OF_ANY_VERSION.has(verdict) && known !== undefined && known.size >= MAX_WITH_ANY_VERSION)
      return false;
    // Any caller can invent Clusters. Beyond this bound a result may be recorded twice.
    if (known === undefined && this.#byCluster.size >= LARGEST_FLEET) this.#byCluster.clear();
    entryOf(this.#byCluster, clusterUID, () => new Set()).add(key);
    return true;
  }

  /** The Cluster is gone. */
  forget(clusterUID: string): void {
    this.#byCluster.delete(clusterUID);
  }
}
