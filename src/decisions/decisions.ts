/** Decides about calls and reviews: from memory, in fair turns, and by reads where memory is not enough. */

import type { Logger } from "../lib/logger.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { DecisionRequest } from "../policy/world.ts";
import type { LiveReader } from "./live-reader.ts";
import type { Decision } from "../policy/decision.ts";
import type { ValidityCheck } from "../policy/validity.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { CallTurns } from "../turns/call-turns.ts";
import { shareOf } from "./call-share.ts";
import { type ConfirmationOptions, Confirmer } from "./confirmation.ts";
import { Releases, type TaskBeginner } from "./releases.ts";

export interface DecisionsOptions extends Pick<ConfirmationOptions, "onStale"> {
  readonly store: DecisionStore;
  readonly rollouts: Rollouts;
  readonly tasks: TaskBeginner;
  readonly reader: LiveReader;
  readonly log: Logger;
  /** Before everything is loaded: whether a policy may have tasks. */
  readonly mayHaveTasks: () => boolean;
}

const machineTime = (): Date => new Date();

export class Decisions extends Releases {
  readonly mayHaveTasks: () => boolean;
  readonly #store: DecisionStore;
  readonly #rollouts: Rollouts;
  readonly #turns: CallTurns;

  constructor({ store, rollouts, tasks, mayHaveTasks, reader, log, onStale }: DecisionsOptions) {
    const turns = new CallTurns();
    const confirmer = new Confirmer({
      store,
      reader,
      log,
      onStale,
      turns,
      now: machineTime,
      alsoReads: (request, world) => (request.admission === true ? [] : rollouts.queries(request, world)),
    });
    super({ confirmer, rollouts, tasks });
    this.mayHaveTasks = mayHaveTasks;
    this.#store = store;
    this.#rollouts = rollouts;
    this.#turns = turns;
  }

  loaded(): boolean {
    return this.#store.loaded;
  }

  inTurn<T>(request: DecisionRequest, decide: () => T | Promise<T>, refuse: () => T): T | Promise<T> {
    return this.#turns.run(shareOf(request, this.#store.decider), decide, refuse);
  }

  ask(request: DecisionRequest, at: Date): Decision {
    return this.#rollouts.ask(request, this.#store.decider.ask(request, at));
  }

  validity(request: DecisionRequest, decision: Decision, at: Date): ValidityCheck | undefined {
    return this.#store.decider.validity(request, decision, at);
  }

  refusal(request: DecisionRequest, at: Date): Decision | undefined {
    return this.#store.decider.refusal(request, at);
  }

  warnings(request: DecisionRequest, at: Date): Decision {
    return this.#store.decider.warnings(request, at);
  }
}
