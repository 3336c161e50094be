/** The verdicts of policies and rollouts over time, for the page. */

import { type Span, spansOf, walk } from "../../operations/timeline.ts";
import { earliest } from "../../lib/instant.ts";
import type { Situation } from "../../policy/world.ts";
import { gateEdges } from "../../rollouts/promotion.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { type ExplainOptions, subjects } from "./explanation.ts";
import { explainRollouts, soakEnds } from "./rollout-hold.ts";

/** Limits the samples of an expression that reads the clock, whose value can change at any time. */
const MAX_SAMPLES = 400;

/** Of the first operation that is explained. */
export function spansAhead(fleet: Fleet, options: ExplainOptions, to: Date): readonly Span[] {
  const { cluster, now, live } = options;
  const [subject] = subjects(fleet, options);
  if (subject === undefined) return [];
  const { call, state } = subject;
  const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
  const sampleMs = (to.getTime() - now.getTime()) / MAX_SAMPLES;
  const operation = { policies, world: fleet.world(cluster, state), call, state };
  const looks = walk({ ...operation, lookAgain: () => sampleMs / 1000 }, now, to);
  const spans = spansOf(looks, to).flatMap((span) =>
    HOLDS.has(span.verdict) ? [span] : underRollouts(fleet, span, operation, { sampleMs, asOf: now, live }),
  );
  return merged(spans);
}

/** NotEvaluable may proceed, and is shown as it is. */
const HOLDS: ReadonlySet<Span["verdict"]> = new Set(["Blocked", "NotEvaluable"]);

/** Slots and the queue are as the statuses have them now; a stage that soaks passes when its soak ends. */
function underRollouts(
  fleet: Fleet,
  span: Span,
  { world, call }: Omit<Situation, "now">,
  { sampleMs, ...statusTime }: { readonly sampleMs: number; readonly asOf: Date; readonly live: boolean },
): readonly Span[] {
  const soaked = soakEnds(fleet.rollouts, statusTime.asOf);
  const pieces: Span[] = [];
  for (let from = span.from; from < span.to; from = pieces.at(-1)?.to ?? span.to) {
    const rollouts = explainRollouts(fleet, { world, call, now: from }, statusTime);
    const gates = fleet.rollouts.flatMap(({ compiled }) => gateEdges(compiled, from, sampleMs));
    const next = earliest([span.to, ...[...soaked, ...gates].filter((edge) => edge > from)]);
    const to = next instanceof Date ? next : span.to;
    pieces.push({ ...span, from, to, ...(rollouts.some(({ holds }) => holds) && { verdict: "Blocked" }) });
  }
  return pieces;
}

function merged(spans: readonly Span[]): readonly Span[] {
  return spans.reduce<Span[]>((before, span) => {
    const last = before.at(-1);
    if (last?.verdict !== span.verdict) return [...before, span];
    return [...before.slice(0, -1), { ...last, to: span.to }];
  }, []);
}
