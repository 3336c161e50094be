/** Confirmations whose calls wait for no turn, so that a slow machine changes no result. */

import { Decisions, type DecisionsOptions } from "../../../src/decisions/decisions.ts";
import { Confirmer, type ConfirmationOptions } from "../../../src/decisions/confirmation.ts";
import { CallTurns } from "../../../src/turns/turns.ts";
import { silent, storeWith } from "../memory/fixtures.ts";

type Given = Pick<ConfirmationOptions, "store" | "reader" | "now"> & Partial<ConfirmationOptions>;

export function testConfirmer(given: Given): Confirmer {
  return new Confirmer({
    turns: new CallTurns(Infinity),
    log: silent,
    onStale: () => undefined,
    ...given,
  });
}

const NO_MEMORY = storeWith().store;

/** Decides by confirmations; its memory knows no policy. */
export function decisionsBy(given: Pick<DecisionsOptions, "confirmer" | "rollouts" | "tasks">): Decisions {
  return new Decisions({
    store: NO_MEMORY,
    turns: new CallTurns(Infinity),
    mayHaveTasks: () => true,
    ...given,
  });
}
