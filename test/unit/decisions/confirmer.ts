/** A Confirmer whose calls wait for no turn, so that a slow machine changes no result. */

import { Confirmer, type ConfirmationOptions } from "../../../src/decisions/confirmation.ts";
import { CallTurns } from "../../../src/turns/call-turns.ts";
import { silent } from "../memory/fixtures.ts";

type Given = Pick<ConfirmationOptions, "store" | "reader" | "now"> & Partial<ConfirmationOptions>;

export function testConfirmer(given: Given): Confirmer {
  return new Confirmer({
    turns: new CallTurns(Infinity),
    log: silent,
    onStale: () => undefined,
    ...given,
  });
}
