/** The decisions that follow when what holds an operation ends by time alone: after a freeze, a window can be closed. */

import { type Decision, pendingGates, heldRules } from "../policy/decision.ts";
import { lookAt, type OperationInputs } from "./timeline.ts";

/** Without a limit, windows that are never open together would be followed for ever. */
const MAX_AHEAD = 10;

/** Each while it holds, when the last gate of the one before opens that opens at a known time. */
export function* decisionsAhead(
  operation: OperationInputs,
  decision: Decision,
  from: Date,
): Generator<Decision> {
  let [held, { state }, at] = [decision, operation, from];
  for (let count = 0; count < MAX_AHEAD; count += 1) {
    const pending = heldRules(held.trace).flatMap(({ rule }) => pendingGates(rule));
    const opens = pending.flatMap(({ changesAt, isSearchEnd }) =>
      changesAt instanceof Date && isSearchEnd !== true ? [changesAt.getTime()] : [],
    );
    const next = new Date(Math.max(...opens));
    // Where nothing is known to change, it is not a time.
    if (!(next > at)) return;
    const look = lookAt({ ...operation, state }, next);
    if (!look.decision.holds) return;
    yield look.decision;
    [held, state, at] = [look.decision, look.state, next];
  }
}
