/** The verdicts of policies and rollouts over time, for the page. */

import { type Span, spansOf, type VerdictChange, walk } from "../../operations/timeline.ts";
import type { Situation } from "../../policy/world.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { type ExplainOptions, subjects } from "./explanation.ts";
import { explainRollouts, soakEnds } from "../fleet/rollout-hold.ts";
import { rolloutEdges } from "../fleet/rollout-state.ts";

/** Limits the samples of an expression that reads the clock, whose value can change at any time. */
const MAX_SAMPLES = 400;

/** Of the first operation that is explained. */
export function spansAhead(fleet: Fleet, options: ExplainOptions, to: Date): readonly Span[] {
  const { cluster, now, live } = options;
  const [subject] = subjects(fleet, options);
  if (subject === undefined) return [];
  const { call, state } = subject;
  const policies = fleet.policiesFor(cluster);
  const sampleMs = (to.getTime() - now.getTime()) / MAX_SAMPLES;
  const operation = { policies, world: fleet.world(cluster, state), call, state };
  const looks = walk({ ...operation, lookAgain: () => sampleMs / 1000 }, now, to);
  const ofPolicies = looks.map(({ at, decision }) => ({ at, verdict: decision.verdict }));
  const changes = spansOf(ofPolicies, to).flatMap((span) =>
    HOLDS.has(span.verdict)
      ? [{ at: span.from, verdict: span.verdict }]
      : underRollouts(fleet, span, operation, { sampleMs, asOf: now, live }).toArray(),
  );
  return spansOf(changes, to);
}

/** NotEvaluable may proceed, and is shown as it is. */
const HOLDS: ReadonlySet<Span["verdict"]> = new Set(["Blocked", "NotEvaluable"]);

/** Slots and the queue are as the statuses have them now; a stage that soaks passes when its soak ends. */
function* underRollouts(
  fleet: Fleet,
  { from, to, verdict }: Span,
  { world, call }: Omit<Situation, "now">,
  { sampleMs, ...statusTime }: { readonly sampleMs: number; readonly asOf: Date; readonly live: boolean },
): Generator<VerdictChange, undefined> {
  const also = soakEnds(fleet.rollouts, statusTime.asOf);
  for (const now of rolloutEdges(fleet, { from, to, lookAgainMs: sampleMs, also })) {
    const rollouts = explainRollouts(fleet, { world, call, now }, statusTime);
    yield { at: now, verdict: rollouts.some(({ holds }) => holds) ? "Blocked" : verdict };
  }
}
