/** Confirms a release for policies and rollouts together: none of them held the Cluster at one moment since the call. */

import type { Confirmation } from "../policy/decision.ts";
import type { Confirmer } from "./confirmation.ts";
import type { DecisionRequest } from "../memory/ports.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";

/** For both confirmations and the slots together: Cluster API gives up after 10 s. */
const WITHIN_MS = 9000;

interface Holders {
  readonly confirmer: Pick<Confirmer, "confirm">;
  readonly rollouts: Pick<Rollouts, "snapshot" | "confirm" | "withoutSlot">;
}

/** Whether a request is refused before the API server stores it. Takes no slot. Never rejects. */
export async function confirmRequest(
  { confirmer, rollouts }: Holders,
  request: DecisionRequest,
): Promise<Confirmation> {
  if (request.foreground !== true) return await confirmer.confirm(request);
  const snapshot = rollouts.snapshot(request.call.hook);
  const confirmation = await confirmer.confirm(request, { rollouts: snapshot });
  if (!confirmation.ok) return confirmation;
  return { ok: true, decision: rollouts.withoutSlot(request, confirmation.decision) };
}

/** Never rejects. */
export async function confirmRelease(
  { confirmer, rollouts }: Holders,
  request: DecisionRequest,
): Promise<Confirmation> {
  const began = performance.now();
  const snapshot = rollouts.snapshot(request.call.hook);
  const confirmation = await confirmer.confirm(request, { rollouts: snapshot });
  if (!confirmation.ok) return confirmation;
  const claimed = await rollouts.confirm(request, confirmation.decision, snapshot);
  if (snapshot === undefined || snapshot.laterSlots.size === 0) return claimed;
  if (!claimed.ok || claimed.decision.holds) return claimed;
  // The slot may have been free only since the snapshot, and a policy may hold the Cluster since: look again, with the slot.
  const later = rollouts.snapshot(request.call.hook);
  const budgetMs = WITHIN_MS - (performance.now() - began);
  const again = await confirmer.confirm(request, { rollouts: later, budgetMs });
  if (!again.ok) return again;
  if (later?.confirms(snapshot) !== true) return { ok: false, reason: "RolloutChanging" };
  // Gates and selectors of rollouts, too, must not have changed meanwhile.
  return { ok: true, decision: rollouts.withoutSlot(request, again.decision) };
}
