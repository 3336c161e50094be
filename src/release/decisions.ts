/** Decides about calls and reviews: from memory, in fair turns, and by reads where memory is not enough. */

import type { Logger } from "../lib/logger.ts";
import type { Decider } from "../memory/decider.ts";
import { shareOf } from "./call-share.ts";
import { CallTurns } from "../turns/call-turns.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { DecisionRequest, LiveReader } from "../memory/ports.ts";
import type { Decision } from "../policy/decision.ts";
import type { ValidityCheck } from "../policy/validity.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { type ConfirmationOptions, Confirmer } from "./confirmation.ts";
import { Releases, type TaskBeginner } from "./release.ts";

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
  readonly #decider: Decider;
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
    this.#decider = store.decider;
    this.#rollouts = rollouts;
    this.#turns = turns;
  }

  loaded(): boolean {
    return this.#store.loaded;
  }

  inTurn<T>(request: DecisionRequest, decide: () => T | Promise<T>, refuse: () => T): T | Promise<T> {
    return this.#turns.run(shareOf(request, this.#decider), decide, refuse);
  }

  ask(request: DecisionRequest, at: Date): Decision {
    return this.#rollouts.ask(request, this.#decider.ask(request, at));
  }

  validity(request: DecisionRequest, decision: Decision, at: Date): ValidityCheck | undefined {
    return this.#decider.validity(request, decision, at);
  }

  refusal(request: DecisionRequest, at: Date): Decision | undefined {
    return this.#decider.refusal(request, at);
  }

  warnings(request: DecisionRequest, at: Date): Decision {
    return this.#decider.warnings(request, at);
  }
}
