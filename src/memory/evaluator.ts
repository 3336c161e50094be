/** Re-evaluates every policy where something has changed, and keeps what each policy holds. */

import { isDeepStrictEqual } from "node:util";
import type { DecisionRow } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { clusterKey } from "../views/cluster.ts";
import { matches } from "../policy/decide.ts";
import { forecast, withoutTasks } from "../operations/forecast.ts";
import { timestamp, wholeSecond } from "../lib/instant.ts";
import { RETRY_SECONDS } from "../policy/policy.ts";
import { policyName } from "../policy/policy-ref.ts";
import { BUDGET_EXHAUSTED } from "../policy/strict-reasons.ts";
import { type Look, lookAt, nextLook } from "../operations/timeline.ts";
import { notAhead } from "../operations/timers.ts";
import { adoptRow, oncePerOperation } from "../operations/adopt-row.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { clusterOfRow, type PolicyRow, sameRow, storedRow } from "../operations/rows.ts";
import { tornDown } from "../operations/torn-down.ts";
import type { Candidates } from "./policy-set.ts";
import { type Memory, type Revisions, type StoreOptions, withSettings, worldOf } from "./memory.ts";
import type { WorkSteps } from "../lib/work-steps.ts";
import type { EvaluationScheduler } from "./evaluation-scheduler.ts";
import { nextDeadlineStep, rowChanges } from "./transitions.ts";
import type { PolicyEntry } from "./policy-entry.ts";

type NamedCluster = Pick<PendingOperation, "namespace" | "cluster" | "clusterUID">;

/** The clock changes without an event, so expressions are re-evaluated about as often as Cluster API calls. */
const lookAgain = (): number => RETRY_SECONDS;

export class Evaluator {
  readonly #memory: Memory;
  readonly #scheduler: EvaluationScheduler;
  readonly #revisions: Revisions;
  readonly #options: StoreOptions;
  /** When the decision about an operation may change, in milliseconds, by operationKey. */
  readonly #due = new Map<string, number>();
  /** Keys of Clusters that have still to be compared with the selectors of policies. */
  readonly #toCompare = new Set<string>();

  constructor(memory: Memory, scheduler: EvaluationScheduler, revisions: Revisions, options: StoreOptions) {
    this.#memory = memory;
    this.#scheduler = scheduler;
    this.#revisions = revisions;
    this.#options = options;
  }

  /** After a change of the policies that are too large in this namespace: another one may represent them. */
  updateRepresentatives(namespace: string, loaded: boolean): void {
    const evaluated = new Set(this.#candidates(namespace).entries);
    for (const entry of this.#memory.policies.entries()) {
      const { ref, tooLarge } = entry.compiled;
      if (tooLarge !== true || ref.namespace !== namespace) continue;
      if (entry.isEvaluated === evaluated.has(entry)) continue;
      entry.setEvaluated(evaluated.has(entry));
      if (entry.isEvaluated && loaded) this.compareAll(entry);
      this.#scheduler.soon(entry.key);
      this.#options.enqueue(entry.key);
    }
  }

  /** The policy has to be compared with all Clusters in its scope, and evaluated for those that it matches. */
  compareAll(entry: PolicyEntry): void {
    if (!entry.isEvaluated) return;
    const { namespace } = entry.compiled.ref;
    const { clusters } = this.#options;
    this.adoptRows(entry);
    entry.compareAll(
      [...(namespace === undefined ? clusters.list() : clusters.byNamespace(namespace))].map(clusterKey),
    );
  }

  /**
   * What the policy looks at has changed, but not the Clusters that it matches. Policies of a namespace share their steps,
   * so none of them is evaluated alone.
   */
  evaluateAgain(entry: PolicyEntry): void {
    const { namespace } = entry.compiled.ref;
    if (namespace === undefined) entry.evaluateAgain();
    else for (const cluster of this.#options.clusters.byNamespace(namespace)) this.evaluateLater(cluster);
  }

  /** What is left to do about the policy: adopt rows, compare it with Clusters, and evaluate it for them. */
  *policySteps(entry: PolicyEntry): WorkSteps {
    // Read anew at each step: between two steps an event may put another list in a list's place.
    for (let row = entry.toAdopt.pop(); row !== undefined; row = entry.toAdopt.pop()) {
      this.#adoptRow(entry, row);
      yield;
    }
    for (let key = entry.toCompare.pop(); key !== undefined; key = entry.toCompare.pop()) {
      this.#compareWith(entry, key);
      if (entry.toCompare.length > 0) yield;
      else if (entry.toEvaluate.length === 0) this.#options.enqueue(entry.key);
    }
    if (entry.toEvaluate.length === 0) return;
    const sharers = this.#memory.policies.sharers(entry);
    for (let key = entry.toEvaluate.pop(); key !== undefined; key = entry.toEvaluate.pop()) {
      const cluster = this.#options.clusters.get(key);
      if (entry.toEvaluate.length === 0) this.#options.enqueue(entry.key);
      if (cluster === undefined) continue;
      const operations = this.#memory.operations.of(cluster.metadata.uid);
      for (const operation of operations) this.#evaluate(operation, cluster, sharers);
      yield* this.#forecastsOf(operations, cluster, sharers);
    }
  }

  /** Those that are not made before the turn ends are made when the Cluster is looked at. */
  *#forecastsOf(
    operations: readonly PendingOperation[],
    cluster: Cluster,
    { entries }: Candidates,
  ): WorkSteps {
    let isDone = false;
    try {
      yield;
      for (const operation of operations) yield* this.#forecasts(operation, cluster, entries);
      isDone = true;
    } finally {
      if (!isDone) this.#scheduler.soon(clusterKey(cluster));
    }
  }

  #compareWith(entry: PolicyEntry, key: string): void {
    const cluster = this.#options.clusters.get(key);
    if (cluster === undefined) return;
    this.#match(entry, cluster);
    if (this.#memory.operations.has(cluster.metadata.uid)) entry.toEvaluate.push(key);
  }

  clusterChanged(cluster: Cluster): void {
    for (const entry of this.#candidates(cluster.metadata.namespace).entries) this.#match(entry, cluster);
    this.#setDue(cluster);
  }

  /** The labels of the Cluster's Namespace have changed. A Namespace can have thousands of Clusters. */
  compare(cluster: Cluster): void {
    this.#toCompare.add(clusterKey(cluster));
    this.evaluate(cluster);
  }

  evaluate(cluster: Cluster): void {
    this.#setDue(cluster);
    this.#scheduler.inTime(clusterKey(cluster));
  }

  evaluateLater(cluster: Cluster): void {
    if (!this.#memory.operations.has(cluster.metadata.uid)) return;
    this.#setDue(cluster);
    this.#scheduler.soon(clusterKey(cluster));
  }

  #setDue({ metadata: { uid } }: Cluster): void {
    const now = this.#options.now().getTime();
    for (const { call } of this.#memory.operations.of(uid)) this.#due.set(operationKey(uid, call.hook), now);
  }

  forget({ clusterUID, call }: PendingOperation): void {
    this.#due.delete(operationKey(clusterUID, call.hook));
  }

  /** What is due about the Cluster: compare it with policies, evaluate its operations, and make their forecasts. */
  *clusterSteps(key: string): WorkSteps {
    const cluster = this.#options.clusters.get(key);
    const isUncompared = this.#toCompare.delete(key);
    if (cluster === undefined) return;
    const { uid, namespace } = cluster.metadata;
    const candidates = this.#candidates(namespace);
    if (isUncompared) for (const entry of candidates.entries) this.#match(entry, cluster);
    for (const operation of this.#memory.operations.of(uid)) {
      if (!this.#takeDue(operation)) continue;
      this.#evaluate(operation, cluster, candidates);
      yield;
    }
    for (const operation of this.#memory.operations.of(uid)) {
      yield* this.#forecasts(operation, cluster, candidates.entries);
      this.#wakeFor(operation);
    }
  }

  #takeDue({ clusterUID, call }: PendingOperation): boolean {
    const key = operationKey(clusterUID, call.hook);
    const isDue = (this.#due.get(key) ?? Infinity) <= this.#options.now().getTime();
    if (isDue) this.#due.delete(key);
    return isDue;
  }

  #candidates(namespace: string | undefined): Candidates {
    return this.#memory.policies.candidates(namespace ?? "");
  }

  #match(entry: PolicyEntry, cluster: Cluster): void {
    const namespace = this.#options.namespaces.get(cluster.metadata.namespace ?? "");
    const now = matches(entry.compiled, { cluster, namespace }) !== "no";
    if (entry.match(clusterKey(cluster), now)) this.#options.enqueue(entry.key);
  }

  #evaluate(remembered: PendingOperation, cluster: Cluster, all: Candidates): void {
    const now = this.#options.now();
    const operation = notAhead(remembered, now);
    const candidates = knowing(operation, all);
    const world = worldOf(this.#memory, cluster);
    const call = withSettings(operation.call, operation.namespace, this.#options);
    const { compiled: policies, entries } = candidates;
    const inputs = { policies, world, call, state: operation, lookAgain, alsoAt: nextDeadlineStep };
    const look = lookAt(inputs, now);
    this.#put(look.state, remembered);
    this.#report(entries, look, cluster);
    const key = operationKey(operation.clusterUID, call.hook);
    // Keeps an earlier instant, because the edges of other policies were found when those were evaluated.
    const next = Math.min(this.#due.get(key) ?? Infinity, nextLook(inputs, look)?.getTime() ?? Infinity);
    if (next < Infinity) this.#due.set(key, next);
    this.#wakeFor(look.state);
  }

  #put(operation: PendingOperation, before?: PendingOperation): void {
    if (operation === before) return;
    this.#memory.operations.put(operation);
    this.#revisions.changed(clusterOfRow(operation));
  }

  #report(
    entries: Candidates["entries"],
    { state: operation, decision, at }: Look<PendingOperation>,
    cluster: Cluster,
  ): void {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    const { namespace } = operation;
    const torn = tornDown(cluster, (part) => this.#options.isBeingDeleted?.(namespace, part) === true);
    for (const each of rowChanges(entries, operation, { ...decision, tornDown: torn }, at)) {
      const { entry, before, row, events } = each;
      for (const event of events) {
        this.#options.onEvent(event);
        if (event.reason === "TornDown") this.#logTornDown(entry, operation, row);
      }
      if (sameRow(before, row)) continue;
      entry.setRow(key, row);
      if (this.#scheduler.isTurnOver()) this.#scheduler.soon(clusterOfRow(operation));
      this.#logChange(entry, operation, before, row);
      const { cause } = this.#scheduler;
      if (cause !== undefined) this.#options.onAnswerChanged?.(Math.max(0, +at - +cause));
      this.#options.enqueue(entry.key);
    }
  }

  #wakeFor(operation: PendingOperation): void {
    const due = this.#due.get(operationKey(operation.clusterUID, operation.call.hook));
    if (due !== undefined) this.#scheduler.at(clusterOfRow(operation), new Date(due));
  }

  /**
   * Makes forecasts for rows that have none, of which one decision can cause thousands. No decision depends on a forecast; the
   * status waits for it for a while (policy-reconciler.ts).
   */
  *#forecasts(operation: PendingOperation, cluster: Cluster, entries: readonly PolicyEntry[]): WorkSteps {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    for (const entry of entries) {
      const row = entry.awaitingForecast.delete(key) ? entry.held.get(key) : undefined;
      if (row === undefined) continue;
      entry.held.set(key, { ...row, ...this.#forecast(entry, operation, row, cluster) });
      this.#options.enqueue(entry.key);
      if (this.#scheduler.isTurnOver()) this.#scheduler.soon(clusterOfRow(operation));
      yield;
    }
  }

  /** An Audit policy gets the forecast that it would have in mode Enforce. A row that holds nothing has none. */
  #forecast(
    { compiled }: PolicyEntry,
    operation: PendingOperation,
    { holds, verdict, reason }: PolicyRow,
    cluster: Cluster,
  ): Pick<PolicyRow, "earliestRelease"> {
    if (reason === BUDGET_EXHAUSTED || !(holds || verdict === "WouldBlock")) return {};
    const world = worldOf(this.#memory, cluster, operation);
    const call = withSettings(operation.call, operation.namespace, this.#options);
    const now = this.#options.now();
    const at = forecast([{ ...withoutTasks(compiled), mode: "Enforce" }], world, call, now);
    return at === undefined || at <= now ? {} : { earliestRelease: timestamp(wholeSecond(at)) };
  }

  #logChange(
    entry: PolicyEntry,
    operation: PendingOperation,
    before: PolicyRow | undefined,
    row: PolicyRow | undefined,
  ): void {
    const from = before?.verdict ?? "Allowed";
    const to = row?.verdict ?? "Allowed";
    if (from === to && before?.rule === row?.rule) return;
    this.#options.log.info("Decision changed", {
      hook: operation.call.hook,
      cluster: clusterOfRow(operation),
      policy: policyName(entry.compiled.ref),
      rule: (row ?? before)?.rule,
      from,
      to,
      ...(row !== undefined && { reason: row.reason }),
    });
  }

  #logTornDown({ compiled }: PolicyEntry, operation: PendingOperation, row: PolicyRow | undefined): void {
    this.#options.log.error("A held Cluster is being torn down", {
      hook: operation.call.hook,
      cluster: clusterOfRow(operation),
      policy: policyName(compiled.ref),
      ...row?.tornDown,
    });
  }

  /** Adopts the rows that other replicas, or this one before a restart, have written, about one Cluster or about all. */
  adoptRows(entry: PolicyEntry, uid?: string): void {
    const isWanted = ({ clusterUID }: NamedCluster): boolean => uid === undefined || clusterUID === uid;
    for (const row of this.#rowsToAdopt(entry, isWanted)) this.#adoptRow(entry, row);
  }

  /**
   * Adopts a status that was written while this replica runs. What this replica has found itself is kept, and the later of
   * two instants counts, so no adopted row releases an operation earlier.
   */
  adoptWritten(entry: PolicyEntry): void {
    entry.toAdopt = this.#rowsToAdopt(entry).toReversed();
    if (entry.toAdopt.length > 0) this.#scheduler.inTime(entry.key);
  }

  /** Adopts the results at once. */
  #rowsToAdopt(entry: PolicyEntry, isWanted: (named: NamedCluster) => boolean = () => true): DecisionRow[] {
    if (!entry.isEvaluated) return [];
    const { recent = [], decisions = [] } = entry.object.status ?? {};
    for (const result of recent.filter(isWanted))
      if (this.#clusterInScope(entry, result) !== undefined) entry.recorded.add(result);
    return oncePerOperation(decisions).filter(isWanted);
  }

  /** Other clients may write a policy's status, and name Clusters of other namespaces in it, or any uid. */
  #clusterInScope({ compiled: { ref } }: PolicyEntry, named: NamedCluster): Cluster | undefined {
    if (ref.namespace !== undefined && ref.namespace !== named.namespace) return undefined;
    const cluster = this.#options.clusters.get(clusterOfRow(named));
    return cluster?.metadata.uid === named.clusterUID ? cluster : undefined;
  }

  /** Adopts what the policies' statuses say of operations that are new to this replica. */
  adoptRowsOf({ metadata: { namespace, uid } }: Cluster): void {
    for (const entry of this.#candidates(namespace).entries) this.adoptRows(entry, uid);
  }

  #adoptRow(entry: PolicyEntry, row: DecisionRow): void {
    const cluster = this.#clusterInScope(entry, row);
    if (cluster === undefined) return;
    const key = operationKey(row.clusterUID, row.hook);
    const mine = entry.held.get(key);
    // Nearly always this replica has written the row itself.
    if (mine !== undefined && isDeepStrictEqual(storedRow(mine), row)) return;
    const operation = adoptRow(row, {
      cluster,
      namespace: this.#options.namespaces.get(row.namespace),
      policy: entry.compiled,
      status: entry.object.status,
      known: this.#memory.operations.get(row.clusterUID, row.hook),
      now: this.#options.now(),
      served: this.#options.served,
    });
    if (operation === undefined) return;
    entry.adopt(key, row);
    if (this.#scheduler.isTurnOver()) {
      this.#put(operation);
      this.#due.set(key, this.#options.now().getTime());
      return this.#scheduler.soon(clusterKey(cluster));
    }
    const candidates = this.#adopting(entry, mine, row);
    this.#evaluate(operation, cluster, candidates);
    for (const _ of this.#forecasts(operation, cluster, candidates.entries))
      if (this.#scheduler.isTurnOver()) return;
  }

  /**
   * The policy alone, so that no other policy's clock starts before that policy's own row is read; or, if their shared
   * budget ran out, every policy that shares it.
   */
  #adopting(entry: PolicyEntry, mine: PolicyRow | undefined, row: DecisionRow): Candidates {
    const shares = mine?.reason === BUDGET_EXHAUSTED || row.reason === BUDGET_EXHAUSTED;
    return shares ? this.#memory.policies.sharers(entry) : { entries: [entry], compiled: [entry.compiled] };
  }
}

/** A row in the status of a policy starts no clock of another policy. */
function knowing(operation: PendingOperation, all: Candidates): Candidates {
  if (operation.fromStatusOnly !== true) return all;
  const entries = all.entries.filter(({ compiled }) => operation.reportedBy?.has(compiled.uid));
  return { entries, compiled: entries.map(({ compiled }) => compiled) };
}
