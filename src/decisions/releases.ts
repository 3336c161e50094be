/** Confirms that a Cluster may be released, or that its tasks may begin, for policies and rollouts together. */

import type { DecisionRequest } from "../policy/world.ts";
import { type Confirmation, type Decision, holdsBesideTasks } from "../policy/decision.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import type { Confirmer, ConfirmOptions } from "./confirmation.ts";

/** For both confirmations and the slots together: Cluster API gives up after 10 s. */
const WITHIN_MS = 9000;

/** Stores HookTasks. Never rejects: a task that was not stored begins at a later call. */
export interface TaskBeginner {
  /** Returns those that can never be stored. */
  begin(request: DecisionRequest, decision: Decision): Promise<readonly TaskRecord[]>;
  /** Whether all are stored, or can never be. */
  storeAll(decision: Decision): Promise<boolean>;
}

export interface ReleaseOptions {
  readonly confirmer: Pick<Confirmer, "confirm">;
  readonly rollouts: Pick<Rollouts, "snapshot" | "takeSlots" | "withoutSlot">;
  readonly tasks: TaskBeginner;
}

/** Confirms a release for policies and rollouts together: none of them held the Cluster at one moment since the call. */
export class Releases {
  readonly #options: ReleaseOptions;

  constructor(options: ReleaseOptions) {
    this.#options = options;
  }

  /** Whether a request is refused before the API server stores it. Takes no slot. Never rejects. */
  async confirmRequest(request: DecisionRequest): Promise<Confirmation> {
    const { confirmer, rollouts } = this.#options;
    if (request.foreground !== true) return await confirmer.confirm(request);
    const snapshot = rollouts.snapshot(request.call.hook);
    const confirmation = await confirmer.confirm(request, { rollouts: snapshot });
    if (!confirmation.ok) return confirmation;
    return { ok: true, decision: rollouts.withoutSlot(request, confirmation.decision) };
  }

  /**
   * Also confirms that tasks may begin, which needs the same: nothing else holds the Cluster, and it has its slots. They are
   * stored, and the Cluster stays held. Never rejects.
   */
  async confirm(request: DecisionRequest): Promise<Confirmation> {
    const began = performance.now();
    const confirmation = await this.#confirm(request, { began });
    if (!confirmation.ok || (confirmation.decision.begins ?? []).length === 0) return confirmation;
    const unstored = await this.#options.tasks.begin(request, confirmation.decision);
    // What cannot be stored has failed, and the policy says what that means.
    return unstored.length === 0 ? confirmation : await this.#confirm(request, { began, unstored });
  }

  /**
   * Stores the tasks of an operation that Cluster API does not wait for. Whether all of them are stored, or the Cluster, as it
   * was just read, does not show the operation. Never rejects.
   */
  async storeTasks(request: DecisionRequest): Promise<boolean> {
    const { confirmer, tasks } = this.#options;
    const confirmation = await confirmer.confirm(request);
    if (confirmation.ok) return await tasks.storeAll(confirmation.decision);
    return confirmation.reason === "NotWanted" || confirmation.reason === "ClusterReplaced";
  }

  async #confirm(
    request: DecisionRequest,
    { began, unstored = [] }: Pick<ConfirmOptions, "unstored"> & { readonly began: number },
  ): Promise<Confirmation> {
    const { confirmer, rollouts } = this.#options;
    const left = (): number => WITHIN_MS - (performance.now() - began);
    const snapshot = rollouts.snapshot(request.call.hook);
    const confirmation = await confirmer.confirm(request, { rollouts: snapshot, unstored, budgetMs: left() });
    if (!confirmation.ok) return confirmation;
    const claimed = await rollouts.takeSlots(request, confirmation.decision, snapshot);
    if (snapshot === undefined || snapshot.laterSlots.size === 0) return claimed;
    if (!claimed.ok || holdsBesideTasks(claimed.decision)) return claimed;
    // The slot may have been free only since the snapshot, and a policy may hold the Cluster since: look again, with the slot.
    const later = rollouts.snapshot(request.call.hook);
    const again = await confirmer.confirm(request, { rollouts: later, unstored, budgetMs: left() });
    if (!again.ok) return again;
    if (later?.confirms(snapshot) !== true) return { ok: false, reason: "RolloutChanging" };
    // Gates and selectors of rollouts, too, must not have changed meanwhile.
    return { ok: true, decision: rollouts.withoutSlot(request, again.decision) };
  }
}
