/** What a policy says of an operation now, beside what it said before, and what users learn of that. */

import type { PolicyTrace } from "../policy/decision.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { type HeldRow, heldRow } from "../operations/rows.ts";
import type { PolicyEntry } from "./policyentry.ts";
import { beginsToHold, deadlineSteps, type Transition } from "./transitions.ts";

export interface Noted {
  readonly before: HeldRow | undefined;
  readonly row: HeldRow | undefined;
  readonly transitions: readonly Transition[];
}

/** Remembers in the entry the hold and the steps of its deadline; the caller sets the row. */
export function note(entry: PolicyEntry, operation: PendingOperation, trace: PolicyTrace, now: Date): Noted {
  const key = operationKey(operation.clusterUID, operation.call.hook);
  const { ref: policy, uid: policyUID } = entry.compiled;
  const steps = deadlineSteps(entry, operation, trace, now);
  const before = entry.held.get(key);
  const row = heldRow(operation, { trace, policyUID }, before, now);
  if (row?.holds === true) entry.noteHold(key);
  const held: readonly Transition[] = beginsToHold(entry, before, row)
    ? [{ type: "Held", policy, policyUID, row }]
    : [];
  return { before, row, transitions: [...steps, ...held] };
}
