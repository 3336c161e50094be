/**
 * Decides about calls and reviews: from memory, in fair turns, and by reads where memory is not enough. A release is confirmed
 * for policies and rollouts together: none of them held the Cluster at one moment since the call.
 */

import { MAX_TASKS } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import {
  type Confirmation,
  type Decision,
  holdsBesideTasks,
  type ValidityCheck,
} from "../policy/decision.ts";
import { mayLackTasks } from "../policy/tasks/after-initialized.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { DecisionRequest } from "../policy/world.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { CallTurns } from "../turns/turns.ts";
import { type ConfirmationOptions, Confirmer, type ConfirmOptions } from "./confirmation.ts";

export { BUDGET_MS as CONFIRM_MS } from "./confirmation.ts";

/** For both confirmations and the slots together: Cluster API gives up after 10 s. */
const WITHIN_MS = 9000;

/** Stores HookTasks. Never rejects: a task that was not stored begins at a later call. */
export interface TaskBeginner {
  /** Returns what stands for those that could not be stored. */
  begin(request: DecisionRequest, decision: Decision): Promise<readonly TaskRecord[]>;
  /** Whether all are stored, or can never be. */
  storeAll(decision: Decision): Promise<boolean>;
}

export interface DecisionsOptions {
  readonly store: Pick<DecisionStore, "loaded" | "decider">;
  readonly rollouts: Pick<Rollouts, "ask" | "snapshot" | "takeSlots" | "withoutSlot">;
  readonly tasks: TaskBeginner;
  readonly confirmer: Pick<Confirmer, "confirm">;
  readonly turns: CallTurns;
  /** Whether a policy has tasks, or may have some before everything is loaded. */
  readonly mayHaveTasks: () => boolean;
}

type Wiring = Pick<ConfirmationOptions, "store" | "reader" | "log" | "onStale"> &
  Pick<DecisionsOptions, "tasks" | "mayHaveTasks"> & { readonly rollouts: Rollouts };

export function createDecisions({ reader, log, onStale, ...parts }: Wiring): Decisions {
  const { store, rollouts } = parts;
  const turns = new CallTurns();
  const confirmer = new Confirmer({
    store,
    reader,
    log,
    onStale,
    turns,
    now: () => new Date(),
    rollouts,
  });
  return new Decisions({ ...parts, confirmer, turns });
}

export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Whether all policies, Clusters and Namespaces are in memory. */
  loaded(): boolean {
    return this.#options.store.loaded;
  }

  /** The Cluster of a call in memory. */
  known(cluster: Cluster): Cluster | undefined {
    return this.#options.store.decider.known(cluster);
  }

  /** Whether a policy has tasks, or may have some before all is loaded. */
  mayHaveTasks(): boolean {
    return this.#options.mayHaveTasks();
  }

  /**
   * Decides at once or when it is the Cluster's turn: calls about one namespace must not delay those about others. If too
   * many calls about the Cluster wait already, the answer is that of `refuse`.
   */
  inTurn<T>(request: DecisionRequest, decide: () => T | Promise<T>, refuse: () => T): T | Promise<T> {
    const { store, turns } = this.#options;
    return turns.run(store.decider.shareOf(request), decide, refuse);
  }

  /** Decides about a call from memory. The order of rollouts notes the call; no other state changes. */
  ask(request: DecisionRequest, now: Date): Decision {
    const { store, rollouts } = this.#options;
    return rollouts.ask(request, store.decider.ask(request, now));
  }

  /** Returns a check of whether the decision that ask() has just made is still valid. `undefined`: unknown. */
  validity(request: DecisionRequest, decision: Decision, at: Date): ValidityCheck | undefined {
    return this.#options.store.decider.validity(request, decision, at);
  }

  /** The refusal of a request, if the object of its review alone suffices for it. */
  refusal(request: DecisionRequest, now: Date): Decision | undefined {
    return this.#options.store.decider.refusal(request, now);
  }

  /** The policies' warnings about a request that none refuses. */
  warnings(request: DecisionRequest, now: Date): Decision {
    return this.#options.store.decider.warnings(request, now);
  }

  /** Decides from a fresh read whether a request is refused before the API server stores it. Takes no slot. Never rejects. */
  async confirmRequest(request: DecisionRequest): Promise<Confirmation> {
    const { confirmer, rollouts } = this.#options;
    if (request.cascade === undefined) return await confirmer.confirm(request);
    const snapshot = rollouts.snapshot(request.call.hook);
    const confirmation = await confirmer.confirm(request, { rollouts: snapshot });
    return confirmation.ok ? rollouts.withoutSlot(request, confirmation.decision, snapshot) : confirmation;
  }

  /**
   * Decides about a call from a fresh read, which a release needs because memory may lag behind. Also confirms that tasks may
   * begin, which needs the same: nothing else holds the Cluster, and it has its slots. They are stored, and the Cluster stays
   * held. Never rejects.
   */
  async confirm(request: DecisionRequest): Promise<Confirmation> {
    const began = performance.now();
    const unstored: TaskRecord[] = [];
    let confirmation = await this.#withSlots(request, { began });
    for (let left = MAX_TASKS; left > 0 && confirmation.ok; left -= 1) {
      if ((confirmation.decision.begins ?? []).length === 0) break;
      const failed = await this.#options.tasks.begin(request, confirmation.decision);
      if (failed.length === 0) break;
      // What can never be stored has failed, and the policy says what that means: the next task of its rule may begin.
      unstored.push(...failed);
      confirmation = await this.#withSlots(request, { began, unstored });
    }
    return confirmation;
  }

  /**
   * Stores the tasks of an operation that Cluster API does not wait for. Whether all of them are known and stored, or the
   * Cluster, as it was just read, does not show the operation. Never rejects.
   */
  async storeTasks(request: DecisionRequest): Promise<boolean> {
    const { confirmer, tasks } = this.#options;
    const confirmation = await confirmer.confirm(request);
    if (confirmation.ok)
      return (await tasks.storeAll(confirmation.decision)) && !mayLackTasks(confirmation.decision);
    return confirmation.reason === "NotWanted" || confirmation.reason === "ClusterReplaced";
  }

  async #withSlots(
    request: DecisionRequest,
    { began, unstored = [] }: Pick<ConfirmOptions, "unstored"> & { readonly began: number },
  ): Promise<Confirmation> {
    const { confirmer, rollouts } = this.#options;
    const left = (): number => WITHIN_MS - (performance.now() - began);
    const snapshot = rollouts.snapshot(request.call.hook);
    const confirmation = await confirmer.confirm(request, { rollouts: snapshot, unstored, budgetMs: left() });
    if (!confirmation.ok) return confirmation;
    const claimed = await rollouts.takeSlots(request, confirmation.decision, snapshot, left());
    if (snapshot === undefined || snapshot.laterSlots.size === 0) return claimed;
    if (!claimed.ok || holdsBesideTasks(claimed.decision)) return claimed;
    // The slot may have been free only since the snapshot, and a policy may hold the Cluster since: look again, with the slot.
    const later = rollouts.snapshot(request.call.hook);
    const again = await confirmer.confirm(request, { rollouts: later, unstored, budgetMs: left() });
    if (!again.ok) return again;
    if (later?.confirms(snapshot) !== true) return { ok: false, reason: "RolloutChanging" };
    // Gates and selectors of rollouts, too, must not have changed meanwhile.
    return rollouts.withoutSlot(request, again.decision);
  }
}
