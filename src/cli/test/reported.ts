/** Computes what the operator would report of a suite: its Events, and its metrics of policies, overrides and rollouts. */

import type { ServedHooks } from "../../api/hookcatalog.ts";
import type { HookRollout } from "../../api/hookpolicy.ts";
import type { Cluster } from "../../api/meta.ts";
import { note } from "../../controller/noted.ts";
import { OverrideSet } from "../../controller/overrideset.ts";
import { PassedOperations } from "../../controller/passed.ts";
import type { PolicyEntry } from "../../controller/policyentry.ts";
import { policyKey, PolicySet } from "../../controller/policyset.ts";
import { type Transition, windowEdge, windowTransitions } from "../../controller/transitions.ts";
import { describeTransition, type EventText } from "../../events/eventtext.ts";
import { countDeadlines, countDecisions, countOverrides, openWindows } from "../../metrics/gauges.ts";
import { countRolloutClusters, countRolloutHalts } from "../../metrics/rolloutgauges.ts";
import { type PendingOperation, operationKey } from "../../operations/operation.ts";
import type { PendingOperations } from "../../operations/operations.ts";
import { TooManyChanges } from "../../operations/timeline.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { ObjectReader } from "../../policy/objects.ts";
import type { Decision } from "../../policy/decision.ts";
import type { PolicyRef } from "../../policy/policyref.ts";
import type { FleetPolicy } from "../fleet/fleet.ts";
import { type RawObject, viewOverride, viewPolicy } from "../fleet/kinds.ts";
import type { MetricName } from "./spec.ts";
import type { SuiteWorld } from "./suiteworld.ts";

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ReportedEvent extends EventText {
  readonly at: Date;
}

/** Windows that open and close each minute for months are no test of Events. */
const MAX_EDGES = 100_000;

export class Reported {
  readonly #world: SuiteWorld;
  readonly #policies = new PolicySet();
  readonly #overrides: OverrideSet;
  readonly #passed: PassedOperations;
  /** The sources of the entries and overrides. */
  readonly #sources = new Map<string, unknown>();
  #events: ReportedEvent[] = [];
  #now: Date;

  constructor(
    world: SuiteWorld,
    {
      operations,
      served,
      now,
    }: { readonly operations: PendingOperations; readonly served: ServedHooks; readonly now: Date },
  ) {
    this.#world = world;
    this.#now = now;
    this.#overrides = new OverrideSet(world.maxOverrideMs);
    const memory = {
      operations,
      policies: this.#policies,
      overrides: this.#overrides,
      namespaces: {
        get: (name: string) => world.fleet.namespace(name),
        list: () => world.fleet.namespaces(),
      },
      objects: { find: (...query: Parameters<ObjectReader["find"]>) => world.fleet.objects.find(...query) },
      schedule: { set: (): void => undefined },
    };
    const inOneTurn = { withSettings: <T>(call: T): T => call, isTurnOver: () => false };
    this.#passed = new PassedOperations(memory, inOneTurn, {
      served,
      now: () => this.#now,
      onDirty: () => undefined,
      onTransition: (transition) => this.emit([transition], this.#now),
    });
  }

  /** The Events since the last call, in the order of time. */
  takeEvents(): readonly ReportedEvent[] {
    const events = this.#events.toSorted((a, b) => a.at.getTime() - b.at.getTime());
    this.#events = [];
    return events;
  }

  /** The series of a metric, as a scrape at this instant would show them. */
  samples(name: MetricName, rollouts: readonly HookRollout[]): readonly MetricSample[] {
    const entries = [...this.#policies.entries()];
    switch (name) {
      case "hookpolicy_policy_decisions":
        return entries.flatMap(countDecisions);
      case "hookpolicy_deadlines":
        return entries.flatMap(countDeadlines);
      case "hookpolicy_window_open":
        return entries.flatMap(openWindows);
      case "hookpolicy_overrides":
        return countOverrides({ overrides: this.#overrides }, this.#now);
      case "hookpolicy_held_clusters":
        return countHeldClusters(entries);
      case "hookpolicy_rollout_clusters":
        return rollouts.flatMap(({ metadata, status }) => countRolloutClusters(metadata.name, status ?? {}));
      case "hookpolicy_rollout_halted":
        return rollouts.flatMap(({ metadata, status }) => countRolloutHalts(metadata.name, status ?? {}));
    }
  }

  /** Time passes: windows open and close whether or not an operation waits for them. */
  advanceTo(to: Date): void {
    for (const entry of this.#policies.entries()) {
      let edges = 0;
      for (
        let at = windowEdge(entry, this.#now);
        at !== undefined && at <= to;
        at = windowEdge(entry, at), edges += 1
      ) {
        if (edges > MAX_EDGES)
          throw new TooManyChanges(
            `windows open and close more than ${MAX_EDGES} times until ${to.toISOString()}`,
          );
        this.emit(windowTransitions(entry, at), at);
      }
    }
    this.#now = to;
  }

  /** Policies and overrides have come, changed, or gone. */
  objectsChanged(policies: readonly FleetPolicy[]): void {
    const found = new Set(policies.map((policy) => this.#policyChanged(policy)));
    for (const { key } of this.#policies.entries()) if (!found.has(key)) this.#policies.delete(key);
    const overrides = this.#world.overrides();
    for (const override of overrides) this.#overrideChanged(override);
    const names = new Set(overrides.map((override) => viewOverride(override, this.#now).metadata.name));
    for (const { compiled } of this.#overrides.entries())
      if (!names.has(compiled.name)) this.#overrides.set(compiled.name, undefined);
  }

  #policyChanged({ compiled, raw }: FleetPolicy): string {
    const key = keyOf(compiled.ref);
    const before = this.#policies.get(key);
    const same = before?.compiled.uid === compiled.uid && this.#sources.get(key) === raw["spec"];
    if (same) return key;
    this.#sources.set(key, raw["spec"]);
    const entry = this.#policies.set(key, viewPolicy(compiled.ref.kind, raw), compiled);
    entry.specChanged();
    // The first look only remembers.
    windowTransitions(entry, this.#now);
    return key;
  }

  #overrideChanged(raw: RawObject): void {
    const override = viewOverride(raw, this.#now);
    const key = `override ${override.metadata.name}`;
    if (this.#sources.get(key) === raw) return;
    this.#sources.set(key, raw);
    this.#overrides.set(override.metadata.name, override);
  }

  /** Operations that the Cluster shows as having proceeded; `now` undefined: it is gone. */
  clusterChanged(before: Cluster, now: Cluster | undefined): void {
    this.#passed.follow(before, now);
    if (now !== undefined) return;
    for (const entry of this.#policies.entries()) entry.forget(before.metadata.uid, clusterKey(before));
  }

  /** Records what the policies say of a pending operation. */
  decided(operation: PendingOperation, { trace }: Decision, at: Date): void {
    for (const each of trace) {
      const entry = this.#policies.get(keyOf(each.policy));
      if (entry === undefined) continue;
      const { row, transitions } = note(entry, operation, each, at);
      entry.setRow(operationKey(operation.clusterUID, operation.call.hook), row);
      this.emit(transitions, at);
    }
  }

  ended(operation: PendingOperation): void {
    for (const entry of this.#policies.entries())
      entry.end(operationKey(operation.clusterUID, operation.call.hook));
  }

  emit(transitions: readonly Transition[], at: Date): void {
    this.#events.push(...transitions.map((transition) => ({ ...describeTransition(transition), at })));
  }
}

function keyOf({ kind, namespace, name }: PolicyRef): PolicyEntry["key"] {
  return policyKey(kind, namespace, name);
}

/** Each Cluster once, however many policies hold it. */
function countHeldClusters(entries: readonly PolicyEntry[]): MetricSample[] {
  const held = entries.flatMap((entry) => [...entry.held.values()].filter(({ holds }) => holds));
  return [...Map.groupBy(held, ({ hook }) => hook)].map(([hook, rows]) => ({
    labels: { hook },
    value: new Set(rows.map(({ clusterUID }) => clusterUID)).size,
  }));
}
