/** Computes the Events that the operator would write in a suite, and the metrics that it would export. */

import type { EventText } from "../../api/event-text.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import type { Memory } from "../../memory/memory.ts";
import type { PolicyEntry } from "../../memory/policy-entry.ts";
import { rowChanges, windowEdge, windowTransitions } from "../../memory/transitions.ts";
import {
  countDeadlines,
  countDecisions,
  countHeld,
  countOverrides,
  openWindows,
} from "../../report/policy-metrics.ts";
import type { Sample } from "../../report/metric-makers.ts";
import { countRolloutClusters, countRolloutHalts, countTasks } from "../../report/fleet-metrics.ts";
import { type PendingOperation, operationKey } from "../../operations/operation.ts";
import { MAX_LOOKS, TooManyChanges } from "../../operations/timeline.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import type { Decision } from "../../policy/decision.ts";
import type { TaskMemory } from "../../tasks/task-memory.ts";
import type { MetricSpec } from "./spec.gen.ts";

export interface ReportedEvent extends EventText {
  readonly at: Date;
}

export class SuiteReports {
  readonly #memory: Pick<Memory, "policies" | "overrides">;
  readonly #tasks: Pick<TaskMemory, "all">;
  readonly #isRead: boolean;
  #events: ReportedEvent[] = [];

  /** `isRead`: whether the suite expects Events or metrics. */
  constructor(
    memory: Pick<Memory, "policies" | "overrides">,
    tasks: Pick<TaskMemory, "all">,
    isRead: boolean,
  ) {
    this.#memory = memory;
    this.#tasks = tasks;
    this.#isRead = isRead;
  }

  /** The Events since the last call, in the order of time. */
  takeEvents(): readonly ReportedEvent[] {
    const events = this.#events.toSorted((a, b) => a.at.getTime() - b.at.getTime());
    this.#events = [];
    return events;
  }

  /** The series of a metric, as a scrape at this instant would show them. */
  samples(name: MetricSpec["name"], rollouts: readonly HookRollout[], now: Date): readonly Sample<string>[] {
    const { overrides, policies } = this.#memory;
    const entries = [...policies.entries()];
    const samples: Readonly<Record<MetricSpec["name"], () => readonly Sample<string>[]>> = {
      hookpolicy_policy_decisions: () => entries.flatMap(countDecisions),
      hookpolicy_deadlines: () => entries.flatMap(countDeadlines),
      hookpolicy_window_open: () => entries.flatMap(openWindows),
      hookpolicy_overrides: () => countOverrides({ overrides }, now),
      hookpolicy_held_clusters: () => countHeld(heldOperations(entries, rollouts)),
      hookpolicy_rollout_clusters: () =>
        rollouts.flatMap(({ metadata, status = {} }) => countRolloutClusters(metadata.name, status)),
      hookpolicy_rollout_halted: () =>
        rollouts.flatMap(({ metadata, spec, status = {} }) =>
          countRolloutHalts(metadata.name, status, spec.mode),
        ),
      hookpolicy_tasks: () => countTasks(this.#tasks),
    };
    return samples[name]();
  }

  /** A window that a change opens or closes is not an edge. */
  policiesChanged(now: Date): void {
    for (const entry of this.#memory.policies.entries()) windowTransitions(entry, now);
  }

  /** Called when time passes: windows open and close, whether or not an operation waits for them. */
  pass(from: Date, to: Date): void {
    if (!this.#isRead) return;
    for (const entry of this.#memory.policies.entries()) {
      let at = windowEdge(entry, from);
      for (let edges = 0; at !== undefined && at <= to; edges += 1) {
        if (edges >= MAX_LOOKS)
          throw new TooManyChanges(
            `windows open and close more than ${MAX_LOOKS} times until ${to.toISOString()}`,
          );
        this.tell(windowTransitions(entry, at), at);
        at = windowEdge(entry, at);
      }
    }
  }

  decided(operation: PendingOperation, decision: Decision, at: Date): void {
    const { entries } = this.#memory.policies.candidates(operation.namespace);
    for (const { entry, row, events } of rowChanges(entries, operation, decision, at)) {
      entry.setRow(operationKey(operation.clusterUID, operation.call.hook), row);
      this.tell(events, at);
    }
  }

  tell(events: readonly EventText[], at: Date): void {
    this.#events.push(...events.map((event) => ({ ...event, at })));
  }
}

function heldOperations(entries: readonly PolicyEntry[], rollouts: readonly HookRollout[]) {
  const rows = entries.flatMap(({ held }) => [...held.values()].filter(({ holds }) => holds));
  const enforced = rollouts.filter(({ spec }) => spec.mode !== "Audit");
  const waiting = enforced.flatMap(({ spec, status }) =>
    (status?.held ?? []).map(({ uid }) => ({ hook: BEGINS[spec.operation], clusterUID: uid })),
  );
  return [...rows, ...waiting];
}
