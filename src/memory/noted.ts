/** Compares what a policy says about an operation now with what it said before, for users. */

import type { TornDown } from "../api/hook-policy.ts";
import type { Decision, PolicyTrace } from "../policy/decision.ts";
import { type PendingOperation, operationKey } from "../operations/operation.ts";
import { type HeldRow, heldRow } from "../operations/rows.ts";
import type { PolicyEntry } from "./policy-entry.ts";
import { beginsToHold, deadlineSteps, isNewlyTornDown, type Transition } from "./transitions.ts";

export interface Noted {
  readonly entry: PolicyEntry;
  readonly before: HeldRow | undefined;
  readonly row: HeldRow | undefined;
  readonly transitions: readonly Transition[];
}

/**
 * Notes in each entry that it holds the operation, and the steps of its deadlines; the caller sets the row. `entries`: in
 * the order of the trace.
 */
export function note(
  entries: readonly PolicyEntry[],
  operation: PendingOperation,
  { trace, tornDown }: Pick<Decision, "trace"> & { readonly tornDown?: TornDown | undefined },
  now: Date,
): readonly Noted[] {
  return trace.flatMap((said, index) => {
    const entry = entries[index];
    return entry === undefined ? [] : [noteOne(entry, operation, { trace: said, tornDown }, now)];
  });
}

function noteOne(
  entry: PolicyEntry,
  operation: PendingOperation,
  { trace, tornDown }: { readonly trace: PolicyTrace; readonly tornDown: TornDown | undefined },
  now: Date,
): Noted {
  const key = operationKey(operation.clusterUID, operation.call.hook);
  const { ref: policy, uid: policyUID } = entry.compiled;
  const steps = deadlineSteps(entry, operation, trace, now);
  const before = entry.held.get(key);
  const row = heldRow(operation, { trace, policyUID, tornDown }, before, now);
  if (row?.holds === true) entry.noteHold(key);
  const held: readonly Transition[] = beginsToHold(entry, before, row)
    ? [{ type: "Held", policy, policyUID, row }]
    : [];
  const torn: readonly Transition[] = isNewlyTornDown(before, row)
    ? [{ type: "TornDown", policy, policyUID, row }]
    : [];
  return { entry, before, row, transitions: [...steps, ...held, ...torn] };
}
