/** Re-evaluates every policy where something has changed, and keeps what each policy holds. */

import { isDeepStrictEqual } from "node:util";
import type { DecisionRow, RecentResult } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import { clusterKey } from "../policy/cluster.ts";
import { matches } from "../policy/decide.ts";
import { forecast } from "../operations/forecast.ts";
import { earliest, timestamp, wholeSecond } from "../policy/instant.ts";
import { policyName } from "../policy/policy-ref.ts";
import { BUDGET_EXHAUSTED } from "../policy/budget.ts";
import { type Look, lookAt, nextLook } from "../operations/timeline.ts";
import { notAhead } from "../operations/timers.ts";
import { adoptRow, oncePerOperation } from "../operations/adopt-row.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { type HeldRow, sameRow, storedRow } from "../operations/rows.ts";
import { tornDown } from "../operations/torn-down.ts";
import type { Candidates } from "./policy-set.ts";
import type { StoreOptions } from "./ports.ts";
import { ofOperation } from "./work-schedule.ts";
import { Slice } from "../turns/slice.ts";
import { nextDeadlineStep, rowChanges, type Transition } from "./transitions.ts";
import { type ScheduledMemory, worldOf } from "./memory.ts";
import type { PolicyEntry } from "./policy-entry.ts";

type NamedCluster = Pick<PendingOperation, "namespace" | "cluster" | "clusterUID">;

/** The clock changes without an event, so expressions are re-evaluated about as often as Cluster API calls. */
const lookAgain = (): number => 10;
/** How many Clusters are compared with a policy's selectors before the clock is checked. */
const MATCHES = 100;

export class Evaluator {
  readonly #memory: ScheduledMemory;
  readonly #options: StoreOptions;
  readonly #slice: Slice;
  /** When the change that is evaluated now was seen, or was due. */
  #cause: Date | undefined;

  constructor(memory: ScheduledMemory, options: StoreOptions) {
    this.#memory = memory;
    this.#options = options;
    this.#slice = new Slice(options.turnMs);
  }

  /** Attributes the answers that change during `work` to something that was seen, or due, at that time. */
  because(at: Date, work: () => void): void {
    const outer = this.#cause;
    this.#cause ??= at;
    this.#slice.begin();
    try {
      work();
    } finally {
      this.#cause = outer;
    }
  }

  isTurnOver(): boolean {
    return this.#slice.isOver();
  }

  /** The call as Cluster API would send it now: the settings of the ExtensionConfigs are not remembered. */
  withSettings(call: HookCall, namespace: string): HookCall {
    const settings = this.#options.settings?.(namespace);
    return settings === undefined ? call : { ...call, settings };
  }

  /** After a change of the policies that are too large in this namespace: another one may speak for them. */
  passSpeech(namespace: string, evaluates: boolean): void {
    const speaking = new Set(this.#candidates(namespace).entries);
    for (const entry of this.#memory.policies.entries()) {
      const { ref, tooLarge } = entry.compiled;
      if (tooLarge !== true || ref.namespace !== namespace || entry.speaks === speaking.has(entry)) continue;
      if (entry.speaks) entry.beSilent();
      else entry.speaks = true;
      if (entry.speaks && evaluates) this.evaluatePolicy(entry);
      else this.#options.onDirty(entry.key);
    }
  }

  evaluatePolicy(entry: PolicyEntry): void {
    if (!entry.speaks) return this.#options.onDirty(entry.key);
    const { ref } = entry.compiled;
    const { clusters } = this.#options;
    this.adoptRows(entry);
    const inScope = ref.namespace === undefined ? clusters.list() : clusters.byNamespace(ref.namespace);
    entry.compareAll([...inScope].map(clusterKey));
    this.evaluateRest(entry);
  }

  /** Evaluates the pending operations for the policy; the Clusters that it matches have not changed. */
  evaluateMatched(entry: PolicyEntry): void {
    entry.evaluateAgain();
    this.evaluateRest(entry);
  }

  /** Evaluates the policy for one Cluster, and for more while this turn has time; the schedule does the rest. */
  evaluateRest(entry: PolicyEntry): void {
    const { schedule, operations, policies } = this.#memory;
    const { key, rest } = entry;
    this.#matchRest(entry);
    const sharers = policies.sharers(entry);
    while (entry.unmatched.length === 0) {
      const cluster = this.#options.clusters.get(entry.takeRest() ?? "");
      if (cluster !== undefined)
        for (const operation of operations.of(cluster.metadata.uid))
          this.#evaluate(operation, cluster, sharers);
      if (rest.length === 0) return this.#options.onDirty(key);
      if (this.#slice.isOver()) break;
    }
    schedule.set({ what: "rest", policy: key }, this.#cause ?? this.#options.now());
  }

  #matchRest(entry: PolicyEntry): void {
    const { unmatched } = entry;
    while (unmatched.length > 0) {
      for (const key of entry.takeUnmatched(MATCHES)) {
        const cluster = this.#options.clusters.get(key);
        if (cluster === undefined) continue;
        this.#match(entry, cluster);
        if (this.#memory.operations.has(cluster.metadata.uid)) entry.evaluateFor(key);
      }
      if (this.#slice.isOver()) return;
    }
  }

  /** Evaluates the Cluster now or, if this turn has no time left, later: a Namespace can have thousands of Clusters. */
  visitCluster(cluster: Cluster): void {
    if (!this.#slice.isOver()) return this.evaluateCluster(cluster);
    const due = { what: "cluster", cluster: clusterKey(cluster) } as const;
    this.#memory.schedule.set(due, this.#cause ?? this.#options.now());
  }

  evaluateCluster(cluster: Cluster): void {
    const candidates = this.#candidates(cluster.metadata.namespace);
    for (const entry of candidates.entries) this.#match(entry, cluster);
    this.#evaluateOperations(cluster, candidates);
  }

  evaluateOperation(operation: PendingOperation): void {
    const cluster = this.#clusterNamed(operation);
    if (cluster !== undefined) this.#evaluate(operation, cluster, this.#candidates(operation.namespace));
  }

  #candidates(namespace: string | undefined): Candidates {
    return this.#memory.policies.candidates(namespace ?? "");
  }

  /** Also `undefined` if another Cluster has its name. */
  #clusterNamed({ namespace, cluster: name, clusterUID }: NamedCluster): Cluster | undefined {
    const cluster = this.#options.clusters.get(`${namespace}/${name}`);
    return cluster?.metadata.uid === clusterUID ? cluster : undefined;
  }

  #match(entry: PolicyEntry, cluster: Cluster): void {
    const namespace = this.#options.namespaces.get(cluster.metadata.namespace ?? "");
    const now = matches(entry.compiled, { cluster, namespace }) !== "no";
    if (entry.match(clusterKey(cluster), now)) this.#options.onDirty(entry.key);
  }

  /** Leaves the rest to the schedule when this turn of the event loop has no time left, so that calls are answered. */
  #evaluateOperations(cluster: Cluster, candidates: Candidates): void {
    for (const operation of this.#memory.operations.of(cluster.metadata.uid)) {
      if (this.#slice.isOver())
        this.#memory.schedule.set(ofOperation("operation", operation), this.#cause ?? this.#options.now());
      else this.#evaluate(operation, cluster, candidates);
    }
  }

  #evaluate(remembered: PendingOperation, cluster: Cluster, all: Candidates): void {
    const now = this.#options.now();
    const operation = notAhead(remembered, now);
    const candidates = knowing(operation, all);
    const world = worldOf(this.#memory, cluster);
    const call = this.withSettings(operation.call, operation.namespace);
    const { compiled: policies, entries } = candidates;
    const inputs = { policies, world, call, state: operation, lookAgain, alsoAt: nextDeadlineStep };
    const look = lookAt(inputs, now);
    this.#memory.operations.put(look.state);
    this.#report(entries, look, cluster);
    this.#wakeFor(look.state, nextLook(inputs, look));
  }

  /** Records what each policy holds now, and reports what is new. */
  #report(
    entries: Candidates["entries"],
    { state: operation, decision, at }: Look<PendingOperation>,
    cluster: Cluster,
  ): void {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    const { namespace } = operation;
    const torn = tornDown(cluster, (part) => this.#options.isBeingDeleted?.(namespace, part) === true);
    for (const each of rowChanges(entries, operation, { ...decision, tornDown: torn }, at)) {
      const { entry, before, row, transitions } = each;
      for (const transition of transitions) {
        this.#options.onTransition(transition);
        if (transition.type === "TornDown") this.#logTornDown(transition);
      }
      if (sameRow(before, row)) continue;
      entry.setRow(key, row);
      if (row !== undefined) this.#foresee(entry, operation, row);
      this.#logChange(entry, operation, before, row);
      if (this.#cause !== undefined) this.#options.onAnswerChanged?.(Math.max(0, +at - +this.#cause));
      this.#options.onDirty(entry.key);
    }
  }

  /** Keeps an earlier instant: the edges of other policies were scheduled when those policies were evaluated. */
  #wakeFor(operation: PendingOperation, at: Date | undefined): void {
    const { schedule } = this.#memory;
    const due = ofOperation("operation", operation);
    const next = earliest([schedule.get(due), at]);
    if (next instanceof Date) schedule.set(due, next);
  }

  /**
   * Forecasts now or, if this turn has no time left, later: one decision can change the rows of thousands of policies. No
   * decision depends on a forecast; the status waits for it for a while (policy-reconciler.ts).
   */
  #foresee(entry: PolicyEntry, operation: PendingOperation, row: HeldRow): void {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    const now = this.#options.now();
    if (!this.#slice.isOver()) return entry.foresee(key, row, this.#forecast(entry, operation, row, now));
    entry.foreseeLater(key);
    this.#memory.schedule.set(ofOperation("forecast", operation), now);
  }

  /** Forecasts for one policy, and for more while this turn of the event loop has time. */
  foreseeRest(operation: PendingOperation): void {
    const key = operationKey(operation.clusterUID, operation.call.hook);
    for (const entry of this.#candidates(operation.namespace).entries) {
      if (!entry.takeUnforeseen(key)) continue;
      const row = entry.held.get(key);
      if (row !== undefined) {
        entry.foresee(key, row, this.#forecast(entry, operation, row, this.#options.now()));
        this.#options.onDirty(entry.key);
      }
      if (this.#slice.isOver())
        return this.#memory.schedule.set(ofOperation("forecast", operation), this.#options.now());
    }
  }

  /** An Audit policy gets the forecast that it would have in mode Enforce. A row that holds nothing has none. */
  #forecast(
    { compiled }: PolicyEntry,
    operation: PendingOperation,
    { holds, verdict, reason }: HeldRow,
    now: Date,
  ): Pick<HeldRow, "earliestRelease"> {
    const cluster = this.#clusterNamed(operation);
    if (cluster === undefined || reason === BUDGET_EXHAUSTED || !(holds || verdict === "WouldBlock"))
      return {};
    const world = worldOf(this.#memory, cluster, operation);
    const call = this.withSettings(operation.call, operation.namespace);
    const at = forecast([{ ...compiled, mode: "Enforce" }], world, call, now);
    return at === undefined ? {} : { earliestRelease: timestamp(wholeSecond(at)) };
  }

  #logChange(
    entry: PolicyEntry,
    operation: PendingOperation,
    before: HeldRow | undefined,
    row: HeldRow | undefined,
  ): void {
    const from = before?.verdict ?? "Allowed";
    const to = row?.verdict ?? "Allowed";
    if (from === to && before?.rule === row?.rule) return;
    this.#options.log.info("Decision changed", {
      hook: operation.call.hook,
      cluster: `${operation.namespace}/${operation.cluster}`,
      policy: policyName(entry.compiled.ref),
      rule: (row ?? before)?.rule,
      from,
      to,
      ...(row !== undefined && { reason: row.reason }),
    });
  }

  #logTornDown({ policy, row }: Extract<Transition, { readonly type: "TornDown" }>): void {
    this.#options.log.error("A held Cluster is being torn down", {
      hook: row.hook,
      cluster: `${row.namespace}/${row.cluster}`,
      policy: policyName(policy),
      ...row.tornDown,
    });
  }

  /** Adopts the rows that other replicas, or this one before a restart, have written, about one Cluster or about all. */
  adoptRows(entry: PolicyEntry, uid?: string): void {
    if (!entry.speaks) return;
    const { recent = [], decisions = [] } = entry.object.status ?? {};
    const isWanted = ({ clusterUID }: NamedCluster): boolean => uid === undefined || clusterUID === uid;
    this.#adoptRecent(entry, recent.filter(isWanted));
    for (const row of oncePerOperation(decisions).filter(isWanted)) this.#adoptRow(entry, row);
  }

  /**
   * Adopts a status that was written while this replica runs. What this replica has found itself stands, and the later of
   * two instants counts, so no adopted row releases an operation earlier.
   */
  adoptWritten(entry: PolicyEntry): void {
    if (!entry.speaks) return;
    const { recent = [], decisions = [] } = entry.object.status ?? {};
    this.#adoptRecent(entry, recent);
    entry.adoptLater(oncePerOperation(decisions));
    if (entry.rows.length === 0) return;
    if (this.#slice.isOver())
      this.#memory.schedule.set({ what: "rows", policy: entry.key }, this.#options.now());
    else this.adoptRest(entry);
  }

  /** Adopts one row, and more while this turn of the event loop has time. */
  adoptRest(entry: PolicyEntry): void {
    for (let row = entry.takeRow(); row !== undefined; row = entry.takeRow()) {
      this.#adoptRow(entry, row);
      if (entry.rows.length > 0 && this.#slice.isOver())
        return this.#memory.schedule.set({ what: "rows", policy: entry.key }, this.#options.now());
    }
  }

  #adoptRecent(entry: PolicyEntry, recent: readonly RecentResult[]): void {
    for (const result of recent)
      if (this.#clusterInScope(entry, result) !== undefined) entry.recorded.add(result);
  }

  /** Other clients may write a policy's status, and name Clusters of other namespaces in it. */
  #clusterInScope({ compiled: { ref } }: PolicyEntry, named: NamedCluster): Cluster | undefined {
    const isInScope = ref.namespace === undefined || ref.namespace === named.namespace;
    return isInScope ? this.#clusterNamed(named) : undefined;
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
    if (this.#slice.isOver()) {
      this.#memory.operations.put(operation);
      this.#memory.schedule.set(ofOperation("operation", operation), this.#options.now());
    } else this.#evaluate(operation, cluster, this.#adopting(entry, mine, row));
  }

  /**
   * The policy alone, so that no other policy's clock starts before that policy's own row is read; or, if their shared
   * budget ran out, every policy that shares it.
   */
  #adopting(entry: PolicyEntry, mine: HeldRow | undefined, row: DecisionRow): Candidates {
    const shares = mine?.reason === BUDGET_EXHAUSTED || row.reason === BUDGET_EXHAUSTED;
    return shares ? this.#memory.policies.sharers(entry) : { entries: [entry], compiled: [entry.compiled] };
  }
}

/** A row in the status of a policy starts no clock of another policy. */
function knowing(operation: PendingOperation, all: Candidates): Candidates {
  if (operation.hearsay !== true) return all;
  const entries = all.entries.filter(({ compiled }) => operation.saidBy?.has(compiled.uid));
  return { entries, compiled: entries.map(({ compiled }) => compiled) };
}
