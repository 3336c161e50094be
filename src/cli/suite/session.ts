/** Runs a suite's clock and its calls, and remembers what the operator would remember. */

import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import type { Lister, Memory } from "../../memory/memory.ts";
import { OperationLife } from "../../memory/operation-life.ts";
import { nextDeadlineStep } from "../../memory/transitions.ts";
import type { RequestedOperation } from "../../operations/requested-operation.ts";
import { shownSince } from "../../operations/call.ts";
import { hasEnded, newOperation, type PendingOperation } from "../../operations/operation.ts";
import type { ServedHooks } from "../../api/hook-catalog.ts";
import { clusterKey } from "../../views/cluster.ts";
import { decide } from "../../policy/decide.ts";
import type { Decision } from "../../policy/decision.ts";
import { targetVersion } from "../../api/target-version.ts";
import { type AdmissionAnswer, admitted, admissionAnswer } from "../fleet/admission-request.ts";
import { worldOfCall } from "../fleet/call-world.ts";
import {
  type Look,
  lookAt,
  nextLook,
  type OperationInputs,
  type Span,
  spansOf,
  walk,
} from "../../operations/timeline.ts";
import { Coverage } from "./coverage.ts";
import type { TaskMemory } from "../../tasks/task-memory.ts";
import { SuiteReports } from "./suite-reports.ts";
import type { SuiteObjects } from "./suite-objects.ts";
import type { ClusterCall } from "../../policy/world.ts";

export interface CallDecision extends ClusterCall {
  readonly decision: Decision;
}

export class Session {
  readonly objects: SuiteObjects;
  readonly served: ServedHooks;
  readonly reported: SuiteReports;
  readonly coverage = new Coverage();
  /** By clusterKey(): the suite itself has begun an operation. A step may still call about it. */
  readonly running = new Set<string>();
  readonly #memory: Memory;
  readonly #life: OperationLife;
  /** The Clusters that operations have followed. */
  #followed: Lister<Cluster> | undefined;
  #now: Date;

  constructor(
    objects: SuiteObjects,
    {
      served,
      now,
      tasks,
      readsReports = false,
    }: {
      readonly served: ServedHooks;
      readonly now: Date;
      readonly tasks: Pick<TaskMemory, "all">;
      /** Whether the suite expects Events or metrics. */
      readonly readsReports?: boolean;
    },
  ) {
    this.objects = objects;
    this.served = served;
    this.#memory = objects.memory;
    this.#now = now;
    this.reported = new SuiteReports(objects.memory, tasks, readsReports);
    this.#life = new OperationLife(objects.memory, {
      served,
      now: () => this.#now,
      enqueue: () => undefined,
      onEvent: (event) => this.reported.tell([event], this.#now),
    });
  }

  get now(): Date {
    return this.#now;
  }

  /** Records an earlier call with its timers (`operation.rules`). Its Events were reported then, and do not count. */
  adopt(operation: PendingOperation, cluster: Cluster): void {
    this.#policiesChanged();
    this.#put(lookAt(this.#inputs(cluster, operation), this.#now));
    this.reported.takeEvents();
  }

  /** Re-evaluates the pending operations wherever the operator's alarm would. */
  advanceTo(to: Date): void {
    this.reported.pass(this.#now, to);
    for (const inputs of this.#allInputs()) {
      for (const look of walk(inputs, this.#now, to)) this.#put(look);
    }
    this.#now = to;
  }

  /** Called after objects have changed: operations begin, end, and are re-evaluated. */
  objectsChanged(): void {
    this.#policiesChanged();
    this.#clustersChanged();
    for (const inputs of this.#allInputs()) this.#put(lookAt(inputs, this.#now));
  }

  #policiesChanged(): void {
    this.coverage.know(this.objects.fleet.policies);
    this.reported.policiesChanged(this.#now);
  }

  #clustersChanged(): void {
    const before = this.#followed;
    const { clusters } = this.objects.fleet.memory;
    this.#followed = clusters;
    const keys = new Set([...(before?.list() ?? []), ...clusters.list()].map(clusterKey));
    for (const key of keys) {
      this.#life.clusterChanged(before?.get(key), clusters.get(key));
      while (this.#life.record(key));
    }
  }

  ask(cluster: Cluster, call: HookCall): Decision {
    const before = this.#memory.operations.get(cluster.metadata.uid, call.hook);
    const inputs = this.#asked(cluster, call);
    const look = lookAt(inputs, this.#now);
    this.coverage.see(look.decision);
    if (this.served.blocking.has(call.hook) && !hasEnded(inputs.state, cluster, this.served)) {
      if (before !== undefined && targetVersion(before.call) !== targetVersion(call))
        this.#life.ended(before);
      this.#put(look);
    }
    return look.decision;
  }

  /** The HookTasks that the call would store; changes no state. As in the operator, they follow from what the Cluster shows. */
  intents(cluster: Cluster, call: HookCall): Pick<Decision, "begins" | "toStore"> {
    const { policies, world, state } = this.#asked(cluster, call);
    const shown = { settings: {}, ...call, ...shownSince(call, cluster) };
    return decide(policies, { ...world, state, rendersTasks: true }, shown, this.#now);
  }

  /** The answer to a request; changes no state. */
  admit(requested: RequestedOperation): AdmissionAnswer {
    const found = admitted(this.objects.fleet, requested, this.#now);
    this.coverage.seeAtAdmission(found);
    return admissionAnswer(requested, found);
  }

  /** The answers from now on if only time passes; changes no state. */
  timeline(cluster: Cluster, call: HookCall, to: Date): Span[] {
    const looks = walk(this.#asked(cluster, call), this.#now, to).map(({ at, decision }) => {
      this.coverage.see(decision);
      return { at, verdict: decision.verdict };
    });
    return spansOf(looks, to);
  }

  /** When time alone can change the answer. */
  nextChange({ cluster, call, decision }: CallDecision): Date | undefined {
    const inputs = { ...this.#asked(cluster, call), lookAgain: () => LOOK_AGAIN_SECONDS };
    return nextLook(inputs, { at: this.#now, decision });
  }

  /** As if Cluster API called now. */
  #asked(cluster: Cluster, call: HookCall): OperationInputs<PendingOperation> {
    const known = this.#memory.operations.get(cluster.metadata.uid, call.hook);
    return this.#inputs(cluster, newOperation(call, cluster, this.#now, known));
  }

  #put({ state, decision, at }: Look<PendingOperation>): void {
    this.#memory.operations.put(state);
    this.coverage.see(decision);
    this.reported.decided(state, decision, at);
  }

  #allInputs(): OperationInputs<PendingOperation>[] {
    return this.objects.fleet
      .clusters()
      .flatMap((cluster) =>
        this.#memory.operations.of(cluster.metadata.uid).map((operation) => this.#inputs(cluster, operation)),
      );
  }

  #inputs(cluster: Cluster, operation: PendingOperation): OperationInputs<PendingOperation> {
    return {
      policies: this.#memory.policies.candidates(cluster.metadata.namespace ?? "").compiled,
      world: worldOfCall(this.#memory, cluster, operation),
      call: { settings: {}, ...operation.call },
      state: operation,
      lookAgain: ({ retryAfterSeconds }) => retryAfterSeconds || LOOK_AGAIN_SECONDS,
      alsoAt: nextDeadlineStep,
    };
  }
}

/** For an operation that may proceed, whose answer names no interval, and for rollouts, which look at all that wait. */
export const LOOK_AGAIN_SECONDS = 60;
